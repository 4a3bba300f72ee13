/* compat_state.h: two parsed layouts, shared by compat.c (points, for runs with a history to replay), compat_frame.c
 * (what a frame alone proves) and snapshot_map.c (a snapshot in the terms of another program). */
#ifndef WAL_HISTORY_COMPAT_STATE_H
#define WAL_HISTORY_COMPAT_STATE_H

#include <jansson.h>

#include "wal/history/compat.h"

/* A slot that holds a value; name NULL: the slot is empty. */
typedef struct Slot {
    const char *name, *type; /* in a compiler-made slot, name says what it is for */
    const char *origin;      /* … and this, which statement needs it; NULL: it is a variable */
    int64_t order;           /* position among the workflow's variables */
} Slot;

/* A parsed layout. */
typedef struct Layout {
    json_t *json;
    json_t *points;    /* array; borrowed */
    json_t *workflows; /* array, in the order of the program's routines; borrowed */
    json_t *types;     /* object: by name */
    json_t *by_id;     /* object: id → index into points; of points that share an id, the last */
    json_t *by_name;   /* object: name → index into workflows, likewise */
    json_t *twice;     /* object: names that several workflows share */
    Slot **live;       /* per point: slot_counts[i] slots; NULL: a mark */
    uint32_t *slot_counts;
    uint32_t count;
} Layout;

typedef struct Comparison {
    Layout old, new;
    json_t *same_types; /* object: name → whether it means the same in both programs */
} Comparison;

static inline const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

static inline int64_t number_of(const json_t *json, const char *name)
{
    return json_integer_value(json_object_get(json, name));
}

/* Whether a type has the same text, and every name in it the same meaning. */
bool tfy__compat_same_type(Comparison *comparison, const char *old, const char *new);
/* Whether both have the same names in the same order, each of the same type: fields of a type, arguments of a
 * call. */
bool tfy__compat_same_fields(Comparison *comparison, const json_t *old, const json_t *new);

/* The slot that holds the same variable as slots_of_wanted[at]: it has the same name, and equally many of that name
 * come before it; with `exact`, a compiler-made one also belongs to the same statement. -1: none. */
int64_t tfy__compat_find_slot(const Slot *slots, uint32_t count, const Slot *slots_of_wanted, uint32_t wanted_count,
                              uint32_t at, bool exact);
uint32_t tfy__compat_count_alike(const Slot *slots, uint32_t count, const Slot *wanted, bool exact);

/* Fills in what compat->points[…] and compat->routines[…] say about frames without a history. 0, or TFY_E_NOMEM. */
int tfy__compat_judge_frames(TfyCompat *compat);

#endif
