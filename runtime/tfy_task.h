/* tfy_task.h: tasks and their frames, and what their code computes with: values, arithmetic, errors. Included by
 * tfy_program.h.
 *
 * Ownership. The release stack (TfyHeap.temps) holds the reference of an object that a function made, until the
 * end of the statement cuts the stack. Storing an object means keeping it with tfy_keep and later releasing it
 * with tfy_drop.
 *
 * Panics. A function that can panic takes the source line and returns false (or NULL) after setting task->error;
 * generated code then jumps to the landing label of its place. There is no longjmp, and a panic leaves no
 * operation half done. */
#ifndef TFY_TASK_H
#define TFY_TASK_H

#include "tfy.h"

/* Builtins of gcc and clang, with replacements for a plain C11 compiler (tcc). */
#ifdef __GNUC__
#define TFY__IS_FINITE(X) __builtin_isfinite(X)
#define TFY__ABS(X)       __builtin_fabs(X)
#define TFY__RARELY(X)    __builtin_expect(X, 0)
#define TFY__TRAP()       __builtin_trap()
#define TFY__NEVER()      __builtin_unreachable()
#else
#include <math.h>
#include <stdlib.h>
#define TFY__IS_FINITE(X) isfinite(X)
#define TFY__ABS(X)       fabs(X)
#define TFY__RARELY(X)    (X)
#define TFY__TRAP()       abort()
#define TFY__NEVER()      ((void)0)
#endif

/* The memory of one loop: every object is allocated here. */
typedef struct TfyHeap {
    TfyObj **temps; /* the release stack; owned references */
    uint32_t temp_count, temp_cap;
    uint32_t fn_depth; /* nesting of fn calls; at most TFY_FN_DEPTH */
    int64_t fn_fuel;   /* what the fn that a workflow called may still spend */
    /* a running fn used up its workflow's slice: the workflow must stop at its next loop head */
    bool fn_spent;
    /* Like realloc; NULL: failed; new_size 0 frees. */
    void *(*alloc)(void *state, void *old, size_t old_size, size_t new_size);
    void *alloc_state;
    struct TfyRegexCache *regexes; /* compiled patterns (value/regex.c); NULL until needed */
    /* a pointer, so that a program without patterns is not linked with pcre2 */
    void (*free_regexes)(struct TfyHeap *heap);
    size_t in_use;      /* bytes in live objects */
    size_t limit;       /* 0 = none; beyond it an allocation panics its task */
    size_t block_limit; /* 0 = none; a single block beyond it likewise */
    int64_t objects;    /* live objects; tests find leaks by it */
    bool ran_out;       /* the system had no memory: the loop ends with this turn */
} TfyHeap;
#define TFY_FN_DEPTH   1000
#define TFY_STRING_MAX (1u << 30) /* bytes; longer strings panic */

void tfy__free_object(TfyHeap *heap, TfyObj *object); /* refs reached 0; iterative, any depth */
void tfy__cut(TfyHeap *heap, uint32_t mark);
bool tfy__temp_slow(TfyTask *task, TfyObj *object);

/* ---- tasks and frames ---- */

/* What a compiled workflow returns to the step loop. */
typedef enum TfyStatus {
    /* the frame has finished: task->error or an owned task->result */
    TFY_RETURN,
    TFY_CALL, /* a frame was pushed; run it */
    /* plain yield: the task goes behind the others in the ready queue */
    TFY_YIELD,
    TFY_SPENT, /* fuel ran out at a loop head; otherwise like TFY_YIELD */
    TFY_WAIT,  /* an effect is under way; the loop wakes the task */
    /* the answer is already available: continue with the same frame */
    TFY_AGAIN,
    TFY_STOP, /* a divergence or a failed log halted the task */
} TfyStatus;

typedef enum TfyPointKind {
    TFY_POINT_YIELD,  /* plain yield */
    TFY_POINT_FUEL,   /* a loop head */
    TFY_POINT_CALL,   /* a nested workflow */
    TFY_POINT_EFFECT, /* a tool, prompt or built-in that suspends */
    TFY_POINT_UNDO,   /* an undo block runs */
    /* a recorded effect that does not suspend: print, now, spawn …; never a resume point */
    TFY_POINT_MARK,
} TfyPointKind;

