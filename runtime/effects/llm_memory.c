/* llm_memory.c: see llm_memory.h. */
#include "effects/llm_memory.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/list.h"
#include "wal/rows/payload.h"

/* How many answers a run has received to one request. */
typedef struct Count {
    TfyLink link;       /* by the hash of the run's uuid and the request's digest */
    struct Count *next; /* of the run */
    uint32_t answered;  /* the highest occurrence that was answered */
} Count;

typedef struct Tried {
    struct Tried *next;  /* of the run */
    uint64_t task;       /* hash of the run's uuid and the task's path */
    const TfySite *site; /* the place that requests */
    int64_t misfits;     /* answers in a row that did not fit */
    TfyLlmMisfit last;
} Tried;

typedef struct Asker {
    TfyLink link;       /* by the hash of the run's uuid */
    LIST(Count) counts; /* in the order of their first use */
    Tried *tried;       /* few: one per task whose prompt is being tried again; newest first */
} Asker;

/* ---- runs ---- */

static uint64_t run_key(const char *uuid)
{
    return XXH3_64bits(uuid, 36);
}

/* NULL: it has not asked. */
static Asker *find_asker(const TfyLlmMemory *memory, const char *run_uuid)
{
    return TABLE_ITEM(tfy__table_find(&memory->runs, run_key(run_uuid)), Asker, link);
}

/* NULL: no memory. */
static Asker *make_asker(TfyLlmMemory *memory, const char *run_uuid)
{
    Asker *asker = find_asker(memory, run_uuid);
    if (asker || !tfy__table_reserve(&memory->runs) || !(asker = tfy__sys_calloc(1, sizeof *asker))) return asker;
    tfy__table_add(&memory->runs, &asker->link, run_key(run_uuid));
    return asker;
}

static void free_tried(Tried *tried)
{
    free(tried->last.answer);
    free(tried->last.error);
    free(tried);
}

static void leave(TfyLlmMemory *memory, Asker *asker)
{
    for (Count *count; (count = LIST_TAKE(&asker->counts, next));) {
        tfy__table_remove(&memory->counts, &count->link);
        free(count);
    }
    for (Tried *tried; (tried = asker->tried);) {
        asker->tried = tried->next;
        free_tried(tried);
    }
    tfy__table_remove(&memory->runs, &asker->link);
    free(asker);
}

void tfy__llm_memory_leave(TfyLlmMemory *memory, const char *run_uuid)
{
    Asker *asker = find_asker(memory, run_uuid);
    if (asker) leave(memory, asker);
}

/* ---- occurrences ---- */

static Count *count_by_key(TfyLlmMemory *memory, uint64_t key, const char *run_uuid)
{
    Count *count = TABLE_ITEM(tfy__table_find(&memory->counts, key), Count, link);
    if (count) return count;
    Asker *asker = make_asker(memory, run_uuid);
    if (!asker || !tfy__table_reserve(&memory->counts) || !(count = tfy__sys_calloc(1, sizeof *count))) return NULL;
    tfy__table_add(&memory->counts, &count->link, key);
    LIST_APPEND(&asker->counts, count, next);
    return count;
}

uint32_t *tfy__llm_answered(TfyLlmMemory *memory, TfyTask *task, uint64_t digest)
{
    const char *run_uuid = tfy__run_uuid(task);
    Count *count = count_by_key(memory, XXH3_64bits_withSeed(run_uuid, 36, digest), run_uuid);
    return count ? &count->answered : NULL;
}

/* ---- misfits ---- */

static uint64_t task_key(TfyTask *task)
{
    const char *path = tfy__task_path(task);
    return XXH3_64bits_withSeed(path, strlen(path), run_key(tfy__run_uuid(task)));
}

/* Where the task's misfit is, or would be; NULL: its run has not asked. */
static Tried **find_tried(const TfyLlmMemory *memory, TfyTask *task)
{
    Asker *asker = find_asker(memory, tfy__run_uuid(task));
    Tried **place = asker ? &asker->tried : NULL;
    const uint64_t key = task_key(task);
    while (place && *place && (*place)->task != key) place = &(*place)->next;
    return place;
}

void tfy__llm_forget(TfyLlmMemory *memory, TfyTask *task)
{
    Tried **place = find_tried(memory, task), *tried = place ? *place : NULL;
    if (!tried) return;
    *place = tried->next;
    free_tried(tried);
}

const TfyLlmMisfit *tfy__llm_recall(TfyLlmMemory *memory, const TfyCall *call)
{
    Tried *const *place = find_tried(memory, call->task), *tried = place ? *place : NULL;
    if (tried && tried->site == call->site && call->attempt > 1) return &tried->last;
    tfy__llm_forget(memory, call->task);
    return NULL;
}

static Tried *make_tried(TfyLlmMemory *memory, TfyTask *task, const TfySite *site)
{
    Asker *asker = make_asker(memory, tfy__run_uuid(task));
    Tried *tried = asker ? *find_tried(memory, task) : NULL;
    if (asker && !tried && (tried = tfy__sys_calloc(1, sizeof *tried))) {
        tried->task = task_key(task);
        tried->next = asker->tried;
        asker->tried = tried;
    }
    if (tried && tried->site != site) tried->misfits = 0;
    if (tried) tried->site = site;
    return tried;
}

