/* emit_block.c: blocks as C statements.
 *
 * Blocks come out in order, as labels and gotos; nothing nests, so a `case` of the dispatch reaches every resume
 * point. Consecutive instructions that can fail with the same landing become one `if (!a || !b) goto L1;`. A jump to
 * another part of the routine goes to a stub behind the blocks, which answers where to continue. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

#define CALL_ARGS 2u /* what tfy_call takes: TFY_CALL_ARGS */

typedef struct Writer {
    Emit *e;
    const Routine *routine;
    /* of the conditions that wait to be written; NULL: none wait */
    const MBlock *landing;
    Text conditions;      /* "!a || !b" */
    uint32_t line;        /* their source line */
    Text piece;           /* scratch */
    uint32_t part;        /* which part of the routine is written */
    const MBlock **stubs; /* blocks of other parts that are jumped to */
    uint32_t stub_count, stub_cap;
} Writer;

/* ---- pieces ---- */

/* The label that leads to a block. */
static void put_label(Writer *w, Text *p, const MBlock *to)
{
    if (to->part == w->part) {
        CHECK(to->label);
        text_format(p, "L%u", to->label);
        return;
    }
    CHECK(to->entry);
    text_format(p, "X%u", to->entry);
    for (uint32_t i = 0; i < w->stub_count; i++)
        if (w->stubs[i] == to) return;
    if (w->stub_count == w->stub_cap)
        w->stubs = arena_grow(w->e->arena, w->stubs, &w->stub_cap, w->stub_count + 1, sizeof *w->stubs);
    w->stubs[w->stub_count++] = to;
}

/* "BEFORE goto LABEL AFTER" */
static void put_jump(Writer *w, Text *p, const char *before, const MBlock *to, const char *after)
{
    text_format(p, "%sgoto ", before);
    put_label(w, p, to);
    text_put(p, after);
}

static void flush_conditions(Writer *w)
{
    if (!w->landing) return;
    Text *piece = &w->piece;
    piece->len = 0;
    text_format(piece, "if (%s)", w->conditions.data);
    put_jump(w, piece, " ", w->landing, ";");
    ctext_piece(&w->e->c, w->line, piece->data);
    /* nothing is after a condition: compilers take it for part of it */
    ctext_flush(&w->e->c);
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
    CHECK(instr->landing);
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
    put_jump(w, p, "", to, ";");
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
        text_format(p, "tfyg_%s_%s(", instr->decl->kind == DECL_CONST ? "const" : "fn", instr->decl->c_name);
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
    text_put(p, rep == REP_OBJ ? "tfy_set(t, &" : "*");
    emit_var(w->e, p, instr->dst);
    text_put(p, rep == REP_OBJ ? "->o, " : " = ");
    if (rep != REP_OBJ) text_put(p, emit_maker(rep));
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
static void put_about(Writer *w, uint32_t line, const char *before, Var *var, const char *after)
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
    CHECK(term->point->pc && w->routine->resume[term->point->pc - 1] == term->point);
    text_format(p, "p%u: ", term->point->pc);
    put_jump(w, p, "if (tfy__raised(t)) ", term->landing, ";");
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
    CHECK(term->point->number);
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
    text_format(p, "tfy_perform%s(t, &tfyg_site%u, ", term->call ? "_call" : "", term->point->number);
    emit_val(w->e, p, &args);
    text_put(p, ", ");
    put_policy(w, p, term);
    if (term->call) {
        text_put(p, ", ");
        emit_val(w->e, p, term->call);
    }
    text_put(p, ")");
}

static void put_effect(Writer *w, const Term *term)
{
    Text *p = begin_piece(w);
    text_format(p, "F->head.pc = %u;", term->point->pc);
    end_piece(w, term->line);
    p = begin_piece(w);
    bool more = term->cut || term->dying_count;
    text_put(p, more ? "{ TfyStatus X = " : "return ");
    put_effect_call(w, p, term);
    text_put(p, ";");
    for (uint32_t i = 0; i < term->dying_count; i++) {
        text_put(p, " tfy_clear(t, &");
        emit_var(w->e, p, term->dying[i]);
        text_put(p, ");");
    }
    if (term->cut) text_put(p, " tfy_cut(t, 0);");
    if (more) text_put(p, " return X; }");
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

/* An argument as a word that the callee owns; there is none: 0. */
static void put_word(Writer *w, Text *p, const Val *arg)
{
    if (!arg) {
        text_put(p, "tfy_of_int(0)");
        return;
    }
    const bool keep = arg->rep == REP_OBJ && !is_immortal(arg);
    text_put(p, emit_maker(arg->rep));
    text_put(p, keep ? "tfy_keep(" : "");
    emit_val(w->e, p, arg);
    text_put(p, keep ? "))" : ")");
}

/* A call without a bound: the runtime puts the few arguments into the new frame. */
static void put_short_call(Writer *w, const Term *term)
{
    Text *p = begin_piece(w);
    text_format(p, "F->head.pc = %u;", term->point->pc);
    end_piece(w, term->line);
    p = begin_piece(w);
    text_format(p, "%stfy_call(t, F, &tfyg_wf_%s", term->cut ? "{ TfyStatus X = " : "return ", term->callee->c_name);
    for (uint32_t i = 0; i < CALL_ARGS; i++) {
        text_put(p, ", ");
        put_word(w, p, i < term->argc ? term->args[i] : NULL);
    }
    text_put(p, term->cut ? "); tfy_cut(t, 0); return X; }" : ");");
    end_piece(w, term->line);
}

/* The stack may move when a frame is pushed, so what is in this frame is read before. */
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
    text_format(p, " TfyValue *C = tfy_push(t, &tfyg_wf_%s, &tfyg_p%u, ", term->callee->c_name, term->point->number);
    if (term->timeout)
        emit_val(e, p, term->timeout);
    else
        text_put(p, "TFY_NEVER");
    text_put(p, ");");
    end_piece(w, term->line);
    p = begin_piece(w);
    put_jump(w, p, "if (!C) { F = tfy_frame(t); ", term->landing, "; }");
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
    case ASK_UNDO:
        p = begin_piece(w);
        text_format(p, "F->head.pc = %u; return tfy_undo(t, &tfyg_p%u);", term->point->pc, term->point->number);
        end_piece(w, term->line);
        break;
    case ASK_CALL:
        if (term->timeout || term->argc > CALL_ARGS)
            put_nested(w, term);
        else
            put_short_call(w, term);
        break;
    default: put_effect(w, term); break;
    }
    put_resume(w, term);
}

