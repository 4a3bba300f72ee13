/* heap.h: allocation and release of objects.
 *
 * There is one TfyHeap per loop. All its memory passes through one realloc-like function, so a test can make any
 * allocation fail and count what is left. Objects carry no size: it follows from their kind, so freeing takes the
 * size as an argument. Objects are reference counted, without a collector: values are immutable and cannot form
 * cycles. */
#ifndef TFY_VALUE_HEAP_H
#define TFY_VALUE_HEAP_H

#include "tfy_program.h"

/* Loop turns that fns may spend between two suspensions of a task, until the loop sets its own limit. */
#define TFY_FN_FUEL 100000000

typedef void *TfyAlloc(void *state, void *old, size_t old_size, size_t new_size);

/* alloc NULL: the C library's. Returns TFY_OK or TFY_E_NOMEM. */
int tfy__heap_init(TfyHeap *heap, TfyAlloc *alloc, void *alloc_state);
/* Cuts the release stack and frees it. Objects that are still referenced are leaks; heap->objects counts them. */
void tfy__heap_deinit(TfyHeap *heap);

/* Raw memory, counted in in_use. NULL: out of memory, or the limit is reached; no panic is raised. */
void *tfy__alloc(TfyHeap *heap, size_t size);
void *tfy__realloc(TfyHeap *heap, void *old, size_t old_size, size_t new_size);
void tfy__free(TfyHeap *heap, void *block, size_t size);

/* An owned object with one reference and a zeroed body. NULL after an out-of-memory panic. size includes the head. */
TfyObj *tfy__new_object(TfyTask *task, const TfyType *type, size_t size);
/* Grows or shrinks an object that has one owner; the caller stores the new address. NULL after a panic: the old
 * object is unchanged. */
TfyObj *tfy__resize_object(TfyTask *task, TfyObj *object, size_t old_size, size_t new_size);
size_t tfy__object_size(const TfyObj *object);

/* A piece of a string's text that reads "secret:NAME" and represents a secret value. */
typedef struct TfyStretch {
    uint32_t at, len; /* bytes */
} TfyStretch;
/* The stretches of a string, in order; there are TfyString.secrets of them. */
const TfyStretch *tfy__string_secrets(const TfyObj *object);

/* An owned string with secrets at these places. NULL after a panic. A stretch outside the text is dropped. */
TfyObj *tfy__string_secret(TfyTask *task, const char *bytes, size_t len, uint32_t count, const TfyStretch *stretches);

/* Owned, unfinished objects that a decoder fills piece by piece; each may be dropped at any stage. */
/* A string (made valid UTF-8), bytes or json. */
TfyObj *tfy__string_new(TfyTask *task, const TfyType *type, const char *bytes, size_t len);
TfyObj *tfy__list_new(TfyTask *task, const TfyType *type, uint32_t cap); /* len 0 */
TfyObj *tfy__map_new(TfyTask *task, const TfyType *type, uint32_t cap);  /* empty */
TfyObj *tfy__record_new(TfyTask *task, const TfyType *type);             /* a record or an error; fields are zero */
/* A case with fields, which are zero. */
TfyObj *tfy__enum_new(TfyTask *task, const TfyType *type, uint32_t case_index);

/* Room for cap bytes; the caller fills them in and sets the lengths. NULL after a panic: too long, or out of
 * memory. */
TfyString *tfy__string_room(TfyTask *task, uint32_t line, uint64_t cap);
/* An owned piece of a valid string. tfy__count_points counts its code points. */
TfyObj *tfy__string_piece(TfyTask *task, const char *bytes, uint32_t byte_len, uint32_t len);
uint32_t tfy__count_points(const char *bytes, uint32_t byte_len);
/* Adds a piece to a list of strings that has one owner; false after a panic. */
bool tfy__add_piece(TfyTask *task, TfyObj **list, const char *bytes, uint32_t byte_len);

/* The box type for optional scalars of this type. */
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

/* Handles a buffer that failed, and returns false. If the text was too long, the task gets a panic; otherwise the
 * system had no memory (tfy__starved). */
struct TfyBuffer;
bool tfy__buffer_refused(TfyTask *task, const struct TfyBuffer *buffer);

#endif
