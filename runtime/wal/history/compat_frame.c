/* compat_frame.c: what a frame proves without its history: whether the point at which it is, and the variables in it,
 * are the same ones in another program. compat.h has the rules; without a proof the frame is refused. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfy_program.h"
#include "wal/history/compat_state.h"

/* False: out of memory. */
static bool say(char **reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool say(char **reason, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!*reason) *reason = strdup(text);
    return *reason != NULL;
}

/* ---- points ---- */

/* The points of one layout that read the same. */
typedef struct Readings {
    json_t *counts; /* object: workflow and hash → number of its points that read so */
    json_t *ids;    /* object: id → number of points that have it */
    /* Per point: how many of those that read the same come before it. */
    uint32_t *rank;
} Readings;

static const json_t *point_at(const Layout *layout, uint32_t index)
{
    return json_array_get(layout->points, index);
}

static void key_of(const json_t *point, char key[512])
{
    snprintf(key, 512, "%s %.400s", text_of(point, "asks"), text_of(point, "workflow"));
}

/* Returns the previous count. */
static int64_t count_one(json_t *counts, const char *key)
{
    const json_int_t before = json_integer_value(json_object_get(counts, key));
    json_object_set_new(counts, key, json_integer(before + 1));
    return before;
}

static bool read_readings(Readings *readings, const Layout *layout)
{
    *readings = (Readings){json_object(), json_object(), calloc(layout->count + 1, sizeof *readings->rank)};
    if (!readings->counts || !readings->ids || !readings->rank) return false;
    for (uint32_t i = 0; i < layout->count; i++) {
        const json_t *point = point_at(layout, i);
        char key[512];
        key_of(point, key);
        readings->rank[i] = (uint32_t)count_one(readings->counts, key);
        count_one(readings->ids, text_of(point, "id"));
    }
    return true;
}

static void free_readings(Readings *readings)
{
    json_decref(readings->counts);
    json_decref(readings->ids);
    free(readings->rank);
}

static int64_t count_reading(const Readings *readings, const json_t *point)
{
    char key[512];
    key_of(point, key);
    return json_integer_value(json_object_get(readings->counts, key));
}

/* A label of the program identifies a point by itself; ids that the compiler makes start with the workflow's name. */
static bool is_ordinal(const json_t *point)
{
    const char *workflow = text_of(point, "workflow"), *id = text_of(point, "id");
    const size_t len = strlen(workflow);
    return strncmp(id, workflow, len) == 0 && id[len] == '/';
}

static bool judge_place(Comparison *both, const Readings read[2], TfyCompatPoint *verdict, uint32_t index)
{
    const uint32_t other = verdict->new_number - 1;
    const json_t *old = point_at(&both->old, index), *new = point_at(&both->new, other);
    if (!*text_of(old, "asks") || strcmp(text_of(old, "workflow"), text_of(new, "workflow")) != 0)
        return say(&verdict->unsure, "nothing proves that it is the same place");
    if (number_of(read[0].ids, verdict->id) != 1 || number_of(read[1].ids, verdict->id) != 1)
        return say(&verdict->unsure, "several points have that name");
    if (strcmp(text_of(old, "asks"), text_of(new, "asks")) != 0)
        return say(&verdict->unsure, "the statement there, or one around it, was changed");
    if (strcmp(text_of(old, "class"), text_of(new, "class")) != 0 ||
        !tfy__compat_same_fields(both, json_object_get(old, "args"), json_object_get(new, "args")))
        return say(&verdict->unsure, "the arguments of %s, or its repeat class, were changed", text_of(old, "callee"));
    if (!is_ordinal(old)) return true;
    if (count_reading(&read[0], old) != count_reading(&read[1], new) || read[0].rank[index] != read[1].rank[other])
        return say(&verdict->unsure, "another statement of %s reads the same, so either could be the one",
                   text_of(old, "workflow"));
    return true;
}

/* Each value must provably belong to that variable. */
static bool judge_slots(const Comparison *both, TfyCompatPoint *verdict, uint32_t index)
{
    const uint32_t other = verdict->new_number - 1;
    const Slot *old = both->old.live[index], *new = both->new.live[other];
    const uint32_t old_count = both->old.slot_counts[index], new_count = both->new.slot_counts[other];
    for (uint32_t i = 0; new &&i < new_count; i++) {
        if (!new[i].name) continue;
        const uint32_t before = tfy__compat_count_alike(old, old_count, &new[i], true);
        if (before && before == tfy__compat_count_alike(new, new_count, &new[i], true)) continue;
        if (new[i].origin) return say(&verdict->mixed, "a statement around it that keeps a value there was changed");
        return say(&verdict->mixed, "%s names another number of variables than before", new[i].name);
    }
    return true;
}

