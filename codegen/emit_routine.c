/* emit_routine.c: routines as C functions.
 *
 * Blocks come out in order, as labels and gotos; nothing nests, so a `case` of the dispatch reaches every resume point. Consecutive
 * instructions that can fail with the same landing become one `if (!a || !b) goto L1;`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

typedef struct Writer {
    Emit *e;
    const Routine *routine;
    const MBlock *landing; /* of the conditions that wait to be written; NULL: none wait */
    Text conditions;       /* "!a || !b" */
    uint32_t line;         /* their source line */
    Text piece;            /* scratch */
    MBlock **order;        /* blocks that are written */
    uint32_t count;
    uint32_t labels; /* given out so far */
} Writer;

const char *emit_routine_name(Emit *e, const Routine *routine)
{
    static const char *const prefixes[] = {
        [ROUTINE_WORKFLOW] = "run", [ROUTINE_FN] = "fn", [ROUTINE_CONST] = "const", [ROUTINE_HOOK] = "hook"};
    return arena_printf(e->arena, "tfyg_%s_%s", prefixes[routine->kind], routine->name);
}

/* ---- pieces ---- */

static void flush_conditions(Writer *w)
{
    if (!w->landing) return;
    Text *piece = &w->piece;
    piece->len = 0;
    text_format(piece, "if (%s) goto L%u;", w->conditions.data, w->landing->label);
    ctext_piece(&w->e->c, w->line, piece->data);
    ctext_flush(&w->e->c); /* nothing stands behind a condition: compilers take it for part of it */
    w->landing = NULL;
    w->conditions.len = 0;
}

static Text *begin_piece(Writer *w)
{
    flush_conditions(w);
    w->piece.len = 0;
    return &w->piece;
}

static void end_piece(Writer *w, uint32_t line)
{
    ctext_piece(&w->e->c, line, w->piece.data);
}

static void end_condition(Writer *w, uint32_t line)
{
    end_piece(w, line);
    ctext_flush(&w->e->c);
}

static void put_piece(Writer *w, uint32_t line, const char *text)
{
    flush_conditions(w);
    ctext_piece(&w->e->c, line, text);
}

/* Room for one more condition that goes to the same landing. */
static Text *begin_condition(Writer *w, const Instr *instr)
{
    bool joins = w->landing == instr->landing && w->line == instr->line && w->conditions.len < CTEXT_WIDTH - 40;
    if (!joins) flush_conditions(w);
    if (w->landing) text_put(&w->conditions, " || ");
    w->landing = instr->landing;
    w->line = instr->line;
    return &w->conditions;
}

static void put_goto(Writer *w, uint32_t line, const MBlock *to)
{
    Text *p = begin_piece(w);
    text_format(p, "goto L%u;", to->label);
    end_piece(w, line);
}

/* ---- instructions ---- */

static void put_call_args(Writer *w, Text *p, const Instr *instr)
{
    Emit *e = w->e;
    const RtFunc *func = instr->func;
    const char *comma = "";
    if (!func || func->task) {
        text_put(p, "t");
        comma = ", ";
    }
    if (func && func->line) {
        text_format(p, "%s%u", comma, instr->line);
        comma = ", ";
    }
    for (uint32_t i = 0; i < instr->argc; i++, comma = ", ") {
        text_put(p, comma);
        emit_val(e, p, instr->args[i]);
    }
    if (instr->dst && (!func || func->fail == FAIL_FALSE)) {
        text_format(p, "%s&", comma);
        emit_var(e, p, instr->dst);
    }
    text_put(p, ")");
}

static void put_call(Writer *w, const Instr *instr)
{
    const RtFunc *func = instr->func;
    bool checked = !func || func->fail != FAIL_NEVER, value = func && func->fail == FAIL_NULL;
    Text *p = checked ? begin_condition(w, instr) : begin_piece(w);
    text_put(p, checked ? "!" : "");
    if (value) {
        text_put(p, "(");
        emit_var(w->e, p, instr->dst);
        text_put(p, " = ");
    }
    if (func)
        text_format(p, "%s(", func->name);
    else
        text_format(p, "tfyg_%s_%s(", instr->decl->kind == DECL_CONST ? "const" : "fn", instr->decl->name.text);
    put_call_args(w, p, instr);
    text_put(p, value ? ")" : "");
    if (checked) return;
    text_put(p, ";");
    end_piece(w, instr->line);
}

