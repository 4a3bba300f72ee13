/* wrote.c: the notes about each run's files, in a list, since few runs of a loop write files. */
#include "effects/wrote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "effects/file.h"
#include "wal/rows/payload.h"

static void starve(TfyLoop *loop)
{
    tfy__loop_fail(loop, TFY_E_NOMEM, "memory ran out while a written file was noted");
}

TfyWroteRun *tfy__wrote_of(TfyLoop *loop, const char *run_uuid)
{
    TfyWroteRun *run = *tfy__effect_slot(loop, TFY_M_WROTE);
    while (run && strcmp(run->uuid, run_uuid) != 0) run = run->next;
    return run;
}

/* NULL: no memory; the loop stops. */
static TfyWroteRun *make_run(TfyLoop *loop, const char *run_uuid)
{
    TfyWroteRun **first = (TfyWroteRun **)tfy__effect_slot(loop, TFY_M_WROTE), *run = tfy__wrote_of(loop, run_uuid);
    if (run) return run;
    if (!(run = tfy__sys_calloc(1, sizeof *run))) {
        starve(loop);
        return NULL;
    }
    snprintf(run->uuid, sizeof run->uuid, "%s", run_uuid);
    run->next = *first;
    return *first = run;
}

static uint64_t hash_of(const char *path)
{
    return XXH3_64bits(path, strlen(path));
}

/* NULL: it is not among the files. */
static TfyWrote *find_file(const TfyWroteRun *run, const char *path)
{
    for (const TfyLink *link = tfy__table_find(&run->by_path, hash_of(path)); link; link = tfy__table_next(link)) {
        TfyWrote *file = TABLE_ITEM(link, TfyWrote, link);
        if (strcmp(file->path, path) == 0) return file;
    }
    return NULL;
}

static void forget_file(TfyWroteRun *run, TfyWrote *file)
{
    tfy__table_remove(&run->by_path, &file->link);
    LIST2_REMOVE(&run->files, file, prev, next);
    free(file);
}

static void note_path(TfyLoop *loop, TfyWroteRun *run, const char *path)
{
    const size_t size = strlen(path) + 1;
    TfyWrote *file = find_file(run, path);
    if (!file && tfy__table_reserve(&run->by_path) && (file = tfy__sys_malloc(sizeof *file + size))) {
        memcpy(file->path, path, size);
        tfy__table_add(&run->by_path, &file->link, hash_of(path));
        LIST2_APPEND(&run->files, file, prev, next);
    }
    if (file)
        file->noted = ++run->notes;
    else
        starve(loop);
}

void tfy__wrote_note(const TfyCall *call, const TfyObj *path)
{
    const char *below = tfy__path_below(call->task, path);
    TfyWroteRun *run = below ? make_run(call->loop, tfy__run_uuid(call->task)) : NULL;
    if (run) note_path(call->loop, run, below);
}

bool tfy__wrote_maybe(const struct TfyPayload *payload)
{
    const char *outcome = tfy__payload_text(payload, TFY_P_OUTCOME);
    return !tfy__payload_get(payload, TFY_P_ERROR) || (outcome && strcmp(outcome, "unknown") == 0);
}

void tfy__wrote_recorded(TfyCall *call, const struct TfyPayload *payload)
{
    if (tfy__wrote_maybe(payload)) tfy__wrote_note(call, call->args[0].o);
}

/* ---- commits ---- */

void tfy__wrote_committed(TfyLoop *loop, const char *run_uuid, const char *id, const json_t *settled)
{
    TfyWroteRun *run = make_run(loop, run_uuid);
    const json_t *path;
    size_t i;
    if (!run) return;
    snprintf(run->last, sizeof run->last, "%s", id);
    json_array_foreach(settled, i, path)
    {
        const char *text = json_string_value(path);
        TfyWrote *file = text ? find_file(run, text) : NULL;
        if (file) forget_file(run, file);
    }
}

void tfy__wrote_began(TfyLoop *loop, const char *run_uuid, const char *branch, const char *base)
{
    TfyWroteRun *run = make_run(loop, run_uuid);
    if (!run) return;
    free(run->branch);
    run->branch = branch ? tfy__sys_strdup(branch) : NULL;
    if (branch && !run->branch) starve(loop);
    snprintf(run->base, sizeof run->base, "%s", base);
}

