/* exec.c: statements, and the activation of fns and workflows. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

#define FN_DEPTH 1000
#define FN_FUEL  INT64_C(100000000)

/* How a statement ended. FLOW_RAISED: task->raised says what. */
typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_RAISED } Flow;

static Flow run_block(Frame *f, const Block *block);

static uint32_t line_of(const Frame *f, Span span)
{
    return source_global_line(f->task->interp->program->sources, span.off);
}

static void bind(Frame *f, const Variable *variable, const Value *value)
{
    if (variable) f->vars[variable->id] = value;
}

/* ---- assignment ---- */

/* The steps of a path, outermost container first, and their indexes. */
typedef struct Path {
    const Expr *steps[64];
    const Value *indexes[64];
    uint32_t count;
    const Variable *root;
} Path;

static bool read_path(Frame *f, Path *path, const Expr *target)
{
    target = strip(target);
    if (target->kind == EX_NAME) {
        path->root = target->variable;
        return true;
    }
    if (!read_path(f, path, target->left)) return false;
    const Value *index = target->kind == EX_INDEX ? eval(f, target->right) : &value_null;
    path->steps[path->count] = target;
    path->indexes[path->count++] = index;
    return index != NULL;
}

/* The part of an object that a step names; NULL after a panic. */
static const Value *part_of(Frame *f, const Value *object, const Expr *step, const Value *index)
{
    if (step->kind == EX_FIELD) return object->items[step->field_index];
    return object->kind == V_LIST ? list_at(f, object, index) : map_at(f, object, index);
}

/* A copy of the object with another part. */
static const Value *with_part(const Value *object, const Expr *step, const Value *index, const Value *part)
{
    Value *copy = value_copy(object, 1);
    if (object->kind == V_MAP)
        map_put(copy, index, part);
    else
        copy->items[step->kind == EX_FIELD ? step->field_index : (size_t)index->i] = part;
    return copy;
}

/* object with the part at path[at…] made `value`, or `old op value`. A plain assignment adds an absent key to the last map. */
static const Value *rebuild(Frame *f, const Path *path, uint32_t at, const Value *object, Op op, const Value *value)
{
    if (at == path->count) return op == OP_NONE ? value : arithmetic(f, op, object, value);
    const Expr *step = path->steps[at];
    bool adds = at + 1 == path->count && op == OP_NONE && object->kind == V_MAP;
    const Value *part = adds ? &value_null : part_of(f, object, step, path->indexes[at]);
    if (part) part = rebuild(f, path, at + 1, part, op, value);
    return part ? with_part(object, step, path->indexes[at], part) : NULL;
}

static Flow run_assign(Frame *f, const Stmt *s)
{
    Path path = {.count = 0};
    const Value *value = eval_root(f, s->value), *whole;
    if (!value || !read_path(f, &path, s->target)) return FLOW_RAISED;
    whole = rebuild(f, &path, 0, f->vars[path.root->id], s->op, value);
    if (!whole) return FLOW_RAISED;
    f->vars[path.root->id] = whole;
    return FLOW_NEXT;
}

/* ---- loops ---- */

/* A loop's head; then its body. Any other answer than FLOW_NEXT ends the loop, FLOW_BREAK quietly. */
static Flow run_body(Frame *f, const Stmt *s)
{
    Flow flow = run_block(f, s->block);
    f->line = line_of(f, s->span);
    return flow == FLOW_CONTINUE ? FLOW_NEXT : flow;
}

static Flow run_while(Frame *f, const Stmt *s)
{
    for (;;) {
        if (!task_spend(f)) return FLOW_RAISED;
        const Value *cond = eval_root(f, s->value);
        if (!cond) return FLOW_RAISED;
        if (!cond->i) return FLOW_NEXT;
        Flow flow = run_body(f, s);
        if (flow != FLOW_NEXT) return flow == FLOW_BREAK ? FLOW_NEXT : flow;
    }
}

