#include "wal/history/asked.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/grow.h"
#include "base/lower_bound.h"
#include "wal/rows/payload.h"

/* A Text of the run. */
typedef struct Place {
    uint64_t digest;
    uint32_t record; /* its index */
} Place;

typedef struct Asking {
    const TfyHistory *history;
    Place *texts; /* by digest */
    size_t count, room;
    uint32_t *plans; /* the LLMPlan, the one that it continues, and so on */
    size_t plan_count, plan_room;
} Asking;

/* ---- texts ---- */

static int compare_places(const void *a, const void *b)
{
    const Place *one = a, *other = b;
    if (one->digest != other->digest) return one->digest < other->digest ? -1 : 1;
    return one->record < other->record ? -1 : one->record > other->record;
}

static uint64_t hex_of(const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    return raw && len == 18 ? strtoull(raw + 1, NULL, 16) : 0;
}

static bool find_texts(Asking *asking, uint32_t until)
{
    for (uint32_t i = 0; i < until; i++) {
        const TfyLogRecord *record = &asking->history->records[i];
        if (record->type != TFY_R_TEXT) continue;
        if (!GROW(asking->texts, asking->room, asking->count + 1, 64)) return false;
        asking->texts[asking->count++] = (Place){hex_of(record, TFY_P_DIGEST), i};
    }
    if (asking->count) qsort(asking->texts, asking->count, sizeof *asking->texts, compare_places);
    return true;
}

/* A run may have recorded a text again, so any of them will do. NULL: it is not in the log. */
static const TfyLogRecord *text_record(const Asking *asking, uint64_t digest)
{
    const size_t at = LOWER_BOUND(asking->texts, asking->count, digest, digest);
    return at < asking->count && asking->texts[at].digest == digest
               ? &asking->history->records[asking->texts[at].record]
               : NULL;
}

/* The whole text: the ends of those that it starts like, put together from the last one backwards. */
static json_t *whole_text(const Asking *asking, uint64_t digest)
{
    char *bytes = NULL;
    size_t size = 0, from = 0; /* bytes from `from` on are known */
    json_t *made = NULL;
    for (size_t left = asking->count + 1; left; left--) { /* no chain is longer */
        const TfyLogRecord *record = text_record(asking, digest);
        TfyPayload payload;
        if (!record) break;
        tfy__payload_open(&payload, record);
        const json_t *text = tfy__payload_get(&payload, TFY_P_TEXT);
        const int64_t told = tfy__payload_int(&payload, TFY_P_AT);
        const size_t len = json_string_length(text), at = told > 0 ? (size_t)told : 0;
        bool fine = text && at < (size_t)1 << 40 && len < (size_t)1 << 40;
        if (fine && !bytes) {
            size = from = at + len;
            fine = (bytes = malloc(size + 1)) != NULL;
        }
        fine = fine && at + len >= from; /* else there is a hole */
        if (fine && at < from) memcpy(bytes + at, json_string_value(text), from - at);
        if (fine && at < from) from = at;
        digest = tfy__payload_hex(&payload, TFY_P_OF);
        tfy__payload_close(&payload);
        if (!fine || !from) break;
    }
    if (bytes && !from) made = json_stringn(bytes, size);
    free(bytes);
    return made;
}

/* ---- askings ---- */

/* The newest LLMPlan before this one that the task made at the step; UINT32_MAX: it is gone. */
static uint32_t find_plan(const TfyHistory *history, uint32_t record, json_int_t step)
{
    const uint32_t task = history->record_tasks[record];
    while (record-- > 0) {
        const TfyLogRecord *one = &history->records[record];
        if (one->type == TFY_R_LLM_PLAN && history->record_tasks[record] == task && one->step == step) return record;
    }
    return UINT32_MAX;
}

/* False: no memory. */
static bool find_plans(Asking *asking, uint32_t record, bool *whole)
{
    const TfyHistory *history = asking->history;
    *whole = true;
    while (record != UINT32_MAX) {
        if (!GROW(asking->plans, asking->plan_room, asking->plan_count + 1, 16)) return false;
        asking->plans[asking->plan_count++] = record;
        const TfyLogRecord *plan = &history->records[record];
        if (!tfy__record_has(plan, TFY_P_AFTER)) return true;
        record = find_plan(history, record, tfy__record_int(plan, TFY_P_AFTER));
        if (record != UINT32_MAX && !tfy__record_has(&history->records[record], TFY_P_TEXTS)) break;
    }
    *whole = false;
    return true;
}

static bool add_message(const Asking *asking, const json_t *name, json_t *messages)
{
    json_t *role = json_array_get(name, 0), *digest = json_array_get(name, 1), *message = json_object();
    bool fine = json_array_append_new(messages, message) == 0;
    if (!json_is_string(role) || !json_is_string(digest)) return fine;
    fine = fine && json_object_set(message, "role", role) == 0 && json_object_set(message, "digest", digest) == 0;
    json_t *text = whole_text(asking, strtoull(json_string_value(digest), NULL, 16));
    if (text) fine = json_object_set_new(message, "text", text) == 0 && fine;
    return fine;
}

static bool add_messages(const Asking *asking, uint32_t plan, json_t *messages)
{
    TfyPayload payload;
    const json_t *name;
    size_t i;
    bool fine = true;
    tfy__payload_open(&payload, &asking->history->records[plan]);
    json_array_foreach(tfy__payload_get(&payload, TFY_P_TEXTS), i, name) fine =
        fine && add_message(asking, name, messages);
    tfy__payload_close(&payload);
    return fine;
}

json_t *tfy__asked_messages(const TfyHistory *history, uint32_t record, bool *whole)
{
    Asking asking = {.history = history};
    const TfyLogRecord *plan = &history->records[record];
    *whole = true;
    if (plan->type != TFY_R_LLM_PLAN || !tfy__record_has(plan, TFY_P_TEXTS)) return NULL;
    json_t *messages = json_array();
    bool fine = messages && find_plans(&asking, record, whole) && find_texts(&asking, record);
    while (fine && asking.plan_count) fine = add_messages(&asking, asking.plans[--asking.plan_count], messages);
    free(asking.texts);
    free(asking.plans);
    if (fine) return messages;
    json_decref(messages);
    return NULL;
}

/* ---- calls ---- */

static bool is_child(const char *path, const char *parent)
{
    const size_t len = strlen(parent);
    return strncmp(path, parent, len) == 0 && path[len] == '.' && !strchr(path + len + 1, '.');
}

uint32_t tfy__asked_by(const TfyHistory *history, uint32_t record)
{
    size_t len;
    const char *call = tfy__record_raw(&history->records[record], TFY_P_CALL, &len);
    const uint32_t task = history->record_tasks[record];
    uint32_t of_parent = UINT32_MAX;
    for (uint32_t i = record; call && *call == '"' && i-- > 0;) {
        const TfyLogRecord *before = &history->records[i];
        if (before->type != TFY_R_LLM_PLAN || !tfy__record_has(before, TFY_P_CALLS)) continue;
        if (history->record_tasks[i] == task) return i;
        if (of_parent == UINT32_MAX && is_child(history->tasks[task].path, history->tasks[history->record_tasks[i]].path))
            of_parent = i;
    }
    return of_parent;
}
