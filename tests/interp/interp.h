/* interp.h: a second opinion on what a program means: the checked tree is walked directly, with none of the compiler's or runtime's code.
 *
 * It is written for being right, not fast: values are never freed, every task is a thread of its own of which exactly one runs at a time,
 * time is virtual. What the language leaves to the order of the scheduler follows the turn of the runtime's description: what ended
 * before, due timers, then the tasks that were ready. Extern tools are those of tests/diff/tools.c, written a second time. */
#ifndef INTERP_H
#define INTERP_H

#include <pthread.h>
#include <semaphore.h>

#include "type.h"

/* ---- values ---- */

typedef enum ValueKind { V_NULL, V_BOOL, V_INT, V_FLOAT, V_STRING, V_LIST, V_MAP, V_RECORD, V_CASE } ValueKind;

typedef struct Value Value;
struct Value {
    ValueKind kind;
    int64_t i;           /* bool, int, duration, time; a task's number */
    double f;            /* float */
    const char *text;    /* string: len bytes and a NUL */
    size_t len;          /* string: bytes; list, map, record, case: items */
    const Value **items; /* list items, map values, fields */
    const Value **keys;  /* map */
    const Type *type;    /* record, error, case: its own type */
    uint32_t case_index; /* case */
    uint32_t line;       /* error: where it was raised */
};

typedef struct Buf {
    char *data;
    size_t len, cap;
} Buf;

extern const Value value_null;

const Value *value_int(int64_t i);
const Value *value_bool(bool b);
const Value *value_float(double f);
const Value *value_text(const char *text, size_t len);
Value *value_items(ValueKind kind, size_t len); /* list, record, case: items to be filled in */
Value *value_map(size_t cap);
const Value *map_get(const Value *map, const Value *key);
void map_put(Value *map, const Value *key, const Value *value); /* only on a map nobody else knows yet */
Value *value_copy(const Value *value, size_t more); /* a list, map, record or case with room for more items */
bool value_equal(const Value *a, const Value *b);
int value_order(const Value *a, const Value *b);
void value_json(Buf *out, const Type *type, const Value *value);
void print_float(Buf *out, double value);
void quote_text(Buf *out, const char *text, size_t len);
void value_print(Buf *out, const Type *type, const Value *value); /* as ${…} has it */
void *must_alloc(size_t size);

