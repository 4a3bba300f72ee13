#include "wal/history/compat.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfy_program.h"
#include "wal/history/compat_state.h"

/* ---- reading a layout ---- */

static bool is_mark(const json_t *point)
{
    return strcmp(text_of(point, "kind"), "mark") == 0;
}

static uint32_t slots_of(const Layout *layout, const char *workflow)
{
    const json_t *index = json_object_get(layout->by_name, workflow);
    const json_t *one = index ? json_array_get(layout->workflows, (size_t)json_integer_value(index)) : NULL;
    const int64_t slots = number_of(one, "slots");
    return slots >= 0 && slots < 1 << 24 ? (uint32_t)slots : 0;
}

/* Applies "live" and "dead", the changes since the workflow's previous point. */
static void apply_changes(const json_t *point, Slot *slots, uint32_t count)
{
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(point, "dead"), i, one)
    {
        const json_int_t slot = json_integer_value(one);
        if (slot >= 0 && slot < count) slots[slot] = (Slot){0};
    }
    json_array_foreach(json_object_get(point, "live"), i, one)
    {
        const json_int_t slot = json_integer_value(json_array_get(one, 0));
        const char *name = json_string_value(json_array_get(one, 1)), *type = json_string_value(json_array_get(one, 2));
        if (slot >= 0 && slot < count && name && type)
            slots[slot] = (Slot){name, type, json_string_value(json_array_get(one, 4)),
                                 json_integer_value(json_array_get(one, 3))};
    }
}

static int read_live(Layout *layout)
{
    const char *workflow = NULL;
    Slot *now = NULL;
    uint32_t count = 0;
    int code = 0;
    for (uint32_t i = 0; i < layout->count && !code; i++) {
        const json_t *point = json_array_get(layout->points, i);
        if (!workflow || strcmp(workflow, text_of(point, "workflow")) != 0) {
            workflow = text_of(point, "workflow");
            count = slots_of(layout, workflow);
            free(now);
            now = calloc(count + 1, sizeof *now);
        }
        if (!now) break;
        if (is_mark(point)) continue;
        apply_changes(point, now, count);
        layout->live[i] = malloc((count + 1) * sizeof *now);
        layout->slot_counts[i] = count;
        if (layout->live[i])
            memcpy(layout->live[i], now, count * sizeof *now);
        else
            code = TFY_E_NOMEM;
    }
    if (!now && layout->count) code = TFY_E_NOMEM;
    free(now);
    return code;
}

static int read_layout(Layout *layout, const char *text)
{
    json_t *one;
    size_t i;
    layout->json = json_loads(text, 0, NULL);
    layout->points = json_object_get(layout->json, "points");
    if (!json_is_array(layout->points)) return TFY_E_DATA;
    layout->count = (uint32_t)json_array_size(layout->points);
    layout->workflows = json_object_get(layout->json, "workflows");
    layout->types = json_object();
    layout->by_id = json_object();
    layout->by_name = json_object();
    layout->twice = json_object();
    layout->live = calloc(layout->count + 1, sizeof *layout->live);
    layout->slot_counts = calloc(layout->count + 1, sizeof *layout->slot_counts);
    if (!layout->types || !layout->by_id || !layout->by_name || !layout->twice || !layout->live || !layout->slot_counts)
        return TFY_E_NOMEM;
    json_array_foreach(json_object_get(layout->json, "types"), i, one)
        json_object_set(layout->types, text_of(one, "name"), one);
    json_array_foreach(layout->points, i, one)
        json_object_set_new(layout->by_id, text_of(one, "id"), json_integer((json_int_t)i));
    json_array_foreach(layout->workflows, i, one)
    {
        const char *name = text_of(one, "name");
        if (json_object_get(layout->by_name, name)) json_object_set_new(layout->twice, name, json_true());
        json_object_set_new(layout->by_name, name, json_integer((json_int_t)i));
    }
    return read_live(layout);
}

static void free_layout(Layout *layout)
{
    for (uint32_t i = 0; layout->live && i < layout->count; i++) free(layout->live[i]);
    free(layout->live);
    free(layout->slot_counts);
    json_decref(layout->types);
    json_decref(layout->by_id);
    json_decref(layout->by_name);
    json_decref(layout->twice);
    json_decref(layout->json);
}

/* ---- types ---- */

bool tfy__compat_same_fields(Comparison *comparison, const json_t *old, const json_t *new)
{
    bool same = json_array_size(old) == json_array_size(new);
    for (size_t i = 0; same && i < json_array_size(old); i++) {
        const json_t *a = json_array_get(old, i), *b = json_array_get(new, i);
        same = strcmp(text_of(a, "name"), text_of(b, "name")) == 0 &&
               tfy__compat_same_type(comparison, text_of(a, "type"), text_of(b, "type"));
    }
    return same;
}

