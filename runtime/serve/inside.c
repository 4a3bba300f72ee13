/* inside.c: see inside.h. */
#include "serve/inside.h"

#include <stdlib.h>

static bool keep(char **place, const char *text)
{
    return !text || (*place = strdup(text));
}

static TfyRequest *made(TfyServer *server, const TfyInside *what)
{
    TfyRequest *request = calloc(1, sizeof *request);
    if (!request) return NULL;
    request->server = server;
    request->caller = *what->caller;
    request->method = what->method;
    request->after = what->after;
    request->inside = what->done;
    request->inside_arg = what->arg;
    request->begun_us = tfy__monotonic_us();
    if (tfy__method_changes(what->method)) request->json = json_incref(what->body);
    if (request->json || !tfy__method_changes(what->method) || (request->json = json_object()))
        if (keep(&request->target, what->target) && keep(&request->key, what->key) &&
            keep(&request->as_seen, what->seen))
            return request;
    tfy__request_free(request);
    return NULL;
}

bool tfy__inside_ask(TfyServer *server, const TfyInside *what)
{
    TfyRequest *request = made(server, what);
    json_decref(what->body);
    if (!request) return false;
    request->checked = true;
    if (!tfy__request_route(request) ||
        !tfy__may(server, &request->caller, request->route->role, NULL, &request->problem)) {
        tfy__request_done(request);
    } else if (request->route->where == TFY_AT_ONCE) {
        tfy__request_serve(request)(request);
        tfy__request_done(request);
    } else {
        tfy__request_hand_over(request);
    }
    return true;
}
