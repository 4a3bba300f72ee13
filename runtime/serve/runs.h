/* runs.h: GET /v1/runs and GET /v1/runs/{id}. */
#ifndef SERVE_RUNS_H
#define SERVE_RUNS_H

#include "serve/index.h"
#include "serve/serve.h"

/* Appends a run as JSON. */
void tfy__run_shown(const TfyRunShown *run, TfyBuffer *out);

void tfy__serve_runs(TfyRequest *request);
void tfy__serve_run(TfyRequest *request);

/* On a reader's thread: the uuid of the run that somebody names by it, or by a unique start of it. A run that the index does
 * not have yet is found by its uuid alone. False: the problem says why there is none. */
bool tfy__find_run_id(TfyRequest *request, const char *given, char id[37]);

#endif