/* Literals and bare cases are never counted. */
static bool is_immortal(const Val *val)
{
    return val->kind == VAL_NULL || val->kind == VAL_STRING || val->kind == VAL_CASE;
}

static void put_kept(Writer *w, Text *p, const Val *val)
{
    bool counted = val->rep == REP_OBJ && !is_immortal(val);
    text_put(p, counted ? "tfy_keep(" : "");
    emit_val(w->e, p, val);
    text_put(p, counted ? ");" : ";");
}

static void put_set(Writer *w, const Instr *instr)
{
    if (instr->a->kind == VAL_VAR && instr->a->var == instr->dst) return; /* x = x */
    Text *p = begin_piece(w);
    emit_var(w->e, p, instr->dst);
    text_put(p, " = ");
    emit_val(w->e, p, instr->a);
    text_put(p, ";");
    end_piece(w, instr->line);
}

static void put_store(Writer *w, const Instr *instr)
{
    Text *p = begin_piece(w);
    if (instr->i) {
        text_put(p, "tfy_set(t, &");
        emit_var(w->e, p, instr->dst);
        text_put(p, ", ");
        emit_val(w->e, p, instr->a);
        text_put(p, ");");
    } else {
        emit_var(w->e, p, instr->dst);
        text_put(p, " = ");
        put_kept(w, p, instr->a);
    }
    end_piece(w, instr->line);
}

static void put_take(Writer *w, const Instr *instr)
{
    Text *p;
    if (instr->dst) {
        p = begin_piece(w);
        emit_var(w->e, p, instr->dst);
        text_format(p, " = tfy_take(t).%s;", emit_member(instr->dst->rep));
    } else if (machine_rep(instr->type) == REP_OBJ) {
        p = begin_piece(w);
        text_put(p, "tfy_discard(t, ");
        emit_type(w->e, p, instr->type);
        text_put(p, ");");
    } else {
        return;
    }
    end_piece(w, instr->line);
}

static void put_put(Writer *w, const Instr *instr)
{
    Text *p = begin_piece(w);
    Rep rep = instr->a->rep;
    if (rep == REP_OBJ)
        text_format(p, "tfy_set(t, &%s->o, ", instr->dst->name);
    else
        text_format(p, "*%s = %s(", instr->dst->name,
                    rep == REP_INT    ? "tfy_of_int"
                    : rep == REP_BOOL ? "tfy_of_bool"
                                      : "tfy_of_float");
    emit_val(w->e, p, instr->a);
    text_put(p, ");");
    end_piece(w, instr->line);
}

static void put_result(Writer *w, const Instr *instr)
{
    Text *p = begin_piece(w);
    Rep rep = machine_rep(instr->type);
    if (w->routine->kind == ROUTINE_WORKFLOW) {
        text_format(p, "t->result.%s = ", emit_member(rep));
        put_kept(w, p, instr->a);
    } else if (rep == REP_OBJ) {
        text_put(p, "R = ");
        put_kept(w, p, instr->a);
    } else {
        text_format(p, w->routine->kind == ROUTINE_HOOK ? "out->%s = " : "*out = ", emit_member(rep));
        put_kept(w, p, instr->a);
    }
    end_piece(w, instr->line);
}

static void put_cut(Writer *w, uint32_t line)
{
    put_piece(w, line, w->routine->kind == ROUTINE_WORKFLOW ? "tfy_cut(t, 0);" : "tfy_cut(t, M);");
}

/* tfy_clear(t, &x); and the like: text with the variable between two halves. */
static void put_about(Writer *w, uint32_t line, const char *before, const Var *var, const char *after)
{
    Text *p = begin_piece(w);
    text_put(p, before);
    emit_var(w->e, p, var);
    text_put(p, after);
    end_piece(w, line);
}

static void put_error_back(Writer *w, const Instr *instr)
{
    put_about(w, instr->line, "tfy_put_error(t, ", instr->dst, ");");
    put_about(w, instr->line, "", instr->dst, " = NULL;");
}

