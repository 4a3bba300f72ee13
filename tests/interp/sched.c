/* sched.c: tasks, turns and virtual time.
 *
 * A task is a thread, but only one thread runs at any time: the loop hands over with a semaphore and waits for another. A turn: joins that
 * failed are answered, due timers fire, then the tasks that were ready at this moment run, first come first served. When nothing is left to
 * do, time jumps to the next timer. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

#define FUEL_SLICE  10000
#define ANSWER_COST (FUEL_SLICE / 64)
#define TEST_TURNS  100000

/* ---- queues ---- */

void make_ready(Task *task)
{
    Interp *in = task->interp;
    if (task->ready || task->end || !task->waiting) return;
    task->ready = true;
    task->next_ready = NULL;
    if (in->ready_last)
        in->ready_last->next_ready = task;
    else
        in->ready_first = task;
    in->ready_last = task;
}

void queue_work(Task *task)
{
    Interp *in = task->interp;
    if (task->in_work) return;
    task->in_work = true;
    task->next_work = NULL;
    if (in->work_last)
        in->work_last->next_work = task;
    else
        in->work_first = task;
    in->work_last = task;
}

/* ---- timers ---- */

static Timer *timer_add(Interp *in, int64_t due_ms, Task *task, Scope *scope)
{
    Timer *timer = must_alloc(sizeof *timer), **link = &in->timers;
    *timer = (Timer){.due_ms = due_ms, .seq = ++in->timer_seq, .task = task, .scope = scope};
    while (*link && (*link)->due_ms <= due_ms) link = &(*link)->next;
    timer->next = *link;
    *link = timer;
    return timer;
}

static void timer_drop(Interp *in, Timer **place)
{
    for (Timer **link = &in->timers; *place && *link; link = &(*link)->next) {
        if (*link != *place) continue;
        *link = (*link)->next;
        break;
    }
    *place = NULL;
}

/* ---- cancellation ---- */

/* The next scope outwards. */
static Scope *outer_scope(const Scope *scope)
{
    if (scope->outer) return scope->outer;
    return scope->frame->caller ? scope->frame->caller->scope : NULL;
}

/* Whom a cancellation that waits would reach now: the outermost scope whose time is up, or the whole task (*whole), unless a finally or
 * undo lies between. False: nobody. */
static bool cancel_target(const Task *task, Scope **target, bool *whole)
{
    *target = NULL;
    *whole = false;
    for (Scope *scope = task->top ? task->top->scope : NULL; scope; scope = outer_scope(scope)) {
        if (scope->mask < scope->frame->mask) return *target != NULL;
        if (scope->due) *target = scope;
    }
    *whole = task->kill_pending;
    return *target || *whole;
}

static void leave_queue(Task *task)
{
    for (Task **link = task->stands_in; link && *link; link = &(*link)->next_waiter) {
        if (*link != task) continue;
        *link = task->next_waiter;
        break;
    }
    task->stands_in = NULL;
    if (task->waits_group) task->waits_group->waits = GROUP_NO_WAIT;
    task->waits_group = NULL;
}

static void forget_wait(Task *task)
{
    timer_drop(task->interp, &task->timer);
    leave_queue(task);
    give_back(task);
}

static void cancel_children(Frame *f)
{
    for (Task *child = f->children, *next; child; child = next) {
        next = child->next_sibling;
        task_kill(child);
    }
}

/* Is the task unwinding already to the scope or further? */
static bool outranks(Raised raised, const Scope *target)
{
    if (raised.kind != RAISED_CANCEL) return false;
    for (const Scope *scope = target; scope; scope = outer_scope(scope))
        if (scope == raised.scope) return true;
    return !raised.scope;
}

bool task_deliver(Task *task)
{
    Scope *target;
    bool whole;
    if (!cancel_target(task, &target, &whole)) return false;
    forget_wait(task);
    if (whole) {
        task->kill_pending = false;
        task->killed = true;
        target = NULL;
    } else {
        target->due = false;
        if (outranks(task->raised, target)) return true;
    }
    task->raised = (Raised){.kind = RAISED_CANCEL, .scope = target};
    if (task->top && task->top->returning) cancel_children(task->top);
    return true;
}

