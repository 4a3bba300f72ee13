/* llm_memory.c: see llm_memory.h. */
#include "effects/llm_memory.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/grow.h"
#include "wal/rows/payload.h"

/* How many answers a run has received to one request; an open-addressing table. */
typedef struct TfyLlmCount {
    uint64_t key;      /* hash of the run's uuid and the request's digest; 0: free */
    uint64_t run;      /* hash of the run's uuid */
    uint32_t answered; /* the highest occurrence that was answered */
} Count;

typedef struct TfyLlmTried {
    struct TfyLlmTried *next;
    uint64_t task;       /* hash of the run's uuid and the task's path */
    uint64_t run;        /* hash of the run's uuid */
    const TfySite *site; /* the place that requests */
    int64_t misfits;     /* answers in a row that did not fit */
    TfyLlmMisfit last;
} Tried;

/* ---- occurrences ---- */

static uint64_t run_key(const char *uuid)
{
    return XXH3_64bits(uuid, 36);
}

static uint64_t count_key(TfyTask *task, uint64_t digest)
{
    uint64_t key = XXH3_64bits_withSeed(tfy__run_uuid(task), 36, digest);
    return key ? key : 1;
}

static uint64_t key_of(const void *counts, uint32_t number)
{
    return ((const Count *)counts)[number - 1].key;
}

static Count *count_by_key(TfyLlmMemory *memory, uint64_t key, uint64_t run)
{
    const uint32_t known = tfy__index_find(&memory->by_key, key, key_of, memory->counts);
    if (known) return &memory->counts[known - 1];
    if (!GROW(memory->counts, memory->count_cap, memory->count_used + 1, 64) ||
        !tfy__index_reserve(&memory->by_key, key_of, memory->counts))
        return NULL;
    Count *count = &memory->counts[memory->count_used++];
    *count = (Count){.key = key, .run = run};
    tfy__index_add(&memory->by_key, memory->count_used, key_of, memory->counts);
    return count;
}

uint32_t *tfy__llm_answered(TfyLlmMemory *memory, TfyTask *task, uint64_t digest)
{
    Count *count = count_by_key(memory, count_key(task, digest), run_key(tfy__run_uuid(task)));
    return count ? &count->answered : NULL;
}

/* ---- misfits ---- */

static uint64_t task_key(TfyTask *task)
{
    const char *path = tfy__task_path(task);
    return XXH3_64bits_withSeed(path, strlen(path), run_key(tfy__run_uuid(task)));
}

static Tried **find_tried(TfyLlmMemory *memory, TfyTask *task)
{
    uint64_t key = task_key(task);
    Tried **place = &memory->tried;
    while (*place && (*place)->task != key) place = &(*place)->next;
    return place;
}

void tfy__llm_forget(TfyLlmMemory *memory, TfyTask *task)
{
    Tried **place = find_tried(memory, task), *tried = *place;
    if (!tried) return;
    *place = tried->next;
    free(tried->last.answer);
    free(tried->last.error);
    free(tried);
}

const TfyLlmMisfit *tfy__llm_recall(TfyLlmMemory *memory, const TfyCall *call)
{
    const Tried *tried = *find_tried(memory, call->task);
    if (tried && tried->site == call->site && call->attempt > 1) return &tried->last;
    tfy__llm_forget(memory, call->task);
    return NULL;
}

static Tried *make_tried(TfyLlmMemory *memory, TfyTask *task, const TfySite *site)
{
    Tried *tried = *find_tried(memory, task);
    if (!tried && (tried = tfy__sys_calloc(1, sizeof *tried))) {
        tried->next = memory->tried;
        tried->task = task_key(task);
        tried->run = run_key(tfy__run_uuid(task));
        memory->tried = tried;
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
    const uint64_t run = run_key(run_uuid);
    const char *comma = "";
    tfy__put(out, TFY_S_COUNTS);
    tfy__buffer_char(out, '[');
    for (size_t i = 0; memory && i < memory->count_used; i++) {
        if (memory->counts[i].run != run) continue;
        tfy__buffer_printf(out, "%s[\"%016llx\",%u]", comma, (unsigned long long)memory->counts[i].key,
                           memory->counts[i].answered);
        comma = ",";
    }
    comma = "";
    tfy__buffer_char(out, ']');
    tfy__put(out, TFY_S_MISFITS);
    tfy__buffer_char(out, '[');
    for (const Tried *tried = memory ? memory->tried : NULL; tried; tried = tried->next) {
        if (tried->run != run || !tried->last.answer) continue;
        tfy__buffer_text(out, comma);
        save_tried(out, tried);
        comma = ",";
    }
    tfy__buffer_char(out, ']');
}

static void restore_tried(TfyLlmMemory *memory, TfyLoop *loop, const char *run_uuid, const json_t *json)
{
    const char *task = tfy__member_text(json, TFY_S_TASK);
    const json_t *answer = tfy__member_get(json, TFY_S_ANSWER), *error = tfy__member_get(json, TFY_S_ERROR);
    const TfySite *site = tfy__site_at(loop, run_uuid, (uint32_t)tfy__member_int(json, TFY_S_POINT));
    Tried *tried =
        task && site && json_is_string(answer) && json_is_string(error) ? tfy__sys_calloc(1, sizeof *tried) : NULL;
    if (!tried) return;
    const size_t len = json_string_length(answer);
    *tried = (Tried){.next = memory->tried,
                     .task = tfy__member_hex(json, TFY_S_TASK),
                     .run = run_key(run_uuid),
                     .site = site,
                     .misfits = tfy__member_int(json, TFY_S_MISFITS)};
    tried->last = (TfyLlmMisfit){tfy__sys_malloc(len + 1), len, tfy__sys_strdup(json_string_value(error))};
    if (tried->last.answer && tried->last.error) {
        memcpy(tried->last.answer, json_string_value(answer), len + 1);
        memory->tried = tried;
        return;
    }
    free(tried->last.answer);
    free(tried->last.error);
    free(tried);
}

bool tfy__llm_memory_is_saved(const json_t *json)
{
    return json_array_size(tfy__member_get(json, TFY_S_COUNTS)) ||
           json_array_size(tfy__member_get(json, TFY_S_MISFITS));
}

void tfy__llm_memory_restore(TfyLlmMemory *memory, TfyLoop *loop, const char *run_uuid, const json_t *json)
{
    const json_t *counts = tfy__member_get(json, TFY_S_COUNTS), *misfits = tfy__member_get(json, TFY_S_MISFITS);
    const uint64_t run = run_key(run_uuid);
    for (size_t i = 0; i < json_array_size(counts); i++) {
        const json_t *pair = json_array_get(counts, i);
        const char *key = json_string_value(json_array_get(pair, 0));
        Count *count = key ? count_by_key(memory, strtoull(key, NULL, 16), run) : NULL;
        if (count) count->answered = (uint32_t)json_integer_value(json_array_get(pair, 1));
    }
    for (size_t i = json_array_size(misfits); i-- > 0;)
        restore_tried(memory, loop, run_uuid, json_array_get(misfits, i));
}

void tfy__llm_memory_close(TfyLlmMemory *memory)
{
    for (Tried *tried = memory->tried, *next; tried; tried = next) {
        next = tried->next;
        free(tried->last.answer);
        free(tried->last.error);
        free(tried);
    }
    free(memory->counts);
    tfy__index_free(&memory->by_key);
    *memory = (TfyLlmMemory){.counts = NULL};
}
