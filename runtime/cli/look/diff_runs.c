/* diff_runs.c: pairs the records of two runs and compares them. */
#include "base/grow.h"
#include "cli/look/diff.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cli/look/align.h"
#include "base/buffer.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

/* ---- members that do not count ---- */

/* Does a text start with this form? x: a hexadecimal digit, 0: a digit; any other character matches itself. */
static bool has_form(const char *text, const char *form)
{
    for (; *form; text++, form++) {
        const unsigned char c = (unsigned char)*text;
        if (*form == 'x' ? !isxdigit(c) : *form == '0' ? !isdigit(c) : c != (unsigned char)*form) return false;
    }
    return true;
}

#define UUID_FORM "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
#define TIME_FORM "0000-00-00T00:00:00"

/* Replaces uuids and times within a text. */
static json_t *normal_text(const char *text, size_t len)
{
    TfyBuffer out = {0};
    const char *const end = text + len;
    for (const char *at = text; at < end;) {
        if (has_form(at, UUID_FORM)) {
            tfy__buffer_text(&out, "UUID");
            at += sizeof UUID_FORM - 1;
        } else if (has_form(at, TIME_FORM)) {
            tfy__buffer_text(&out, "TIME");
            at += sizeof TIME_FORM - 1;
            if (*at == '.') at += 1 + strspn(at + 1, "0123456789");
            if (*at == 'Z') at++;
        } else {
            tfy__buffer_char(&out, *at++);
        }
    }
    json_t *json = out.failed ? NULL : json_stringn(out.data ? out.data : "", out.len);
    tfy__buffer_free(&out);
    return json;
}

/* Returns a copy with fixed words for uuids and times. */
static json_t *normal_value(const json_t *value)
{
    const char *name;
    json_t *part, *copy;
    size_t i;
    if (json_is_string(value)) return normal_text(json_string_value(value), json_string_length(value));
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach(value, i, part) json_array_append_new(copy, normal_value(part));
        return copy;
    }
    if (json_is_object(value)) {
        copy = json_object();
        json_object_foreach((json_t *)value, name, part) json_object_set_new(copy, name, normal_value(part));
        return copy;
    }
    return json_incref((json_t *)value);
}

static bool is_member(const char *name, TfyMember member)
{
    return strcmp(name, tfy__member_name(member)) == 0;
}

static bool is_one_of(const char *name, const TfyMember *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_member(name, members[i])) return true;
    return false;
}

/* Members that differ between any two runs. */
static bool is_passing(const char *name)
{
    static const TfyMember passing[] = {TFY_P_RUN,  TFY_P_TID,      TFY_P_SEED,     TFY_P_DUE, TFY_P_NOW,
                                        TFY_P_MS,   TFY_P_PASSAGES, TFY_P_IN_SLICE, TFY_P_BY,  TFY_P_ID,
                                        TFY_P_LINE, TFY_P_FORK_OF,  TFY_P_ROOT};
    return is_one_of(name, passing, sizeof passing / sizeof *passing);
}

json_t *tfy__diff_normal(const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    json_t *value, *copy = json_object();
    const char *name;
    json_object_foreach(payload.json, name, value)
    {
        const bool key =
            is_member(name, TFY_P_KEY) && json_is_string(value) && has_form(json_string_value(value), UUID_FORM);
        if (is_passing(name) || key) continue;
        json_t *normal = normal_value(value);
        if (is_member(name, TFY_P_ERROR)) tfy__error_forget_line(normal);
        json_object_set_new(copy, name, normal);
    }
    tfy__payload_close(&payload);
    return copy;
}

/* ---- comparing two ---- */

static const char *kind_of(const char *member)
{
    static const TfyMember results[] = {
        TFY_P_VALUE,        TFY_P_ANSWER, TFY_P_OK,   TFY_P_HOW,   TFY_P_SEQ,           TFY_P_CLOSED,
        TFY_P_INDEX,        TFY_P_PATH,   TFY_P_FULL, TFY_P_MODEL, TFY_P_PROMPT_TOKENS, TFY_P_COMPLETION_TOKENS,
        TFY_P_FINISH_REASON};
    if (is_member(member, TFY_P_ERROR) || is_member(member, TFY_P_CANCELLED)) return "error";
    return is_one_of(member, results, sizeof results / sizeof *results) ? "result" : "argument";
}

static void note_change(json_t *changes, const char *member, json_t *a, json_t *b)
{
    json_t *change = json_pack("{s:s, s:s}", "what", kind_of(member), "member", member);
    if (a) json_object_set(change, "a", a);
    if (b) json_object_set(change, "b", b);
    json_array_append_new(changes, change);
}