/* Something that cancels has come: a task that stands still is woken when it is reached. One that is ready hears of it in its turn, and
 * what it was handed goes back then. */
static void wake_for_cancel(Task *task)
{
    Scope *target;
    bool whole;
    if (task->ready || !cancel_target(task, &target, &whole)) return;
    forget_wait(task);
    make_ready(task);
}

void task_kill(Task *target)
{
    if (target->end || target->killed || target->kill_pending) return;
    target->kill_pending = true;
    wake_for_cancel(target);
}

/* ---- stopping and going on ---- */

bool task_stop(Task *task)
{
    task->waiting = true;
    sem_post(&task->interp->back);
    sem_wait(&task->go);
    task->waiting = false;
    task->fuel = FUEL_SLICE;
    task_deliver(task);
    return !task->raised.kind;
}

static bool stop_ready(Task *task)
{
    task->waiting = true;
    make_ready(task);
    return task_stop(task);
}

bool task_yield(Task *task)
{
    return stop_ready(task);
}

/* A fn goes on over the end of a slice; the workflow that called it stops at its next loop head instead. */
bool task_spend(Frame *f)
{
    Task *task = f->task;
    if (--task->fuel >= 0) return true;
    if (!f->is_fn && !f->inline_depth) return stop_ready(task);
    if (task->fn_fuel <= 0) return panic(f, "this fn ran too long without letting others run");
    task->fn_fuel -= FUEL_SLICE;
    task->fuel = FUEL_SLICE;
    return task->fn_spent = true;
}

void task_count_answer(Task *task)
{
    task->fuel -= ANSWER_COST;
    if (task->fuel < 0) stop_ready(task);
}

/* Raises an error that is not the program's own. */
void raise_in(Task *task, const Type *type, const char *message, const Value *a, const Value *b)
{
    const Value *fields[] = {value_text(message, strlen(message)), a, b};
    raise_error(task->top, type, fields);
}

/* Stands still. What came as the answer is used now; when a cancellation came instead, it went back where it came from. */
bool finish_wait(Task *task)
{
    bool ok = task_stop(task);
    if (ok) {
        task->granted = NULL;
        task->received = NULL;
        task->signalled = NULL;
    }
    forget_wait(task);
    return ok;
}

void wait_in(Task *task, Task **queue, const char *name, int64_t timeout_due_ms)
{
    task->waiting = true;
    task->waits_for = name;
    task->timer_is_timeout = true;
    if (timeout_due_ms != INT64_MAX) task->timer = timer_add(task->interp, timeout_due_ms, task, NULL);
    task->stands_in = queue;
    task->next_waiter = NULL;
    while (*queue) queue = &(*queue)->next_waiter;
    *queue = task;
}

Task *take_waiter(Task **queue)
{
    Task *task = *queue;
    if (!task) return NULL;
    *queue = task->next_waiter;
    task->stands_in = NULL;
    timer_drop(task->interp, &task->timer);
    return task;
}

static void fire_timeout(Task *task)
{
    char message[100];
    snprintf(message, sizeof message, "%s had no answer in time", task->waits_for);
    raise_in(task, task->interp->program->core.timeout, message, value_bool(false), NULL);
}

bool task_sleep(Task *task, int64_t due_ms, int64_t timeout_due_ms)
{
    task->timer_is_timeout = due_ms > timeout_due_ms;
    task->waits_for = "sleep";
    task->answer = &value_null;
    task->timer = timer_add(task->interp, task->timer_is_timeout ? timeout_due_ms : due_ms, task, NULL);
    return finish_wait(task);
}

bool task_pause(Task *task, int64_t delay_ms)
{
    task->answer = &value_null;
    if (delay_ms <= 0) return task_count_answer(task), !task->raised.kind;
    task->timer_is_timeout = false;
    task->timer = timer_add(task->interp, task->interp->now_ms + delay_ms, task, NULL);
    return finish_wait(task);
}

/* ---- join ---- */

void raise_task_failed(Task *task, const Task *target)
{
    const char *kind = "failed", *message = target->failure;
    if (target == task) {
        kind = "self";
        message = "a task cannot join itself";
    } else if (target->end == END_CANCELLED) {
        kind = "killed";
        message = "it was killed";
    } else if (strncmp(target->failure, "Panic: ", 7) == 0) {
        kind = "panicked";
    }
    raise_in(task, task->interp->program->core.task_failed, message, value_text(target->path, strlen(target->path)),
             value_text(kind, strlen(kind)));
}

