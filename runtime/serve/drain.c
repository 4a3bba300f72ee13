/* drain.c: see drain.h. */
#include "serve/drain.h"

#include "cli/frame/cli.h"
#include "serve/admin.h"
#include "serve/body.h"
#include "serve/notify.h"

void tfy__drain_server(TfyServer *server)
{
    const TfyConfig *config = server->config;
    server->draining = true;
    tfy__notify("STOPPING=1");
    if (server->running) tfy_drain(server->running, config->drain_ms);
}

/* The record is durable: the answer leaves first. */
static void begin(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    TfyServer *server = request->server;
    if (!loop) {
        tfy__command_refuse(request);
        return;
    }
    tfy__say("%s asks it to end", request->caller.name);
    tfy__request_json(request, 202, json_pack("{s:s}", "status", "draining"));
    tfy__request_done(request);
    tfy__drain_server(server);
}

void tfy__serve_drain(TfyRequest *request)
{
    static const TfyMemberOf none[] = {{NULL, JSON_NULL}};
    if (tfy__request_known(request, (const char *const[]){NULL}) &&
        tfy__body_fits(request->json, none, &request->problem))
        tfy__admin_audit(request, "drain", NULL, NULL, begin);
    else
        tfy__request_done(request);
}
