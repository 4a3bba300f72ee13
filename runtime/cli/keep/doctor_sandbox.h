/* doctor_sandbox.h: tfy doctor --sandbox: which walls of a sandbox this machine has, tried by building one. */
#ifndef CLI_KEEP_DOCTOR_SANDBOX_H
#define CLI_KEEP_DOCTOR_SANDBOX_H

struct TfyArgs;

/* Returns the exit status: EXIT_MISSING where no sandbox can be built. */
int tfy__doctor_sandbox(const struct TfyArgs *args);

#endif
