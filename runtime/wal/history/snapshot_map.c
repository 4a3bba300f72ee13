/* snapshot_map.c: two walks over all values of a snapshot, and between them the numbers.
 *
 * A value that several places share is written at the first of them; the others hold its number. Numbers follow the
 * order of the text. Slots that move, and slots that the new program no longer needs, change that order. So the first
 * walk removes the shared values from the text. The second walk, in the order of the new program, puts each at its
 * first remaining place and numbers it again. */
#include "wal/history/snapshot_map.h"
#include "base/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfy_program.h"
#include "wal/history/compat_state.h"
#include "wal/rows/payload.h"

/* A value that several places refer to. */
typedef struct Shared {
    json_t *value;
    const char *type; /* of the place that held it */
    int64_t number;   /* the new one; -1: none yet */
} Shared;

typedef struct Mapper {
    const TfyCompat *compat;
    Comparison *both;
    Shared *shared; /* by old number */
    size_t count, room;
    int64_t given;        /* new numbers assigned so far */
    const Layout *layout; /* the program whose numbers the snapshot has now */
    const char *path;     /* of the task being walked */
    char *error_text;
    int code; /* 0: no error so far */
} Mapper;

static bool refuse(Mapper *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(Mapper *m, const char *format, ...)
{
    char text[TFY_ERROR_TEXT];
    va_list args;
    if (m->code) return false;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(m->error_text, TFY_ERROR_TEXT, "task %s %.450s", m->path, text);
    m->code = TFY_E_DIVERGED;
    return false;
}

static bool refuse_form(Mapper *m)
{
    return refuse(m, "is not in the snapshot in the form that its program writes");
}

static bool no_memory(Mapper *m)
{
    m->code = TFY_E_NOMEM;
    return false;
}

static const char *path_of(const json_t *task)
{
    const char *path = tfy__member_text(task, TFY_S_PATH);
    return path ? path : "";
}

/* ---- what the layouts know ---- */

static const json_t *routine_in(const Mapper *m, const json_t *json)
{
    return json_array_get(m->layout->workflows, (size_t)tfy__member_int(json, TFY_S_ROUTINE));
}

/* The index of a point; -1: it does not exist, or no task can be there. */
static int64_t point_in(const Mapper *m, const json_t *json)
{
    const int64_t number = tfy__member_int(json, TFY_S_POINT);
    return number > 0 && number <= m->layout->count && m->layout->live[number - 1] ? number - 1 : -1;
}

/* The name of a slot in a snapshot, as snapshot.c writes it. */
static void slot_key(const Slot *slots, uint32_t count, uint32_t at, char key[320])
{
    uint32_t same = 0;
    const char *name = slots[at].origin ? "" : slots[at].name;
    for (uint32_t i = 0; i < count; i++)
        same += slots[i].name && !slots[i].origin && strcmp(slots[i].name, slots[at].name) == 0;
    if (*name && same == 1)
        snprintf(key, 320, "%s", name);
    else
        snprintf(key, 320, "%.280s#%u", name, at);
}

/* The type of a channel's messages, from a point that sends them; "": not known. */
static const char *message_type(const Mapper *m, int64_t sender)
{
    const json_t *point = json_array_get(m->layout->points, (size_t)(sender - 1));
    return text_of(json_array_get(json_object_get(point, "args"), 0), "type");
}

/* ---- values ---- */

static bool keep_shared(Mapper *m, json_t *value, const char *type)
{
    if (!GROW(m->shared, m->room, m->count + 1, 64)) return no_memory(m);
    m->shared[m->count++] = (Shared){json_incref(value), type, -1};
    return true;
}

/* A value of type error may be any error; its text names the one it is. */
static bool check_error(Mapper *m, const json_t *value)
{
    const char *name = text_of(value, "error");
    if (tfy__compat_same_type(m->both, name, name)) return true;
    return refuse(m, "has met a %s, and that error was changed", name);
}

/* The first walk's replacement for a value: a shared value leaves only its number. */
static json_t *take_out(Mapper *m, json_t *site, const char *type)
{
    if (json_is_integer(site)) {
        const json_int_t number = json_integer_value(site);
        if (number < 0 || (size_t)number >= m->count) refuse_form(m);
        return json_incref(site);
    }
    json_t *value = json_array_get(site, 0);
    if (!value) refuse_form(m);
    if (value && strcmp(type, "error") == 0) check_error(m, value);
    if (m->code || json_array_size(site) < 2) return json_incref(site);
    return keep_shared(m, value, type) ? json_integer((json_int_t)m->count - 1) : NULL;
}

/* A T is written alike in a T and in a T?. Other types of the same object may be written differently. */
static bool written_alike(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    a_len -= a_len && a[a_len - 1] == '?';
    b_len -= b_len && b[b_len - 1] == '?';
    return a_len && a_len == b_len && strncmp(a, b, a_len) == 0;
}

static json_t *put_back(Mapper *m, json_t *site, const char *type)
{
    if (!json_is_integer(site)) return json_incref(site);
    Shared *shared = &m->shared[json_integer_value(site)];
    if (shared->number >= 0) return json_integer(shared->number);
    if (!written_alike(shared->type, type))
        refuse(m, "shares a value with a variable of another type that is no longer needed");
    shared->number = m->given++;
    return json_pack("[O,i]", shared->value, 1);
}

static json_t *visit(Mapper *m, json_t *site, const char *type)
{
    if (m->code) return NULL;
    if (!site && !refuse_form(m)) return NULL;
    json_t *now = m->layout == &m->both->old ? take_out(m, site, type) : put_back(m, site, type);
    if (!now && !m->code) no_memory(m);
    return now;
}

static bool visit_item(Mapper *m, json_t *list, size_t index, const char *type)
{
    json_t *now = visit(m, json_array_get(list, index), type);
    return now && (json_array_set_new(list, index, now) == 0 || no_memory(m)) && !m->code;
}

static bool visit_named(Mapper *m, json_t *object, const char *name, const char *type)
{
    json_t *now = visit(m, json_object_get(object, name), type);
    return now && (json_object_set_new(object, name, now) == 0 || no_memory(m)) && !m->code;
}

static bool visit_member(Mapper *m, json_t *object, TfyMember member, const char *type)
{
    return visit_named(m, object, tfy__member_name(member), type);
}

/* ---- a walk, in the order in which snapshot.c writes ---- */

static bool walk_params(Mapper *m, json_t *values, const json_t *routine)
{
    const json_t *params = json_object_get(routine, "params");
    if (json_array_size(values) != json_array_size(params)) return refuse_form(m);
    for (size_t i = 0; i < json_array_size(values); i++)
        if (!visit_item(m, values, i, text_of(json_array_get(params, i), "type"))) return false;
    return true;
}

static bool walk_frame(Mapper *m, json_t *frame)
{
    json_t *params = tfy__member_get(frame, TFY_S_PARAMS), *slots = tfy__member_get(frame, TFY_S_SLOTS);
    const int64_t at = point_in(m, frame);
    char key[320];
    if (params && !walk_params(m, params, routine_in(m, frame))) return false;
    if (slots && at < 0) return refuse_form(m);
    for (uint32_t i = 0; slots && i < m->layout->slot_counts[at]; i++) {
        const Slot *live = m->layout->live[at];
        if (!live[i].name) continue;
        slot_key(live, m->layout->slot_counts[at], i, key);
        if (!visit_named(m, slots, key, live[i].type)) return false;
    }
    return true;
}

static bool walk_channels(Mapper *m, json_t *channels)
{
    json_t *channel, *message;
    size_t i, j;
    json_array_foreach(channels, i, channel)
    {
        const char *type = message_type(m, tfy__member_int(channel, TFY_S_SENDER));
        json_array_foreach(tfy__member_get(channel, TFY_S_MESSAGES), j, message)
        {
            if (!*type) return refuse_form(m);
            if (!visit_member(m, message, TFY_S_VALUE, type)) return false;
        }
    }
    return true;
}

/* The type of the answer that the top frame has received. */
static const char *answer_type(const Mapper *m, const json_t *task)
{
    const json_t *frames = tfy__member_get(task, TFY_S_FRAMES);
    const json_t *top = json_array_get(frames, json_array_size(frames) - 1);
    if (tfy__member_flag(task, TFY_S_RETURNING)) return text_of(routine_in(m, top), "result");
    return text_of(json_array_get(m->layout->points, (size_t)point_in(m, top)), "result");
}

static bool walk_step(Mapper *m, const json_t *task)
{
    const json_t *frames = tfy__member_get(task, TFY_S_FRAMES);
    const int64_t at = point_in(m, json_array_get(frames, json_array_size(frames) - 1));
    const json_t *args = json_object_get(json_array_get(m->layout->points, (size_t)at), "args");
    json_t *values = tfy__member_get(tfy__member_get(task, TFY_S_PENDING), TFY_S_ARGS);
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *type =
            json_array_size(args) == json_array_size(values) ? text_of(json_array_get(args, i), "type") : "";
        if (!visit_item(m, values, i, type)) return false;
    }
    return true;
}

