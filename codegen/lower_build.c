/* lower_build.c: the hands of the lowering pass: blocks, instructions, the end of statements, variables. */
#include <string.h>

#include "lower.h"

/* ---- blocks and instructions ---- */

uint32_t lower_line_of(const Lower *l, Span span)
{
    return source_global_line(l->machine->program->sources, span.off);
}

void lower_touch(Lower *l, Var *var)
{
    if (!var->owned) return;
    for (uint32_t i = 0; i < l->touched_count; i++)
        if (l->touched[i] == var) return;
    if (l->touched_count == l->touched_cap)
        l->touched = arena_grow(l->arena, l->touched, &l->touched_cap, l->touched_count + 1, sizeof *l->touched);
    l->touched[l->touched_count++] = var;
}

void lower_note(Lower *l, Instr *instr)
{
    machine_note_uses(l->routine, instr);
    for (uint32_t i = 0; i < instr->use_count; i++) lower_touch(l, instr->uses[i]);
    if (instr->dst) lower_touch(l, instr->dst);
}

Instr *lower_instr(Lower *l, InstrKind kind, Var *dst, Val *a)
{
    Instr *instr = machine_instr(l->routine, l->cur, kind, l->line);
    instr->dst = dst;
    instr->a = a;
    lower_note(l, instr);
    return instr;
}

void lower_begin(Lower *l, MBlock *block)
{
    CHECK(!l->cur || l->cur->term.kind != TERM_NONE); /* control falls off no block */
    machine_place(l->routine, block);
    l->cur = block;
}

Term *lower_end_block(Lower *l, TermKind kind)
{
    Term *term = &l->cur->term;
    CHECK(term->kind == TERM_NONE);
    term->kind = kind;
    term->line = l->line;
    l->cur = NULL;
    return term;
}

void lower_go(Lower *l, MBlock *to)
{
    lower_end_block(l, TERM_JUMP)->to = to;
}

void lower_branch(Lower *l, Val *cond, MBlock *yes, MBlock *no)
{
    Term *term = lower_end_block(l, TERM_BRANCH);
    term->cond = cond;
    term->to = yes;
    term->other = no;
    machine_note_term(l->routine, term);
    for (uint32_t i = 0; i < term->use_count; i++) lower_touch(l, term->uses[i]);
}

/* The statement is over, and what it touched has been dealt with. */
void lower_forget(Lower *l)
{
    l->touched_count = 0;
    l->temps = false;
    memset(l->next_temp, 0, sizeof l->next_temp);
}

/* Has the statement done anything so far? If not, its value is a tree over variables and may be inspected again
 * later. */
bool lower_is_idle(const Lower *l)
{
    for (int rep = 0; rep < REP_COUNT; rep++)
        if (l->next_temp[rep]) return false;
    return !l->touched_count && !l->temps;
}

/* The statement's touched variables become uses of the block's end, and the statement is over. */
void lower_take_touched(Lower *l, Term *term)
{
    Var **uses = arena_alloc(l->arena, (term->use_count + l->touched_count + 1) * sizeof *uses);
    for (uint32_t i = 0; i < term->use_count; i++) uses[i] = term->uses[i];
    uint32_t count = term->use_count;
    for (uint32_t i = 0; i < l->touched_count; i++) {
        bool known = false;
        for (uint32_t k = 0; k < term->use_count && !known; k++) known = uses[k] == l->touched[i];
        if (!known) uses[count++] = l->touched[i];
    }
    term->uses = uses;
    term->use_count = count;
    term->cut = l->temps;
    lower_forget(l);
}

/* Raises what is pending: goes to the landing, where everything held is released. */
void lower_raise(Lower *l, MBlock *landing)
{
    MBlock *block = l->cur;
    lower_go(l, landing);
    lower_take_touched(l, &block->term);
}

void lower_end(Lower *l)
{
    if (l->touched_count || l->temps) {
        Instr *instr = machine_instr(l->routine, l->cur, IN_END, l->line);
        instr->cut = l->temps;
        instr->use_count = l->touched_count;
        instr->uses = arena_alloc(l->arena, (l->touched_count + 1) * sizeof *instr->uses);
        for (uint32_t i = 0; i < l->touched_count; i++) instr->uses[i] = l->touched[i];
    }
    lower_forget(l);
}

