/* routes.c: the table of routes. */
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve/start.h"
#include "serve/stream.h"

#define VIEWER   TFY_ROLE_VIEWER
#define OPERATOR TFY_ROLE_OPERATOR

const TfyRoute tfy__routes[] = {
    {TFY_GET, "/healthz", TFY_ROLE_NONE, TFY_AT_ONCE, tfy__serve_health, "health", "whether the process works"},
    {TFY_GET, "/readyz", TFY_ROLE_NONE, TFY_AT_ONCE, tfy__serve_ready, "ready", "whether it takes requests"},
    {TFY_GET, "/metrics", VIEWER, TFY_BY_LOOP, tfy__serve_metrics, "metrics", "figures for Prometheus"},
    {TFY_GET, "/openapi.json", VIEWER, TFY_AT_ONCE, tfy__serve_openapi, "openapi", "this document"},
    {TFY_GET, "/v1/programs", VIEWER, TFY_AT_ONCE, tfy__serve_programs, "programs", "the programs"},
    {TFY_POST, "/v1/programs/{p}/workflows/{w}/runs", OPERATOR, TFY_BY_LOOP, tfy__serve_start, "start",
     "start a run of a workflow"},
    {TFY_GET, "/v1/runs", VIEWER, TFY_BY_READER, tfy__serve_runs, "runs", "list runs, newest first"},
    {TFY_GET, "/v1/runs/{id}", VIEWER, TFY_BY_READER, tfy__serve_run, "run", "one run"},
    {TFY_GET, "/v1/events", VIEWER, TFY_BY_READER, tfy__serve_events, "events",
     "the records of the database as they become durable, and live events, as server-sent events"},
    {TFY_GET, NULL, TFY_ROLE_NONE, TFY_AT_ONCE, NULL, NULL, NULL},
};