static void put_instr(Writer *w, const Instr *instr)
{
    switch (instr->kind) {
    case IN_SET: put_set(w, instr); return;
    case IN_STORE: put_store(w, instr); return;
    case IN_TAKE: put_take(w, instr); return;
    case IN_CALL: put_call(w, instr); return;
    case IN_PUT: put_put(w, instr); return;
    case IN_RESULT: put_result(w, instr); return;
    case IN_TAKE_ERROR: put_about(w, instr->line, "", instr->dst, " = tfy_take_error(t);"); return;
    case IN_DROP_ERROR: put_piece(w, instr->line, "tfy_clear(t, &t->error);"); return;
    case IN_PUT_ERROR: put_error_back(w, instr); return;
    case IN_MASK: put_piece(w, instr->line, instr->i > 0 ? "F->head.mask++;" : "F->head.mask--;"); return;
    case IN_END:
        if (instr->cut) put_cut(w, instr->line);
        return;
    case IN_RELEASE: put_about(w, instr->line, "tfy_clear(t, &", instr->dst, ");"); return;
    }
}

/* ---- points ---- */

static void put_resume(Writer *w, const Term *term)
{
    Text *p = begin_piece(w);
    char label[24];
    snprintf(label, sizeof label, "p%u", term->point->pc);
    ctext_label(&w->e->c, term->line, label);
    text_format(p, "if (t->error) goto L%u;", term->landing->label);
    end_condition(w, term->line);
}

static void put_policy(Writer *w, Text *p, const Term *term)
{
    if (!term->retry && !term->backoff && !term->timeout && !term->key) {
        text_put(p, "NULL");
        return;
    }
    text_put(p, "&(TfyPolicy){");
    if (term->retry)
        emit_val(w->e, p, term->retry);
    else
        text_put(p, "0");
    text_put(p, ", ");
    if (term->backoff)
        emit_val(w->e, p, term->backoff);
    else
        text_put(p, "0");
    text_put(p, ", ");
    if (term->timeout)
        emit_val(w->e, p, term->timeout);
    else
        text_put(p, "TFY_NEVER");
    text_put(p, ", ");
    if (term->key)
        emit_val(w->e, p, term->key);
    else
        text_put(p, "NULL");
    text_put(p, "}");
}

static void put_effect_call(Writer *w, Text *p, const Term *term)
{
    Val args = {.kind = VAL_ARRAY, .rep = REP_WORD, .args = term->args, .argc = term->argc};
    if (term->point->ask == ASK_BACKOFF) {
        text_format(p, "tfy_backoff(t, &tfyg_site%u, ", term->point->number);
        emit_val(w->e, p, term->args[0]);
        text_put(p, ", ");
        if (term->backoff)
            emit_val(w->e, p, term->backoff);
        else
            text_put(p, "0");
        text_put(p, ")");
        return;
    }
    text_format(p, "tfy_perform(t, &tfyg_site%u, ", term->point->number);
    emit_val(w->e, p, &args);
    text_put(p, ", ");
    put_policy(w, p, term);
    text_put(p, ")");
}

static void put_effect(Writer *w, const Term *term)
{
    Text *p = begin_piece(w);
    text_format(p, "F->head.pc = %u;", term->point->pc);
    end_piece(w, term->line);
    p = begin_piece(w);
    if (term->cut) {
        text_put(p, "{ TfyStatus X = ");
        put_effect_call(w, p, term);
        text_put(p, "; tfy_cut(t, 0); return X; }");
    } else {
        text_put(p, "return ");
        put_effect_call(w, p, term);
        text_put(p, ";");
    }
    end_piece(w, term->line);
}

static void find_slot(void *state, Var *var)
{
    if (var->slot >= 0) *(bool *)state = true;
}

static bool reads_frame(const Val *val)
{
    bool reads = false;
    machine_visit(val, find_slot, &reads);
    return reads;
}

