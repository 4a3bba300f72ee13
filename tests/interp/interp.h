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

typedef struct Frame Frame;
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
    bool outside;        /* a part of it was made outside the program (label.c) */
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

/* label.c: the labels of values, as run-time bits */
bool is_outside(const Value *value);                                     /* it, or anything in it */
const Value *from_outside(const Value *value);                           /* it and all in it; NULL stays NULL */
const Value *from_inside(const Value *value);                            /* none of it */
const Value *made_of(const Value *made, const Value *a, const Value *b); /* outside when a or b is; NULL: none */
const Value *method_made(const Expr *e, const Value *made, const Value **args);
void look_at_places(Frame *f, const Expr *call, const Value **args);
void look_at_command(Frame *f, const Expr *step, const Value **args);

/* Strings by code points. */
size_t text_points(const char *text, size_t len);
const Value *text_slice(const Value *s, int64_t from, int64_t to);
const Value *text_trim(const Value *s, bool at_start, bool at_end);
const Value *text_lines(const Value *s);
bool text_contains(const Value *s, const Value *part);

/* ---- tasks ---- */

typedef struct Task Task;
typedef struct Timer Timer;
typedef struct Interp Interp;
typedef struct Scope Scope;

typedef enum RaisedKind { RAISED_NOTHING, RAISED_ERROR, RAISED_PANIC, RAISED_CANCEL } RaisedKind;

/* What is being raised in a task. */
typedef struct Raised {
    RaisedKind kind;
    const Value *error; /* RAISED_ERROR */
    const char *panic;  /* RAISED_PANIC: its message */
    uint32_t line;      /* RAISED_PANIC */
    const Scope *scope; /* RAISED_CANCEL: the call or deadline that ran out of time; NULL: the whole task */
} Raised;

/* What can run out of time: a call, and each `with deadline` in it. */
struct Scope {
    Frame *frame;
    Scope *outer;  /* in the same frame; NULL: this one is the call itself */
    uint32_t mask; /* the frame's, when it began */
    bool due;      /* its time has passed, and nobody was told yet */
    Timer *timer;
};

/* What a step would have undone should its body fail later. */
typedef struct Undo {
    const Policy *policy;
    const Value **vars;  /* the frame's as they were when the step started */
    const Value *answer; /* the step's own; NULL: unknown */
    struct Undo *below;  /* registered before */
} Undo;

/* What a frame runs. */
typedef struct Code {
    const Decl *decl;   /* the workflow or fn that it stands in */
    const Block *block; /* NULL: */
    const Expr *yield;  /* a body of parallel or race that is one step */
} Code;

/* One activation of a workflow or fn. */
struct Frame {
    Task *task;
    Frame *caller; /* the frame below; NULL: the task's first, and every fn's */
    const Decl *decl;
    const Value **vars;  /* by Variable.id */
    const Value *result; /* set by return and give */
    uint32_t line;       /* of the statement under way */
    uint32_t mask;       /* finally and undo blocks it is in */
    Task *children;      /* live ones, newest first, by next_sibling */
    Scope call;          /* the call itself */
    Scope *scope;        /* innermost */
    Undo *undo;          /* newest first */
    uint32_t undo_count;
    bool spawned;          /* it had children */
    bool returning;        /* its body is done; it waits for its children */
    uint32_t inline_depth; /* inline functions under way: they cannot stop either */
    bool json_outside;     /* the json literal under way has a value from outside */
    bool is_fn;            /* cannot stop; not among its task's frames */
};

typedef enum TaskEnd { END_NOT, END_COMPLETED, END_FAILED, END_CANCELLED } TaskEnd;

typedef enum GroupWait { GROUP_NO_WAIT, GROUP_ALL, GROUP_FIRST, GROUP_ROOM, GROUP_GONE } GroupWait;

/* The bodies of one parallel or race. */
typedef struct Group {
    Task *parent;
    Task **bodies; /* in order */
    uint32_t count, alive;
    int64_t limit;   /* GROUP_ROOM: fewer than these must run */
    Task *first;     /* to end */
    Task *failed;    /* the first that did not end well */
    GroupWait waits; /* what the parent stands still for */
} Group;

/* A lock or semaphore. */
typedef struct Lock {
    const Value *name;
    int64_t permits;
    Task *holders[64];
    uint32_t held;
    Task *waiters; /* in order, by next_waiter */
    struct Lock *next;
} Lock;

typedef struct Channel {
    int64_t capacity;
    bool closed;
    const Value **queue; /* len messages; the oldest first */
    size_t len;
    Task *receivers, *senders; /* those that wait, in order, by next_waiter */
} Channel;

/* Signals that came from outside and were not taken. */
typedef struct Signal {
    const char *name;
    const Value *value;
    struct Signal *next;
} Signal;