void tfy__wrote_landed(TfyLoop *loop, const char *run_uuid)
{
    TfyWroteRun *run = make_run(loop, run_uuid);
    if (run) memcpy(run->landed, run->last, sizeof run->landed);
}

void tfy__wrote_land_recorded(TfyCall *call, const struct TfyPayload *payload)
{
    if (!tfy__payload_get(payload, TFY_P_VALUE)) return;
    tfy__wrote_landed(call->loop, tfy__run_uuid(call->task));
}

void tfy__wrote_commit_recorded(TfyCall *call, const struct TfyPayload *payload)
{
    const char *id = tfy__payload_text(payload, TFY_P_VALUE), *run = tfy__run_uuid(call->task);
    const char *branch = tfy__payload_text(payload, TFY_P_BRANCH), *base = tfy__payload_text(payload, TFY_P_BASE);
    if (branch || base) tfy__wrote_began(call->loop, run, branch, base ? base : "");
    if (id) tfy__wrote_committed(call->loop, run, id, tfy__payload_get(payload, TFY_P_PATHS));
}

/* ---- snapshots ---- */

void tfy__wrote_save(TfyLoop *loop, const char *run_uuid, TfyBuffer *out)
{
    const TfyWroteRun *run = tfy__wrote_of(loop, run_uuid);
    tfy__put_begin(out);
    if (run && *run->last) tfy__put_text(out, TFY_S_LAST, run->last);
    if (run && run->branch) tfy__put_text(out, TFY_P_BRANCH, run->branch);
    if (run && *run->base) tfy__put_text(out, TFY_P_BASE, run->base);
    if (run && *run->landed) tfy__put_text(out, TFY_S_LANDED, run->landed);
    tfy__put(out, TFY_S_WROTE);
    tfy__buffer_char(out, '[');
    for (const TfyWrote *file = run ? run->files.first : NULL; file; file = file->next) {
        if (file->prev) tfy__buffer_char(out, ',');
        tfy__buffer_json_string(out, file->path, strlen(file->path));
    }
    tfy__buffer_text(out, "]}");
}

static void restore_commits(TfyLoop *loop, TfyWroteRun *run, const json_t *json)
{
    const char *last = tfy__member_text(json, TFY_S_LAST), *landed = tfy__member_text(json, TFY_S_LANDED);
    const char *base = tfy__member_text(json, TFY_P_BASE);
    snprintf(run->last, sizeof run->last, "%s", last ? last : "");
    snprintf(run->landed, sizeof run->landed, "%s", landed ? landed : "");
    tfy__wrote_began(loop, run->uuid, tfy__member_text(json, TFY_P_BRANCH), base ? base : "");
}

void tfy__wrote_restore(TfyLoop *loop, const char *run_uuid, const json_t *json)
{
    const json_t *files = tfy__member_get(json, TFY_S_WROTE);
    const bool began = tfy__member_get(json, TFY_P_BRANCH) || tfy__member_get(json, TFY_P_BASE);
    const bool any = began || tfy__member_get(json, TFY_S_LAST) || json_array_size(files);
    TfyWroteRun *run = any ? make_run(loop, run_uuid) : NULL;
    if (run) restore_commits(loop, run, json);
    for (size_t i = 0; run && i < json_array_size(files); i++) {
        const char *path = json_string_value(json_array_get(files, i));
        if (path) note_path(loop, run, path);
    }
}

static void free_run(TfyWroteRun *run)
{
    while (run->files.first) forget_file(run, run->files.first);
    tfy__table_free(&run->by_path);
    free(run->branch);
    free(run);
}

void tfy__wrote_forget(TfyLoop *loop, const char *run_uuid)
{
    TfyWroteRun **place = (TfyWroteRun **)tfy__effect_slot(loop, TFY_M_WROTE), *run;
    while ((run = *place) && strcmp(run->uuid, run_uuid) != 0) place = &run->next;
    if (!run) return;
    *place = run->next;
    free_run(run);
}

void tfy__wrote_close(TfyLoop *loop)
{
    TfyWroteRun **first = (TfyWroteRun **)tfy__effect_slot(loop, TFY_M_WROTE), *run;
    while ((run = *first)) {
        *first = run->next;
        free_run(run);
    }
}
