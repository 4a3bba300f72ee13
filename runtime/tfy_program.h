/* tfy_program.h: the interface between compiled workflows and the runtime. Generated C includes it, and so does
 * the runtime itself; programs that embed the runtime need only tfy.h.
 *
 * Ownership. The release stack (TfyHeap.temps) holds the reference of an object that a function made, until the
 * end of the statement cuts the stack. Storing an object means keeping it with tfy_keep and later releasing it
 * with tfy_drop.
 *
 * Panics. A function that can panic takes the source line and returns false (or NULL) after setting task->error;
 * generated code then jumps to the landing label of its place. There is no longjmp, and a panic leaves no
 * operation half done. */
#ifndef TFY_PROGRAM_H
#define TFY_PROGRAM_H

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

/* A place in the source where something is recorded or a task can stop. */
typedef struct TfyPoint {
    const char *id;      /* stable: the label, else workflow/kind/callee/ordinal */
    uint32_t number;     /* dense in the program, from 1; the log stores it */
    uint32_t line;       /* source line, counted over all files of the program */
    uint8_t kind;        /* TfyPointKind */
    const TfyLive *live; /* slots live while stopped here */
    uint32_t live_count;
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

/* ---- fuel ---- */

#define TFY_FUEL_SLICE 10000
/* At a loop head: charges one unit; true if the slice is spent (a workflow then stops with TFY_SPENT, a fn calls
 * tfy_fn_fuel). */
static inline bool tfy_spend(TfyTask *task)
{
    return --task->fuel < 0;
}
/* built-ins charge one unit per 64 bytes or items moved */
static inline void tfy_charge(TfyTask *task, uint64_t size)
{
    task->fuel -= size > 64 ? (size > (1u << 24) ? 1 << 18 : (int32_t)(size >> 6)) : 0;
}
/* refills the slice from the fn's budget; false: panic, the fn ran too long */
bool tfy_fn_fuel(TfyTask *task, uint32_t line);
bool tfy_fn_enter(TfyTask *task, uint32_t line); /* false: panic, nested too deep */
/* One turn of an inlined function; false: panic, it ran too long. */
static inline bool tfy_inline_turn(TfyTask *task, uint32_t line)
{
    return !tfy_spend(task) || tfy_fn_fuel(task, line);
}
static inline void tfy_fn_leave(TfyTask *task)
{
    TfyHeap *heap = task->heap;
    if (--heap->fn_depth == 0 && heap->fn_spent) {
        heap->fn_spent = false;
        task->fuel = 0;
    }
}

/* ---- effects, as generated code requests them ---- */

typedef enum TfyRepeat { TFY_ONCE, TFY_IDEMPOTENT, TFY_PURE } TfyRepeat;

/* The performer that does the work. */
/* clang-format off */
typedef enum TfyFamily {
    TFY_F_SLEEP, TFY_F_SLEEP_UNTIL, TFY_F_JOIN, TFY_F_APPROVE, TFY_F_EXEC, TFY_F_EXTERN, TFY_F_READ_FILE,
    TFY_F_WRITE_FILE, TFY_F_PREVIEW, TFY_F_APPLY, TFY_F_COMMIT, TFY_F_HTTP, TFY_F_LLM, TFY_F_PROMPT, TFY_F_ASK,
    TFY_F_SIGNAL, TFY_F_LISTEN, TFY_F_ACCEPT, TFY_F_CONNECT, TFY_F_STDIN, TFY_F_READABLE, TFY_F_WRITABLE, TFY_F_READ,
    TFY_F_READ_LINE, TFY_F_WRITE, TFY_F_ADDRESS, TFY_F_SEND, TFY_F_RECV, TFY_F_LOCK, TFY_F_PARALLEL, TFY_F_RACE,
    TFY_F_ROOM, TFY_F_ABANDON, TFY_F_READ_BYTES, TFY_F_WRITE_BYTES, TFY_F_LIST_FILES,
    TFY_F_EXISTS, TFY_F_REMOVE_FILE, TFY_F_MAKE_DIR, TFY_F_ENV, TFY_F_ZONE, TFY_F_COUNT
} TfyFamily;
/* clang-format on */

/* A target of `yield`: a built-in effect, a tool or a prompt. Static data. */
typedef struct TfyTool {
    const char *name; /* "run_tests", "exec" */
    uint8_t family;   /* TfyFamily */
    uint8_t repeat;   /* TfyRepeat */
    const TfyField *params;
    uint32_t param_count;
    /* parameters at the end that logs of older runtimes do not know: encoded only from the first that is given */
    uint32_t added;
    const TfyType *result; /* tfy_type_nothing if it gives no value */
    const char *doc;
    /* exec tools: computes the argv (list<string>) from the arguments. http tools: the request line in pieces,
     * text and values in turn. prompts: the texts. Results are borrowed; false after a panic. */
    bool (*argv)(TfyTask *task, const TfyValue *args, TfyValue *out);
    /* exec tools: the parts after the argv: stdin and cwd (string?), env (map<string, string>?). http tools: input
     * is the body, env the headers. A NULL function: not given. */
    bool (*input)(TfyTask *task, const TfyValue *args, TfyValue *out);
    bool (*cwd)(TfyTask *task, const TfyValue *args, TfyValue *out);
    bool (*env)(TfyTask *task, const TfyValue *args, TfyValue *out);
    bool (*model)(TfyTask *task, const TfyValue *args, TfyValue *out);  /* string; NULL function: "default" */
    bool (*system)(TfyTask *task, const TfyValue *args, TfyValue *out); /* string; may be NULL */
    bool (*user)(TfyTask *task, const TfyValue *args, TfyValue *out);   /* string */
    int64_t asks;         /* prompts: attempts after an answer that cannot be decoded */
    uint32_t limit, rate; /* uses at a time, and uses within rate_ms; 0: unlimited */
    int64_t rate_ms;
    /* extern tools: the C function behind an adapter. It returns true with the result in *out (borrowed), or false
     * after tfy_tool_fail. */
    bool (*call)(TfyTask *task, const TfyValue *args, TfyValue *out);
    const struct TfyTool *probe; /* once tools: the tool that reports whether a step was done */
} TfyTool;

/* The built-in effects. The language guide lists their arguments; an optional argument that is absent is a NULL
 * object.
 *   sleep(ms), sleep_until(time), join(task), approve(question, details?), exec(argv, stdin?, cwd?, env?),
 *   http(method, url, headers?, body?), read_file(path, lossy?), write_file(path, text),
 *   read_bytes(path), write_bytes(path, data), list_files(glob), exists(path), remove_file(path),
 *   make_dir(path), env(name), zone(name), preview(path, new_text), apply(patch), commit(message), llm(prompt, model?,
 *   system?), ask(question), signal(name), listen(address), accept(listener), connect(address), stdin(),
 *   readable(handle), writable(stream), read(stream, most?), read_line(stream, longest?), write(stream, text),
 *   address(handle).
 * lock(name, permits) also serves semaphore(name, n); tfy_unlock releases what it grants. send and recv have no
 * tool here: generated code makes one per type of message, {channel, value} and {channel}. */
extern const TfyTool tfy_effect_sleep, tfy_effect_sleep_until, tfy_effect_join, tfy_effect_approve, tfy_effect_exec,
    tfy_effect_http, tfy_effect_http_idempotent, tfy_effect_http_pure, tfy_effect_read_file, tfy_effect_write_file,
    tfy_effect_read_bytes, tfy_effect_write_bytes, tfy_effect_list_files, tfy_effect_exists, tfy_effect_remove_file,
    tfy_effect_make_dir, tfy_effect_env, tfy_effect_zone, tfy_effect_preview, tfy_effect_apply, tfy_effect_commit,
    tfy_effect_llm, tfy_effect_ask, tfy_effect_signal, tfy_effect_lock, tfy_effect_listen, tfy_effect_accept,
    tfy_effect_connect, tfy_effect_stdin, tfy_effect_readable, tfy_effect_writable, tfy_effect_read,
    tfy_effect_read_line, tfy_effect_write, tfy_effect_address;

/* The effects that wait for the bodies of parallel and race. Their first argument is the list of handles that
 * tfy_branch made (NULL: none). Each leaves one JoinResult.
 * - parallel(handles): all bodies have finished well: a record or list of their values in order, without those of
 *   bodies that have no value (TFY_NOTHING: none has one). As soon as one has failed, in the order of the log: its
 *   error.
 * - race(handles): the first body to finish: case i of the enum with its value, or its error.
 * - room(handles, limit): true once fewer than limit of them run; false as soon as one has failed.
 * - abandon(handles): cancels those that still run, and finishes when all have. Generated code defers cancellation
 *   meanwhile. */
extern const TfyTool tfy_effect_parallel, tfy_effect_race, tfy_effect_room, tfy_effect_abandon;

/* Performs a family's effects in the real world (core/effect.h). A program names the performers that it uses, so
 * that it is linked with nothing else: without http and models there is no libcurl in it. */
typedef struct TfyPerformer TfyPerformer;
extern const TfyPerformer tfy__perform_exec, tfy__perform_http, tfy__perform_extern, tfy__perform_read_file,
    tfy__perform_write_file, tfy__perform_read_bytes, tfy__perform_write_bytes, tfy__perform_list_files,
    tfy__perform_exists, tfy__perform_remove_file, tfy__perform_make_dir, tfy__perform_env, tfy__perform_zone,
    tfy__perform_preview, tfy__perform_apply, tfy__perform_commit, tfy__perform_llm, /* llm also performs prompts */
    tfy__perform_net;                                                                /* all effects on descriptors */
extern const TfyType tfy_type_handles;                                               /* list of tasks */

/* One place in the source that requests an effect. Static data. */
typedef struct TfySite {
    const TfyPoint *point;
    const TfyTool *tool;
    const TfyType *result; /* what the place needs: the tool's result, join's T, an enum */
} TfySite;

/* The policies written at a yield; a NULL pointer: none. */
typedef struct TfyPolicy {
    int64_t retry;      /* attempts after the first */
    int64_t backoff_ms; /* before the second attempt; doubles, at most 60 s */
    int64_t timeout_ms; /* of one attempt; TFY_NEVER: none */
    TfyObj *key;        /* string or NULL: the key given in the source */
} TfyPolicy;
#define TFY_NEVER INT64_MAX

/* Requests an effect. The frame's pc must already name the resume point. Returns TFY_WAIT, TFY_AGAIN or TFY_STOP;
 * at the resume point, task->error or task->result (owned) holds the answer. Arguments are borrowed and kept as
 * long as needed. */
TfyStatus tfy_perform(TfyTask *task, const TfySite *site, const TfyValue *args, const TfyPolicy *policy);

/* Removes the answer; the caller owns it. */
static inline TfyValue tfy_take(TfyTask *task)
{
    TfyValue value = task->result;
    task->result.o = NULL;
    return value;
}
/* Releases an answer of an object type unread. */
void tfy_discard(TfyTask *task, const TfyType *type);

/* Pushes a frame for a nested workflow and returns its slots, zeroed. The caller stores the (kept) arguments in
 * the first of them and returns TFY_CALL at once. timeout_ms bounds the call (TFY_NEVER: no bound). Records name
 * the call by `point`. Returns NULL after a panic (too deep, no memory); the caller then still owns the arguments.
 * The caller's pc must be set before. */
TfyValue *tfy_push(TfyTask *task, const TfyWorkflow *workflow, const TfyPoint *point, int64_t timeout_ms);

/* The same for a call without a bound and with at most two arguments. They are owned and move to the callee (0: it
 * has fewer). The workflow returns what this function returns. After a panic that is TFY_AGAIN: the caller
 * continues at its point and finds task->error there. */
TfyStatus tfy_call(TfyTask *task, const void *frame, const TfyWorkflow *workflow, TfyValue first, TfyValue second);
enum { TFY_CALL_ARGS = 2 };

/* The running frame at its present address: even a push that failed may have moved the stack. */
static inline void *tfy_frame(const TfyTask *task)
{
    return task->stack + task->top;
}

/* Between two attempts of a nested workflow (`retry N backoff D`): records the attempt and waits for the backoff.
 * pc must be set. Consumes the pending error. attempt counts from 1. */
TfyStatus tfy_backoff(TfyTask *task, const TfySite *site, int64_t attempt, int64_t backoff_ms);

/* Effects that do not suspend. false: task->error is set or the task is halted. */
bool tfy_spawn(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args, int64_t *out);
/* Spawns a task that neither delays the end of its spawner's frame nor is cancelled with it. */
bool tfy_spawn_detached(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                        int64_t *out);
/* Spawns a task whose handle is unused: nothing is kept of it once it has finished well. */
bool tfy_spawn_unheld(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args);
bool tfy_spawn_detached_unheld(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args);
/* `spawn f() with (priority: P, after: [a, b])`: the child starts when the tasks of the handles have finished,
 * whatever their outcome. */
bool tfy_spawn_with(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                    int64_t priority, const TfyValue *after, int64_t after_count, bool detached, int64_t *out);
/* A body of parallel or race: a child whose failure is its group's to handle. Its handle is appended to the owned
 * list at *handles (NULL: starts a list). Undo entries that are left at its normal end move to the parent's frame. */
bool tfy_branch(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                TfyObj **handles);
bool tfy_kill_task(TfyTask *task, const TfyPoint *point, int64_t handle);
/* A channel with room for `capacity` messages (below 1: panic); it lives as long as its run. Nothing is recorded:
 * its number follows from the program. */
bool tfy_channel(TfyTask *task, uint32_t line, int64_t capacity, int64_t *out);
bool tfy_channel_close(TfyTask *task, const TfyPoint *point, int64_t channel); /* closing twice is allowed */
/* Closes a listener or stream once everything recorded so far is durable; the program sees it closed at once. A
 * handle that is already closed or lost is allowed. Nothing is recorded. */
bool tfy_close_descriptor(TfyTask *task, int64_t handle);
/* Releases one permit of a lock or semaphore; the task must hold one. */
bool tfy_unlock(TfyTask *task, const TfyPoint *point, TfyObj *name);
/* `with deadline(d)`: from here to tfy_deadline_end the running frame has `ms` milliseconds; then a cancellation
 * with this scope as its target is delivered. *out: the scope's number. tfy_deadline_end is called on every way
 * out; if the pending error is that cancellation, it becomes Timeout. */
bool tfy_deadline_begin(TfyTask *task, const TfyPoint *point, int64_t ms, int64_t *out);
void tfy_deadline_end(TfyTask *task, uint32_t line, int64_t scope);
bool tfy_self(TfyTask *task, TfyObj **out); /* borrowed */
bool tfy_now(TfyTask *task, const TfyPoint *point, int64_t *out);
bool tfy_random(TfyTask *task, double *out);
/* Both bounds are included; panics if from > to. */
bool tfy_random_int(TfyTask *task, uint32_t line, int64_t from, int64_t to, int64_t *out);
bool tfy_uuid(TfyTask *task, TfyObj **out);
bool tfy_print(TfyTask *task, const TfyPoint *point, TfyObj *text);
bool tfy_log(TfyTask *task, const TfyPoint *point, TfyObj *text, TfyObj *level); /* level: string or NULL */
bool tfy_emit(TfyTask *task, const TfyPoint *point, TfyObj *stage, TfyObj *text);
/* Saves a row of the application's table, in the commit of its record. type: the record's type. */
bool tfy_save(TfyTask *task, const TfyPoint *point, TfyObj *table, const TfyType *type, TfyObj *record);

/* ---- undo ----
 *
 * A task keeps a list of undo entries; each belongs to a frame. An entry is a compiled workflow (the block after
 * `undo`) with its captures as arguments. If the block uses the step's own answer, that is its last parameter, an
 * optional that is null until tfy_undo_done.
 *   - tfy_undo_push: before the step's point, in the same slice. Arguments are kept.
 *   - tfy_undo_done: with the step's answer (borrowed; an object of the optional type, scalars boxed).
 *   - tfy_undo_failed: after the step raised an error. Drops the entry if the step certainly was not done: after
 *     any error but Timeout and cancellation, and after those too if a once step had no StepStart. Keeps it if an
 *     attempt before a retry is unknown.
 *   - tfy_undo_height: the number of entries of the running frame. Blocks read it when they start.
 *   - tfy_undo: removes the newest entry of the running frame, records Undo, pushes the block's frame and returns
 *     TFY_CALL (TFY_WAIT: halted; TFY_AGAIN: the block could not start, and task->error says why). The frame's pc
 *     must be set; the frame continues at that resume point. The caller must have removed the pending error, and
 *     deferred cancellation (frame->mask).
 *   - tfy_undo_lost: at that resume point if the block failed. Records the failure and clears the error; the
 *     remaining entries still run.
 * A frame that finishes normally drops its entries; a body of parallel or race hands them to its parent's frame. A
 * task killed with --force drops them all. */
bool tfy_undo_push(TfyTask *task, const TfyPoint *point, const TfyWorkflow *block, const TfyValue *args);
void tfy_undo_done(TfyTask *task, TfyObj *answer);
void tfy_undo_failed(TfyTask *task);
int64_t tfy_undo_height(const TfyTask *task);
TfyStatus tfy_undo(TfyTask *task, const TfyPoint *point);
bool tfy_undo_lost(TfyTask *task, const TfyPoint *point);

/* ---- tests ----
 *
 * A mock replaces a tool or an effect, or a workflow (exactly one of the two is given). pattern has a letter per
 * parameter: '_' matches any value, '=' one that equals the argument. type and answer: its result; fails: answer
 * is an error, which is raised instead. */
bool tfy_mock(TfyTask *task, uint32_t line, const TfyTool *tool, const TfyWorkflow *workflow, const char *pattern,
              const TfyValue *args, const TfyType *type, TfyValue answer, bool fails);
/* How often the tool or workflow has been called in this test. */
bool tfy_calls(TfyTask *task, uint32_t line, const TfyTool *tool, const TfyWorkflow *workflow, int64_t *out);
/* the lines printed so far, without a newline after the last */
bool tfy_output(TfyTask *task, TfyObj **out);

/* Test builds (-DTFY_POISON): the content of a dead slot. */
#define TFY_POISON_WORD 0xdededededededede

/* ---- building blocks of generated code ---- */

#define TFY__UNUSED __attribute__((unused))

/* A string literal: the layout of TfyString with a sized array. */
#define TFY__LITERAL(NAME, BYTES, POINTS, TEXT)                                                                        \
    static TFY__UNUSED const struct {                                                                                  \
        TfyObj head;                                                                                                   \
        uint32_t byte_len, len, cap, secrets;                                                                          \
        char bytes[(BYTES) + 1];                                                                                       \
    } NAME = {{TFY_IMMORTAL, 0, &tfy_type_string}, BYTES, POINTS, BYTES, 0, TEXT}

/* Did the effect or call that a frame waited for raise an error? Usually not. */
static inline bool tfy__raised(const TfyTask *task)
{
    return TFY__RARELY(task->error != NULL);
}

/* A frame's pc is always one of its points. */
#ifdef TFY_POISON
#define TFY__NO_POINT TFY__TRAP()
#else
#define TFY__NO_POINT TFY__NEVER()
#endif

/* Returned by a part of a long workflow when another part continues. */
#define TFY__GO ((TfyStatus)-1)

/* Releases the slots that a map of the frame marks with 'o'. */
static inline void tfy__release(TfyTask *task, void *frame, const char *map)
{
    TfyValue *slots = (TfyValue *)((TfyFrame *)frame + 1);
    for (uint32_t slot = 0; map[slot]; slot++)
        if (map[slot] == 'o') tfy_clear(task, &slots[slot].o);
}

/* Test builds: when a frame continues, every slot that is not live at its point is filled: with a pattern
 * (scalars), or with an object that breaks any code that reads it but may be released (map: 'o'). A dead object
 * slot must be empty before; if it is not, a reference leaked. */
#ifdef TFY_POISON
static inline void tfy__poison(void *place, const char *map)
{
    static const TfyObj dead = {TFY_IMMORTAL, 0, NULL};
    TfyFrame *frame = place;
    TfyValue *slots = (TfyValue *)(frame + 1);
    const TfyPoint *point = frame->pc ? frame->workflow->resume[frame->pc - 1] : NULL;
    for (uint32_t slot = 0, live = 0; point && map[slot]; slot++) {
        if (live < point->live_count && point->live[live].slot == slot) {
            live++;
            continue;
        }
        if (map[slot] == 'o' && slots[slot].o && slots[slot].o->type) TFY__TRAP();
        slots[slot] = map[slot] == 'o' ? tfy_of_obj((TfyObj *)&dead) : tfy_of_int((int64_t)TFY_POISON_WORD);
    }
}
#else
#define tfy__poison(PLACE, MAP) (void)0
#endif

/* ---- a compiled program ---- */

/* One file of a program. Lines are counted over all files in order, so that a line number also identifies its
 * file. */
typedef struct TfyModule {
    const char *file;    /* as messages name it */
    uint32_t first_line; /* the number of its first line */
} TfyModule;

/* What `tfy replay --step` needs in a program. */
typedef struct TfyDebugger TfyDebugger;
extern const TfyDebugger tfy__debugger;

/* What `tfy test` needs in a program. */
typedef struct TfyTester TfyTester;
extern const TfyTester tfy__tester;

struct TfyProgram {
    const char *name;   /* the main file's name */
    const char *source; /* text of all its modules, as stored in the log */
    const char *layout; /* JSON: points and frames, as stored in the log */
    uint64_t hash[2];   /* XXH3-128 of the source and the compiler's version */
    const char *tfyc;   /* the version of tfyc that compiled it */
    const TfyWorkflow *const *workflows;
    uint32_t workflow_count;
    const TfyTool *const *tools; /* the tools and prompts it declares */
    uint32_t tool_count;
    const TfyPoint *const *points; /* points[n - 1] has number n */
    uint32_t point_count;
    uint32_t main;                   /* the workflow that runs by default; UINT32_MAX: none */
    const TfyModule *modules;        /* the files of a program that has several, the main one first */
    uint32_t module_count;           /* 0: the program is one file */
    const TfyWorkflow *const *tests; /* compiled with --tests; a test has its workflow's name */
    uint32_t test_count;
    /* The tables that snapshots refer to; all NULL: the program cannot have snapshots. */
    const TfyWorkflow *const
        /* workflows, undo blocks, bodies of parallel and race, and tests, as in the layout */
        *routines;
    uint32_t routine_count;
    const TfySite *const *sites;  /* sites[n - 1]: what point n requests; NULL: nothing */
    const TfyType *const *errors; /* the errors it declares */
    uint32_t error_count;
    const TfyPerformer *const *performers; /* by family, TFY_F_COUNT places; NULL: not needed */
    /* compiled with --debug: marks know their variables, and variables live to the end of their scope */
    bool debug;
    const TfyDebugger *debugger; /* compiled with --debug or --steps; NULL: it cannot be stepped through */
    const TfyTester *tester;     /* compiled with --tests; NULL: it has no tests */
};

#endif
