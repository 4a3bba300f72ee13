/* command.c: what changes something. The thread of HTTP leaves a command behind, the loop carries it out, and what it
 * records is durable before the answer leaves. */
#include "core/loop.h"
#include "serve/serve.h"

void tfy__command_refuse(TfyRequest *request)
{
    tfy__problem(&request->problem, TFY_PROBLEM_DRAINING, "ask again once it runs again");
    tfy__request_done(request);
}

void tfy__command_await(TfyRequest *request, TfyPosted next)
{
    if (tfy__when_durable(request->server->loop, next, request) == TFY_OK) return;
    tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    tfy__request_done(request);
}

void tfy__command_answer(TfyLoop *loop, void *request)
{
    if (loop)
        tfy__request_done(request);
    else
        tfy__command_refuse(request);
}

void tfy__command_read(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    if (loop)
        tfy__readers_ask(request->server->readers, request);
    else
        tfy__command_refuse(request);
}

bool tfy__command_may(TfyLoop *loop, TfyRequest *request)
{
    if (!loop || request->server->draining) {
        tfy__command_refuse(request);
        return false;
    }
    if (!tfy__log_full(tfy__loop_log(loop))) return true;
    request->retry_after_s = 1;
    tfy__problem(&request->problem, TFY_PROBLEM_LOG_FULL, "the disk is full; runs pause");
    tfy__request_done(request);
    return false;
}

static void obey(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    if (!tfy__command_may(loop, request)) return;
    void (*serve)(TfyRequest * request) = request->then ? request->then : request->route->serve;
    request->then = NULL;
    serve(request);
}

int tfy__command_post(TfyServer *server, TfyPosted call, void *arg)
{
    pthread_mutex_lock(&server->posting);
    const int code = server->closed ? TFY_E_STATE : tfy__post(server->loop, call, arg);
    pthread_mutex_unlock(&server->posting);
    return code;
}

void tfy__command_finish(TfyServer *server)
{
    pthread_mutex_lock(&server->posting);
    server->closed = true;
    pthread_mutex_unlock(&server->posting);
    if (server->loop) (void)tfy__finish(server->loop);
}

void tfy__command_ask(TfyServer *server, TfyRequest *request)
{
    const int code = tfy__command_post(server, obey, request);
    if (code == TFY_OK) return;
    if (code == TFY_E_STATE)
        tfy__problem(&request->problem, TFY_PROBLEM_DRAINING, "ask again once it runs again");
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    tfy__request_done(request);
}