/* Returns NULL if they are the same. */
static json_t *compare(const TfyDiff *diff, const TfyLogRecord *x, const TfyLogRecord *y)
{
    if (x->payload_len == y->payload_len && memcmp(x->payload, y->payload, x->payload_len) == 0) return NULL;
    json_t *a = tfy__diff_normal(x), *b = tfy__diff_normal(y), *value, *changes = json_array();
    const char *name;
    json_object_foreach(a, name, value)
    {
        json_t *other = json_object_get(b, name);
        if (!json_equal(value, other)) note_change(changes, name, value, other);
    }
    json_object_foreach(b, name, value)
    {
        if (!json_object_get(a, name)) note_change(changes, name, NULL, value);
    }
    json_decref(a);
    json_decref(b);
    if (json_array_size(changes)) return changes;
    json_decref(changes);
    return NULL;
}

/* ---- pairing ---- */

/* The records of one task, in order, and the keys by which they are paired. */
typedef struct Strand {
    uint32_t *records;
    uint64_t *keys;
    uint32_t count;
} Strand;

static uint64_t key_of(const TfyDiffSide *side, const TfyLogRecord *record)
{
    const char *point = tfy__source_point(&side->map, record->point);
    return XXH3_64bits_withSeed(point ? point : "", point ? strlen(point) : 0, record->type);
}

/* Returns each task's edges on its own side and on the other one. NULL: out of memory, or there are none. */
static TfyDiffEdge *edges_of(const TfyDiffSide *side, const TfyDiffSide *other)
{
    const TfyHistory *history = side->history;
    TfyDiffEdge *edges = calloc(2 * (size_t)history->task_count + 1, sizeof *edges);
    for (uint32_t i = 0; edges && i < history->task_count; i++) {
        edges[2 * i] = tfy__diff_edge(&side->edges, history->tasks[i].path);
        edges[2 * i + 1] = tfy__diff_edge(&other->edges, history->tasks[i].path);
    }
    return edges;
}

/* Chooses the records to compare and counts the others of each task. NULL: out of memory. */
static bool *choose(TfyDiffSide *side, const TfyDiffSide *other)
{
    const TfyHistory *history = side->history;
    bool *chosen = calloc(history->record_count + 1, sizeof *chosen);
    TfyDiffEdge *edges = chosen ? edges_of(side, other) : NULL;
    for (uint32_t i = 0; edges && i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        const TfyDiffEdge *own = &edges[2 * (size_t)history->record_tasks[i]];
        if (tfy__record_is_nobodys(record)) continue;
        chosen[i] = tfy__diff_beyond(own, record) && tfy__diff_beyond(own + 1, record);
        side->left_out += !chosen[i];
    }
    if (!edges) {
        free(chosen);
        return NULL;
    }
    free(edges);
    return chosen;
}

/* Builds the strands of all tasks of a side in one pass over the records. NULL: out of memory. */
static Strand *strands_of(TfyDiffSide *side, const TfyDiffSide *other)
{
    const TfyHistory *history = side->history;
    bool *chosen = choose(side, other);
    Strand *strands = chosen ? calloc(history->task_count + 1, sizeof *strands) : NULL;
    for (uint32_t i = 0; strands && i < history->record_count; i++)
        strands[history->record_tasks[i]].count += chosen[i];
    for (uint32_t i = 0; strands && i < history->task_count; i++) {
        strands[i].records = calloc(strands[i].count + 1, sizeof *strands[i].records);
        strands[i].keys = calloc(strands[i].count + 1, sizeof *strands[i].keys);
        if (!strands[i].records || !strands[i].keys) return NULL; /* the process then exits */
        strands[i].count = 0;
    }
    for (uint32_t i = 0; strands && i < history->record_count; i++) {
        Strand *strand = &strands[history->record_tasks[i]];
        if (!chosen[i]) continue;
        strand->records[strand->count] = i;
        strand->keys[strand->count++] = key_of(side, &history->records[i]);
    }
    free(chosen);
    return strands;
}

static void free_strands(Strand *strands, const TfyHistory *history)
{
    for (uint32_t i = 0; strands && i < history->task_count; i++) {
        free(strands[i].records);
        free(strands[i].keys);
    }
    free(strands);
}

static bool add_row(TfyDiff *diff, TfyDiffRow row)
{
    if (!GROW(diff->rows, diff->cap, diff->count + 1, 256)) return false;
    diff->rows[diff->count++] = row;
    diff->counts[row.how]++;
    return true;
}

/* A record that only b has follows the record of a after which it happened. */
static bool add_only_b(TfyDiff *diff, const char *path, const Strand *b, uint32_t from, uint32_t to, uint64_t order)
{
    bool ok = true;
    for (; ok && from < to; from++)
        ok = add_row(
            diff,
            (TfyDiffRow){.how = TFY_DIFF_ONLY_B, .a = ALIGN_NONE, .b = b->records[from], .path = path, .order = order});
    return ok;
}