void buf_add(Buf *out, const char *text, size_t len);
void buf_text(Buf *out, const char *text);
void buf_format(Buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Strings by code points. */
size_t text_points(const char *text, size_t len);
const Value *text_slice(const Value *s, int64_t from, int64_t to);
const Value *text_trim(const Value *s, bool at_start, bool at_end);
const Value *text_lines(const Value *s);
bool text_contains(const Value *s, const Value *part);

/* ---- tasks ---- */

typedef struct Task Task;
typedef struct Frame Frame;
typedef struct Timer Timer;
typedef struct Interp Interp;

typedef enum RaisedKind { RAISED_NOTHING, RAISED_ERROR, RAISED_PANIC, RAISED_CANCEL } RaisedKind;

/* What is being raised in a task. */
typedef struct Raised {
    RaisedKind kind;
    const Value *error; /* RAISED_ERROR */
    const char *panic;  /* RAISED_PANIC: its message */
    uint32_t line;      /* RAISED_PANIC */
    const Frame *scope; /* RAISED_CANCEL: the call that ran out of time; NULL: the whole task */
} Raised;

/* One activation of a workflow or fn. */
struct Frame {
    Task *task;
    Frame *caller; /* the frame below; NULL: the task's first, and every fn's */
    const Decl *decl;
    const Value **vars;  /* by Variable.id */
    const Value *result; /* set by return */
    uint32_t line;       /* of the statement under way */
    uint32_t mask;       /* finally blocks it is in */
    Task *children;      /* live ones, newest first, by next_sibling */
    Timer *timer;        /* its deadline */
    bool due;            /* the deadline has passed, and nobody was told yet */
    bool returning;      /* its body is done; it waits for its children */
    bool is_fn;          /* cannot stop; not among its task's frames */
};

typedef enum TaskEnd { END_NOT, END_COMPLETED, END_FAILED, END_CANCELLED } TaskEnd;

struct Task {
    Interp *interp;
    int64_t number;
    char *path;
    const Decl *decl;
    const Value **args;
    Frame *top; /* NULL: not begun or over */
    Raised raised;
    TaskEnd end;
    const Value *value;  /* its result */
    const char *failure; /* the sentence about it */
    uint32_t spawned;
    int32_t fuel;    /* what this slice may still spend on loop heads */
    int64_t fn_fuel; /* what the fn it is in may still spend */
    uint32_t fn_depth;
    bool fn_spent;                             /* the slice ended inside a fn */
    bool ready, waiting, killed, kill_pending; /* queued; stopped for an event; the kill was delivered; it is to come */
    Task *next_ready, *next_sibling, *prev_sibling, *next_joiner;
    Task *parent; /* with parent_frame: who waits for it */
    Frame *parent_frame;
    Task *joiners;       /* those that join it, in order */
    Task *joining;       /* whom it joins */
    const Value *answer; /* of what it waited for */
    Timer *timer;        /* of what it waits for */
    bool timer_is_timeout;
    const char *waits_for; /* the name a Timeout has */
    Task *next_work;
    bool in_work;
    pthread_t thread;
    sem_t go;
    bool started;
};

struct Timer {
    int64_t due_ms;
    uint64_t seq;
    Task *task;
    Frame *frame; /* a call's deadline; NULL: the task's own wait */
    Timer *next;
};

struct Interp {
    const Program *program;
    Task *tasks[4096];
    uint32_t task_count;
    Task *ready_first, *ready_last, *work_first, *work_last;
    Timer *timers; /* by due time, then age */
    uint64_t timer_seq;
    int64_t now_ms;
    sem_t back; /* the running task stopped */
    Buf out, calls;
    struct Flaky *flaky;     /* calls of each flaky tool, by task */
    struct Testing *testing; /* a test runs; else NULL */
};

/* sched.c */
void interp_run(Interp *in, const Decl *root);
Task *task_spawn(Interp *in, Task *parent, const Decl *decl, const Value **args);
void task_kill(Task *target);
bool task_stop(Task *task); /* lets others run; false: something is being raised */
bool task_yield(Task *task);
bool task_sleep(Task *task, int64_t due_ms, int64_t timeout_due_ms);
bool task_join(Task *task, int64_t number, int64_t timeout_due_ms, uint32_t line);
bool task_pause(Task *task, int64_t delay_ms);
bool task_spend(Frame *f);                       /* a loop head */
void task_count_answer(Task *task);              /* an answer that was there at once costs a share of the slice */
bool task_deliver(Task *task);                   /* at a suspension: true when a cancellation was delivered */
void task_leave_frame(Task *task, Frame *frame); /* waits for its children; makes a Timeout of its own cancellation */
Timer *timer_add(Interp *in, int64_t due_ms, Task *task, Frame *frame);

/* exec.c */
bool call_workflow(Task *task, Frame *caller, const Decl *decl, const Value **args, int64_t timeout_ms,
                   const Value **out);

/* eval.c: NULL when something is being raised */
const Value *eval(Frame *f, const Expr *e);
const Value *eval_root(Frame *f, const Expr *e); /* the right side of a statement: yield and spawn too */
const Value *arithmetic(Frame *f, Op op, const Value *a, const Value *b);
const Value *list_at(Frame *f, const Value *list, const Value *index);
const Value *map_at(Frame *f, const Value *map, const Value *key);
const Value *call_fn(Frame *f, const Decl *decl, const Value **args);
const Value **eval_args(Frame *f, const Expr *call);
bool panic(Frame *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool raise_error(Frame *f, const Type *type, const Value **fields);
const Expr *strip(const Expr *e);

const Value *overflow(Frame *f);
const Value *finite_or_panic(Frame *f, double value);
bool value_compare(Op op, const Value *a, const Value *b);

/* test.c */
bool run_assert(Frame *f, const Expr *e);
bool run_mock(Frame *f, const Stmt *s);
struct Testing *testing_new(void);
const char *testing_unanswered(const Interp *in);
bool test_answers(Frame *f, const void *what, const char *name, const Value **args, const Type *wanted,
                  const Value **out); /* what: a Decl or Builtin */
bool test_answers_workflow(Task *task, const Decl *decl, const Value **args, const Value **out);
const Value *eval_test_call(Frame *f, const Expr *e);

/* method.c, method_list.c, method_json.c */
const Value *eval_method(Frame *f, const Expr *e);
const Value *list_method(Frame *f, const Expr *e, const Value **args);
const Value *json_method(Frame *f, const Expr *e, const Value **args);
const Value *json_parse(const char *text, size_t len); /* NULL: it is none */

/* yield.c */
const Value *eval_yield(Frame *f, const Expr *e);
const Value *eval_spawn(Frame *f, const Expr *e);
const Value *effect_now(Frame *f, const Expr *call);

/* tools.c */
const Value *perform_tool(Frame *f, const Decl *tool, const Value **args);

#endif