static void bind_iteration(Frame *f, const Stmt *s, const Value *over, int64_t at)
{
    if (s->range_end) {
        bind(f, s->variable, value_int(at));
    } else if (over->kind == V_MAP) {
        bind(f, s->variable, over->keys[at]);
        bind(f, s->variable2, over->items[at]);
    } else if (s->variable2) {
        bind(f, s->variable, value_int(at));
        bind(f, s->variable2, over->items[at]);
    } else {
        bind(f, s->variable, over->items[at]);
    }
}

static Flow run_for(Frame *f, const Stmt *s)
{
    const Value *over = eval_root(f, s->value), *last = over && s->range_end ? eval(f, s->range_end) : over;
    if (!last) return FLOW_RAISED;
    int64_t at = s->range_end ? over->i : 0, end = s->range_end ? last->i : (int64_t)over->len;
    for (;; at++) {
        if (!task_spend(f)) return FLOW_RAISED;
        if (at >= end) return FLOW_NEXT;
        bind_iteration(f, s, over, at);
        Flow flow = run_body(f, s);
        if (flow != FLOW_NEXT) return flow == FLOW_BREAK ? FLOW_NEXT : flow;
    }
}

/* ---- match ---- */

static bool takes(Frame *f, const Pattern *p, const Value *subject)
{
    switch (p->kind) {
    case PAT_ELSE: return true;
    case PAT_CASE:
        if (p->error_type) return subject->type == p->error_type;
        return subject->kind == V_CASE && subject->case_index == p->case_index;
    default: return value_equal(eval(f, p->literal), subject);
    }
}

static Flow run_match(Frame *f, const Stmt *s)
{
    const Value *subject = eval_root(f, s->value);
    if (!subject) return FLOW_RAISED;
    for (const Arm *arm = s->arms; arm; arm = arm->next) {
        const Pattern *p = arm->patterns;
        f->line = line_of(f, arm->span);
        while (p && !takes(f, p, subject)) p = p->next;
        if (!p) continue;
        size_t at = p->error_type ? 1 : 0;
        for (const Binding *b = p->bindings; b; b = b->next, at++) bind(f, b->variable, subject->items[at]);
        const Value *guard = arm->guard ? eval(f, arm->guard) : NULL;
        if (arm->guard && !guard) return FLOW_RAISED;
        if (!guard || guard->i) return run_block(f, arm->block);
    }
    return FLOW_NEXT;
}

/* ---- try ---- */

static const Catch *catch_for(const Frame *f, const Stmt *s)
{
    const Raised *raised = &f->task->raised;
    if (raised->kind != RAISED_ERROR) return NULL;
    for (const Catch *k = s->catches; k; k = k->next) {
        if (!k->names) return k;
        for (const CatchName *name = k->names; name; name = name->next)
            if (name->type == raised->error->type) return k;
    }
    return NULL;
}

static Flow run_try(Frame *f, const Stmt *s)
{
    Task *task = f->task;
    uint32_t height = f->undo_count;
    Flow flow = run_block(f, s->block);
    if (flow == FLOW_RAISED) undo_run(f, height);
    const Catch *k = flow == FLOW_RAISED ? catch_for(f, s) : NULL;
    if (k) {
        const Value *error = task->raised.error;
        if (!error->type->decl) error = from_outside(error); /* its text is the runtime's, a tool's or a model's */
        bind(f, k->variable, error);
        for (const CatchField *b = k->fields; b; b = b->next) bind(f, b->variable, error->items[b->index]);
        task->raised = (Raised){0};
        flow = run_block(f, k->block);
    }
    if (!s->finally) return flow;
    Raised pending = task->raised;
    const Value *result = f->result;
    task->raised = (Raised){0};
    f->mask++;
    Flow ended = run_block(f, s->finally);
    f->mask--;
    if (ended == FLOW_RAISED) return ended; /* what fails in a finally replaces what was pending */
    task->raised = pending;
    f->result = result;
    return flow;
}