/* ---- routines ---- */

static bool judge_routine(TfyCompat *compat, uint32_t index);

/* A body or an undo depends on its point, and on the workflow of that point. */
static bool judge_owner(TfyCompat *compat, TfyCompatRoutine *verdict, const char *old_id, const char *new_id)
{
    const json_t *index = json_object_get(compat->both->old.by_id, old_id);
    const TfyCompatPoint *point = index ? &compat->points[json_integer_value(index)] : NULL;
    if (!point || strcmp(old_id, new_id) != 0) return say(&verdict->reason, "it belongs to another statement now");
    if (!point->new_number) return say(&verdict->reason, "%s, and %s", old_id, point->reason);
    if (point->unsure) return say(&verdict->reason, "%s (line %s): %s", old_id, point->place, point->unsure);
    const char *workflow = text_of(point_at(&compat->both->old, (uint32_t)json_integer_value(index)), "workflow");
    const char *name = text_of(json_array_get(compat->both->old.workflows, verdict - compat->routines), "name");
    const json_t *outer = json_object_get(compat->both->old.by_name, workflow);
    if (!outer || strlen(workflow) >= strlen(name) || strncmp(name, workflow, strlen(workflow)) != 0)
        return say(&verdict->reason, "it does not belong to a workflow");
    if (!judge_routine(compat, (uint32_t)json_integer_value(outer))) return false;
    const TfyCompatRoutine *around = &compat->routines[json_integer_value(outer)];
    return !around->reason || say(&verdict->reason, "%s", around->reason);
}

/* Names of bodies and undos start with the name of the enclosing routine, so the recursion ends. */
static bool judge_routine(TfyCompat *compat, uint32_t index)
{
    Comparison *both = compat->both;
    TfyCompatRoutine *verdict = &compat->routines[index];
    const json_t *old = json_array_get(both->old.workflows, index);
    const char *name = text_of(old, "name"), *of = text_of(old, "of");
    const json_t *found = json_object_get(both->new.by_name, name);
    verdict->inner = *of;
    if (verdict->reason) return true;
    if (!found) return say(&verdict->reason, "the new program has no %s", name);
    verdict->new_index = (uint32_t)json_integer_value(found);
    const json_t *new = json_array_get(both->new.workflows, verdict->new_index);
    if (json_object_get(both->old.twice, name) || json_object_get(both->new.twice, name))
        return say(&verdict->reason, "several parts of the program are called %s", name);
    if (!tfy__compat_same_type(both, text_of(old, "result"), text_of(new, "result")))
        return say(&verdict->reason, "the result of %s was %s, and is %s or another type of that name", name,
                   text_of(old, "result"), text_of(new, "result"));
    if (!*of && !*text_of(new, "of")) return true;
    return judge_owner(compat, verdict, of, text_of(new, "of"));
}

static bool judge_points(TfyCompat *compat)
{
    Comparison *both = compat->both;
    Readings read[2] = {{0}};
    bool ok = read_readings(&read[0], &both->old) && read_readings(&read[1], &both->new);
    for (uint32_t i = 0; ok && i < compat->count; i++) {
        TfyCompatPoint *point = &compat->points[i];
        if (point->new_number) ok = judge_place(both, read, point, i);
        if (ok && point->verdict != TFY_REFUSED && both->old.live[i]) ok = judge_slots(both, point, i);
    }
    free_readings(&read[0]);
    free_readings(&read[1]);
    return ok;
}

int tfy__compat_judge_frames(TfyCompat *compat)
{
    bool ok = judge_points(compat);
    compat->routine_count = (uint32_t)json_array_size(compat->both->old.workflows);
    compat->routines = calloc(compat->routine_count + 1, sizeof *compat->routines);
    for (uint32_t i = 0; ok && compat->routines && i < compat->routine_count; i++) ok = judge_routine(compat, i);
    return ok && compat->routines ? 0 : TFY_E_NOMEM;
}
