/* routes.c: the table of routes. */
#include "serve/audit.h"
#include "serve/bulk.h"
#include "serve/changes.h"
#include "serve/child.h"
#include "serve/deploy.h"
#include "serve/drain.h"
#include "serve/followers.h"
#include "serve/hooks.h"
#include "serve/machine.h"
#include "serve/openapi.h"
#include "serve/mcp/http.h"
#include "serve/move.h"
#include "serve/page.h"
#include "serve/programs.h"
#include "serve/questions.h"
#include "serve/retire.h"
#include "serve/run_history.h"
#include "serve/runs.h"
#include "serve/schedules.h"
#include "serve/shared/events.h"
#include "serve/shared/server.h"
#include "serve/serve.h"
#include "serve/start.h"
#include "serve/stream.h"
#include "serve/tokens.h"

#define ADMIN    TFY_ROLE_ADMIN
#define VIEWER   TFY_ROLE_VIEWER
#define APPROVER TFY_ROLE_APPROVER
#define OPERATOR TFY_ROLE_OPERATOR

const TfyRoute tfy__routes[] = {
    {TFY_GET, "/", TFY_ROLE_NONE, TFY_AT_ONCE, tfy__serve_page, NULL, NULL, 0, tfy__serve_page},
    {TFY_GET, "/web/{file}", TFY_ROLE_NONE, TFY_AT_ONCE, tfy__serve_web, NULL, NULL, 0, tfy__serve_web},
    {TFY_GET, "/web/{folder}/{file}", TFY_ROLE_NONE, TFY_AT_ONCE, tfy__serve_web, NULL, NULL, 0, tfy__serve_web},
    {TFY_GET, "/healthz", TFY_ROLE_NONE, TFY_AT_ONCE, tfy__serve_health, "health", "whether the process works", 0,
     tfy__shared_health},
    {TFY_GET, "/readyz", TFY_ROLE_NONE, TFY_AT_ONCE, tfy__serve_ready, "ready", "whether it takes requests", 0,
     tfy__shared_ready},
    {TFY_GET, "/metrics", VIEWER, TFY_BY_READER, tfy__serve_metrics, "metrics", "figures for Prometheus", 0,
     tfy__shared_metrics},
    {TFY_GET, "/openapi.json", VIEWER, TFY_AT_ONCE, tfy__serve_openapi, "openapi", "this document", 0,
     tfy__serve_openapi},
    {TFY_GET, "/v1/programs", VIEWER, TFY_BY_READER, tfy__serve_programs, "programs", "the programs", 0,
     tfy__serve_programs},
    {TFY_GET, "/v1/programs/{p}", VIEWER, TFY_BY_READER, tfy__serve_program, "program", "a program and its versions", 0,
     tfy__serve_program},
    {TFY_PUT, "/v1/programs/{p}", ADMIN, TFY_BY_READER, tfy__serve_deploy, "deploy",
     "compile a new version of a program, which new runs get", TFY_DEPLOY_BODY, NULL},
    {TFY_POST, "/v1/programs/{p}/move", ADMIN, TFY_BY_READER, tfy__serve_move, "move",
     "let runs of older versions continue with the active one", 0, NULL},
    {TFY_DELETE, "/v1/programs/{p}/versions/{v}", ADMIN, TFY_BY_LOOP, tfy__serve_retire, "retire",
     "let no new runs start with the active version of a program", 0, NULL},
    {TFY_GET, "/v1/programs/{p}/graph", VIEWER, TFY_BY_READER, tfy__serve_graph, "graph",
     "the states of a program's workflows, with how often and how long runs were there", 0, tfy__serve_graph},
    {TFY_GET, "/v1/stats", VIEWER, TFY_BY_READER, tfy__serve_stats, "stats",
     "runs, failures, times, tokens and costs, by hour, day, workflow, model or point", 0, NULL},
    {TFY_POST, "/v1/programs/{p}/workflows/{w}/runs", OPERATOR, TFY_BY_LOOP, tfy__serve_start, "start",
     "start a run of a workflow", 0, tfy__shared_start},
    {TFY_GET, "/v1/runs", VIEWER, TFY_BY_READER, tfy__serve_runs, "runs", "list runs, newest first", 0,
     tfy__serve_runs},
    {TFY_GET, "/v1/runs/{id}", VIEWER, TFY_BY_READER, tfy__serve_run, "run", "one run", 0, tfy__serve_run},
    {TFY_GET, "/v1/events", VIEWER, TFY_BY_READER, tfy__serve_events, "events",
     "the records of the database as they become durable, and live events, as server-sent events", 0,
     tfy__shared_events},
    {TFY_GET, "/v1/runs/{id}/records", VIEWER, TFY_BY_READER, tfy__serve_records, "records", "the records of a run", 0,
     tfy__serve_records},
    {TFY_GET, "/v1/runs/{id}/records/{lsn}", VIEWER, TFY_BY_READER, tfy__serve_run_record, "run_record",
     "one record of a run, whole", 0, tfy__serve_run_record},
    {TFY_GET, "/v1/runs/{id}/timeline", VIEWER, TFY_BY_READER, tfy__serve_timeline, "timeline",
     "what each task of a run did, and when", 0, tfy__serve_timeline},
    {TFY_GET, "/v1/runs/{id}/tasks", VIEWER, TFY_BY_READER, tfy__serve_tasks, "tasks", "where the tasks of a run are",
     0, tfy__serve_tasks},
    {TFY_GET, "/v1/runs/{id}/output", VIEWER, TFY_BY_READER, tfy__serve_output, "output", "what a run printed", 0,
     tfy__serve_output},
    {TFY_GET, "/v1/runs/{id}/source", VIEWER, TFY_BY_READER, tfy__serve_source, "source",
     "the files of the program that a run has", 0, tfy__serve_source},
    {TFY_GET, "/v1/runs/{id}/at/{place}", VIEWER, TFY_BY_READER, tfy__serve_at, "at",
     "a run as it was at a record: where its tasks are, and what their variables have", 0, tfy__serve_at},
    {TFY_GET, "/v1/compare", VIEWER, TFY_BY_READER, tfy__serve_compare, "compare", "two runs, step by step", 0,
     tfy__serve_compare},
    {TFY_POST, "/v1/runs/{id}/signals", OPERATOR, TFY_OF_RUN, tfy__serve_signal, "signal", "send a run a signal", 0,
     tfy__shared_signal},
    {TFY_POST, "/v1/runs/{id}/cancel", OPERATOR, TFY_OF_RUN, tfy__serve_cancel, "cancel",
     "cancel a run, or one task of it", 0, tfy__shared_cancel},
    {TFY_POST, "/v1/runs/{id}/fork", OPERATOR, TFY_OF_RUN, tfy__serve_fork, "fork",
     "start a run with what another one had done up to a step", 0, NULL},
    {TFY_POST, "/v1/runs/{id}/again", OPERATOR, TFY_OF_RUN, tfy__serve_again, "again",
     "start a run with the arguments of another one", 0, tfy__shared_again},
    {TFY_POST, "/v1/bulk", OPERATOR, TFY_BY_READER, tfy__serve_bulk, "bulk", "cancel, signal or start again many runs",
     0, NULL},
    {TFY_POST, "/v1/runs/{id}/steps/{task}/{step}/resolve", OPERATOR, TFY_OF_RUN, tfy__serve_resolve, "resolve",
     "say what happened to a step that is in doubt", 0, tfy__shared_resolve},
    {TFY_GET, "/v1/records/{lsn}", VIEWER, TFY_BY_READER, tfy__serve_record, "record", "one record, whole", 0, NULL},
    {TFY_GET, "/v1/questions", VIEWER, TFY_BY_READER, tfy__serve_questions, "questions",
     "list open questions, oldest first", 0, tfy__serve_questions},
    {TFY_GET, "/v1/questions/{id}/{task}/{step}", VIEWER, TFY_BY_READER, tfy__serve_question, "question",
     "one question, and its answer", 0, tfy__serve_question},
    {TFY_POST, "/v1/questions/{id}/{task}/{step}/answer", APPROVER, TFY_OF_RUN, tfy__serve_answer, "answer",
     "answer a question", 0, tfy__shared_answer},
    {TFY_POST, "/v1/session", TFY_ROLE_NONE, TFY_BY_READER, tfy__serve_enter, "enter",
     "start a session of a browser, with a code or a token", 0, tfy__serve_enter},
    {TFY_DELETE, "/v1/session", TFY_ROLE_NONE, TFY_BY_READER, tfy__serve_leave, "leave", "end the session", 0,
     tfy__serve_leave},
    {TFY_POST, "/v1/login", ADMIN, TFY_AT_ONCE, tfy__serve_login, "login", "make a code that starts a session, once", 0,
     tfy__serve_login},
    {TFY_GET, "/v1/me", TFY_ROLE_NONE, TFY_AT_ONCE, tfy__serve_me, "me", "who asks, and with which roles", 0,
     tfy__serve_me},
    {TFY_GET, "/v1/tokens", ADMIN, TFY_BY_READER, tfy__serve_tokens, "tokens", "list tokens", 0, NULL},
    {TFY_POST, "/v1/tokens", ADMIN, TFY_BY_LOOP, tfy__serve_grant, "grant", "make a token", 0, NULL},
    {TFY_DELETE, "/v1/tokens/{name}", ADMIN, TFY_BY_READER, tfy__serve_revoke, "revoke",
     "revoke a token, and end its sessions", 0, NULL},
    {TFY_GET, "/v1/schedules", VIEWER, TFY_AT_ONCE, tfy__serve_schedules, "schedules", "list schedules", 0, NULL},
    {TFY_POST, "/v1/schedules/{s}/trigger", OPERATOR, TFY_BY_LOOP, tfy__serve_trigger, "trigger",
     "start a run of a schedule now", 0, NULL},
    {TFY_POST, "/v1/schedules/{s}/pause", OPERATOR, TFY_BY_LOOP, tfy__serve_pause, "pause", "pause a schedule", 0,
     NULL},
    {TFY_POST, "/v1/schedules/{s}/unpause", OPERATOR, TFY_BY_LOOP, tfy__serve_unpause, "unpause",
     "let a schedule that is paused continue", 0, NULL},
    {TFY_GET, "/v1/followers", VIEWER, TFY_BY_READER, tfy__serve_followers, "followers",
     "list followers: how far each has come, and what went wrong last", 0, NULL},
    {TFY_POST, "/v1/hooks/{h}", TFY_ROLE_NONE, TFY_BY_READER, tfy__serve_hook, "hook",
     "start or signal a run by a signed request of another service", 0, NULL},
    {TFY_POST, "/mcp", VIEWER, TFY_BY_MCP, tfy__serve_mcp, NULL, NULL, TFY_MCP_BODY, NULL},
    {TFY_GET, "/mcp", VIEWER, TFY_BY_MCP, tfy__serve_mcp_standing, NULL, NULL, 0, NULL},
    {TFY_DELETE, "/mcp", VIEWER, TFY_BY_MCP, tfy__serve_mcp_end, NULL, NULL, 0, NULL},
    {TFY_POST, "/v1/drain", ADMIN, TFY_BY_LOOP, tfy__serve_drain, "drain",
     "end the server once what is under way has finished", 0, NULL},
    {TFY_GET, "/v1/cluster", VIEWER, TFY_BY_READER, NULL, "cluster",
     "workers, queues, deployed programs and takeovers of a shared database", 0, tfy__shared_overview},
    {TFY_GET, "/v1/audit", ADMIN, TFY_BY_READER, tfy__serve_audit, "audit", "who did what, newest first", 0, NULL},
    {TFY_GET, NULL, TFY_ROLE_NONE, TFY_AT_ONCE, NULL, NULL, NULL, 0, NULL},
};
