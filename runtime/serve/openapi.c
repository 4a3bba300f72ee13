/* openapi.c: the OpenAPI document (3.1), made of the table of routes and of the programs: each workflow has a path of its own
 * to start it, with its parameters, its result and its doc comment. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "serve/audit.h"
#include "serve/child.h"
#include "serve/machine.h"
#include "serve/openapi.h"
#include "serve/programs.h"
#include "serve/queue.h"
#include "serve/questions.h"
#include "serve/run_history.h"
#include "serve/stream.h"
#include "value/json.h"

/* ---- schemas ---- */

/* Readers of the document want these two shorter: a reference may have a description beside it, and what may be anything may
 * be nothing, too. */
static void shorten(json_t *schema)
{
    json_t *all = json_object_get(schema, "allOf"), *any = json_object_get(schema, "anyOf"), *part;
    size_t i;
    if (json_array_size(all) == 1) {
        json_object_update_missing(schema, json_array_get(all, 0));
        json_object_del(schema, "allOf");
    }
    json_array_foreach(any, i, part)
    {
        if (json_object_size(part)) continue;
        json_object_del(schema, "anyOf");
        return;
    }
}

/* Named types of a program are components named PROGRAM.TYPE, so references are written anew. */
static void point_to_components(json_t *schema, const char *program)
{
    shorten(schema);
    const char *name, *ref = json_string_value(json_object_get(schema, "$ref"));
    json_t *part;
    size_t i;
    if (ref && strncmp(ref, "#/$defs/", 8) == 0)
        json_object_set_new(schema, "$ref", json_sprintf("#/components/schemas/%s.%s", program, ref + 8));
    json_object_foreach(schema, name, part) point_to_components(part, program);
    json_array_foreach(schema, i, part) point_to_components(part, program);
}

static void take_definitions(json_t *schema, const char *program, json_t *components)
{
    const char *name;
    json_t *part;
    char full[256];
    json_object_foreach(json_object_get(schema, "$defs"), name, part)
    {
        snprintf(full, sizeof full, "%s.%s", program, name);
        json_object_set(components, full, part);
        point_to_components(part, program);
    }
    json_object_del(schema, "$defs");
    point_to_components(schema, program);
}

/* The schema of a type; named types go to the components. */
static json_t *schema_of(const TfyType *type, const char *program, json_t *components)
{
    TfyBuffer text = {0};
    json_t *schema = type && tfy__schema(&text, type) ? json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL) : NULL;
    tfy__buffer_free(&text);
    if (!schema) return json_object();
    take_definitions(schema, program, components);
    return schema;
}

static json_t *reference(const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", name));
}

static json_t *content(json_t *schema)
{
    return json_pack("{s:{s:o}}", "application/json", "schema", schema);
}

static json_t *problem_answer(void)
{
    return json_pack("{s:s, s:{s:{s:o}}}", "description", "why not", "content", "application/problem+json", "schema",
                     reference("Problem"));
}

/* ---- what all routes share ---- */

/* schemas.json: "schemas", which are components; "answers", the schema of each route's answer; "bodies", what a change sends. */
static json_t *load_shared(void) /* NULL: no memory */
{
    return json_loadb((const char *)tfy__openapi_shared, tfy__openapi_shared_len, 0, NULL);
}

/* ---- operations ---- */

static json_t *parameter(const char *name, const char *in, bool required, const char *text)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:{s:s}}", "name", name, "in", in, "required", required, "description", text,
                     "schema", "type", "string");
}

static json_t *path_parameters(const char *pattern)
{
    json_t *list = json_array();
    for (const char *brace = strchr(pattern, '{'); brace; brace = strchr(brace + 1, '{')) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(brace + 1, "}"), brace + 1);
        json_array_append_new(list, parameter(name, "path", true, "a part of the path"));
    }
    return list;
}

static const char *const *query_of(const TfyRoute *route)
{
    const struct {
        const char *id;
        const char *const *names;
    } of[] = {{"runs", tfy__runs_parameters},       {"records", tfy__records_parameters},
              {"output", tfy__output_parameters},   {"questions", tfy__questions_parameters},
              {"events", tfy__events_parameters},   {"audit", tfy__audit_parameters},
              {"compare", tfy__compare_parameters}, {"graph", tfy__graph_parameters},
              {"stats", tfy__stats_parameters}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strcmp(of[i].id, route->id) == 0) return of[i].names;
    return NULL;
}

static void add_query(const TfyRoute *route, json_t *parameters)
{
    const char *const *name = query_of(route);
    for (; name && *name; name++)
        if ((*name)[strlen(*name) - 1] != '.')
            json_array_append_new(parameters, parameter(*name, "query", false, "see the guide"));
}

static void add_start_headers(json_t *parameters)
{
    json_array_append_new(parameters, parameter("Idempotency-Key", "header", false,
                                                "the same key starts once, however often it is sent"));
}

