/* versions.c: see versions.h. */
#include "serve/mcp/mcp.h"
#include "serve/versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "cli/frame/cli.h"
#include "cli/look/source_map.h"
#include "serve/admin.h"
#include "serve/build.h"
#include "serve/schedules.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

/* ---- what the log says of deploys ---- */

/* The deploys of a program: the newest of all, and the newest of a file of the command line. */
typedef struct Deploys {
    char name[64];
    char newest[33], file[33]; /* hashes; "": none */
    bool retired;              /* what was deployed last is not served any more: neither of the two counts */
} Deploys;

typedef struct Known {
    Deploys *all;
    uint32_t count, cap;
    bool failed;
} Known;

static Deploys *deploys_of(Known *known, const char *name)
{
    for (uint32_t i = 0; i < known->count; i++)
        if (strcmp(known->all[i].name, name) == 0) return &known->all[i];
    known->failed |= !GROW(known->all, known->cap, known->count + 1, 8);
    if (known->failed) return NULL;
    Deploys *made = &known->all[known->count++];
    *made = (Deploys){.newest = ""};
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

/* Newest first. */
static bool see_deploy(void *arg, const TfyLogRecord *record)
{
    Known *known = arg;
    TfyPayload payload;
    if (record->type != TFY_R_ADMIN) return false;
    tfy__payload_open(&payload, record);
    const char *what = tfy__payload_text(&payload, TFY_P_WHAT), *name = tfy__payload_text(&payload, TFY_P_NAME);
    json_t *value = tfy__payload_get(&payload, TFY_P_VALUE), *via = tfy__payload_get(&payload, TFY_P_VIA);
    const char *hash = json_string_value(json_object_get(value, "version")),
               *how = json_string_value(json_object_get(via, "how"));
    const bool deployed = what && strcmp(what, "deploy") == 0, retired = what && strcmp(what, "retire") == 0;
    Deploys *deploys = (deployed || retired) && name && hash && strlen(hash) == 32 ? deploys_of(known, name) : NULL;
    if (deploys && retired && !*deploys->newest) deploys->retired = true;
    if (retired || (deploys && deploys->retired)) deploys = NULL;
    if (deploys && !*deploys->newest) memcpy(deploys->newest, hash, 33);
    if (deploys && !*deploys->file && how && strcmp(how, "file") == 0) memcpy(deploys->file, hash, 33);
    tfy__payload_close(&payload);
    return known->failed;
}

/* ---- versions that the log has ---- */

static void tell_lost(const char *name, const char *hash, TfyBuild *build, const char *error)
{
    tfy__say("version %.12s of %s cannot be compiled, and its runs wait: %s", hash, name, error);
    if (build->messages) tfy__say_text("%s", build->messages);
    free(build->messages);
}

/* NULL: it cannot be had, which was told. */
static const TfyServed *load_stored(TfyServer *server, const char *name, const char *hash, const char *source)
{
    char error[TFY_ERROR_TEXT] = "memory ran out";
    const TfyServed *known = tfy__served_from(server->programs, source);
    if (known) return known;
    TfyBuild build = {.what = hash, .db = server->db, .most_ms = server->config->compile_ms};
    TfyBuffer offer = {0};
    build.offer = tfy__mcp_offer_of(server, name, &offer);
    TfyShared *shared = tfy__build(&build, error);
    if (!shared && build.offer) { /* it cannot be offered; its runs continue */
        free(build.messages);
        build.messages = NULL;
        build.offer = NULL;
        shared = tfy__build(&build, error);
    }
    tfy__buffer_free(&offer);
    TfyServed *served = shared ? tfy__served_new(server->programs, name, shared) : NULL;
    if (served && tfy__served_load(server, served, error) == TFY_OK) {
        free(build.messages);
        return served;
    }
    tell_lost(name, hash, &build, error);
    return NULL;
}

/* Its source; malloc'ed. NULL: the log does not have it. */
static char *source_of(TfyServer *server, const char *hash)
{
    char *source = NULL, *layout = NULL;
    if (*hash) (void)tfy__log_find_program(tfy__loop_log(server->loop), hash, &source, &layout);
    free(layout);
    return source;
}

static bool is_source_of(TfyServer *server, const char *hash, const TfyServed *served)
{
    char *source = source_of(server, hash);
    const bool same = source && strcmp(source, served->program->source) == 0;
    free(source);
    return same;
}

static void activate_stored(TfyServer *server, const char *name, const char *hash)
{
    char *source = source_of(server, hash);
    const TfyServed *served = source ? load_stored(server, name, hash, source) : NULL;
    if (served) (void)tfy__served_activate(server->programs, served);
    free(source);
}

/* ---- the start ---- */

/* The file is news, or the newest deploy counts. */
static bool settle(TfyServer *server, const TfyServed *served, const Deploys *deploys, char *error)
{
    TfyCaller caller = {.how = "file"};
    tfy__user_name(geteuid(), caller.name, sizeof caller.name);
    if (!deploys || deploys->retired || !is_source_of(server, deploys->file, served))
        return tfy__version_take(server, served, &caller, error) >= 0;
    if (!is_source_of(server, deploys->newest, served)) activate_stored(server, served->name, deploys->newest);
    return true;
}

static bool settle_all(TfyServer *server, Known *known, char *error)
{
    const TfyCatalog *named = tfy__catalog(server);
    for (size_t i = 0; i < named->count; i++) {
        const Deploys *deploys = NULL;
        for (uint32_t j = 0; j < known->count; j++)
            if (strcmp(known->all[j].name, named->served[i]->name) == 0) deploys = &known->all[j];
        if (!settle(server, named->served[i], deploys, error)) return false;
    }
    for (uint32_t j = 0; j < known->count; j++)
        if (!known->all[j].retired && !tfy__served_named(server, known->all[j].name))
            activate_stored(server, known->all[j].name, known->all[j].newest);
    return true;
}

/* ---- versions with unfinished runs ---- */

/* The name under which it was served; that of its file where its runs do not say. */
typedef struct Name {
    char text[64];
} Name;

static void note_name(void *arg, const TfyLogRun *run, const TfyLogRecord *birth)
{
    Name *name = arg;
    TfyPayload payload;
    if (*name->text) return;
    tfy__payload_open(&payload, birth);
    const char *given = tfy__payload_text(&payload, TFY_P_PROGRAM_NAME);
    if (given) snprintf(name->text, sizeof name->text, "%s", given);
    tfy__payload_close(&payload);
}

static void name_of(TfyLog *log, int64_t row, const char *layout, Name *name)
{
    *name = (Name){""};
    (void)tfy__log_see_unfinished(log, row, note_name, name);
    if (*name->text) return;
    TfySourceMap map = {.layout = json_loads(layout, 0, NULL)};
    tfy__source_program(&map, name->text, sizeof name->text);
    tfy__source_map_free(&map);
}

/* Programs that are not served under any name are not ours. */
static void load_row(TfyServer *server, int64_t row)
{
    TfyLog *log = tfy__loop_log(server->loop);
    char hash[33], *layout = NULL;
    Name name;
    if (tfy__log_program_hash(log, row, hash, &layout) != TFY_OK) return;
    char *source = source_of(server, hash);
    if (source && !tfy__served_from(server->programs, source)) {
        name_of(log, row, layout, &name);
        if (tfy__served_named(server, name.text)) (void)load_stored(server, name.text, hash, source);
    }
    free(source);
    free(layout);
}

bool tfy__versions_open(TfyServer *server, char *error)
{
    TfyLog *log = tfy__loop_log(server->loop);
    Known known = {.all = NULL};
    int64_t *rows = NULL;
    uint32_t count = 0;
    snprintf(error, TFY_ERROR_TEXT, "the log cannot be read");
    bool fine = tfy__log_sync(log) == TFY_OK; /* what was appended is not seen before */
    if (fine) fine = tfy__log_see_own(log, see_deploy, &known) == TFY_OK && !known.failed;
    if (fine) fine = settle_all(server, &known, error);
    if (fine) fine = tfy__log_live_programs(log, &rows, &count) == TFY_OK;
    for (uint32_t i = 0; i < count && fine; i++) load_row(server, rows[i]);
    free(rows);
    free(known.all);
    return fine;
}

/* ---- a new version ---- */

/* The same source was deployed before: that version is taken again, and the new object is not needed. */
const TfyServed *tfy__version_known(TfyPrograms *programs, const char *name, TfyShared **shared, char *error)
{
    const TfyServed *known = tfy__served_from(programs, tfy_shared_program(*shared)->source);
    TfyShared *taken = *shared;
    if (known && strcmp(known->name, name) != 0) {
        snprintf(error, TFY_ERROR_TEXT, "%s has exactly this source", known->name);
        return NULL;
    }
    if (known) return known;
    *shared = NULL;
    known = tfy__served_new(programs, name, taken);
    if (!known) snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    return known;
}

TfyTicket tfy__version_take(TfyServer *server, const TfyServed *served, const TfyCaller *caller, char *error)
{
    int64_t code = tfy__served_load(server, served, error);
    if (code == TFY_OK) code = tfy__store_program(server->loop, served->program);
    if (code < 0) return code;
    json_t *value = json_pack("{s:s}", "version", served->hash);
    code = value ? tfy__admin_append(tfy__loop_log(server->loop), caller, "deploy", served->name, value) : TFY_E_NOMEM;
    json_decref(value);
    if (code > 0 && !tfy__served_activate(server->programs, served)) code = TFY_E_NOMEM;
    if (code > 0 && server->schedules) tfy__schedules_look(server->schedules);
    if (code < 0) snprintf(error, TFY_ERROR_TEXT, "it cannot be recorded");
    return code;
}