static bool same_cases(Comparison *comparison, const json_t *old, const json_t *new)
{
    bool same = json_array_size(old) == json_array_size(new);
    for (size_t i = 0; same && i < json_array_size(old); i++) {
        const json_t *a = json_array_get(old, i), *b = json_array_get(new, i);
        same = strcmp(text_of(a, "name"), text_of(b, "name")) == 0 &&
               tfy__compat_same_fields(comparison, json_object_get(a, "fields"), json_object_get(b, "fields"));
    }
    return same;
}

/* A declared type counts as the same while it is compared, because it may contain itself. If it turns out to differ,
 * types found to be the same meanwhile may depend on that assumption, and are forgotten. */
static bool same_declared(Comparison *comparison, const char *name)
{
    const json_t *known = json_object_get(comparison->same_types, name);
    const json_t *old = json_object_get(comparison->old.types, name),
                 *new = json_object_get(comparison->new.types, name);
    if (known) return json_is_true(known);
    if (!old && !new) return true; /* built in */
    if (!old || !new) return false;
    json_object_set_new(comparison->same_types, name, json_true());
    const bool same =
        strcmp(text_of(old, "kind"), text_of(new, "kind")) == 0 &&
        tfy__compat_same_fields(comparison, json_object_get(old, "fields"), json_object_get(new, "fields")) &&
        same_cases(comparison, json_object_get(old, "cases"), json_object_get(new, "cases"));
    if (!same) {
        json_object_clear(comparison->same_types);
        json_object_set_new(comparison->same_types, name, json_false());
    }
    return same;
}

bool tfy__compat_same_type(Comparison *comparison, const char *old, const char *new)
{
    char name[256];
    if (strcmp(old, new) != 0) return false;
    for (const char *at = old; *at;) {
        size_t len = 0;
        while (isalnum((unsigned char)at[len]) || at[len] == '_' || at[len] == '.') len++;
        if (len && len < sizeof name) {
            snprintf(name, sizeof name, "%.*s", (int)len, at);
            if (!same_declared(comparison, name)) return false;
        }
        at += len ? len : 1;
    }
    return true;
}

/* ---- points ---- */

static bool refuse(TfyCompatPoint *point, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(TfyCompatPoint *point, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    point->verdict = TFY_REFUSED;
    point->reason = strdup(text);
    return false;
}

static bool is_alike(const Slot *a, const Slot *b, bool exact)
{
    if (!a->name || !b->name || !a->origin != !b->origin || strcmp(a->name, b->name) != 0) return false;
    return !exact || !a->origin || strcmp(a->origin, b->origin) == 0;
}

uint32_t tfy__compat_count_alike(const Slot *slots, uint32_t count, const Slot *wanted, bool exact)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) found += is_alike(&slots[i], wanted, exact);
    return found;
}

/* Slots are reused as soon as they are free: their order means nothing. */
static uint32_t alike_before(const Slot *slots, uint32_t count, uint32_t at, bool exact)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += slots[i].order < slots[at].order && is_alike(&slots[i], &slots[at], exact);
    return found;
}

int64_t tfy__compat_find_slot(const Slot *slots, uint32_t count, const Slot *slots_of_wanted, uint32_t wanted_count,
                              uint32_t at, bool exact)
{
    const uint32_t before = alike_before(slots_of_wanted, wanted_count, at, exact);
    for (uint32_t i = 0; i < count; i++)
        if (is_alike(&slots[i], &slots_of_wanted[at], exact) && alike_before(slots, count, i, exact) == before)
            return i;
    return -1;
}

/* The old frame must hold every value that the new program needs at the point. */
static bool compare_live(Comparison *comparison, TfyCompatPoint *point, uint32_t old_index, uint32_t new_index)
{
    const Slot *old = comparison->old.live[old_index], *new = comparison->new.live[new_index];
    const uint32_t old_count = comparison->old.slot_counts[old_index],
                   new_count = comparison->new.slot_counts[new_index];
    uint32_t old_live = 0, new_live = 0;
    for (uint32_t i = 0; i < old_count; i++) old_live += old[i].name != NULL;
    for (uint32_t i = 0; i < new_count; i++) {
        if (!new[i].name) continue;
        const int64_t from = tfy__compat_find_slot(old, old_count, new, new_count, i, false);
        const char *what = new[i].origin ? "what the compiler keeps there" : new[i].name;
        if (from < 0) return refuse(point, "%s would have no value: it is new here", what);
        if (!tfy__compat_same_type(comparison, old[from].type, new[i].type)) {
            return strcmp(old[from].type, new[i].type) == 0
                       ? refuse(point, "%s is %s, and that type was changed", what, new[i].type)
                       : refuse(point, "%s was %s and is %s", what, old[from].type, new[i].type);
        }
        if (from != i) point->verdict = TFY_MAPPED;
        new_live++;
    }
    if (new_live != old_live) point->verdict = TFY_MAPPED;
    return true;
}