static void add_seen_header(json_t *parameters)
{
    json_array_append_new(parameters, parameter("If-Match", "header", false,
                                                "the digest of the question, so that no other one is answered"));
}

static bool is_among(const TfyRoute *route, const char *const *ids)
{
    for (; *ids; ids++)
        if (strcmp(*ids, route->id) == 0) return true;
    return false;
}

/* The same key, sent again, is answered with the run that it started. */
static bool has_key(const TfyRoute *route)
{
    return is_among(route, (const char *const[]){"start", "again", "trigger", NULL});
}

static bool creates(const TfyRoute *route)
{
    return has_key(route) ||
           is_among(route, (const char *const[]){"fork", "hook", "enter", "login", "grant", "deploy", NULL});
}

static json_t *content_of(const TfyRoute *route, const json_t *shared)
{
    const char *answer = json_string_value(json_object_get(json_object_get(shared, "answers"), route->id));
    const char *type = strcmp(route->id, "metrics") == 0  ? "text/plain"
                       : strcmp(route->id, "events") == 0 ? "text/event-stream"
                                                          : NULL;
    return type ? json_pack("{s:{s:{s:s}}}", type, "schema", "type", "string") : content(reference(answer));
}

static json_t *good_answer(const TfyRoute *route, const json_t *shared)
{
    return json_pack("{s:s, s:o}", "description", route->summary, "content", content_of(route, shared));
}

static json_t *answers_of(const TfyRoute *route, const json_t *shared, bool over_shared)
{
    json_t *answers = json_pack("{s:o, s:o}", "4XX", problem_answer(), "5XX", problem_answer());
    if (creates(route)) json_object_set_new(answers, "201", good_answer(route, shared));
    const bool drains = is_among(route, (const char *const[]){"drain", NULL}),
               again = has_key(route) || is_among(route, (const char *const[]){"hook", "deploy", NULL});
    /* Mail that no worker has taken yet is on its way. */
    if (drains || (over_shared && route->where == TFY_OF_RUN && !creates(route)))
        json_object_set_new(answers, "202", good_answer(route, shared));
    if (!drains && (!creates(route) || again)) /* it was there before */
        json_object_set_new(answers, "200", good_answer(route, shared));
    return answers;
}

static json_t *operation(const TfyRoute *route, const json_t *shared, bool over_shared)
{
    json_t *parameters = path_parameters(route->pattern);
    add_query(route, parameters);
    if (has_key(route)) add_start_headers(parameters);
    if (strcmp(route->id, "answer") == 0) add_seen_header(parameters);
    json_t *made = json_pack("{s:s, s:s, s:o, s:o}", "operationId", route->id, "summary", route->summary, "parameters",
                             parameters, "responses", answers_of(route, shared, over_shared));
    if (route->role == TFY_ROLE_NONE) json_object_set_new(made, "security", json_array());
    return made;
}

/* Those that are served here. */
static void add_routes(json_t *paths, const json_t *shared, bool over_shared)
{
    static const char *const methods[] = {"get", "head", "post", "put", "delete"};
    for (const TfyRoute *route = tfy__routes; route->pattern; route++) {
        if (!route->id || !(over_shared ? route->shared : route->serve)) continue;
        json_t *path = json_object_get(paths, route->pattern);
        if (!path) {
            path = json_object();
            json_object_set_new(paths, route->pattern, path);
        }
        json_t *made = operation(route, shared, over_shared),
               *body = json_object_get(json_object_get(shared, "bodies"), route->id);
        if (body)
            json_object_set_new(made, "requestBody",
                                json_pack("{s:b, s:o}", "required", 1, "content", content(json_incref(body))));
        json_object_set_new(path, methods[route->method], made);
    }
}

static json_t *start_body(const TfyServed *served, const TfyWorkflow *workflow, json_t *components)
{
    const TfyType params = {
        .kind = TFY_RECORD, .name = workflow->name, .fields = workflow->params, .field_count = workflow->param_count};
    json_t *args = schema_of(&params, served->name, components);
    return json_pack(
        "{s:s, s:b, s:{s:o, s:{s:[s,s,s]}, s:{s:s}, s:{s:s}, s:{s:s, s:{s:s, s:i}}, s:{s:s, s:i, s:i}, s:{s:s, "
        "s:i, s:i}}, s:o}",
        "type", "object", "additionalProperties", 0, "properties", "args", args, "sandbox", "enum", "readonly",
        "workspace", "open", "network", "type", "string", "budget", "type", "string", "labels", "type", "object",
        "additionalProperties", "type", "string", "maxLength", 256, "concurrency", "type", "string", "minLength", 1,
        "maxLength", TFY_CONCURRENCY_MOST, "priority", "type", "integer", "minimum", -TFY_PRIORITY_MOST, "maximum",
        TFY_PRIORITY_MOST, "required", workflow->param_count ? json_pack("[s]", "args") : json_array());
}