/* One slot that holds a value while a task is at a point. */
typedef struct TfyLive {
    uint32_t slot; /* index of the 8-byte slot after the frame header */
    const TfyType *type;
    const char *name; /* the variable; NULL: a value that the compiler introduced */
} TfyLive;

/* A word of an argv that comes from outside: the process is not started if it begins with '-'. */
typedef struct TfyWord {
    uint32_t at;
    const char *text; /* how the program calls it: "'name'"; NULL ends a list */
    bool behind;      /* it follows an option, of which it may be the value */
} TfyWord;

/* A place in the source where something is recorded or a task can stop. */
typedef struct TfyPoint {
    const char *id;      /* stable: the label, else workflow/kind/callee/ordinal */
    uint32_t number;     /* dense in the program, from 1; the log stores it */
    uint32_t line;       /* source line, counted over all files of the program */
    uint8_t kind;        /* TfyPointKind */
    const TfyLive *live; /* slots live while stopped here */
    uint32_t live_count;
    const TfyWord *words; /* effects that start a process; NULL: none */
} TfyPoint;

typedef struct TfyWorkflow TfyWorkflow;

/* The head of a frame; its slots of 8 bytes follow. Frames are stored on their task's own stack, which may move:
 * no pointer to a frame survives a call that pushes. At pc 0 the parameters are in the first slots, in order. */
typedef struct TfyFrame {
    const TfyWorkflow *workflow;
    uint32_t prev;     /* offset of the caller's frame; TFY_NO_FRAME: the first */
    uint32_t pc;       /* 0: not started; n: stopped at its n-th resume point */
    uint32_t scope;    /* runtime: the call's number in its task, for records */
    uint32_t children; /* runtime: reference to the first live child it spawned */
    uint16_t mask;     /* above 0 while a finally runs: cancellation is deferred */
    uint16_t flags;    /* runtime */
    uint32_t depth;    /* runtime: frames up to this one */
    uint64_t timer;    /* runtime: timer of this call's deadline; 0: none */
} TfyFrame;
#define TFY_NO_FRAME UINT32_MAX

struct TfyWorkflow {
    const char *name;
    TfyStatus (*run)(TfyTask *task, void *frame);
    uint32_t frame_size; /* bytes, header included; a multiple of 8 */
    const TfyField *params;
    uint32_t param_count;
    const TfyType *result;
    const TfyPoint *const *resume; /* resume[pc - 1]: the point of each pc */
    uint32_t resume_count;
    uint32_t line;
    const char *doc; /* the doc comment or NULL */
    uint32_t number; /* its place among the program's routines */
    /* a bit for each of the first 64 parameters, from the least one: it is declared untrusted */
    uint64_t untrusted;
    bool reads; /* it is documented, and changes nothing, and neither does what it reaches */
};

/* The part of a task that generated code uses. A plain yield reads the first cache line and writes the second,
 * where the task's first frame follows: with a million tasks that take turns, only half of the memory has to be
 * written back. */
struct TfyTask {
    uint32_t top;    /* offset of the running frame on the stack */
    uint32_t state;  /* runtime: TfyTaskState and flags */
    TfyObj *error;   /* the error being raised, owned; NULL: none */
    TfyValue result; /* the answer of the last effect or call, owned */
    TfyHeap *heap;
    char *stack;
    TfyLoop *loop;
    void *rest;      /* runtime */
    uint32_t scopes; /* runtime: counts calls and deadlines, to number them */
    /* runtime: bytes of the stack within which calls and returns need no further check; 0: all need it */
    uint32_t room;
    /* what this slice may still spend; loops charge it, and built-ins by the size of their values */
    int32_t fuel;
    uint32_t passages; /* runtime: points passed since the task's last record */
};
_Static_assert(offsetof(struct TfyTask, fuel) == 64, "members that change all the time are in the second cache line");

/* ---- inline value helpers ---- */

static inline TfyObj *tfy_keep(TfyObj *object)
{
    if (object && object->refs != TFY_IMMORTAL) object->refs++;
    return object;
}

static inline void tfy_drop(TfyTask *task, TfyObj *object)
{
    if (object && object->refs != TFY_IMMORTAL && --object->refs == 0) tfy__free_object(task->heap, object);
}

/* Hands an owned reference to the release stack. Returns the object, or NULL after a panic (the reference is then
 * released). */
