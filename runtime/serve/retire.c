/* retire.c: see retire.h. */
#include "serve/retire.h"

#include <stdlib.h>

#include "base/grow.h"
#include "core/served.h"
#include "serve/admin.h"
#include "serve/programs.h"
#include "serve/schedules.h"

/* Runs that have not ended, of the versions of a program. */
typedef struct Live {
    int64_t *versions; /* their rows in the log; owned */
    uint32_t version_count, cap;
    long count;
} Live;

static bool add_versions(Live *live, const TfyServer *server, const char *name)
{
    for (const TfyServed *of = server->programs->versions.first; of; of = of->next) {
        if (strcmp(of->name, name) != 0) continue;
        const int64_t row = tfy__store_program(server->loop, of->program);
        if (row < 0 || !GROW(live->versions, live->cap, live->version_count + 1, 8)) return false;
        live->versions[live->version_count++] = row;
    }
    return true;
}

static void count_run(void *state, const TfyLogRun *run, const TfyLogRecord *birth)
{
    Live *live = state;
    (void)birth;
    for (uint32_t i = 0; i < live->version_count; i++) live->count += run->program == live->versions[i];
}

/* Without the program, a restart would not take its runs up, whatever version they have. */
static bool is_used(TfyRequest *request, const TfyServed *served)
{
    const TfyServer *server = request->server;
    Live live = {.versions = NULL};
    const bool known =
        add_versions(&live, server, served->name) && tfy__see_unfinished(server->loop, count_run, &live) == TFY_OK;
    free(live.versions);
    if (!known) return !tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the log cannot be read");
    if (!live.count) return false;
    return !tfy__problem(&request->problem, TFY_PROBLEM_IN_USE,
                         "%ld runs of %s have not ended; wait for them, or cancel them", live.count, served->name);
}

/* The active version that the path names. NULL: the problem says why there is none. */
static const TfyServed *find_version(TfyRequest *request)
{
    const char *program = request->names.text[0], *version = request->names.text[1];
    const TfyServed *served = tfy__served_named(request->server, program);
    if (!served)
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "there is no program '%.80s'", program);
    else if (strcmp(served->version, version) != 0)
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND,
                     "new runs of %s get %s; an older version is left out by itself once its runs have ended", program,
                     served->version);
    else
        return served;
    return NULL;
}

void tfy__serve_retire(TfyRequest *request)
{
    TfyServer *server = request->server;
    const TfyServed *served = tfy__request_known(request, (const char *const[]){NULL}) ? find_version(request) : NULL;
    if (!served || is_used(request, served)) {
        tfy__request_done(request);
        return;
    }
    if (!tfy__served_retire(server->programs, served)) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
        tfy__request_done(request);
        return;
    }
    if (server->schedules) tfy__schedules_look(server->schedules);
    json_t *value = json_pack("{s:s}", "version", served->hash);
    tfy__request_json(request, 200, json_pack("{s:s, s:s}", "program", served->name, "version", served->version));
    tfy__admin_audit(request, "retire", served->name, value, tfy__command_answer);
    json_decref(value);
}