/* The stack may move when a frame is pushed, so what lies in this frame is read before. */
static void put_nested(Writer *w, const Term *term)
{
    Emit *e = w->e;
    Text *p = begin_piece(w);
    text_format(p, "F->head.pc = %u; {", term->point->pc);
    for (uint32_t i = 0; i < term->argc; i++) {
        if (!reads_frame(term->args[i])) continue;
        text_format(p, " %sA%u = ", emit_ctype(term->args[i]->rep), i);
        emit_val(e, p, term->args[i]);
        text_put(p, ";");
    }
    text_format(p, " TfyValue *C = tfy_push(t, &tfyg_wf_%s, &tfyg_p%u, ", term->callee->name.text, term->point->number);
    if (term->timeout)
        emit_val(e, p, term->timeout);
    else
        text_put(p, "TFY_NEVER");
    text_put(p, ");");
    end_piece(w, term->line);
    p = begin_piece(w);
    text_format(p, "if (!C) { F = tfy_frame(t); goto L%u; }", term->landing->label);
    for (uint32_t i = 0; i < term->argc; i++) {
        const Val *arg = term->args[i];
        bool keep = arg->rep == REP_OBJ && !is_immortal(arg);
        text_format(p, " C[%u].%s = %s", i, emit_member(arg->rep), keep ? "tfy_keep(" : "");
        if (reads_frame(arg))
            text_format(p, "A%u", i);
        else
            emit_val(e, p, arg);
        text_put(p, keep ? ");" : ";");
    }
    text_put(p, term->cut ? " tfy_cut(t, 0); return TFY_CALL; }" : " return TFY_CALL; }");
    end_piece(w, term->line);
}

static void put_point(Writer *w, const Term *term)
{
    Text *p;
    switch (term->point->ask) {
    case ASK_YIELD:
        p = begin_piece(w);
        text_format(p, "F->head.pc = %u; return TFY_YIELD;", term->point->pc);
        end_piece(w, term->line);
        break;
    case ASK_CALL: put_nested(w, term); break;
    default: put_effect(w, term); break;
    }
    put_resume(w, term);
}

/* The resume point stands inside the braces, off the way of a loop that has fuel. */
static void put_fuel(Writer *w, const Term *term)
{
    Text *p = begin_piece(w);
    uint32_t landing = term->landing->label;
    if (term->point)
        text_format(p, "if (tfy_spend(t)) { F->head.pc = %u; return TFY_SPENT; p%u: if (t->error) goto L%u; }",
                    term->point->pc, term->point->pc, landing);
    else
        text_format(p, "if (tfy_spend(t) && !tfy_fn_fuel(t, %u)) goto L%u;", term->line, landing);
    end_condition(w, term->line);
}

/* ---- ends of blocks ---- */

static void put_return(Writer *w, const Term *term)
{
    const Routine *routine = w->routine;
    if (routine->kind == ROUTINE_WORKFLOW) {
        put_piece(w, term->line, "return TFY_RETURN;");
        return;
    }
    put_cut(w, term->line);
    if (routine->kind != ROUTINE_HOOK) put_piece(w, term->line, "tfy_fn_leave(t);");
    const char *out = routine->kind == ROUTINE_HOOK ? "out->o = tfy_temp(t, R); return out->o == R;"
                                                    : "*out = tfy_temp(t, R); return *out == R;";
    put_piece(w, term->line, machine_rep(routine->result) == REP_OBJ ? out : "return true;");
}

static void put_failed(Writer *w, const Term *term)
{
    const Routine *routine = w->routine;
    if (routine->kind == ROUTINE_WORKFLOW) {
        put_piece(w, term->line,
                  routine->failed->halts ? "return t->error ? TFY_RETURN : TFY_STOP;" : "return TFY_RETURN;");
        return;
    }
    if (routine->kind != ROUTINE_HOOK) put_piece(w, term->line, "tfy_fn_leave(t);");
    put_piece(w, term->line, "return false;");
}

static void put_branch(Writer *w, const Term *term, const MBlock *next)
{
    Text *p = begin_piece(w);
    text_put(p, "if (");
    if (term->to == next)
        emit_not(w->e, p, term->cond);
    else
        emit_val(w->e, p, term->cond);
    text_format(p, ") goto L%u;", (term->to == next ? term->other : term->to)->label);
    end_condition(w, term->line);
    if (term->to != next && term->other != next) put_goto(w, term->line, term->other);
}

static void put_switch(Writer *w, const Term *term)
{
    Text *p = begin_piece(w);
    text_put(p, "switch (");
    emit_val(w->e, p, term->cond);
    text_put(p, ") {");
    end_piece(w, term->line);
    for (uint32_t i = 0; i < term->case_count; i++) {
        p = begin_piece(w);
        text_format(p, "case %u: goto L%u;", term->cases[i].value, term->cases[i].to->label);
        end_piece(w, term->line);
    }
    p = begin_piece(w);
    text_format(p, "default: goto L%u; }", term->to->label);
    end_piece(w, term->line);
}