void tfy__llm_remember(TfyLlmMemory *memory, TfyTask *task, const TfySite *site, const char *answer, size_t len,
                       const char *error)
{
    Tried *tried = make_tried(memory, task, site);
    char *copy = tfy__sys_malloc(len + 1);
    /* repairs a message that was cut off in the middle of a character */
    TfyObj *words = tfy_string_of(task, error, strlen(error));
    char *text = words ? tfy__sys_strdup(((const TfyString *)words)->bytes) : NULL;
    if (!tried || !copy || !text || ++tried->misfits > site->tool->asks) {
        free(copy);
        free(text);
        tfy__llm_forget(memory, task);
        return;
    }
    memcpy(copy, answer, len);
    copy[len] = '\0';
    free(tried->last.answer);
    free(tried->last.error);
    tried->last = (TfyLlmMisfit){.answer = copy, .answer_len = len, .error = text};
}

/* ---- snapshots ---- */

static void save_tried(TfyBuffer *out, const Tried *tried)
{
    tfy__put_begin(out);
    tfy__put_hex(out, TFY_S_TASK, tried->task);
    tfy__put_int(out, TFY_S_POINT, tried->site->point->number);
    tfy__put_int(out, TFY_S_MISFITS, tried->misfits);
    tfy__put_bytes(out, TFY_S_ANSWER, tried->last.answer, tried->last.answer_len);
    tfy__put_text(out, TFY_S_ERROR, tried->last.error);
    tfy__put_end(out);
}

void tfy__llm_memory_save(const TfyLlmMemory *memory, const char *run_uuid, TfyBuffer *out)
{
    const Asker *asker = memory ? find_asker(memory, run_uuid) : NULL;
    const char *comma = "";
    tfy__put(out, TFY_S_COUNTS);
    tfy__buffer_char(out, '[');
    for (const Count *count = asker ? asker->counts.first : NULL; count; count = count->next) {
        tfy__buffer_printf(out, "%s[\"%016llx\",%u]", comma, (unsigned long long)count->link.hash, count->answered);
        comma = ",";
    }
    comma = "";
    tfy__buffer_char(out, ']');
    tfy__put(out, TFY_S_MISFITS);
    tfy__buffer_char(out, '[');
    for (const Tried *tried = asker ? asker->tried : NULL; tried; tried = tried->next) {
        if (!tried->last.answer) continue;
        tfy__buffer_text(out, comma);
        save_tried(out, tried);
        comma = ",";
    }
    tfy__buffer_char(out, ']');
}

static void restore_tried(Asker *asker, TfyLoop *loop, const char *run_uuid, const json_t *json)
{
    const char *task = tfy__member_text(json, TFY_S_TASK);
    const json_t *answer = tfy__member_get(json, TFY_S_ANSWER), *error = tfy__member_get(json, TFY_S_ERROR);
    const TfySite *site = tfy__site_at(loop, run_uuid, (uint32_t)tfy__member_int(json, TFY_S_POINT));
    Tried *tried =
        task && site && json_is_string(answer) && json_is_string(error) ? tfy__sys_calloc(1, sizeof *tried) : NULL;
    if (!tried) return;
    const size_t len = json_string_length(answer);
    *tried = (Tried){.next = asker->tried,
                     .task = tfy__member_hex(json, TFY_S_TASK),
                     .site = site,
                     .misfits = tfy__member_int(json, TFY_S_MISFITS)};
    tried->last = (TfyLlmMisfit){tfy__sys_malloc(len + 1), len, tfy__sys_strdup(json_string_value(error))};
    if (!tried->last.answer || !tried->last.error) {
        free_tried(tried);
        return;
    }
    memcpy(tried->last.answer, json_string_value(answer), len + 1);
    asker->tried = tried;
}

bool tfy__llm_memory_is_saved(const json_t *json)
{
    return json_array_size(tfy__member_get(json, TFY_S_COUNTS)) ||
           json_array_size(tfy__member_get(json, TFY_S_MISFITS));
}

void tfy__llm_memory_restore(TfyLlmMemory *memory, TfyLoop *loop, const char *run_uuid, const json_t *json)
{
    const json_t *counts = tfy__member_get(json, TFY_S_COUNTS), *misfits = tfy__member_get(json, TFY_S_MISFITS);
    Asker *asker = make_asker(memory, run_uuid);
    for (size_t i = 0; asker && i < json_array_size(counts); i++) {
        const json_t *pair = json_array_get(counts, i);
        const char *key = json_string_value(json_array_get(pair, 0));
        Count *count = key ? count_by_key(memory, strtoull(key, NULL, 16), run_uuid) : NULL;
        if (count) count->answered = (uint32_t)json_integer_value(json_array_get(pair, 1));
    }
    for (size_t i = asker ? json_array_size(misfits) : 0; i-- > 0;)
        restore_tried(asker, loop, run_uuid, json_array_get(misfits, i));
}

void tfy__llm_memory_close(TfyLlmMemory *memory)
{
    for (TfyLink *link; (link = tfy__table_walk(&memory->runs, NULL));) leave(memory, TABLE_ITEM(link, Asker, link));
    tfy__table_free(&memory->counts);
    tfy__table_free(&memory->runs);
}
