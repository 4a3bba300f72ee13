/* ceiling.h: how far tools may go, as the command line says it: --sandbox, --network, --grant, --runners, --sandbox-level. */
#ifndef CLI_PROGRAM_CEILING_H
#define CLI_PROGRAM_CEILING_H

#include "cli/frame/cli.h"
#include "tfy_program.h"

/* Checks these options and fills in those members of the options. *grants is what options->grants points to: owned by the
 * caller, NULL: there are none. False after a message. */
bool tfy__read_ceiling(const TfyProgram *program, const TfyArgs *args, TfyOptions *options, char **grants);

/* EXIT_DONE; or, after a message, EXIT_MISSING: the program has a runner, and --runners is not given. */
int tfy__check_runners(const TfyProgram *program, const TfyArgs *args);

#endif
