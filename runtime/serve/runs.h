/* runs.h: GET /v1/runs and GET /v1/runs/{id}. */
#ifndef SERVE_RUNS_H
#define SERVE_RUNS_H

#include "serve/index.h"
#include "serve/serve.h"

/* Appends a run as JSON. */
void tfy__run_shown(const TfyRunShown *run, TfyBuffer *out);

void tfy__serve_runs(TfyRequest *request);
void tfy__serve_run(TfyRequest *request);

#endif