static inline TfyObj *tfy_temp(TfyTask *task, TfyObj *object)
{
    TfyHeap *heap = task->heap;
    if (!object || object->refs == TFY_IMMORTAL) return object;
    if (heap->temp_count == heap->temp_cap) return tfy__temp_slow(task, object) ? object : NULL;
    heap->temps[heap->temp_count++] = object;
    return object;
}

/* tfy_mark: the height of the release stack; tfy_cut: releases everything above a mark. Workflows cut to 0 at the
 * end of a statement, fns to their entry mark. */
static inline uint32_t tfy_mark(const TfyTask *task)
{
    return task->heap->temp_count;
}

static inline void tfy_cut(TfyTask *task, uint32_t mark)
{
    if (task->heap->temp_count > mark) tfy__cut(task->heap, mark);
}

/* Stores a borrowed object in an owning place and releases what was there. */
static inline void tfy_set(TfyTask *task, TfyObj **place, TfyObj *object)
{
    TfyObj *old = *place;
    *place = tfy_keep(object);
    tfy_drop(task, old);
}

/* Releases the object in an owning place and empties the place. */
static inline void tfy_clear(TfyTask *task, TfyObj **place)
{
    TfyObj *old = *place;
    *place = NULL;
    tfy_drop(task, old);
}

/* ---- panics and errors ---- */

/* Raises a panic: `catch` does not see it. Always false. A pending error is kept and the new one dropped. */
bool tfy_panic(TfyTask *task, uint32_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool tfy__overflow(TfyTask *task, uint32_t line);
bool tfy__div_zero(TfyTask *task, uint32_t line);
bool tfy__not_finite(TfyTask *task, uint32_t line);
/* the heap has no block, or the requested size is more than any heap may have */
bool tfy__out_of_memory(TfyTask *task);
/* the system has no memory: the process ends with this turn, as a kill would end it */
bool tfy__starved(TfyTask *task);

/* Raises an error of a type with its fields (message first; borrowed). Always false. */
bool tfy_fail(TfyTask *task, const TfyType *error, uint32_t line, const TfyValue *fields);
/* Raises an existing error value again (`fail e`); it keeps its line. Always false. */
bool tfy_fail_with(TfyTask *task, TfyObj *error);
/* `assert e`: panics with the text if ok is false. */
bool tfy_assert(TfyTask *task, uint32_t line, bool ok, const char *text);

/* The same for a comparison: the panic shows both values too. */
bool tfy_assert_values(TfyTask *task, uint32_t line, bool ok, const char *text, const TfyType *left_type, TfyValue left,
                       const TfyType *right_type, TfyValue right);

/* Can the pending error be caught (is it neither a panic nor a cancellation)? If no error is pending (a halted
 * task), this and the functions below return false. */
static inline bool tfy_catchable(const TfyTask *task)
{
    return task->error && task->error->type != &tfy_type_panic && task->error->type != &tfy_type_cancelled;
}
static inline bool tfy_error_is(const TfyTask *task, const TfyType *type)
{
    return task->error && task->error->type == type;
}
/* Does `else V` replace the pending error (is it catchable and not Denied)? */
static inline bool tfy_replaceable(const TfyTask *task)
{
    return tfy_catchable(task) && task->error->type != &tfy_type_denied;
}
/* Does `retry` handle the pending error: a ToolError, Timeout, BadValue, or a declared error of a workflow? */
bool tfy_retriable(const TfyTask *task);
/* Removes the pending error; the caller owns it. */
static inline TfyObj *tfy_take_error(TfyTask *task)
{
    TfyObj *error = task->error;
    task->error = NULL;
    return error;
}
/* Makes a removed error pending again (the end of a finally). Consumes the reference. */
static inline void tfy_put_error(TfyTask *task, TfyObj *error)
{
    if (task->error) { /* a failure inside the finally replaces what was pending */
        tfy_drop(task, error);
        return;
    }
    task->error = error;
}

/* ---- arithmetic ---- */

/* *out is the result modulo 2^64; true: the exact result does not fit. */
#ifdef __GNUC__
#define tfy__add_overflows(A, B, OUT) __builtin_add_overflow(A, B, OUT)
#define tfy__sub_overflows(A, B, OUT) __builtin_sub_overflow(A, B, OUT)
#define tfy__mul_overflows(A, B, OUT) __builtin_mul_overflow(A, B, OUT)
#else
static inline bool tfy__add_overflows(int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a + (uint64_t)b);
    return b < 0 ? *out > a : *out < a;
}
static inline bool tfy__sub_overflows(int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a - (uint64_t)b);
    return b < 0 ? *out < a : *out > a;
}
static inline bool tfy__mul_overflows(int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a * (uint64_t)b);
    return a != 0 && ((a == -1 && b == INT64_MIN) || *out / a != b);
}
#endif