/* The joined task has ended: a value wakes at once, a failure is an ended effect of the next turn. */
static void answer_join(Task *task, Task *target)
{
    if (target != task && target->end == END_COMPLETED) {
        task->answer = target->value;
        make_ready(task);
    } else {
        raise_task_failed(task, target);
        queue_work(task);
    }
}

bool task_join(Task *task, int64_t number, int64_t timeout_due_ms)
{
    Task *target = task->interp->tasks[number];
    if (target != task && target->end == END_COMPLETED) {
        task->answer = target->value;
        task_count_answer(task);
        return !task->raised.kind;
    }
    if (target == task || target->end) {
        task->waiting = true;
        answer_join(task, target);
        return finish_wait(task);
    }
    wait_in(task, &target->joiners, "join", timeout_due_ms);
    return finish_wait(task);
}

/* ---- frames and ends ---- */

/* The end of a frame that ever had children is a suspension, even when none is left. */
void task_wait_children(Task *task, Frame *f)
{
    if (!f->spawned) return;
    f->returning = true;
    if (task->raised.kind) cancel_children(f);
    task_deliver(task);
    while (f->children) task_stop(task);
    f->returning = false;
}

void scope_open(Task *task, Scope *scope, Frame *f, int64_t ms)
{
    *scope = (Scope){.frame = f, .outer = f->scope, .mask = f->mask};
    if (ms >= 0) scope->timer = timer_add(task->interp, task->interp->now_ms + ms, task, scope);
    f->scope = scope;
}

void scope_close(Task *task, Scope *scope, const char *message, uint32_t line)
{
    Frame *f = scope->frame;
    timer_drop(task->interp, &scope->timer);
    f->scope = scope->outer;
    if (task->raised.kind != RAISED_CANCEL || task->raised.scope != scope) return;
    f->line = line;
    raise_in(task, task->interp->program->core.timeout, message, value_bool(false), NULL);
}

/* Lines are counted over all files. */
static const Module *module_of_line(const Program *program, uint32_t line)
{
    const Module *at = program->modules;
    while (at->next && at->next->source->line_base < line) at = at->next;
    return at;
}

/* The task whose failure goes on; the sentence about it ends with its own place. Its workflow's name is left out (trace.h). False: it is
 * another error. */
static bool describe_cause(Buf *text, const Interp *in, const Value *error)
{
    if (error->type != in->program->core.task_failed) return false;
    const char *path = error->items[1]->text, *kind = error->items[2]->text;
    bool killed = strcmp(kind, "killed") == 0;
    if (!killed && strcmp(kind, "failed") != 0 && strcmp(kind, "panicked") != 0) return false;
    buf_format(text, "%s: task %s %s%s", error->type->name, path, killed ? "was " : "", kind);
    if (!killed) buf_format(text, ": %s", error->items[0]->text);
    return true;
}

static void describe_failure(Task *task)
{
    Buf text = {0};
    const Raised *raised = &task->raised;
    uint32_t line = raised->kind == RAISED_PANIC ? raised->line : raised->error->line;
    bool joined = raised->kind != RAISED_PANIC && describe_cause(&text, task->interp, raised->error);
    if (raised->kind == RAISED_PANIC)
        buf_format(&text, "Panic: %s", raised->panic);
    else if (!joined)
        value_print(&text, raised->error->type, raised->error);
    if (line) {
        const Module *at = module_of_line(task->interp->program, line);
        buf_format(&text, joined ? ", joined at %s:%u" : " (%s:%u)", at->file, line - at->source->line_base);
    }
    task->failure = text.data;
}

static void unlink_child(Task *child)
{
    Task *parent = child->parent;
    if (!parent) return;
    Frame *f = child->parent_frame;
    for (Task **link = &f->children; *link; link = &(*link)->next_sibling) {
        if (*link != child) continue;
        *link = child->next_sibling;
        break;
    }
    if (!f->children && f->returning) make_ready(parent);
}