static void put_term(Writer *w, const Term *term, const MBlock *next)
{
    switch (term->kind) {
    case TERM_JUMP: break;
    case TERM_BRANCH: put_branch(w, term, next); return;
    case TERM_SWITCH: put_switch(w, term); return;
    case TERM_FUEL: put_fuel(w, term); break;
    case TERM_POINT: put_point(w, term); break;
    case TERM_RETURN: put_return(w, term); return;
    case TERM_FAILED: put_failed(w, term); return;
    case TERM_NONE: machine_bug("a block without an end");
    }
    if (term->to != next) put_goto(w, term->line, term->to);
}

/* ---- which blocks, which labels ---- */

static bool is_empty(const MBlock *block)
{
    return block->term.kind == TERM_JUMP && !block->landing && !block->count && !block->prologue_count;
}

/* Where a jump to a block really leads. */
static MBlock *resolve(MBlock *block)
{
    for (int hops = 0; hops < 1000 && is_empty(block) && block->term.to != block; hops++) block = block->term.to;
    return block;
}

/* True when a branch turned out to lead to one place only, which may leave its block empty. */
static bool resolve_targets(MBlock *block)
{
    Term *term = &block->term;
    if (term->to) term->to = resolve(term->to);
    if (term->other) term->other = resolve(term->other);
    for (uint32_t i = 0; i < term->case_count; i++) term->cases[i].to = resolve(term->cases[i].to);
    if (term->kind != TERM_BRANCH || term->to != term->other) return false;
    term->kind = TERM_JUMP;
    return true;
}

/* Blocks that only lead on are left out. */
static void choose_blocks(Writer *w)
{
    const Routine *routine = w->routine;
    w->order = arena_alloc(w->e->arena, (routine->order_count + 1) * sizeof *w->order);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < routine->order_count; i++) changed |= resolve_targets(routine->order[i]);
    }
    for (uint32_t i = 0; i < routine->order_count; i++) {
        MBlock *block = routine->order[i];
        if (is_empty(block) && block != routine->entry && resolve(block) != block) continue;
        w->order[w->count++] = block;
    }
}

static void want_label(MBlock *block)
{
    if (block) block->label = UINT32_MAX;
}

static void mark_labels(Writer *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        MBlock *block = w->order[i], *next = w->order[i + 1];
        Term *term = &block->term;
        for (uint32_t n = 0; n < block->count; n++) want_label(block->instrs[n]->landing);
        want_label(term->landing);
        if (block->halts && block != w->routine->failed) want_label(w->routine->failed);
        if (term->kind == TERM_SWITCH) want_label(term->to);
        for (uint32_t n = 0; n < term->case_count; n++) want_label(term->cases[n].to);
        if (term->to != next) want_label(term->to);
        if (term->other != next && term->kind == TERM_BRANCH) want_label(term->other);
    }
    for (uint32_t i = 0; i < w->count; i++)
        if (w->order[i]->label) w->order[i]->label = ++w->labels;
}

static void put_block(Writer *w, const MBlock *block, const MBlock *next)
{
    uint32_t line = block->count ? block->instrs[0]->line : block->term.line;
    flush_conditions(w);
    if (block->label) {
        char label[24];
        snprintf(label, sizeof label, "L%u", block->label);
        ctext_label(&w->e->c, line, label);
    }
    for (uint32_t i = 0; i < block->prologue_count; i++)
        put_about(w, line, "tfy_clear(t, &", block->prologue[i]->dst, ");");
    if (block->landing) put_cut(w, line);
    if (block->halts && block != w->routine->failed) {
        Text *p = begin_piece(w);
        text_format(p, "if (!t->error) goto L%u;", w->routine->failed->label);
        end_condition(w, line);
    }
    for (uint32_t i = 0; i < block->count; i++) put_instr(w, block->instrs[i]);
    put_term(w, &block->term, next);
    flush_conditions(w);
}

/* ---- frames and locals ---- */

