/* health.c: whether the process works, for those that restart it, and whether it may be asked, for those that send requests
 * to it. The loop answers by itself: it is asked to, and does so within some seconds. */
#include "serve/serve.h"

enum {
    LATE_MS = 5000,
    NEAR = 100000 /* records that lists may lack: they follow in some seconds */
};

static void note_turn(TfyLoop *loop, void *arg)
{
    TfyServer *server = arg;
    server->asked_ms = 0;
}

/* One question at a time is on its way to the loop. */
bool tfy__health_turns(TfyServer *server)
{
    const int64_t asked = server->asked_ms;
    if (!server->loop) return true; /* there is none */
    if (asked) return tfy__monotonic_ms() - asked < LATE_MS;
    server->asked_ms = tfy__monotonic_ms();
    return tfy__command_post(server, note_turn, server) == TFY_OK;
}

void tfy__serve_health(TfyRequest *request)
{
    const bool turns = tfy__health_turns(request->server);
    if (!turns && request->server->draining)
        tfy__problem(&request->problem, TFY_PROBLEM_DRAINING, "the loop has ended, and the process is about to");
    else if (!turns)
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the loop has not turned for %d s", LATE_MS / 1000);
    else
        tfy__request_json(request, 200, json_pack("{s:s}", "status", "ok"));
}

void tfy__serve_ready(TfyRequest *request)
{
    TfyServer *server = request->server;
    if (server->draining)
        tfy__problem(&request->problem, TFY_PROBLEM_DRAINING, "it ends once what is under way has ended");
    else if (tfy__log_full(tfy__loop_log(server->loop)))
        tfy__problem(&request->problem, TFY_PROBLEM_LOG_FULL, "the disk is full; runs pause");
    else if (tfy__tail_behind(server->tail) > tfy__bound("TFY_TEST_NEAR", NEAR))
        tfy__problem(&request->problem, TFY_PROBLEM_INDEX_BEHIND, "the lists lack %lld records",
                     (long long)tfy__tail_behind(server->tail));
    else
        tfy__serve_health(request);
}