static bool walk_live(Mapper *m, json_t *task)
{
    json_t *one;
    size_t i;
    m->path = path_of(task);
    json_array_foreach(tfy__member_get(task, TFY_S_FRAMES), i, one) if (!walk_frame(m, one)) return false;
    json_array_foreach(tfy__member_get(task, TFY_S_UNDOS), i, one)
    {
        if (!walk_params(m, tfy__member_get(one, TFY_S_ARGS), routine_in(m, one))) return false;
    }
    json_array_foreach(tfy__member_get(task, TFY_S_UNWINDING), i, one)
    {
        if (!visit_member(m, one, TFY_S_ERROR, "error")) return false;
    }
    if (tfy__member_get(task, TFY_S_ANSWER) && !visit_member(m, task, TFY_S_ANSWER, answer_type(m, task))) return false;
    if (tfy__member_get(task, TFY_S_ERROR) && !visit_member(m, task, TFY_S_ERROR, "error")) return false;
    return walk_step(m, task) && walk_channels(m, tfy__member_get(task, TFY_S_CHANNELS));
}

static bool walk_ended(Mapper *m, json_t *task)
{
    m->path = path_of(task);
    const char *result = text_of(routine_in(m, task), "result");
    if (tfy__member_get(task, TFY_S_VALUE) && !visit_member(m, task, TFY_S_VALUE, result)) return false;
    if (tfy__member_get(task, TFY_S_FAILURE) && !visit_member(m, task, TFY_S_FAILURE, "error")) return false;
    return walk_channels(m, tfy__member_get(task, TFY_S_CHANNELS));
}