struct Task {
    Interp *interp;
    int64_t number;
    char *path;
    Code code;
    const Value **vars;
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
    Task *next_ready, *next_sibling, *next_waiter;
    Task *parent; /* with parent_frame: who waits for it */
    Frame *parent_frame;
    Group *group;        /* it is a body of this one */
    Task *joiners;       /* those that join it, in order, by next_waiter */
    Task **stands_in;    /* the queue it waits in: joiners, or those of a lock, channel or signal */
    Group *waits_group;  /* its own group, while it waits for it */
    Lock *granted;       /* while it waited, and not used yet */
    Channel *received;   /* a message of this one came as the answer, and is not used yet */
    Signal *signalled;   /* likewise */
    const Value *sends;  /* what it waits to send */
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
    Scope *scope; /* whose time it is; NULL: the task's own wait */
    Timer *next;
};

struct Interp {
    const Program *program;
    Task *tasks[4096];
    uint32_t task_count, live;
    Channel *channels[1024];
    uint32_t channel_count;
    Lock *locks;
    Signal *signals;      /* the oldest first */
    Task *signal_waiters; /* in order, by next_waiter */
    Task *ready_first, *ready_last, *work_first, *work_last;
    Timer *timers; /* by due time, then age */
    uint64_t timer_seq;
    int64_t now_ms;
    sem_t back; /* the running task stopped */
    Buf out, calls;
    struct Flaky *flaky;     /* calls of each flaky tool, by task */
    struct Testing *testing; /* a test runs; else NULL */
    uint32_t places, wrong;  /* values that reached a trusted place; those that came from outside */
};

/* sched.c */
void interp_run(Interp *in, const Decl *root);
/* Makes a task. Without a parent it is the root; a detached one has a parent that gives it its path, and no more. */
Task *task_start(Interp *in, Task *parent, Code code, const Value **vars, bool detached);
void task_kill(Task *target);
bool task_stop(Task *task); /* lets others run; false: something is being raised */
bool task_yield(Task *task);
bool task_sleep(Task *task, int64_t due_ms, int64_t timeout_due_ms);
bool task_join(Task *task, int64_t number, int64_t timeout_due_ms);
bool task_pause(Task *task, int64_t delay_ms);
bool task_spend(Frame *f);                         /* a loop head */
void task_count_answer(Task *task);                /* an answer that was there at once costs a share of the slice */
bool task_deliver(Task *task);                     /* at a suspension: true when a cancellation was delivered */
void task_wait_children(Task *task, Frame *frame); /* before a frame is left */
void scope_open(Task *task, Scope *scope, Frame *frame, int64_t ms); /* ms below 0: it has no end of time */
void scope_close(Task *task, Scope *scope, const char *message,
                 uint32_t line); /* its own cancellation becomes a Timeout */
void raise_in(Task *task, const Type *type, const char *message, const Value *a, const Value *b);
void raise_task_failed(Task *task, const Task *target);
void make_ready(Task *task); /* a task that stands still runs again */
void queue_work(Task *task); /* the same, first thing in the next turn */
void wait_in(Task *task, Task **queue, const char *name, int64_t timeout_due_ms); /* finish_wait is to follow */
Task *take_waiter(Task **queue); /* the first of them, whose wait is over; NULL: nobody waits */
bool finish_wait(Task *task);

/* wait.c: what tasks wait for beside time and each other's end */
bool task_send(Task *task, int64_t channel, const Value *value, int64_t timeout_due_ms);
bool task_recv(Task *task, int64_t channel, int64_t timeout_due_ms);
int64_t channel_make(Interp *in, int64_t capacity);
void channel_close(Interp *in, int64_t channel);
Lock *task_lock(Task *task, const Value *name, int64_t permits, int64_t timeout_due_ms); /* NULL: raised */
void lock_release(Task *task, Lock *lock);
bool task_signal(Task *task, const Value *name, int64_t timeout_due_ms);
void signal_send(Interp *in, const char *name, const Value *value);
bool task_ask(Task *task, int64_t timeout_due_ms);
void give_back(Task *task); /* what it was granted and did not use */
bool group_wait(Task *task, Group *group, GroupWait waits);
void group_tell(Task *body); /* one of a group has ended */

/* conc.c: what runs beside or apart from its body */
const Value *eval_parallel(Frame *f, const Expr *e);
const Value *eval_parallel_for(Frame *f, const Expr *e);
const Value *eval_race(Frame *f, const Expr *e);
Undo *undo_push(Frame *f, const Policy *policy);
void undo_drop(Frame *f, const Undo *undo); /* the step was definitely not done */
void undo_run(Frame *f, uint32_t height);   /* those above the height */
void undo_hand_on(Frame *to, Undo *undo);

/* exec.c */
bool activate(Task *task, Frame *caller, Code code, const Value **vars, int64_t timeout_ms, const Value **out,
              Undo **left); /* left: where its undo entries go at a normal end; NULL: nowhere */
const Value **vars_of(const Decl *decl, const Value **args);
const Value **vars_copy(const Frame *f);
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

bool fn_enter(Frame *f);
void fn_leave(Task *task);

/* method.c, method_inline.c, method_list.c, method_json.c */
const Value *eval_method(Frame *f, const Expr *e);
const Value *inline_method(Frame *f, const Expr *e);
const Value *list_sorted(const Value *list, const Value *keys);
const Value *regex_method(Frame *f, const Expr *e, const Value **args);
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
