/* stack.h: the explicit stack of the walkers (compare, encode). Values can be nested a million levels deep, which the
 * C stack cannot hold. The first levels are in the walker's own frame, so ordinary values need no allocation. */
#ifndef TFY_VALUE_STACK_H
#define TFY_VALUE_STACK_H

#include "base/check.h"
#include "base/grow.h"
#include "tfy.h"

#include <stdlib.h>
#include <string.h>

#define TFY__STACK_INLINE 32

/* A container that is being walked, and the position in it. */
typedef struct TfyLevel {
    const TfyType *type; /* list, map, record, error; or the enum whose case is in the object */
    const TfyObj *a;     /* the container */
    const TfyObj *b;     /* compare: its counterpart in the other value */
    uint32_t next;       /* the child to visit next */
    uint32_t count;      /* number of children */
} TfyLevel;

typedef struct TfyStack {
    TfyLevel first[TFY__STACK_INLINE]; /* used until it is full */
    TfyLevel *levels;                  /* first, or allocated memory */
    size_t len;                        /* levels in use */
    size_t cap;                        /* levels that fit */
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

/* False: out of memory. */
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
    CHECK(stack->len < stack->cap);
    stack->levels[stack->len++] = level;
    return true;
}

/* The fields of a record, an error, or the case that an enum holds; and their count. */
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