static int by_slot_then_id(const void *a, const void *b)
{
    const Var *x = *(Var *const *)a, *y = *(Var *const *)b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void put_slot(Emit *e, Text *p, Var *const *vars, uint32_t count)
{
    (void)e;
    text_put(p, count > 1 ? "union { " : "");
    for (uint32_t i = 0; i < count; i++) {
        const Var *var = vars[i];
        text_format(p, "%s%s%s; ", var->rep == REP_BOOL ? "_Alignas(8) " : "", emit_ctype(var->rep), var->name);
    }
    text_put(p, count > 1 ? "};" : "");
}

static void put_frame(Writer *w)
{
    const Routine *routine = w->routine;
    CText *c = &w->e->c;
    Var **vars = arena_alloc(w->e->arena, (routine->var_count + 1) * sizeof *vars);
    uint32_t count = 0;
    for (uint32_t i = 0; i < routine->var_count; i++)
        if (routine->vars[i]->slot >= 0) vars[count++] = routine->vars[i];
    qsort(vars, count, sizeof *vars, by_slot_then_id);
    ctext_flush(c);
    Text *p = begin_piece(w);
    text_format(p, "struct tfyg_frame_%s { TfyFrame head;", routine->name);
    end_piece(w, routine->line);
    for (uint32_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && vars[i + n]->slot == vars[i]->slot; n++) {}
        p = begin_piece(w);
        put_slot(w->e, p, vars + i, n);
        end_piece(w, routine->line);
    }
    put_piece(w, routine->line, "};");
    ctext_line(c, routine->line,
               "_Static_assert(sizeof(struct tfyg_frame_%s) == sizeof(TfyFrame) + %u, \"slots are words\");",
               routine->name, 8 * routine->slot_count);
}

static void put_locals_of(Writer *w, Rep rep)
{
    static const char letters[REP_COUNT] = {
        [REP_INT] = 'i', [REP_FLOAT] = 'f', [REP_BOOL] = 'b', [REP_OBJ] = 'o', [REP_WORD] = 'v', [REP_PLACE] = 'p'};
    static const char *const zeros[REP_COUNT] = {[REP_INT] = "0",    [REP_FLOAT] = "0",  [REP_BOOL] = "false",
                                                 [REP_OBJ] = "NULL", [REP_WORD] = "{0}", [REP_PLACE] = "NULL"};
    const Routine *routine = w->routine;
    const char *base = rep == REP_OBJ ? "TfyObj " : rep == REP_PLACE ? "TfyValue " : emit_ctype(rep);
    const char *star = rep == REP_OBJ || rep == REP_PLACE ? "*" : "";
    Text *p = begin_piece(w);
    uint32_t count = 0;
    for (uint32_t i = 0; i < routine->var_count; i++) {
        const Var *var = routine->vars[i];
        if (var->rep != rep || var->slot >= 0 || var->kind == VAR_PARAM || !var->used) continue;
        text_format(p, "%s%s%s = %s", count++ ? ", " : "", star, var->name, zeros[rep]);
    }
    for (uint32_t i = 1; i <= routine->temps[rep]; i++)
        text_format(p, "%s%s%c%u = %s", count++ ? ", " : "", star, letters[rep], i, zeros[rep]);
    if (!count) return;
    const char *names = arena_strndup(w->e->arena, p->data, p->len);
    p->len = 0;
    text_format(p, "TFYG_UNUSED %s%s;", base, names);
    end_piece(w, routine->line);
}

static void put_locals(Writer *w)
{
    const Rep reps[] = {REP_INT, REP_FLOAT, REP_BOOL, REP_OBJ, REP_WORD, REP_PLACE};
    for (size_t i = 0; i < sizeof reps / sizeof *reps; i++) put_locals_of(w, reps[i]);
    if (w->routine->kind != ROUTINE_WORKFLOW && machine_rep(w->routine->result) == REP_OBJ)
        put_piece(w, w->routine->line, "TfyObj *R = NULL;");
}

/* ---- heads of functions ---- */

