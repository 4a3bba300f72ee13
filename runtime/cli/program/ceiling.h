/* ceiling.h: how far tools may go, as the command line says it: --sandbox, --network, --grant, --runners, --sandbox-level. */
#ifndef CLI_PROGRAM_CEILING_H
#define CLI_PROGRAM_CEILING_H

#include "base/buffer.h"
#include "cli/frame/cli.h"
#include "tfy_program.h"

/* Checks these options and fills in those members of the options. *grants is what options->grants points to: owned by the
 * caller, NULL: there are none. False after a message. */
bool tfy__read_ceiling(const TfyProgram *program, const TfyArgs *args, TfyOptions *options, char **grants);

/* Whether this is what --network takes, or --grant, for a tool of that program (NULL: of any). Otherwise error
 * (TFY_ERROR_TEXT bytes) says why. */
bool tfy__network_fits(const char *text, char *error);
bool tfy__grant_fits(const TfyProgram *program, const char *grant, char *error);
/* Adds one that fits as a line. A path is kept as it is found now: it says the same when the run goes on elsewhere. */
void tfy__grant_add(TfyBuffer *lines, const char *grant);

/* EXIT_DONE; or, after a message, EXIT_MISSING: the program has a runner, and --runners is not given. */
int tfy__check_runners(const TfyProgram *program, const TfyArgs *args);

#endif
