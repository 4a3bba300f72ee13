/* lower_try.c: errors and ways out.
 *
 * A finally is lowered once. Each way into it leaves a code for what waits until its end: nothing, an error, a
 * return, a break or continue of some loop; at its end the code is inspected, and what waited continues in the scopes
 * around it. Code, error and return value are variables like all others, so they survive the stops inside the
 * finally. */
#include "lower.h"

/* ---- try ---- */

/* The code of a way out, noted in its finally. */
static int64_t leave_code(Lower *l, Scope *fin, LeaveKind kind, Scope *loop)
{
    if (kind == LEAVE_NORMAL) return 0;
    if (kind == LEAVE_ERROR) return 1;
    for (const Leave *leave = fin->leaves; leave; leave = leave->next)
        if (leave->kind == kind && leave->loop == loop) return leave->code;
    Leave *leave = arena_new(l->arena, Leave);
    *leave = (Leave){kind, loop, ++fin->codes + 1, fin->leaves};
    fin->leaves = leave;
    return leave->code;
}

/* Enters a finally with something pending. */
static void enter_finally(Lower *l, Scope *fin, LeaveKind kind, Scope *loop)
{
    Entering *entering = arena_new(l->arena, Entering);
    lower_instr(l, IN_SET, fin->pending, val_int(l, leave_code(l, fin, kind, loop)));
    if (kind == LEAVE_ERROR)
        lower_instr(l, IN_TAKE_ERROR, fin->error, NULL);
    else
        lower_instr(l, IN_SET, fin->error, val_null(l));
    fin->returns |= kind == LEAVE_RETURN;
    *entering = (Entering){l->cur, kind == LEAVE_RETURN, fin->entering};
    fin->entering = entering;
    lower_forget(l);
    lower_go(l, fin->entry);
}

/* Leaves the scopes around this place until `loop` (break, continue) or the routine (return). */
static void leave(Lower *l, LeaveKind kind, Scope *loop)
{
    for (Scope *scope = l->scope; scope; scope = scope->outer) {
        if (scope->kind == SCOPE_FINALLY) {
            enter_finally(l, scope, kind, loop);
            return;
        }
        if (scope->kind == SCOPE_WITH) {
            lower_let_go(l, scope);
            continue;
        }
        if (scope == loop) {
            lower_go(l, kind == LEAVE_BREAK ? loop->on_break : loop->on_continue);
            return;
        }
    }
    CHECK(kind == LEAVE_RETURN); /* a loop is found on the way */
    if (l->result) {
        lower_instr(l, IN_RESULT, NULL, val_of(l, l->result))->type = l->routine->result;
        lower_end(l);
    }
    lower_end_block(l, TERM_RETURN);
}

static void leave_try(Lower *l, const Stmt *s, Scope *fin, MBlock *done)
{
    if (!l->cur) return;
    if (s->finally)
        enter_finally(l, fin, LEAVE_NORMAL, NULL);
    else
        lower_go(l, done);
}

MBlock *lower_landing(Lower *l)
{
    MBlock *landing = machine_block(l->routine);
    landing->landing = true;
    return landing;
}

Val *lower_error_is(Lower *l, const CatchName *names)
{
    Val *test = NULL;
    for (const CatchName *name = names; name; name = name->next) {
        CHECK(name->type && name->type->kind == TYPE_ERROR);
        Val *is = val_pure(l, RT_ERROR_IS, REP_BOOL, 1, val_type(l, name->type));
        test = test ? val_binary(l, VAL_OR, REP_BOOL, test, is) : is;
    }
    return test;
}

static void lower_catches(Lower *l, const Stmt *s, Scope *fin, MBlock *done, MBlock *beyond)
{
    MBlock *next = machine_block(l->routine);
    lower_branch(l, val_pure(l, RT_CATCHABLE, REP_BOOL, 0), next, beyond);
    for (const Catch *k = s->catches; k; k = k->next) {
        MBlock *take = machine_block(l->routine);
        l->line = lower_line_of(l, k->span);
        lower_begin(l, next);
        Val *test = lower_error_is(l, k->names);
        next = k->next ? machine_block(l->routine) : beyond;
        if (test)
            lower_branch(l, test, take, next);
        else
            lower_go(l, take);
        lower_begin(l, take);
        lower_instr(l, IN_TAKE_ERROR, lower_local(l, k->variable), NULL);
        for (const CatchField *f = k->fields; f; f = f->next) {
            Val *field = val_field(l, val_of(l, lower_local(l, k->variable)), f->index, f->variable->type);
            lower_store(l, lower_local(l, f->variable), field, false);
        }
        lower_end(l);
        uint32_t scope = l->kept_count;
        for (const CatchField *f = k->fields; f; f = f->next) lower_keep(l, f->variable);
        lower_block(l, k->block);
        lower_keep_end(l, scope);
        leave_try(l, s, fin, done);
        if (!test) break;
    }
}

/* After the finally: what was pending continues, in the scopes around it. */
static void dispatch_pending(Lower *l, Scope *fin, MBlock *done)
{
    MBlock *next = machine_block(l->routine), *raise = machine_block(l->routine);
    lower_branch(l, val_compare(l, OP_EQ, val_of(l, fin->pending), val_int(l, 1)), raise, next);
    lower_forget(l);
    lower_begin(l, raise);
    lower_instr(l, IN_PUT_ERROR, fin->error, NULL);
    lower_forget(l);
    lower_raise(l, l->landing);
    for (const Leave *way = fin->leaves; way; way = way->next) {
        MBlock *take = machine_block(l->routine);
        lower_begin(l, next);
        next = machine_block(l->routine);
        lower_branch(l, val_compare(l, OP_EQ, val_of(l, fin->pending), val_int(l, way->code)), take, next);
        lower_begin(l, take);
        leave(l, way->kind, way->loop);
    }
    lower_begin(l, next);
    lower_go(l, done);
}

