/* request.c: what every route needs: the query of a request, its way to whoever works on it, and its answer as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buffer.h"
#include "serve/child.h"
#include "serve/deploy.h"
#include "serve/bulk.h"
#include "serve/mcp/http.h"
#include "serve/move.h"
#include "serve/of_run.h"
#include "serve/shared/events.h"
#include "serve/serve.h"
#include "serve/start.h"
#include "serve/stream.h"
#include "value/json.h"

const char *tfy__request_parameter(TfyRequest *request, const char *name)
{
    for (uint32_t i = 0; i < request->parameter_count; i++)
        if (strcmp(request->parameters[i].name, name) == 0) return request->parameters[i].value;
    return NULL;
}

bool tfy__request_number(TfyRequest *request, const char *name, int64_t usual, int64_t least, int64_t most,
                         int64_t *out)
{
    const char *text = tfy__request_parameter(request, name);
    char *end = NULL;
    *out = usual;
    if (!text) return true;
    *out = *text >= '0' && *text <= '9' && strlen(text) < 19 ? strtoll(text, &end, 10) : 0;
    if (end && !*end && *out >= least && *out <= most) return true;
    return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "%s is a number from %lld to %lld", name,
                        (long long)least, (long long)most);
}

bool tfy__request_known(TfyRequest *request, const char *const *names)
{
    for (uint32_t i = 0; i < request->parameter_count; i++) {
        const char *given = request->parameters[i].name;
        const char *const *known = names;
        while (*known && strcmp(*known, given) != 0 &&
               !((*known)[strlen(*known) - 1] == '.' && strncmp(*known, given, strlen(*known)) == 0))
            known++;
        if (*known) continue;
        return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "unknown parameter '%.80s'%s", given,
                            tfy__meant(given, names).text);
    }
    return true;
}

bool tfy__request_choice(TfyRequest *request, const char *name, const char *const *values)
{
    const char *value = tfy__request_parameter(request, name);
    const char *const *at = values;
    TfyBuffer all = {0};
    if (!value) return true;
    while (*at && strcmp(*at, value) != 0) at++;
    if (*at) return true;
    for (at = values; *at; at++) tfy__buffer_printf(&all, "%s%s", at == values ? "" : ", ", *at);
    tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "%s is one of %s", name, all.data ? all.data : "");
    tfy__buffer_free(&all);
    return false;
}

bool tfy__request_time(TfyRequest *request, const char *name, int64_t *ms)
{
    const char *text = tfy__request_parameter(request, name);
    *ms = 0;
    return !text || tfy__read_time(text, strlen(text), ms) ||
           tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "%s is a time such as 2026-11-23T02:29:11Z", name);
}

void tfy__request_label(const TfyRequest *request, const char **name, const char **value)
{
    *name = *value = NULL;
    for (uint32_t i = 0; i < request->parameter_count; i++) {
        if (strncmp(request->parameters[i].name, "label.", 6) != 0) continue;
        *name = request->parameters[i].name + 6;
        *value = request->parameters[i].value;
    }
}

/* ---- its way ---- */

static bool read_query(TfyRequest *request, char *query)
{
    for (char *at = query, *next; at && *at; at = next) {
        next = strchr(at, '&');
        if (next) *next++ = '\0';
        char *value = strchr(at, '=');
        if (value) *value++ = '\0';
        if (request->parameter_count == TFY_PARAMETERS_MAX)
            return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "the query has more than %d parameters",
                                TFY_PARAMETERS_MAX);
        tfy__decode_percent(at, strlen(at), true);
        if (value) tfy__decode_percent(value, strlen(value), true);
        if (tfy__request_parameter(request, at))
            return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "the parameter '%.80s' is there twice", at);
        request->parameters[request->parameter_count++] = (TfyParameter){.name = at, .value = value ? value : ""};
    }
    return true;
}

static bool is_served(TfyRequest *request)
{
    if (tfy__request_serve(request)) return true;
    if (request->server->shared)
        return tfy__problem(&request->problem, TFY_PROBLEM_SQLITE_ONLY, "this server's database is shared by workers");
    return tfy__problem(&request->problem, TFY_PROBLEM_SHARED_ONLY, "this server's database is a file of its own");
}

bool tfy__request_route(TfyRequest *request)
{
    char *query = strchr(request->target, '?');
    if (query) *query++ = '\0';
    request->route = tfy__route_find(tfy__routes, request->method, request->target, &request->names, &request->problem);
    return request->route && is_served(request) && read_query(request, query);
}

TfyServe *tfy__request_serve(const TfyRequest *request)
{
    return request->server->shared ? request->route->shared : request->route->serve;
}

void tfy__request_hand_over(TfyRequest *request)
{
    TfyServer *server = request->server;
    if (server->shared) {
        const bool changes = request->route->where == TFY_OF_RUN || request->route->where == TFY_BY_LOOP;
        tfy__readers_ask(changes ? server->senders : server->readers, request);
        return;
    }
    if (request->route->where == TFY_BY_MCP) {
        request->route->serve(request);
        return;
    }
    if (request->route->where == TFY_OF_RUN) request->then = tfy__of_run;
    if (request->route->where != TFY_BY_LOOP)
        tfy__readers_ask(server->readers, request);
    else
        tfy__command_ask(server, request);
}

/* ---- the answer ---- */

void tfy__answer_text(TfyBuffer *out, const char *name, const char *text)
{
    tfy__buffer_printf(out, ",\"%s\":", name);
    if (text)
        tfy__buffer_json_string(out, text, strlen(text));
    else
        tfy__buffer_text(out, "null");
}

json_t *tfy__json_time(int64_t ms)
{
    TfyBuffer text = {0};
    tfy__write_time(&text, ms);
    json_t *json = text.failed ? NULL : json_string(text.data);
    tfy__buffer_free(&text);
    return json;
}

void tfy__request_json(TfyRequest *request, int status, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (text)
        tfy__buffer_text(&request->answer, text);
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    request->status = status;
    free(text);
    json_decref(json);
}

void tfy__request_free(TfyRequest *request)
{
    if (!request) return;
    tfy__starting_free(request->starting);
    tfy__stream_free(request->stream);
    tfy__follow_free(request->follow);
    tfy__mcp_stream_free(request->mcp);
    tfy__child_free(request->child);
    tfy__deploy_free(request->deploy);
    tfy__move_free(request->move);
    tfy__bulk_free(request->bulk);
    free(request->last_event);
    free(request->target);
    free(request->key);
    free(request->match);
    free(request->as_seen);
    tfy__run_found_free(request->run);
    tfy__buffer_free(&request->body);
    tfy__buffer_free(&request->answer);
    json_decref(request->json);
    json_decref(request->headers);
    tfy__problem_clear(&request->problem);
    free(request);
}
