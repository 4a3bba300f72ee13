/* params.h: a workflow's parameters as command-line flags.
 *
 * `--name value` becomes a member of the JSON object that tfy_submit takes. The parameter's type decides how the text
 * is parsed: strings are taken as they are; numbers, bools, durations, times and bare enum cases are written plainly;
 * everything else is JSON. */
#ifndef CLI_PROGRAM_PARAMS_H
#define CLI_PROGRAM_PARAMS_H

#include "cli/frame/cli.h"
#include "tfy_program.h"
#include "base/buffer.h"

/* The workflow of that name; without a name main, or the only one. NULL after a message; how: what to do if there are several:
 * "choose one with --workflow". */
const TfyWorkflow *tfy__choose_workflow(const TfyProgram *program, const char *name, const char *how);

/* Appends the JSON object. Returns false after a message that names the parameter: unknown, missing, given twice, or
 * of the wrong type. */
bool tfy__params_json(const TfyWorkflow *workflow, const TfyArgs *args, TfyBuffer *out);

/* Prints how to run the workflow: usage line, doc comment, the parameters with their types, defaults, doc comments and
 * cases. A parameter that is called like an option of the command has --param. before its name. words: what starts it, such as
 * "tfy start shop.order"; NULL: as a program is run. file is a FILE *. */
void tfy__params_usage(const TfyCommand *command, const char *words, const TfyProgram *program,
                       const TfyWorkflow *workflow, void *file);

#endif