static inline bool tfy_int_add(TfyTask *t, uint32_t line, int64_t a, int64_t b, int64_t *out)
{
    return !tfy__add_overflows(a, b, out) || tfy__overflow(t, line);
}
static inline bool tfy_int_sub(TfyTask *t, uint32_t line, int64_t a, int64_t b, int64_t *out)
{
    return !tfy__sub_overflows(a, b, out) || tfy__overflow(t, line);
}
static inline bool tfy_int_mul(TfyTask *t, uint32_t line, int64_t a, int64_t b, int64_t *out)
{
    return !tfy__mul_overflows(a, b, out) || tfy__overflow(t, line);
}
static inline bool tfy_int_div(TfyTask *t, uint32_t line, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0) return tfy__div_zero(t, line);
    if (a == INT64_MIN && b == -1) return tfy__overflow(t, line);
    *out = a / b;
    return true;
}
static inline bool tfy_int_mod(TfyTask *t, uint32_t line, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0) return tfy__div_zero(t, line);
    *out = b == -1 ? 0 : a % b;
    return true;
}
static inline bool tfy_int_neg(TfyTask *t, uint32_t line, int64_t a, int64_t *out)
{
    return tfy_int_sub(t, line, 0, a, out);
}
static inline bool tfy__finite(TfyTask *t, uint32_t line, double value, double *out)
{
    *out = value;
    return TFY__IS_FINITE(value) || tfy__not_finite(t, line);
}
static inline bool tfy_float_add(TfyTask *t, uint32_t line, double a, double b, double *out)
{
    return tfy__finite(t, line, a + b, out);
}
static inline bool tfy_float_sub(TfyTask *t, uint32_t line, double a, double b, double *out)
{
    return tfy__finite(t, line, a - b, out);
}
static inline bool tfy_float_mul(TfyTask *t, uint32_t line, double a, double b, double *out)
{
    return tfy__finite(t, line, a * b, out);
}
static inline bool tfy_float_div(TfyTask *t, uint32_t line, double a, double b, double *out)
{
    if (b == 0) return tfy__div_zero(t, line);
    return tfy__finite(t, line, a / b, out);
}
bool tfy_float_mod(TfyTask *task, uint32_t line, double a, double b, double *out);
bool tfy_float_to_int(TfyTask *task, uint32_t line, double value, int64_t *out); /* truncates; panics out of range */
/* direction: -1 down, 1 up, 0 to the nearest, halves away from 0. */
bool tfy_float_rounded(TfyTask *task, uint32_t line, double value, int direction, int64_t *out);
bool tfy_float_sqrt(TfyTask *task, uint32_t line, double value, double *out); /* panics below 0 */
/* The same bits on every machine. ln panics unless above 0; pow of a negative number needs a whole power. */
bool tfy_float_ln(TfyTask *task, uint32_t line, double value, double *out);
bool tfy_float_exp(TfyTask *task, uint32_t line, double value, double *out);
bool tfy_float_pow(TfyTask *task, uint32_t line, double base, double power, double *out);
/* exactly this many decimals */
TfyObj *tfy_float_format(TfyTask *task, uint32_t line, double value, int64_t decimals);
static inline double tfy_float_abs(double a)
{
    return TFY__ABS(a);
}
static inline double tfy_float_min(double a, double b)
{
    return b < a ? b : a;
}
static inline double tfy_float_max(double a, double b)
{
    return b > a ? b : a;
}
static inline bool tfy_int_abs(TfyTask *t, uint32_t line, int64_t a, int64_t *out)
{
    *out = a;
    return a >= 0 || tfy_int_neg(t, line, a, out);
}
static inline int64_t tfy_int_min(int64_t a, int64_t b)
{
    return b < a ? b : a;
}
static inline int64_t tfy_int_max(int64_t a, int64_t b)
{
    return b > a ? b : a;
}
/* in UTC; part: 0 year, 1 month, 2 day, 3 hour, 4 minute, 5 second, 6 weekday (1 Monday to 7) */
int64_t tfy_time_part(int64_t ms, int part);
/* zone: a TimeZone, or NULL for UTC. next: the first time after ms when the clock there shows this time of day. */
TfyObj *tfy_time_format(TfyTask *task, uint32_t line, int64_t ms, const TfyObj *layout, const TfyObj *zone);
bool tfy_time_next(TfyTask *task, uint32_t line, int64_t ms, const TfyObj *clock, const TfyObj *zone, int64_t *out);