void lower_store(Lower *l, Var *dst, Val *value, bool replaces)
{
    if (!dst->owned) {
        lower_instr(l, IN_SET, dst, value);
        return;
    }
    Instr *instr = machine_instr(l->routine, l->cur, IN_STORE, l->line);
    instr->dst = dst;
    instr->a = value;
    instr->i = replaces;
    lower_note(l, instr);
}

/* ---- variables ---- */

Var *lower_local(Lower *l, const Variable *variable)
{
    CHECK(l->routine->decl && variable->id < l->routine->decl->variable_count);
    Var *var = l->by_id[variable->id];
    if (var) return var;
    var = machine_var(l->routine, VAR_LOCAL, variable->type, machine_rep(variable->type),
                      lower_unique_name(l, variable->name, variable->id));
    var->label = variable->name;
    var->changes = variable->mutable;
    l->by_id[variable->id] = var;
    return var;
}

void lower_keep(Lower *l, const Variable *variable)
{
    Var *var = variable ? l->by_id[variable->id] : NULL;
    if (!l->machine->debug || l->routine->kind != ROUTINE_WORKFLOW || !var || var->rep == REP_NONE) return;
    if (l->kept_count == l->kept_cap)
        l->kept = arena_grow(l->arena, l->kept, &l->kept_cap, l->kept_count + 1, sizeof *l->kept);
    l->kept[l->kept_count++] = var;
}

/* A separate statement, which does nothing but inspect them. */
static void look_at(Lower *l, Var *const *vars, uint32_t count)
{
    Instr *instr = machine_instr(l->routine, l->cur, IN_END, l->line);
    instr->use_count = count;
    instr->uses = arena_alloc(l->arena, count * sizeof *instr->uses);
    memcpy(instr->uses, vars, count * sizeof *instr->uses);
}

void lower_keep_to_here(Lower *l, uint32_t from)
{
    if (l->cur && l->kept_count > from) look_at(l, l->kept + from, l->kept_count - from);
}

void lower_keep_old(Lower *l, Var *var)
{
    if (l->machine->debug && l->routine->kind == ROUTINE_WORKFLOW && var->label) look_at(l, &var, 1);
}

void lower_keep_end(Lower *l, uint32_t from)
{
    CHECK(from <= l->kept_count);
    lower_keep_to_here(l, from);
    l->kept_count = from;
}

Var *lower_hidden(Lower *l, const Type *type, const char *name)
{
    Var *var =
        machine_var(l->routine, VAR_HIDDEN, type, machine_rep(type), lower_unique_name(l, name, l->routine->var_count));
    var->made = name;
    if (l->routine->kind == ROUTINE_WORKFLOW) var->origin = lower_origin(l);
    return var;
}

/* A value that later statements inspect again: itself when nothing can change it, else a variable of its own. */
Val *lower_steady(Lower *l, Val *value, const Type *type, const char *name)
{
    bool fixed = value->kind == VAL_INT || value->kind == VAL_STRING || value->kind == VAL_NULL;
    if (fixed || (val_is_variable(value) && !value->var->changes)) return value;
    Var *var = lower_hidden(l, type, name);
    lower_store(l, var, value, false);
    return val_of(l, var);
}

/* ---- conditions ---- */

/* Closes the head of a statement: what is left of it is one value that the end of the block inspects. */
static Val *close_head(Lower *l, Val *value)
{
    if (!l->touched_count && !l->temps) return value;
    Var *temp = lower_temp(l, value->rep);
    lower_instr(l, IN_SET, temp, value);
    lower_end(l);
    return val_of(l, temp);
}

void lower_branch_on(Lower *l, Val *cond, MBlock *yes, MBlock *no)
{
    cond = close_head(l, cond);
    if (cond->kind == VAL_BOOL)
        lower_go(l, cond->i ? yes : no);
    else
        lower_branch(l, cond, yes, no);
    lower_forget(l);
}