/* ---- with ---- */

static bool due_after(Frame *f, const Expr *timeout, int64_t *due_ms)
{
    *due_ms = INT64_MAX;
    if (!timeout) return true;
    const Value *value = eval(f, timeout);
    if (value) *due_ms = f->task->interp->now_ms + (value->i > 0 ? value->i : 0);
    return value != NULL;
}

static Flow run_guarded(Frame *f, const Stmt *s)
{
    uint32_t height = f->undo_count;
    Flow flow = run_block(f, s->block);
    if (flow == FLOW_RAISED) undo_run(f, height);
    return flow;
}

static Flow run_with(Frame *f, const Stmt *s)
{
    Task *task = f->task;
    uint32_t line = f->line;
    int64_t due_ms;
    const Value **args = eval_args(f, s->value);
    if (!args || !due_after(f, s->timeout, &due_ms)) return FLOW_RAISED;
    if (s->value->builtin->id == BI_DEADLINE) {
        Scope scope;
        scope_open(task, &scope, f, args[0]->i > 0 ? args[0]->i : 0);
        Flow flow = run_guarded(f, s);
        scope_close(task, &scope, "the deadline has passed", line);
        return flow;
    }
    Lock *lock = task_lock(task, args[0], s->value->builtin->id == BI_LOCK ? 1 : args[1]->i, due_ms);
    if (!lock) return FLOW_RAISED;
    Flow flow = run_guarded(f, s);
    lock_release(task, lock);
    return flow;
}

/* ---- statements ---- */

static Flow run_if(Frame *f, const Stmt *s)
{
    const Value *cond = eval_root(f, s->value);
    if (!cond) return FLOW_RAISED;
    if (cond->i) return run_block(f, s->block);
    return s->else_block ? run_block(f, s->else_block) : FLOW_NEXT;
}

static Flow run_fail(Frame *f, const Stmt *s)
{
    const Value *error = eval(f, s->value);
    if (error) f->task->raised = (Raised){.kind = RAISED_ERROR, .error = error};
    return FLOW_RAISED;
}

static Flow run_return(Frame *f, const Stmt *s)
{
    if (s->value && !(f->result = eval_root(f, s->value))) return FLOW_RAISED;
    return FLOW_RETURN;
}

static Flow run_let(Frame *f, const Stmt *s)
{
    const Value *value = eval_root(f, s->value);
    if (!value) return FLOW_RAISED;
    bind(f, s->variable, value);
    return FLOW_NEXT;
}

static Flow run_stmt(Frame *f, const Stmt *s)
{
    switch (s->kind) {
    case ST_LET:
    case ST_VAR: return run_let(f, s);
    case ST_ASSIGN: return run_assign(f, s);
    case ST_EXPR: return eval_root(f, s->value) ? FLOW_NEXT : FLOW_RAISED;
    case ST_YIELD: return task_yield(f->task) ? FLOW_NEXT : FLOW_RAISED;
    case ST_IF: return run_if(f, s);
    case ST_WHILE: return run_while(f, s);
    case ST_FOR: return run_for(f, s);
    case ST_MATCH: return run_match(f, s);
    case ST_RETURN:
    case ST_GIVE: return run_return(f, s);
    case ST_WITH: return run_with(f, s);
    case ST_FAIL: return run_fail(f, s);
    case ST_BREAK: return FLOW_BREAK;
    case ST_CONTINUE: return FLOW_CONTINUE;
    case ST_TRY: return run_try(f, s);
    case ST_MOCK: return run_mock(f, s) ? FLOW_NEXT : FLOW_RAISED;
    case ST_ASSERT: return run_assert(f, s->value) ? FLOW_NEXT : FLOW_RAISED;
    default: fprintf(stderr, "interp: a statement of kind %d\n", (int)s->kind); exit(70);
    }
}

