/* programs.c: see programs.h. */
#include "serve/programs.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/reach.h"
#include "serve/reader.h"
#include "serve/runs.h"

TfyPrograms *tfy__programs_new(void)
{
    TfyPrograms *programs = calloc(1, sizeof *programs);
    TfyCatalog *empty = programs ? calloc(1, sizeof *empty) : NULL;
    if (empty) {
        programs->newest = empty;
        return programs;
    }
    free(programs);
    return NULL;
}

void tfy__programs_close(TfyPrograms *programs)
{
    if (!programs) return;
    for (TfyCatalog *catalog = programs->newest, *older; catalog; catalog = older) {
        older = catalog->older;
        free(catalog);
    }
    for (TfyServed *served; (served = LIST_TAKE(&programs->versions, next));) {
        tfy_shared_close(served->shared);
        free(served->name);
        free(served);
    }
    free(programs);
}

TfyServed *tfy__served_new(TfyPrograms *programs, const char *name, TfyShared *shared)
{
    TfyServed *served = calloc(1, sizeof *served);
    if (!served || !(served->name = strdup(name))) {
        free(served);
        tfy_shared_close(shared);
        return NULL;
    }
    served->shared = shared;
    served->program = tfy_shared_program(shared);
    const uint8_t *hash = (const uint8_t *)served->program->hash;
    for (int i = 0; i < 16; i++) snprintf(served->hash + 2 * i, 3, "%02x", hash[i]);
    snprintf(served->version, sizeof served->version, "%.12s", served->hash);
    LIST_APPEND(&programs->versions, served, next);
    return served;
}

int tfy__served_load(TfyServer *server, const TfyServed *served, char *error)
{
    const TfyReach *reach = tfy__reach_of(server->config, served->name);
    const TfyLoadOptions options = {.root = reach && reach->root ? reach->root : ".",
                                    .secrets = reach ? reach->secrets : NULL};
    return tfy_load(server->loop, served->program, &options, error);
}

bool tfy__served_activate(TfyPrograms *programs, const TfyServed *served)
{
    TfyCatalog *old = programs->newest;
    TfyCatalog *new = calloc(1, sizeof *new + (old->count + 1) * sizeof *new->served);
    size_t at = 0;
    if (!new) return false;
    memcpy(new->served, old->served, old->count * sizeof *new->served);
    while (at < old->count && strcmp(old->served[at]->name, served->name) != 0) at++;
    new->served[at] = served;
    new->count = at < old->count ? old->count : at + 1;
    new->older = old;
    programs->newest = new;
    return true;
}

bool tfy__served_retire(TfyPrograms *programs, const TfyServed *served)
{
    TfyCatalog *old = programs->newest;
    TfyCatalog *new = calloc(1, sizeof *new + old->count * sizeof *new->served);
    if (!new) return false;
    for (size_t i = 0; i < old->count; i++)
        if (old->served[i] != served) new->served[new->count++] = old->served[i];
    new->older = old;
    programs->newest = new;
    return true;
}

const TfyServed *tfy__served_from(const TfyPrograms *programs, const char *source)
{
    const TfyServed *served = programs->versions.first;
    while (served && strcmp(served->program->source, source) != 0) served = served->next;
    return served;
}

/* ---- what new runs get ---- */

const TfyCatalog *tfy__catalog(const TfyServer *server)
{
    return server->programs->newest;
}

const TfyServed *tfy__served_named(const TfyServer *server, const char *program)
{
    const TfyCatalog *catalog = tfy__catalog(server);
    for (size_t i = 0; i < catalog->count; i++)
        if (strcmp(catalog->served[i]->name, program) == 0) return catalog->served[i];
    return NULL;
}

const TfyWorkflow *tfy__served_workflow(const TfyServed *served, const char *name)
{
    for (uint32_t i = 0; i < served->program->workflow_count; i++)
        if (strcmp(served->program->workflows[i]->name, name) == 0) return served->program->workflows[i];
    return NULL;
}