static void put_signature(Emit *e, Text *p, const Routine *routine)
{
    const char *name = emit_routine_name(e, routine);
    if (routine->kind == ROUTINE_WORKFLOW) {
        text_format(p, "static TfyStatus %s(TfyTask *t, void *frame)", name);
        return;
    }
    text_format(p, "static TFYG_UNUSED bool %s(TfyTask *t", name);
    if (routine->kind == ROUTINE_HOOK) /* a default has no arguments */
        text_put(p, routine->decl ? ", TFYG_UNUSED const TfyValue *A, TfyValue *out" : ", TfyValue *out");
    for (uint32_t i = 0; i < routine->param_count && routine->kind == ROUTINE_FN; i++)
        text_format(p, ", TFYG_UNUSED %s%s", emit_ctype(routine->vars[i]->rep), routine->vars[i]->name);
    Rep rep = machine_rep(routine->result);
    if (routine->kind != ROUTINE_HOOK && rep != REP_NONE) text_format(p, ", %s*out", emit_ctype(rep));
    text_put(p, ")");
}

void emit_prototype(Emit *e, const Routine *routine)
{
    Text p = {.arena = e->arena};
    put_signature(e, &p, routine);
    ctext_line(&e->c, routine->line, "%s;", p.data);
}

static void put_dispatch(Writer *w)
{
    const Routine *routine = w->routine;
    if (!routine->resume_count) return;
    put_piece(w, routine->line, "switch (F->head.pc) { case 0: break;");
    for (uint32_t i = 1; i <= routine->resume_count; i++) {
        Text *p = begin_piece(w);
        text_format(p, "case %u: goto p%u;", i, i);
        end_piece(w, routine->line);
    }
    put_piece(w, routine->line, "default: __builtin_trap(); }");
}

static void put_workflow_head(Writer *w)
{
    const Routine *routine = w->routine;
    Text *p = begin_piece(w);
    text_format(p, "TFYG_UNUSED struct tfyg_frame_%s *F = frame;", routine->name);
    end_piece(w, routine->line);
    put_locals(w);
    p = begin_piece(w);
    text_format(p, "TFYG_POISON(%s);", routine->name);
    end_piece(w, routine->line);
    put_dispatch(w);
    for (uint32_t i = 0; i < routine->entry_release_count; i++)
        put_about(w, routine->line, "tfy_clear(t, &", routine->entry_releases[i]->dst, ");");
}

static void put_fn_head(Writer *w)
{
    const Routine *routine = w->routine;
    Text *p;
    put_locals(w);
    put_piece(w, routine->line, "TFYG_UNUSED uint32_t M = tfy_mark(t);");
    if (routine->kind == ROUTINE_HOOK) return;
    p = begin_piece(w);
    text_format(p, "if (!tfy_fn_enter(t, %u)) return false;", routine->line);
    end_condition(w, routine->line);
}

/* Which slots hold objects; for poisoned builds. */
static void put_object_map(Writer *w)
{
    const Routine *routine = w->routine;
    bool *objects = arena_alloc(w->e->arena, routine->slot_count + 1);
    for (uint32_t i = 0; i < routine->var_count; i++)
        if (routine->vars[i]->slot >= 0) objects[routine->vars[i]->slot] = routine->vars[i]->rep == REP_OBJ;
    Text *p = begin_piece(w);
    text_format(p, "TFYG_OBJECTS(%s, \"", routine->name);
    for (uint32_t i = 0; i < routine->slot_count; i++) text_put(p, objects[i] ? "o" : "-");
    text_put(p, "\")");
    end_piece(w, routine->line);
    ctext_flush(&w->e->c);
}

void emit_routine(Emit *e, const Routine *routine)
{
    Writer w = {.e = e, .routine = routine, .piece = {.arena = e->arena}, .conditions = {.arena = e->arena}};
    CText *c = &e->c;
    e->routine = routine;
    ctext_raw(c, "\n");
    if (routine->kind == ROUTINE_WORKFLOW) {
        put_frame(&w);
        put_object_map(&w);
    }
    Text *p = begin_piece(&w);
    put_signature(e, p, routine);
    ctext_line(c, routine->line, "%s", p->data);
    ctext_line(c, routine->line, "{");
    c->depth = 1;
    if (routine->kind == ROUTINE_WORKFLOW)
        put_workflow_head(&w);
    else
        put_fn_head(&w);
    ctext_flush(c);
    choose_blocks(&w);
    mark_labels(&w);
    for (uint32_t i = 0; i < w.count; i++) put_block(&w, w.order[i], w.order[i + 1]);
    c->depth = 0;
    ctext_flush(c);
    ctext_line(c, c->source, "}");
}