/* A return value waits while the finally runs, so every way in must define it. */
static void define_result(Lower *l, const Scope *fin)
{
    for (const Entering *in = fin->entering; in && fin->returns && l->result; in = in->next) {
        if (in->returns) continue;
        Instr *instr = machine_instr(l->routine, in->block, IN_SET, in->block->term.line);
        instr->dst = l->result;
        instr->a = val_zero(l, l->result->rep);
        machine_note_uses(l->routine, instr);
    }
}

static void lower_finally(Lower *l, const Stmt *s, Scope *fin, MBlock *done, MBlock *outer)
{
    MBlock *failing = lower_landing(l);
    define_result(l, fin);
    l->line = lower_line_of(l, s->finally->span);
    lower_begin(l, fin->entry);
    lower_instr(l, IN_MASK, NULL, NULL)->i = 1;
    l->landing = failing;
    const uint64_t around = lower_enter(l, "finally");
    lower_block(l, s->finally);
    l->around = around;
    l->landing = outer;
    if (l->cur) {
        lower_instr(l, IN_MASK, NULL, NULL)->i = -1;
        dispatch_pending(l, fin, done);
    }
    lower_begin(l, failing);
    lower_instr(l, IN_MASK, NULL, NULL)->i = -1;
    lower_raise(l, outer);
}

void lower_try(Lower *l, const Stmt *s)
{
    MBlock *outer = l->landing, *done = machine_block(l->routine);
    MBlock *caught = s->catches ? lower_landing(l) : NULL, *beyond = s->finally ? lower_landing(l) : outer;
    const CoreTypes *core = &l->machine->program->core;
    Scope fin = {.kind = SCOPE_FINALLY, .outer = l->scope};
    if (s->finally) {
        fin.entry = machine_block(l->routine);
        fin.pending = lower_hidden(l, core->integer, "pending");
        fin.error = lower_hidden(l, core->any_error, "pending_error");
        fin.pending->origin = lower_whole_origin(l); /* which number is which way out all of it decides */
        l->scope = &fin;
    }
    MBlock *arrive = s->undoes ? lower_landing(l) : NULL, *next = caught ? caught : beyond;
    Val *height = arrive ? lower_undo_height(l) : NULL;
    l->landing = arrive ? arrive : next;
    lower_block(l, s->block);
    leave_try(l, s, &fin, done);
    l->landing = beyond;
    if (arrive) {
        lower_begin(l, arrive);
        lower_unwind(l, height);
        lower_raise(l, next);
    }
    if (caught) {
        lower_begin(l, caught);
        lower_catches(l, s, &fin, done, beyond);
    }
    if (s->finally) {
        lower_begin(l, beyond);
        enter_finally(l, &fin, LEAVE_ERROR, NULL);
        l->scope = fin.outer;
        lower_finally(l, s, &fin, done, outer);
    }
    l->landing = outer;
    lower_begin(l, done);
}

/* ---- leaving ---- */

/* Something has still to be done on the way out. */
static bool in_cleanup_scope(const Lower *l)
{
    for (const Scope *scope = l->scope; scope; scope = scope->outer)
        if (scope->kind != SCOPE_LOOP) return true;
    return false;
}

void lower_return(Lower *l, const Stmt *s)
{
    if (s->value && in_cleanup_scope(l)) {
        if (!l->result) l->result = lower_hidden(l, l->routine->result, "result");
        lower_into(l, s->value, l->result, false);
        lower_end(l);
        lower_keep_to_here(l, 0);
        leave(l, LEAVE_RETURN, NULL);
        return;
    }
    if (!s->value && in_cleanup_scope(l)) {
        lower_keep_to_here(l, 0);
        leave(l, LEAVE_RETURN, NULL);
        return;
    }
    if (s->value) {
        Val *value = lower_root(l, s->value, "value");
        lower_instr(l, IN_RESULT, NULL, value)->type = l->routine->result;
    }
    lower_end(l);
    lower_keep_to_here(l, 0);
    lower_end_block(l, TERM_RETURN);
}

void lower_fail(Lower *l, const Stmt *s)
{
    const Expr *e = lower_strip(s->value);
    if (e->kind == EX_CALL && e->call == CALL_RECORD) {
        Val *fields = lower_words(l, e->argv, e->argc);
        lower_call(l, RT_FAIL, NULL, 3, val_type(l, e->type), val_int(l, l->line), fields);
    } else {
        lower_call(l, RT_FAIL_WITH, NULL, 1, lower_expr(l, s->value));
    }
    lower_raise(l, l->landing);
}

/* break and continue go to the innermost loop. */
void lower_loop_jump(Lower *l, const Stmt *s)
{
    Scope *loop = l->scope;
    while (loop && loop->kind != SCOPE_LOOP) loop = loop->outer;
    CHECK(loop);
    leave(l, s->kind == ST_BREAK ? LEAVE_BREAK : LEAVE_CONTINUE, loop);
}
