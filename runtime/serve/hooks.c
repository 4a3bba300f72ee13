/* hooks.c: see hooks.h. */
#include "serve/hooks.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/body.h"
#include "serve/changes.h"
#include "serve/hook.h"
#include "serve/of_run.h"
#include "serve/start.h"
#include "wal/log/run_id.h"

/* ---- what may be filled ---- */

static bool is_untrusted(const TfyWorkflow *workflow, const char *parameter)
{
    for (uint32_t i = 0; i < workflow->param_count && i < 64; i++)
        if (strcmp(workflow->params[i].name, parameter) == 0) return workflow->untrusted >> i & 1;
    return false;
}

/* A parameter that a hook fills and may not; NULL: none. A workflow that is not there is told when the hook is used. */
static const char *wrong_parameter(const TfyServer *server, const TfyHook *hook)
{
    const TfyServed *served = hook->start ? tfy__served_named(server, hook->program) : NULL;
    const TfyWorkflow *workflow = served ? tfy__served_workflow(served, hook->workflow) : NULL;
    const char *name;
    json_t *part;
    if (!workflow) return NULL;
    json_object_foreach(hook->args, name,
                        part) if (tfy__hook_is_outside(part) && !is_untrusted(workflow, name)) return name;
    return NULL;
}

bool tfy__hooks_fit(const TfyServer *server, const TfyConfig *config, char *error)
{
    for (const TfyHook *hook = config->hooks.first; hook; hook = hook->next) {
        const char *parameter = wrong_parameter(server, hook);
        if (!parameter) continue;
        snprintf(error, TFY_ERROR_TEXT,
                 "the hook %.64s fills '%.80s' of %.130s from outside; declare it there: %.80s: untrusted …",
                 hook->name, parameter, hook->start, parameter);
        return false;
    }
    return true;
}

/* ---- in a reader: whether it is who it says ---- */

static const TfyHook *find_hook(TfyRequest *request)
{
    const TfyConfig *config = request->server->config;
    const TfyHook *hook = config->hooks.first;
    while (hook && strcmp(hook->name, request->names.text[0]) != 0) hook = hook->next;
    if (!hook)
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "there is no hook '%.64s'", request->names.text[0]);
    return hook;
}

static bool is_signed(TfyRequest *request, const TfyHook *hook)
{
    const char *why;
    return tfy__hook_signed(hook, request->headers, request->body.data, request->body.len, tfy__clock_ms() / 1000,
                            &why) ||
           tfy__problem(&request->problem, TFY_PROBLEM_UNAUTHENTICATED, "%s", why);
}

static void become_hook(TfyRequest *request, const TfyHook *hook)
{
    TfyCaller *caller = &request->caller;
    char from[sizeof caller->from];
    memcpy(from, caller->from, sizeof from);
    *caller = (TfyCaller){.roles = TFY_ROLE_OPERATOR, .how = "hook"};
    memcpy(caller->from, from, sizeof from);
    snprintf(caller->name, sizeof caller->name, "hook/%.58s", hook->name);
}

/* "hook/NAME/DELIVERY"; NULL: nothing says which delivery it is. */
static char *delivery_of(TfyRequest *request, const TfyHook *hook)
{
    const char *header = hook->dedupe ? hook->dedupe : hook->scheme == TFY_HOOK_STANDARD ? "webhook-id" : NULL;
    const char *value = header ? tfy__hook_header(request->headers, header) : "";
    char *key = NULL;
    if (*value && asprintf(&key, "hook/%s/%s", hook->name, value) < 0) key = NULL;
    return key;
}

/* ---- a start ---- */

static void pass_to_loop(TfyRequest *request)
{
    tfy__command_ask(request->server, request);
}

static bool fill(TfyRequest *request, json_t *body)
{
    json_decref(request->json);
    request->json = body;
    return body || tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
}

static void prepare_start(TfyRequest *request, const TfyHook *hook)
{
    const char *wrong = wrong_parameter(request->server, hook);
    if (wrong) {
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_POSSIBLE, "'%.80s' of %.130s takes nothing from outside", wrong,
                     hook->start);
        return;
    }
    json_t *args = hook->args ? tfy__hook_fill(hook->args, request->headers, request->json) : json_object();
    if (!fill(request, json_pack("{s:o, s:{s:s}}", "args", args, "labels", "tfy.hook", hook->name))) return;
    free(request->key);
    request->key = delivery_of(request, hook);
    request->ours = true;
    request->names = (TfyRouteNames){.text = {hook->program, hook->workflow}, .count = 2};
    request->then = tfy__serve_start;
    request->pass = pass_to_loop;
}

/* ---- a signal ---- */

static void pass_signal(TfyRequest *request)
{
    request->then = tfy__serve_signal;
    request->pass = pass_to_loop;
}

static void prepare_signal(TfyRequest *request, const TfyHook *hook)
{
    json_t *run = tfy__hook_fill(hook->run, request->headers, request->json);
    json_t *value =
        hook->value ? tfy__hook_fill(hook->value, request->headers, request->json) : json_incref(request->json);
    char *id = delivery_of(request, hook);
    if (!json_is_string(run))
        tfy__body_mistake(&request->problem, "$", "it does not name the run that the signal is for");
    else if (tfy__run_find(request, json_string_value(run)) &&
             fill(request, json_pack("{s:s, s:O*, s:s*}", "name", hook->signal, "value", value, "id", id)))
        pass_signal(request);
    json_decref(run);
    json_decref(value);
    free(id);
}

/* ---- the route ---- */

void tfy__serve_hook(TfyRequest *request)
{
    const TfyHook *hook = find_hook(request);
    if (!hook || !is_signed(request, hook)) return;
    become_hook(request, hook);
    if (hook->start)
        prepare_start(request, hook);
    else
        prepare_signal(request, hook);
}