static bool add_pair(TfyDiff *diff, const char *path, uint32_t a, uint32_t b)
{
    TfyDiffRow row = {.how = TFY_DIFF_ONLY_A, .a = a, .b = b, .path = path, .order = 2 * (uint64_t)a};
    if (b != ALIGN_NONE) {
        row.changed = compare(diff, &diff->a.history->records[a], &diff->b.history->records[b]);
        row.how = row.changed ? TFY_DIFF_CHANGED : TFY_DIFF_SAME;
    }
    return add_row(diff, row);
}

static bool pair_strands(TfyDiff *diff, const char *path, const Strand *a, const Strand *b)
{
    uint32_t *pair = calloc(a->count + 1, sizeof *pair), next = 0;
    uint64_t order = a->count ? 2 * (uint64_t)a->records[0] : UINT64_MAX - 1;
    bool ok = pair && tfy__align(a->keys, a->count, b->keys, b->count, pair);
    for (uint32_t i = 0; ok && i < a->count; i++) {
        const bool paired = pair[i] != ALIGN_NONE;
        if (paired) ok = add_only_b(diff, path, b, next, pair[i], order);
        if (paired) next = pair[i] + 1;
        if (ok) ok = add_pair(diff, path, a->records[i], paired ? b->records[pair[i]] : ALIGN_NONE);
        order = 2 * (uint64_t)a->records[i] + 1;
    }
    ok = ok && add_only_b(diff, path, b, next, b->count, order);
    free(pair);
    return ok;
}

static uint32_t task_at(const TfyHistory *history, const char *path)
{
    for (uint32_t i = 0; i < history->task_count; i++)
        if (strcmp(history->tasks[i].path, path) == 0) return i;
    return ALIGN_NONE;
}

/* Both runs mostly have their tasks in the same order, so the counterparts of neighbours are mostly neighbours. */
static uint32_t counterpart(const TfyHistory *history, const char *path, uint32_t guess)
{
    if (guess < history->task_count && strcmp(history->tasks[guess].path, path) == 0) return guess;
    return task_at(history, path);
}

static bool pair_tasks(TfyDiff *diff, const Strand *a, const Strand *b)
{
    const TfyHistory *left = diff->a.history, *right = diff->b.history;
    const Strand none = {0};
    bool ok = true;
    for (uint32_t i = 0, guess = 0; ok && i < left->task_count; i++, guess++) {
        const uint32_t other = counterpart(right, left->tasks[i].path, guess);
        ok = pair_strands(diff, left->tasks[i].path, &a[i], other == ALIGN_NONE ? &none : &b[other]);
        if (other != ALIGN_NONE) guess = other;
    }
    for (uint32_t i = 0, guess = 0; ok && i < right->task_count; i++, guess++) {
        const uint32_t other = counterpart(left, right->tasks[i].path, guess);
        if (other == ALIGN_NONE) ok = pair_strands(diff, right->tasks[i].path, &none, &b[i]);
        if (other != ALIGN_NONE) guess = other;
    }
    return ok;
}

bool tfy__diff_runs(TfyDiff *diff, const TfyHistory *a, const TfyHistory *b)
{
    *diff = (TfyDiff){.a.history = a, .b.history = b};
    tfy__source_map(&diff->a.map, a);
    tfy__source_map(&diff->b.map, b);
    if (!tfy__diff_edges(&diff->a.edges, a) || !tfy__diff_edges(&diff->b.edges, b)) return false;
    Strand *left = strands_of(&diff->a, &diff->b), *right = strands_of(&diff->b, &diff->a);
    const bool ok = left && right && pair_tasks(diff, left, right);
    free_strands(left, a);
    free_strands(right, b);
    return ok;
}

void tfy__diff_free(TfyDiff *diff)
{
    for (size_t i = 0; i < diff->count; i++) json_decref(diff->rows[i].changed);
    free(diff->rows);
    tfy__source_map_free(&diff->a.map);
    tfy__source_map_free(&diff->b.map);
    tfy__diff_edges_free(&diff->a.edges);
    tfy__diff_edges_free(&diff->b.edges);
}

const TfyDiffRow *tfy__diff_first(const TfyDiff *diff)
{
    const TfyDiffRow *first = NULL;
    for (size_t i = 0; i < diff->count; i++) {
        const TfyDiffRow *row = &diff->rows[i];
        if (row->how != TFY_DIFF_SAME && (!first || row->order < first->order)) first = row;
    }
    return first;
}
