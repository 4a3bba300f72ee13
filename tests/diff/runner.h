/* runner.h: what the two ways of running a generated program share. */
#ifndef DIFF_RUNNER_H
#define DIFF_RUNNER_H

#include "tfy.h"

void runner_collect(void *state, const char *text, size_t len); /* TfyOptions.on_output into a DiffState */
const char *runner_state_name(TfyTaskState state);
int runner_submit(TfyLoop *loop, const char *name, int64_t *tid, char *error); /* and the signals of trace.h */

#endif
