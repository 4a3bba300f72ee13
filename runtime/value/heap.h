/* heap.h: where objects come from, and how they go.
 *
 * One TfyHeap per loop. All its memory passes through one realloc-like function, so a test can make any allocation
 * fail and count what is left. Objects carry no size: it follows from their kind, hence freeing takes the size.
 * Reference counts only, no collector: values are immutable and cannot form cycles. */
#ifndef TFY_VALUE_HEAP_H
#define TFY_VALUE_HEAP_H

#include "tfy_program.h"

/* What fns may spend between two suspensions of a task, in loop turns, until the loop sets its own limit. */
#define TFY_FN_FUEL 100000000

typedef void *TfyAlloc(void *state, void *old, size_t old_size, size_t new_size);

/* alloc NULL: the C library's. Answers TFY_OK, or TFY_E_NOMEM. */
int tfy__heap_init(TfyHeap *heap, TfyAlloc *alloc, void *alloc_state);
/* Cuts the release stack and frees it. Objects that others still hold are leaks: heap->objects tells. */
void tfy__heap_deinit(TfyHeap *heap);

/* Raw memory, counted in in_use; NULL when there is none or the limit is reached (no panic is raised). */
void *tfy__alloc(TfyHeap *heap, size_t size);
void *tfy__realloc(TfyHeap *heap, void *old, size_t old_size, size_t new_size);
void tfy__free(TfyHeap *heap, void *block, size_t size);

/* An owned object with one reference and a zeroed body; NULL after an out-of-memory panic. size includes the head. */
TfyObj *tfy__new_object(TfyTask *task, const TfyType *type, size_t size);
/* Grows or shrinks an object that has one owner; the caller stores the new address. NULL after a panic: the old one is
 * untouched. */
TfyObj *tfy__resize_object(TfyTask *task, TfyObj *object, size_t old_size, size_t new_size);
size_t tfy__object_size(const TfyObj *object);

/* A stretch of a string's text that reads "secret:NAME" and stands for a value. */
typedef struct TfyStretch {
    uint32_t at, len; /* bytes */
} TfyStretch;
/* The stretches of a string, TfyString.secrets of them, in order. */
const TfyStretch *tfy__string_secrets(const TfyObj *object);

/* An owned string that stands for secrets at these places; NULL after a panic. One that lies outside the text is left
 * out. */
TfyObj *tfy__string_secret(TfyTask *task, const char *bytes, size_t len, uint32_t count, const TfyStretch *stretches);

/* Owned, unfinished objects for those who build them piece by piece (decoding); each may be dropped at any stage. */
TfyObj *tfy__string_new(TfyTask *task, const TfyType *type, const char *bytes,
                        size_t len);                                     /* string (made valid UTF-8), bytes, json */
TfyObj *tfy__list_new(TfyTask *task, const TfyType *type, uint32_t cap); /* len 0 */
TfyObj *tfy__map_new(TfyTask *task, const TfyType *type, uint32_t cap);  /* empty */
TfyObj *tfy__record_new(TfyTask *task, const TfyType *type);             /* record or error; fields zero */
TfyObj *tfy__enum_new(TfyTask *task, const TfyType *type, uint32_t case_index); /* a case with fields; fields zero */

/* Room for cap bytes; the caller fills them in and sets the lengths. NULL after a panic: too long, or no memory. */
TfyString *tfy__string_room(TfyTask *task, uint32_t line, uint64_t cap);
/* An owned piece of a valid string. tfy__count_points: its code points. */
TfyObj *tfy__string_piece(TfyTask *task, const char *bytes, uint32_t byte_len, uint32_t len);
uint32_t tfy__count_points(const char *bytes, uint32_t byte_len);
/* Adds a piece to a list of strings that has one owner; false after a panic. */
bool tfy__add_piece(TfyTask *task, TfyObj **list, const char *bytes, uint32_t byte_len);

/* The box type that optional scalars of this type live in. */
const TfyType *tfy__box_type(const TfyType *scalar);

static inline TfyValue tfy__keep_value(const TfyType *type, TfyValue value)
{
    if (!type->scalar) tfy_keep(value.o);
    return value;
}

static inline void tfy__drop_value(TfyTask *task, const TfyType *type, TfyValue value)
{
    if (!type->scalar) tfy_drop(task, value.o);
}

/* A text failed to be built. Answers false: of one that was too long the task hears, else the system had no memory
 * (tfy__starved). */
struct TfyBuffer;
bool tfy__buffer_refused(TfyTask *task, const struct TfyBuffer *buffer);

#endif