/* A run whose result is of the workflow's type. */
static json_t *run_of(const TfyServed *served, const TfyWorkflow *workflow, json_t *components)
{
    json_t *result = workflow->result ? schema_of(workflow->result, served->name, components) : json_true();
    return json_pack("{s:[o, {s:{s:o}}]}", "allOf", reference("Run"), "properties", "result", result);
}

static void add_workflow(const TfyServed *served, const TfyWorkflow *workflow, json_t *paths, json_t *components)
{
    char path[256], id[256];
    json_t *parameters = json_array(), *run = run_of(served, workflow, components);
    snprintf(path, sizeof path, "/v1/programs/%s/workflows/%s/runs", served->name, workflow->name);
    snprintf(id, sizeof id, "start_%s_%s", served->name, workflow->name);
    add_start_headers(parameters);
    json_t *made = json_pack("{s:s, s:s, s:o, s:{s:b, s:o}, s:{s:{s:s, s:o}, s:{s:s, s:o}, s:o, s:o}}", "operationId",
                             id, "summary", workflow->doc ? workflow->doc : "start a run", "parameters", parameters,
                             "requestBody", "required", 1, "content", content(start_body(served, workflow, components)),
                             "responses", "201", "description", "it has started", "content", content(json_incref(run)),
                             "200", "description", "the key's run, which had started before", "content", content(run),
                             "4XX", problem_answer(), "5XX", problem_answer());
    json_object_set_new(paths, path, json_pack("{s:o}", "post", made));
}

static void add_program(const TfyServed *served, const TfyCaller *caller, json_t *paths, json_t *components)
{
    for (uint32_t i = 0; i < served->program->workflow_count; i++)
        if (tfy__may_see(caller, served->name, served->program->workflows[i]->name))
            add_workflow(served, served->program->workflows[i], paths, components);
}

/* Removes the schemas that nothing in the text refers to; whether any was. */
static bool prune_once(json_t *components, const char *paths)
{
    char *text = json_dumps(components, JSON_COMPACT), ref[160];
    const char *name;
    json_t *schema;
    void *next;
    bool any = false;
    json_object_foreach_safe(components, next, name, schema)
    {
        snprintf(ref, sizeof ref, "\"#/components/schemas/%.120s\"", name);
        if (!text || strstr(paths, ref) || strstr(text, ref)) continue;
        json_object_del(components, name);
        any = true;
    }
    free(text);
    return any;
}

/* A server of one kind does not have all that the other kind has. */
static void prune(json_t *components, const json_t *paths)
{
    char *text = json_dumps(paths, JSON_COMPACT);
    while (text && prune_once(components, text)) continue;
    free(text);
}

/* With the workflows that the caller sees. NULL: no memory. */
static char *document(const TfyServer *server, const TfyCaller *caller)
{
    json_t *paths = json_object(), *shared = load_shared();
    json_t *components = json_incref(json_object_get(shared, "schemas"));
    add_routes(paths, shared, server->shared);
    const TfyCatalog *catalog = tfy__catalog(server);
    for (size_t i = 0; i < catalog->count; i++) add_program(catalog->served[i], caller, paths, components);
    prune(components, paths);
    json_t *whole = json_pack(
        "{s:s, s:{s:s, s:s, s:{s:s, s:s}}, s:[{s:s}], s:[{s:[]}, {s:[]}], s:o, s:{s:o, s:{s:{s:s, s:s}, s:{s:s}}}}",
        "openapi", "3.1.0", "info", "title", "tfy", "version", tfy_version(), "license", "name", "MIT", "identifier",
        "MIT", "servers", "url", "/", "security", "token", "certificate", "paths", paths, "components", "schemas",
        components, "securitySchemes", "token", "type", "http", "scheme", "bearer", "certificate", "type", "mutualTLS");
    char *text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    json_decref(shared);
    return text;
}

/* The one of a caller who sees everything is kept while the programs stay the same. */
static const char *kept_document(TfyServer *server, const TfyCaller *caller)
{
    const TfyCatalog *catalog = tfy__catalog(server);
    if (server->openapi_of == catalog) return server->openapi;
    free(server->openapi);
    server->openapi = document(server, caller);
    server->openapi_of = server->openapi ? catalog : NULL;
    return server->openapi;
}

void tfy__serve_openapi(TfyRequest *request)
{
    const TfyCaller *caller = &request->caller;
    char *own = *caller->only ? document(request->server, caller) : NULL;
    pthread_mutex_lock(&request->server->documents); /* each listener has a thread */
    const char *text = *caller->only ? own : kept_document(request->server, caller);
    if (text)
        tfy__buffer_text(&request->answer, text);
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    pthread_mutex_unlock(&request->server->documents);
    free(own);
}
