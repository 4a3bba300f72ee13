/* arguments.h: what is wrong with the arguments of a start. All mistakes are told at once, each with its path. */
#ifndef SERVE_ARGUMENTS_H
#define SERVE_ARGUMENTS_H

#include <jansson.h>

#include "serve/problem.h"
#include "tfy_program.h"

/* Whether every member, in records and cases too, is one of its type. False: the problem names those that are not. */
bool tfy__arguments_known(const TfyWorkflow *workflow, const json_t *args, TfyProblem *problem);
/* Says why arguments do not fit, of which that is known. */
void tfy__arguments_mistakes(TfyLoop *loop, const TfyWorkflow *workflow, const json_t *args, TfyProblem *problem);

#endif