static void end_task(Task *task, const Value *value)
{
    if (!task->raised.kind) {
        task->end = END_COMPLETED;
        task->value = value;
    } else if (task->raised.kind == RAISED_CANCEL) {
        task->end = END_CANCELLED;
        task->failure = "Cancelled";
    } else {
        task->end = END_FAILED;
        describe_failure(task);
    }
    task->interp->live--;
    unlink_child(task);
    if (task->group) group_tell(task);
    for (Task *joiner; (joiner = take_waiter(&task->joiners));) answer_join(joiner, task);
}

static void *task_main(void *arg)
{
    Task *task = arg;
    const Value *value;
    Undo *left = NULL;
    sem_wait(&task->go);
    task->waiting = false;
    task->fuel = FUEL_SLICE;
    task_deliver(task);
    activate(task, NULL, task->code, task->vars, -1, &value, &left);
    if (task->group) undo_hand_on(task->parent_frame, left);
    end_task(task, value);
    sem_post(&task->interp->back);
    return NULL;
}

Task *task_start(Interp *in, Task *parent, Code code, const Value **vars, bool detached)
{
    Task *task = must_alloc(sizeof *task);
    if (in->task_count == sizeof in->tasks / sizeof *in->tasks) {
        fprintf(stderr, "interp: too many tasks\n");
        exit(70);
    }
    *task = (Task){.interp = in, .number = in->task_count, .code = code, .vars = vars, .waiting = true};
    in->tasks[in->task_count++] = task;
    in->live++;
    if (!parent)
        task->path = strdup("1");
    else if (asprintf(&task->path, "%s.%u", parent->path, ++parent->spawned) < 0)
        abort();
    if (parent && !detached) {
        task->parent = parent;
        task->parent_frame = parent->top;
        parent->top->spawned = true;
        task->next_sibling = parent->top->children;
        parent->top->children = task;
    }
    sem_init(&task->go, 0, 0);
    make_ready(task);
    return task;
}

/* ---- the loop ---- */

static void run_task(Task *task)
{
    Interp *in = task->interp;
    if (!task->started) {
        task->started = true;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 8 << 20);
        if (pthread_create(&task->thread, &attr, task_main, task)) {
            fprintf(stderr, "interp: no thread for task %s\n", task->path);
            exit(70);
        }
        pthread_attr_destroy(&attr);
    }
    sem_post(&task->go);
    sem_wait(&in->back);
    if (task->end) pthread_join(task->thread, NULL);
}

static bool run_work(Interp *in)
{
    Task *task = in->work_first;
    if (!task) return false;
    in->work_first = task->next_work;
    if (!in->work_first) in->work_last = NULL;
    task->in_work = false;
    make_ready(task);
    return true;
}

static bool fire_timer(Interp *in)
{
    Timer *timer = in->timers;
    if (!timer || timer->due_ms > in->now_ms) return false;
    Task *task = timer->task;
    in->timers = timer->next;
    if (timer->scope) {
        timer->scope->timer = NULL;
        timer->scope->due = true;
        wake_for_cancel(task);
        return true;
    }
    task->timer = NULL;
    leave_queue(task);
    if (task->timer_is_timeout) fire_timeout(task);
    make_ready(task);
    return true;
}

static bool turn(Interp *in)
{
    bool happened = false;
    uint32_t count = 0;
    while (run_work(in)) happened = true;
    while (fire_timer(in)) happened = true;
    for (Task *task = in->ready_first; task; task = task->next_ready) count++;
    for (; count; count--, happened = true) {
        Task *task = in->ready_first;
        in->ready_first = task->next_ready;
        if (!in->ready_first) in->ready_last = NULL;
        task->ready = false;
        run_task(task);
    }
    return happened;
}

void interp_run(Interp *in, const Decl *root)
{
    sem_init(&in->back, 0, 0);
    const Value **vars = vars_of(root, NULL);
    task_start(in, NULL, (Code){.decl = root, .block = root->block}, vars, false);
    for (uint32_t turns = 0; in->live && (!in->testing || turns < TEST_TURNS); turns++) {
        if (turn(in)) continue;
        if (!in->timers) return; /* stuck: everybody waits for somebody */
        in->now_ms = in->timers->due_ms;
    }
}