static bool each(Mapper *m, json_t *snapshot, TfyMember list, bool (*visit_task)(Mapper *m, json_t *task))
{
    json_t *task;
    size_t i;
    json_array_foreach(tfy__member_get(snapshot, list), i, task) if (!visit_task(m, task)) return false;
    return true;
}

static bool walk(Mapper *m, json_t *snapshot, const Layout *layout)
{
    m->layout = layout;
    return each(m, snapshot, TFY_S_TASKS, walk_live) && each(m, snapshot, TFY_S_ENDED, walk_ended);
}

/* ---- numbers ---- */

static bool set_number(Mapper *m, json_t *json, TfyMember member, uint32_t number)
{
    return tfy__member_set(json, member, json_integer(number)) || no_memory(m);
}

static bool map_routine(Mapper *m, json_t *json)
{
    const json_t *index = tfy__member_get(json, TFY_S_ROUTINE);
    if (!json_is_integer(index) || !routine_in(m, json)) return refuse_form(m);
    const TfyCompatRoutine *routine = &m->compat->routines[json_integer_value(index)];
    if (routine->reason) return refuse(m, "cannot continue: %s", routine->reason);
    return set_number(m, json, TFY_S_ROUTINE, routine->new_index);
}

/* standing: a frame continues there; else a step to undo, or an error, came from there. */
static bool map_point(Mapper *m, json_t *json, bool standing)
{
    if (!tfy__member_int(json, TFY_S_POINT)) return true;
    const int64_t at = point_in(m, json);
    if (at < 0) return refuse_form(m);
    const TfyCompatPoint *point = &m->compat->points[at];
    const char *reason = point->unsure;
    if (!point->new_number || (standing && point->verdict == TFY_REFUSED)) reason = point->reason;
    if (!reason && standing) reason = point->mixed;
    if (!reason) return set_number(m, json, TFY_S_POINT, point->new_number);
    return refuse(m, "%s %.100s (line %.60s of the program it has), where it cannot continue: %.200s",
                  standing ? "is at" : "has a step to undo at", point->id, point->place, reason);
}