bool tfy__served_seen(const TfyServed *served, const TfyCaller *caller)
{
    const TfyProgram *program = served->program;
    for (uint32_t i = 0; *caller->only && i < program->workflow_count; i++)
        if (tfy__may_see(caller, served->name, program->workflows[i]->name)) return true;
    return !*caller->only;
}

/* ---- the routes ---- */

/* Those that the caller sees. */
static json_t *workflows_of(const TfyServed *served, const TfyCaller *caller)
{
    const TfyProgram *program = served->program;
    json_t *names = json_array();
    for (uint32_t i = 0; i < program->workflow_count; i++)
        if (tfy__may_see(caller, served->name, program->workflows[i]->name))
            json_array_append_new(names, json_string(program->workflows[i]->name));
    return names;
}

/* The programs on their way into the answer. */
typedef struct Shown {
    const TfyCatalog *catalog;
    json_t *list; /* an object for each of the catalog; null: the caller does not see it */
} Shown;

static void show_live(void *arg, const char *program, const char *version, int64_t live)
{
    const Shown *shown = arg;
    size_t at = 0;
    while (at < shown->catalog->count && strcmp(shown->catalog->served[at]->name, program) != 0) at++;
    json_t *versions = json_object_get(json_array_get(shown->list, at), "versions"),
           *newest = json_array_get(versions, 0);
    if (!newest) return;
    if (strcmp(version, shown->catalog->served[at]->version) == 0)
        json_object_set_new(newest, "live", json_integer(live));
    else
        json_array_append_new(versions,
                              json_pack("{s:s, s:b, s:I}", "version", version, "active", 0, "live", (json_int_t)live));
}

/* Its versions with their unfinished runs are added, the active one first. */
static json_t *program_json(const TfyServed *served, const TfyCaller *caller)
{
    return json_pack("{s:s, s:s, s:o, s:[{s:s, s:b, s:i}]}", "name", served->name, "version", served->version,
                     "workflows", workflows_of(served, caller), "versions", "version", served->version, "active", 1,
                     "live", 0);
}

/* NULL: the problem says why. */
static json_t *list_programs(TfyRequest *request)
{
    Shown shown = {tfy__catalog(request->server), json_array()};
    for (size_t i = 0; i < shown.catalog->count; i++) {
        const TfyServed *served = shown.catalog->served[i];
        const bool seen = tfy__served_seen(served, &request->caller);
        json_array_append_new(shown.list, seen ? program_json(served, &request->caller) : json_null());
    }
    const int code = request->reader->lists->live(request->reader, request->caller.only, show_live, &shown);
    if (code == TFY_OK) return shown.list;
    tfy__lists_failed(request, code, "the index cannot be read");
    json_decref(shown.list);
    return NULL;
}

void tfy__serve_programs(TfyRequest *request)
{
    json_t *list = NULL;
    if (tfy__request_known(request, (const char *const[]){NULL}) && tfy__index_awaited(request))
        list = list_programs(request);
    if (!list) return;
    for (size_t i = json_array_size(list); i-- > 0;)
        if (json_is_null(json_array_get(list, i))) json_array_remove(list, i);
    tfy__request_json(request, 200, json_pack("{s:o, s:n}", "programs", list, "next"));
}

void tfy__serve_program(TfyRequest *request)
{
    json_t *list = NULL, *one, *found = NULL;
    size_t i;
    if (tfy__request_known(request, (const char *const[]){NULL}) && tfy__index_awaited(request))
        list = list_programs(request);
    if (!list) return;
    json_array_foreach(list, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && strcmp(name, request->names.text[0]) == 0) found = json_incref(one);
    }
    json_decref(list);
    if (found)
        tfy__request_json(request, 200, found);
    else
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "there is no program '%.80s'", request->names.text[0]);
}