static Flow run_block(Frame *f, const Block *block)
{
    for (const Stmt *s = block->stmts; s; s = s->next) {
        f->line = line_of(f, s->span);
        Flow flow = run_stmt(f, s);
        if (flow != FLOW_NEXT) return flow;
    }
    return FLOW_NEXT;
}

/* ---- activations ---- */

const Value **vars_of(const Decl *decl, const Value **args)
{
    const Value **vars = must_alloc((decl->variable_count + 1) * sizeof *vars);
    uint32_t at = 0;
    for (const Field *p = decl->params; p; p = p->next) vars[p->variable->id] = args[at++];
    return vars;
}

const Value **vars_copy(const Frame *f)
{
    size_t size = (f->decl->variable_count + 1) * sizeof *f->vars;
    return memcpy(must_alloc(size), f->vars, size);
}

/* What lies between enter and leave cannot stop: it has a budget of its own. */
bool fn_enter(Frame *f)
{
    Task *task = f->task;
    if (task->fn_depth == FN_DEPTH) return panic(f, "fn calls are nested deeper than %d", FN_DEPTH);
    if (task->fn_depth++ == 0) task->fn_fuel = FN_FUEL;
    return true;
}

void fn_leave(Task *task)
{
    if (--task->fn_depth || !task->fn_spent) return;
    task->fn_spent = false;
    task->fuel = 0;
}

/* An inline function that a fn was given: its parameters, then what it uses from around it. */
static const Value *call_lambda(Frame *caller, const Decl *decl, const Value **args)
{
    const Expr *e = decl->lambda;
    const Value **vars = must_alloc((decl->around->variable_count + 1) * sizeof *vars);
    Frame f = {.task = caller->task, .decl = decl->around, .vars = vars, .is_fn = true};
    vars[e->variable->id] = *args++;
    if (e->variable2) vars[e->variable2->id] = *args++;
    for (uint32_t i = 0; i < decl->capture_count; i++) vars[decl->captures[i]->id] = args[i];
    f.line = line_of(&f, decl->span);
    if (!fn_enter(&f)) return NULL;
    const Value *value = eval(&f, e->left);
    fn_leave(caller->task);
    return value;
}

const Value *call_fn(Frame *caller, const Decl *decl, const Value **args)
{
    if (decl->lambda) return call_lambda(caller, decl, args);
    Task *task = caller->task;
    Frame f = {.task = task, .decl = decl, .vars = vars_of(decl, args), .is_fn = true};
    f.line = line_of(&f, decl->span);
    if (!fn_enter(&f)) return NULL;
    Flow flow = run_block(&f, decl->block);
    fn_leave(task);
    if (flow == FLOW_RAISED) return NULL;
    return f.result ? f.result : &value_null;
}

static void run_code(Frame *f, Code code)
{
    if (code.block) {
        run_block(f, code.block);
        return;
    }
    f->line = line_of(f, code.yield->span);
    f->result = eval_root(f, code.yield);
}

/* A task can be killed before it begins, and while only its children keep it. */
bool activate(Task *task, Frame *caller, Code code, const Value **vars, int64_t timeout_ms, const Value **out,
              Undo **left)
{
    Frame f = {.task = task, .decl = code.decl, .vars = vars, .caller = caller};
    task->top = &f;
    scope_open(task, &f.call, &f, timeout_ms);
    bool mocked =
        code.block == code.decl->block && !task->raised.kind && test_answers_workflow(task, code.decl, vars, &f.result);
    if (!task->raised.kind && !mocked) run_code(&f, code);
    if (task->raised.kind) undo_run(&f, 0);
    task_wait_children(task, &f);
    if (task->raised.kind) undo_run(&f, 0);
    scope_close(task, &f.call, "the call ran out of time", line_of(&f, code.decl->span));
    task->top = caller;
    *out = f.result ? f.result : &value_null;
    if (left) *left = f.undo;
    return !task->raised.kind;
}