static int64_t find_param(const json_t *params, const char *name)
{
    int64_t found = -1;
    for (size_t i = 0; i < json_array_size(params); i++) {
        if (strcmp(text_of(json_array_get(params, i), "name"), name) != 0) continue;
        if (found >= 0) return -1; /* ambiguous */
        found = (int64_t)i;
    }
    return found;
}

/* Arguments in the order of the new program's parameters. */
static bool map_args(Mapper *m, json_t *json, TfyMember member, const json_t *old_routine, const json_t *new_routine)
{
    const json_t *values = tfy__member_get(json, member), *old = json_object_get(old_routine, "params"),
                 *new = json_object_get(new_routine, "params"), *param;
    const bool alike = json_equal(old, new);
    json_t *mapped = json_array();
    size_t i;
    json_array_foreach(new, i, param)
    {
        const char *name = text_of(param, "name");
        const int64_t from = alike ? (int64_t)i : find_param(old, name);
        if (from < 0 || (!alike && find_param(new, name) < 0))
            refuse(m, "has no value for %s, which %s needs now", name, text_of(new_routine, "name"));
        else if (!tfy__compat_same_type(m->both, text_of(json_array_get(old, (size_t)from), "type"),
                                        text_of(param, "type")))
            refuse(m, "has %s for %s, and its type was changed", name, text_of(new_routine, "name"));
        else if (json_array_append(mapped, json_array_get(values, (size_t)from)) != 0)
            no_memory(m);
    }
    if (!tfy__member_set(json, member, mapped)) no_memory(m);
    return !m->code;
}

static bool map_slots(Mapper *m, json_t *frame, int64_t from, uint32_t to)
{
    const json_t *values = tfy__member_get(frame, TFY_S_SLOTS);
    const Slot *old = m->both->old.live[from], *new = m->both->new.live[to];
    const uint32_t old_count = m->both->old.slot_counts[from], new_count = m->both->new.slot_counts[to];
    json_t *mapped = json_object();
    char key[320];
    for (uint32_t i = 0; i < new_count; i++) {
        if (!new[i].name) continue;
        const int64_t at = tfy__compat_find_slot(old, old_count, new, new_count, i, true);
        if (at < 0) {
            refuse_form(m);
            break;
        }
        slot_key(old, old_count, (uint32_t)at, key);
        json_t *value = json_object_get(values, key);
        slot_key(new, new_count, i, key);
        if (json_object_set(mapped, key, value) != 0) no_memory(m);
    }
    if (!tfy__member_set(frame, TFY_S_SLOTS, mapped)) no_memory(m);
    return !m->code;
}