/* Of a string (its UTF-8) or bytes: SHA-256 in hex; base64. from_base64 gives bytes and fails with BadValue. */
TfyObj *tfy_hash(TfyTask *task, const TfyObj *object);
TfyObj *tfy_base64(TfyTask *task, const TfyObj *object);
TfyObj *tfy_from_base64(TfyTask *task, uint32_t line, const TfyObj *object);
TfyObj *tfy_url_encode(TfyTask *task, const TfyObj *object);
TfyObj *tfy_to_bytes(TfyTask *task, const TfyObj *object);
TfyObj *tfy_bytes_slice(TfyTask *task, const TfyObj *object, int64_t from, int64_t to);
bool tfy_bytes_text(TfyTask *task, const TfyObj *object, TfyObj **out); /* null: not UTF-8 */
static inline double tfy_duration_seconds(int64_t ms)
{
    return (double)ms / 1000;
}

/* ---- values, in addition to those of tfy.h: all objects are borrowed; NULL or false after a panic ---- */

TfyObj *tfy_concat(TfyTask *task, uint32_t line, uint32_t count, TfyObj *const *parts);
/* A text that represents a secret: it reads "secret:NAME" everywhere, and only performers replace it by the value,
 * when they do the work. */
TfyObj *tfy_secret(TfyTask *task, TfyObj *name);
/* s += part; in place if nothing else holds the string. */
bool tfy_string_append(TfyTask *task, uint32_t line, TfyObj **place, TfyObj *part);

/* xs = xs.push(x); in place if nothing else holds the list. */
bool tfy_list_push(TfyTask *task, uint32_t line, TfyObj **place, TfyValue item);
bool tfy_list_append(TfyTask *task, uint32_t line, TfyObj **place, TfyObj *other);             /* xs = xs.concat(ys) */
bool tfy_list_put(TfyTask *task, uint32_t line, TfyObj **place, int64_t index, TfyValue item); /* xs = xs.set(i, x) */
/* A list under construction, for at most len items; adding an item keeps it. tfy_list_fitted: the same list
 * without spare capacity. */
TfyObj *tfy_list_room(TfyTask *task, const TfyType *type, int64_t len);
void tfy_list_add(TfyObj *list, TfyValue item);
void tfy_list_hold(TfyTask *task, TfyObj *list, TfyValue item); /* of a list of one: instead of the item it has */
TfyObj *tfy_list_fitted(TfyTask *task, TfyObj *list);
TfyObj *tfy_list_grouped(TfyTask *task, const TfyType *type, TfyObj *list, TfyObj *keys); /* map of lists */
TfyObj *tfy_list_flatten(TfyTask *task, uint32_t line, TfyObj *list);
/* list<T?> to list<T>, without the nulls */
TfyObj *tfy_list_compact(TfyTask *task, const TfyType *type, TfyObj *list);

bool tfy_map_put(TfyTask *task, uint32_t line, TfyObj **place, TfyValue key, TfyValue value); /* m = m.set(k, v) */
TfyObj *tfy_map_with_values(TfyTask *task, const TfyType *type, TfyObj *map, TfyObj *values); /* in order */
/* the entries of these keys; all must be in the map */
TfyObj *tfy_map_only(TfyTask *task, TfyObj *map, TfyObj *keys);

/* For the left side of an assignment: each function makes *place the only owner of its object (copying the object
 * if it is shared) and returns the address of the part. The address is valid until the next call that allocates.
 * NULL after a panic. */
TfyValue *tfy_own_field(TfyTask *task, TfyObj **place, uint32_t index);
TfyValue *tfy_own_item(TfyTask *task, uint32_t line, TfyObj **place, int64_t index);
/* insert: adds an absent key with a zero word. */
TfyValue *tfy_own_entry(TfyTask *task, uint32_t line, TfyObj **place, TfyValue key, bool insert);

#endif
