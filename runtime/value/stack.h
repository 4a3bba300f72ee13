/* stack.h: the explicit stack of the walkers (compare, encode). Values can be nested a million deep, the C stack
 * cannot; the first levels lie in the walker's own frame, so that ordinary values cost no allocation. */
#ifndef TFY_VALUE_STACK_H
#define TFY_VALUE_STACK_H

#include "base/grow.h"
#include "tfy.h"

#include <stdlib.h>
#include <string.h>

#define TFY__STACK_INLINE 32

/* A container on the way, and how far it has been walked. */
typedef struct TfyLevel {
    const TfyType *type; /* list, map, record, error; or the enum whose case is in the object */
    const TfyObj *a;     /* the container */
    const TfyObj *b;     /* compare: its counterpart */
    uint32_t next;       /* the child to visit next */
    uint32_t count;      /* children in all */
} TfyLevel;

typedef struct TfyStack {
    TfyLevel first[TFY__STACK_INLINE]; /* the levels while they fit */
    TfyLevel *levels;                  /* first, or allocated */
    size_t len;                        /* levels in use */
    size_t cap;                        /* levels there is room for */
} TfyStack;

static inline void tfy__stack_init(TfyStack *stack)
{
    stack->levels = stack->first;
    stack->len = 0;
    stack->cap = TFY__STACK_INLINE;
}

static inline void tfy__stack_deinit(TfyStack *stack)
{
    if (stack->levels != stack->first) free(stack->levels);
}

/* False when memory ran out. */
static inline bool tfy__stack_push(TfyStack *stack, TfyLevel level)
{
    if (stack->len == stack->cap) {
        bool inside = stack->levels == stack->first;
        const size_t cap = tfy__grow_cap(stack->cap, stack->cap + 1, 1, sizeof(TfyLevel));
        TfyLevel *levels = inside ? NULL : stack->levels;
        if (!cap || !RESIZE(levels, cap)) return false;
        if (inside) memcpy(levels, stack->first, sizeof stack->first);
        stack->levels = levels;
        stack->cap = cap;
    }
    stack->levels[stack->len++] = level;
    return true;
}

/* The fields of a record, an error, or an enum's present case; and their number. */
static inline const TfyField *tfy__fields_of(const TfyType *type, const TfyObj *object, uint32_t *count)
{
    if (type->kind == TFY_ENUM) {
        *count = type->cases[object->aux].field_count;
        return type->cases[object->aux].fields;
    }
    *count = type->field_count;
    return type->fields;
}

#endif