static bool map_frame(Mapper *m, json_t *frame)
{
    const json_t *routine = routine_in(m, frame);
    const int64_t from = point_in(m, frame);
    if (!map_routine(m, frame) || !map_point(m, frame, true)) return false;
    const json_t *other = json_array_get(m->both->new.workflows, (size_t)tfy__member_int(frame, TFY_S_ROUTINE));
    if (tfy__member_get(frame, TFY_S_PARAMS) && !map_args(m, frame, TFY_S_PARAMS, routine, other)) return false;
    return !tfy__member_get(frame, TFY_S_SLOTS) ||
           map_slots(m, frame, from, (uint32_t)tfy__member_int(frame, TFY_S_POINT) - 1);
}

static bool map_undo(Mapper *m, json_t *undo)
{
    const json_t *routine = routine_in(m, undo);
    if (!map_point(m, undo, false) || !map_routine(m, undo)) return false;
    const json_t *other = json_array_get(m->both->new.workflows, (size_t)tfy__member_int(undo, TFY_S_ROUTINE));
    return map_args(m, undo, TFY_S_ARGS, routine, other);
}

static bool map_channels(Mapper *m, json_t *channels)
{
    json_t *channel;
    size_t i;
    json_array_foreach(channels, i, channel)
    {
        uint32_t sender = 0;
        if (!tfy__member_int(channel, TFY_S_SENDER)) continue;
        const char *type = message_type(m, tfy__member_int(channel, TFY_S_SENDER));
        for (uint32_t n = 0; n < m->both->new.count && !sender; n++) {
            const json_t *point = json_array_get(m->both->new.points, n);
            const char *other = text_of(json_array_get(json_object_get(point, "args"), 0), "type");
            if (strcmp(text_of(point, "callee"), "send") == 0 && tfy__compat_same_type(m->both, type, other))
                sender = n + 1;
        }
        if (!sender) return refuse(m, "has messages in a %s, and the new program sends none of that type", type);
        if (!set_number(m, channel, TFY_S_SENDER, sender)) return false;
    }
    return true;
}

static bool map_live(Mapper *m, json_t *task)
{
    json_t *one;
    size_t i;
    m->path = path_of(task);
    if (!map_routine(m, task)) return false;
    json_array_foreach(tfy__member_get(task, TFY_S_FRAMES), i, one) if (!map_frame(m, one)) return false;
    json_array_foreach(tfy__member_get(task, TFY_S_UNDOS), i, one) if (!map_undo(m, one)) return false;
    json_array_foreach(tfy__member_get(task, TFY_S_UNWINDING), i, one) if (!map_point(m, one, false)) return false;
    return map_channels(m, tfy__member_get(task, TFY_S_CHANNELS));
}

static bool map_ended(Mapper *m, json_t *task)
{
    m->path = path_of(task);
    return map_routine(m, task) && map_channels(m, tfy__member_get(task, TFY_S_CHANNELS));
}

static bool map_numbers(Mapper *m, json_t *snapshot)
{
    return each(m, snapshot, TFY_S_TASKS, map_live) && each(m, snapshot, TFY_S_ENDED, map_ended);
}

/* ---- the whole ---- */

int tfy__snapshot_map(const TfyCompat *compat, const json_t *snapshot, json_t **mapped, char *error_text)
{
    Comparison *both = compat->both;
    Mapper m = {.compat = compat, .both = both, .path = "?", .error_text = error_text};
    json_t *copy = json_deep_copy(snapshot);
    bool ok = copy || no_memory(&m);
    *mapped = NULL;
    ok = ok && walk(&m, copy, &both->old) && map_numbers(&m, copy) && walk(&m, copy, &both->new);
    for (size_t i = 0; i < m.count; i++) json_decref(m.shared[i].value);
    free(m.shared);
    if (m.code == TFY_E_NOMEM) snprintf(error_text, TFY_ERROR_TEXT, "no memory to read the snapshot");
    if (ok)
        *mapped = copy;
    else
        json_decref(copy);
    return m.code;
}