static bool compare_request(Comparison *comparison, TfyCompatPoint *point, const json_t *old, const json_t *new)
{
    const char *kinds[] = {text_of(old, "kind"), text_of(new, "kind")},
               *callees[] = {text_of(old, "callee"), text_of(new, "callee")},
               *results[] = {text_of(old, "result"), text_of(new, "result")};
    if (strcmp(kinds[0], kinds[1]) != 0)
        return refuse(point, "it was of kind %s and is of kind %s", kinds[0], kinds[1]);
    if (strcmp(callees[0], callees[1]) != 0)
        return refuse(point, "it requested %s and now requests %s", callees[0], callees[1]);
    if (!tfy__compat_same_type(comparison, results[0], results[1])) {
        return strcmp(results[0], results[1]) == 0
                   ? refuse(point, "its result is %s, and that type was changed", results[0])
                   : refuse(point, "its result was %s and is %s", results[0], results[1]);
    }
    return true;
}

static void compare_point(Comparison *comparison, TfyCompatPoint *point, uint32_t index)
{
    const json_t *old = json_array_get(comparison->old.points, index);
    const json_t *found = json_object_get(comparison->new.by_id, text_of(old, "id"));
    char line[24];
    snprintf(line, sizeof line, "%lld", (long long)number_of(old, "line"));
    *point = (TfyCompatPoint){.id = strdup(text_of(old, "id")),
                              .place = strdup(*text_of(old, "line") ? text_of(old, "line") : line),
                              .mark = is_mark(old),
                              .verdict = TFY_SAME};
    if (!found) {
        refuse(point, "the new program has no such point");
        return;
    }
    const uint32_t other = (uint32_t)json_integer_value(found);
    const json_t *new = json_array_get(comparison->new.points, other);
    point->new_number = other + 1;
    if (other != index) point->verdict = TFY_MAPPED;
    if (!compare_request(comparison, point, old, new)) return;
    if (comparison->old.live[index] && comparison->new.live[other]) compare_live(comparison, point, index, other);
}

static int compare_points(TfyCompat *compat)
{
    Comparison *both = compat->both;
    if (!(compat->points = calloc(both->old.count + 1, sizeof *compat->points))) return TFY_E_NOMEM;
    for (uint32_t i = 0; i < both->old.count; i++) {
        TfyCompatPoint *point = &compat->points[i];
        compare_point(both, point, i);
        compat->count++;
        if (!point->id || !point->place || (point->verdict == TFY_REFUSED && !point->reason)) return TFY_E_NOMEM;
    }
    return 0;
}

int tfy__compat_new(const char *old_layout, const char *new_layout, TfyCompat **result)
{
    TfyCompat *compat = calloc(1, sizeof *compat);
    Comparison *both = calloc(1, sizeof *both);
    *result = NULL;
    if (!compat || !both) {
        free(compat);
        free(both);
        return TFY_E_NOMEM;
    }
    compat->both = both;
    int code = (both->same_types = json_object()) ? 0 : TFY_E_NOMEM;
    if (!code) code = read_layout(&both->old, old_layout);
    if (!code) code = read_layout(&both->new, new_layout);
    if (!code) code = compare_points(compat);
    if (!code) code = tfy__compat_judge_frames(compat);
    if (!code)
        *result = compat;
    else
        tfy__compat_free(compat);
    return code;
}

void tfy__compat_free(TfyCompat *compat)
{
    if (!compat) return;
    for (uint32_t i = 0; i < compat->count; i++) {
        free(compat->points[i].id);
        free(compat->points[i].place);
        free(compat->points[i].reason);
        free(compat->points[i].unsure);
        free(compat->points[i].mixed);
    }
    for (uint32_t i = 0; i < compat->routine_count; i++) free(compat->routines[i].reason);
    free(compat->points);
    free(compat->routines);
    free_layout(&compat->both->old);
    free_layout(&compat->both->new);
    json_decref(compat->both->same_types);
    free(compat->both);
    free(compat);
}

uint32_t tfy__compat_number(const TfyCompat *compat, uint32_t number)
{
    if (!number) return 0;
    const uint32_t found = number <= compat->count ? compat->points[number - 1].new_number : 0;
    return found ? found : TFY_NO_POINT;
}

const TfyCompatRoutine *tfy__compat_routine(const TfyCompat *compat, const char *name)
{
    const json_t *index = json_object_get(compat->both->old.by_name, name);
    return index ? &compat->routines[json_integer_value(index)] : NULL;
}