/* The resume point is inside the braces, off the way of a loop that has fuel. */
static void put_fuel(Writer *w, const Term *term)
{
    Text *p = begin_piece(w);
    if (term->point) {
        uint32_t pc = term->point->pc;
        text_format(p, "if (tfy_spend(t)) { F->head.pc = %u; return TFY_SPENT; p%u: ", pc, pc);
        put_jump(w, p, "if (tfy__raised(t)) ", term->landing, "; }");
    } else {
        text_format(p, "if (tfy_spend(t) && !tfy_fn_fuel(t, %u))", term->line);
        put_jump(w, p, " ", term->landing, ";");
    }
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
    put_jump(w, p, ") ", term->to == next ? term->other : term->to, ";");
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
        text_format(p, "case %u: ", term->cases[i].value);
        put_jump(w, p, "", term->cases[i].to, ";");
        end_piece(w, term->line);
    }
    p = begin_piece(w);
    put_jump(w, p, "default: ", term->to, "; }");
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
    case TERM_NONE: UNREACHED("every block has an end");
    }
    if (term->to != next) put_goto(w, term->line, term->to);
}

/* ---- blocks ---- */

/* more slots than this are cleared by a loop over a map of the frame */
#define CLEAR_LIST 8

static void put_clear_map(Writer *w, const MBlock *block, uint32_t line)
{
    char *map = arena_alloc(w->e->arena, w->routine->slot_count + 1);
    for (uint32_t i = 0; i < w->routine->slot_count; i++) map[i] = '-';
    uint32_t last = 0;
    for (uint32_t i = 0; i < block->prologue_count; i++) {
        int32_t slot = block->prologue[i]->dst->slot;
        if (slot < 0) continue;
        CHECK((uint32_t)slot < w->routine->slot_count);
        map[slot] = 'o';
        if ((uint32_t)slot >= last) last = (uint32_t)slot + 1;
    }
    map[last] = 0;
    Text *p = begin_piece(w);
    text_format(p, "tfy__release(t, F, \"%s\");", map);
    end_piece(w, line);
}

/* Variables that share a slot are cleared once. */
static bool is_cleared(const MBlock *block, uint32_t index)
{
    int32_t slot = block->prologue[index]->dst->slot;
    for (uint32_t i = 0; slot >= 0 && i < index; i++)
        if (block->prologue[i]->dst->slot == slot) return true;
    return false;
}

static void put_prologue(Writer *w, const MBlock *block, uint32_t line)
{
    uint32_t slots = 0;
    for (uint32_t i = 0; i < block->prologue_count && slots <= CLEAR_LIST; i++)
        slots += block->prologue[i]->dst->slot >= 0 && !is_cleared(block, i);
    bool map = slots > CLEAR_LIST;
    if (map) put_clear_map(w, block, line);
    for (uint32_t i = 0; i < block->prologue_count; i++) {
        Var *var = block->prologue[i]->dst;
        bool done = map ? var->slot >= 0 : is_cleared(block, i);
        if (!done) put_about(w, line, "tfy_clear(t, &", var, ");");
    }
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
    put_prologue(w, block, line);
    if (block->landing) put_cut(w, line);
    if (block->halts && block != w->routine->failed) {
        Text *p = begin_piece(w);
        put_jump(w, p, "if (!t->error) ", w->routine->failed, ";");
        end_condition(w, line);
    }
    for (uint32_t i = 0; i < block->count; i++) put_instr(w, block->instrs[i]);
    put_term(w, &block->term, next);
    flush_conditions(w);
}

static void put_stub(Writer *w, const MBlock *to, uint32_t line)
{
    char label[24];
    snprintf(label, sizeof label, "X%u", to->entry);
    ctext_label(&w->e->c, line, label);
    Text *p = begin_piece(w);
    text_format(p, "*E = %u; return TFY__GO;", w->routine->resume_count + to->entry);
    end_piece(w, line);
}

void emit_blocks(Emit *e, const Routine *routine, uint32_t from, uint32_t to)
{
    Writer w = {.e = e, .routine = routine, .piece = {.arena = e->arena}, .conditions = {.arena = e->arena}};
    w.part = routine->order[from]->part;
    CHECK(w.part == routine->order[to - 1]->part);
    for (uint32_t i = from; i < to; i++) put_block(&w, routine->order[i], i + 1 < to ? routine->order[i + 1] : NULL);
    for (uint32_t i = 0; i < w.stub_count; i++) put_stub(&w, w.stubs[i], e->c.source);
    ctext_flush(&e->c);
}
