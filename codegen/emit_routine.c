/* emit_routine.c: routines as C functions: frames, locals, heads, and the parts of long ones.
 *
 * A long workflow becomes several C functions and a loop that runs them: a part ends with a status for the
 * scheduler, or with TFY__GO and where to continue. Jumps between parts therefore use no C stack. */
#include <stdlib.h>
#include <string.h>

#include "emit.h"

const char *emit_routine_name(Emit *e, const Routine *routine)
{
    static const char *const prefixes[] = {
        [ROUTINE_WORKFLOW] = "run", [ROUTINE_FN] = "fn", [ROUTINE_CONST] = "const", [ROUTINE_HOOK] = "hook"};
    return arena_printf(e->arena, "tfyg_%s_%s", prefixes[routine->kind], routine->name);
}

/* ---- labels ---- */

/* Labels that something leads to: jumps that do not fall through, and jumps from other parts. */
static void want_label(MBlock *block)
{
    if (block) block->label = UINT32_MAX;
}

static void want_next(const MBlock *from, MBlock *to, const MBlock *next)
{
    if (to != next || from->part != to->part) want_label(to);
}

static void give_labels(const Routine *routine)
{
    uint32_t labels = 0;
    for (uint32_t i = 0; i < routine->order_count; i++) {
        MBlock *block = routine->order[i], *next = i + 1 < routine->order_count ? routine->order[i + 1] : NULL;
        Term *term = &block->term;
        for (uint32_t n = 0; n < block->count; n++) want_label(block->instrs[n]->landing);
        for (uint32_t n = 0; n < term->case_count; n++) want_label(term->cases[n].to);
        want_label(term->landing);
        if (block->halts && block != routine->failed) want_label(routine->failed);
        if (term->kind == TERM_SWITCH) want_label(term->to);
        if (term->to) want_next(block, term->to, next);
        if (term->kind == TERM_BRANCH) want_next(block, term->other, next);
    }
    for (uint32_t i = 0; i < routine->order_count; i++)
        if (routine->order[i]->label) routine->order[i]->label = ++labels;
}

/* ---- frames ---- */

static int by_slot_then_id(const void *a, const void *b)
{
    const Var *x = *(Var *const *)a, *y = *(Var *const *)b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static const char *slot_text(Emit *e, Var *const *vars, uint32_t count)
{
    Text p = {.arena = e->arena};
    text_put(&p, count > 1 ? "union { " : "");
    for (uint32_t i = 0; i < count; i++)
        text_format(&p, "%s%s%s;%s", vars[i]->rep == REP_BOOL ? "_Alignas(8) " : "", emit_ctype(vars[i]->rep),
                    vars[i]->name, count > 1 ? " " : "");
    text_put(&p, count > 1 ? "};" : "");
    return p.data;
}

/* One member per slot; where lives are disjoint, several names for it. */
static void put_frame(Emit *e, const Routine *routine)
{
    Var **vars = arena_alloc(e->arena, (routine->var_count + 1) * sizeof *vars);
    uint32_t count = 0, line = routine->line;
    for (uint32_t i = 0; i < routine->var_count; i++)
        if (routine->vars[i]->slot >= 0) vars[count++] = routine->vars[i];
    qsort(vars, count, sizeof *vars, by_slot_then_id);
    ctext_piece(&e->c, line, arena_printf(e->arena, "struct tfyg_frame_%s { TfyFrame head;", routine->name));
    for (uint32_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && vars[i + n]->slot == vars[i]->slot; n++) {}
        ctext_piece(&e->c, line, slot_text(e, vars + i, n));
    }
    ctext_piece(&e->c, line, "};");
    ctext_line(&e->c, line,
               "_Static_assert(sizeof(struct tfyg_frame_%s) == sizeof(TfyFrame) + %u, \"slots are words\");",
               routine->name, 8 * routine->slot_count);
}

/* Which slots hold objects; for poisoned builds. */
static const char *object_map(Emit *e, const Routine *routine)
{
    char *map = arena_alloc(e->arena, routine->slot_count + 1);
    memset(map, '-', routine->slot_count);
    for (uint32_t i = 0; i < routine->var_count; i++)
        if (routine->vars[i]->slot >= 0 && routine->vars[i]->rep == REP_OBJ) map[routine->vars[i]->slot] = 'o';
    return map;
}

/* ---- locals ---- */

static int by_id(const void *a, const void *b)
{
    const Var *x = *(const Var *const *)a, *y = *(const Var *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void put_locals_of(Emit *e, Rep rep, uint32_t line)
{
    static const char letters[REP_COUNT] = {
        [REP_INT] = 'i', [REP_FLOAT] = 'f', [REP_BOOL] = 'b', [REP_OBJ] = 'o', [REP_WORD] = 'v', [REP_PLACE] = 'p'};
    static const char *const zeros[REP_COUNT] = {[REP_INT] = "0",    [REP_FLOAT] = "0",  [REP_BOOL] = "false",
                                                 [REP_OBJ] = "NULL", [REP_WORD] = "{0}", [REP_PLACE] = "NULL"};
    const char *base = rep == REP_OBJ ? "TfyObj " : rep == REP_PLACE ? "TfyValue " : emit_ctype(rep);
    const char *star = rep == REP_OBJ || rep == REP_PLACE ? "*" : "", *comma = "";
    Text p = {.arena = e->arena};
    text_format(&p, "TFY__UNUSED %s", base);
    for (uint32_t i = 0; i < e->local_count; i++) {
        if (e->locals[i]->rep != rep) continue;
        text_format(&p, "%s%s%s = %s", comma, star, e->locals[i]->name, zeros[rep]);
        comma = ", ";
    }
    for (uint32_t i = 1; i <= e->temps[rep]; i++, comma = ", ")
        text_format(&p, "%s%s%c%u = %s", comma, star, letters[rep], i, zeros[rep]);
    if (!*comma) return;
    text_put(&p, ";");
    ctext_piece(&e->c, line, p.data);
}

static void put_locals(Emit *e, uint32_t line)
{
    const Rep reps[] = {REP_INT, REP_FLOAT, REP_BOOL, REP_OBJ, REP_WORD, REP_PLACE};
    if (e->local_count) qsort(e->locals, e->local_count, sizeof *e->locals, by_id);
    for (size_t i = 0; i < sizeof reps / sizeof *reps; i++) put_locals_of(e, reps[i], line);
}

/* ---- heads of functions ---- */

static void put_signature(Emit *e, Text *p, const Routine *routine)
{
    const char *name = emit_routine_name(e, routine);
    if (routine->kind == ROUTINE_WORKFLOW) {
        text_format(p, "static TfyStatus %s(TfyTask *t, void *frame)", name);
        return;
    }
    text_format(p, "static TFY__UNUSED bool %s(TfyTask *t", name);
    if (routine->kind == ROUTINE_HOOK) /* a default has no arguments */
        text_put(p, routine->decl ? ", TFY__UNUSED const TfyValue *A, TFY__UNUSED TfyValue *out"
                                  : ", TFY__UNUSED TfyValue *out");
    for (uint32_t i = 0; i < routine->param_count && routine->kind == ROUTINE_FN; i++)
        text_format(p, ", TFY__UNUSED %s%s", emit_ctype(routine->vars[i]->rep), routine->vars[i]->name);
    Rep rep = machine_rep(routine->result);
    if (routine->kind != ROUTINE_HOOK && rep != REP_NONE) text_format(p, ", TFY__UNUSED %s*out", emit_ctype(rep));
    text_put(p, ")");
}

void emit_prototype(Emit *e, const Routine *routine)
{
    Text p = {.arena = e->arena};
    put_signature(e, &p, routine);
    ctext_line(&e->c, routine->line, "%s;", p.data);
}

/* The blocks of one C function, written before its head: the head declares what they mention. */
static const char *write_blocks(Emit *e, const Routine *routine, uint32_t from, uint32_t to)
{
    CText outer = e->c;
    e->stamp++;
    e->local_count = 0;
    memset(e->temps, 0, sizeof e->temps);
    ctext_init(&e->c, e->arena, e->files);
    e->c.depth = 1;
    emit_blocks(e, routine, from, to);
    const char *text = e->c.out.data;
    e->c = outer;
    return text;
}

/* ---- dispatch ---- */

/* Cases for every stop and every entry of a part. */
static void put_cases(Emit *e, const Routine *routine, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const MBlock *block = routine->order[i];
        const Point *point = block->term.point;
        if (block->entry)
            ctext_piece(
                &e->c, routine->line,
                arena_printf(e->arena, "case %u: goto L%u;", routine->resume_count + block->entry, block->label));
        if (point)
            ctext_piece(&e->c, routine->line, arena_printf(e->arena, "case %u: goto p%u;", point->pc, point->pc));
    }
    ctext_piece(&e->c, routine->line, "default: TFY__NO_POINT; }");
}

static void put_entry_releases(Emit *e, const Routine *routine)
{
    for (uint32_t i = 0; i < routine->entry_release_count; i++)
        ctext_piece(&e->c, routine->line,
                    arena_printf(e->arena, "tfy_clear(t, &F->%s);", routine->entry_releases[i]->dst->name));
}

static void put_body(Emit *e, const Routine *routine, const char *blocks)
{
    ctext_flush(&e->c);
    ctext_raw(&e->c, blocks);
    e->c.depth = 0;
    ctext_line(&e->c, routine->line, "}");
}

/* ---- workflows ---- */

static void put_whole(Emit *e, const Routine *routine)
{
    uint32_t line = routine->line;
    const char *blocks = write_blocks(e, routine, 0, routine->order_count);
    ctext_line(&e->c, line, "static TfyStatus %s(TFY__UNUSED TfyTask *t, void *frame)", emit_routine_name(e, routine));
    ctext_line(&e->c, line, "{");
    e->c.depth = 1;
    ctext_piece(&e->c, line, arena_printf(e->arena, "TFY__UNUSED struct tfyg_frame_%s *F = frame;", routine->name));
    put_locals(e, line);
    ctext_piece(&e->c, line, arena_printf(e->arena, "tfy__poison(F, \"%s\");", object_map(e, routine)));
    if (routine->resume_count) {
        ctext_piece(&e->c, line, "switch (F->head.pc) { case 0: break;");
        put_cases(e, routine, 0, routine->order_count);
    }
    put_entry_releases(e, routine);
    put_body(e, routine, blocks);
}

static void put_part(Emit *e, const Routine *routine, uint32_t from, uint32_t to)
{
    uint32_t part = routine->order[from]->part, line = routine->order[from]->term.line;
    const char *blocks = write_blocks(e, routine, from, to);
    ctext_line(
        &e->c, line,
        "static TfyStatus tfyg_part%u_%s(TfyTask *t, TFY__UNUSED struct tfyg_frame_%s *F, TFY__UNUSED uint32_t *E)",
        part, routine->name, routine->name);
    ctext_line(&e->c, line, "{");
    e->c.depth = 1;
    put_locals(e, line);
    ctext_piece(&e->c, line, part ? "switch (*E) {" : "switch (*E) { case 0: break;");
    put_cases(e, routine, from, to);
    if (!part) put_entry_releases(e, routine);
    put_body(e, routine, blocks);
}

/* Which part a stop or an entry is in, by its number. */
static void put_part_table(Emit *e, const Routine *routine)
{
    uint32_t count = routine->resume_count + routine->entry_count + 1;
    uint32_t *parts = arena_alloc(e->arena, count * sizeof *parts);
    for (uint32_t i = 0; i < routine->order_count; i++) {
        const MBlock *block = routine->order[i];
        CHECK(block->entry <= routine->entry_count);
        if (block->term.point) parts[block->term.point->pc] = block->part;
        if (block->entry) parts[routine->resume_count + block->entry] = block->part;
    }
    ctext_piece(&e->c, routine->line,
                arena_printf(e->arena, "static const uint16_t tfyg_part_of_%s[] = {", routine->name));
    for (uint32_t i = 0; i < count; i++) ctext_piece(&e->c, routine->line, arena_printf(e->arena, "%u,", parts[i]));
    ctext_piece(&e->c, routine->line, "};");
    ctext_flush(&e->c);
}

static void put_parts(Emit *e, const Routine *routine)
{
    uint32_t line = routine->line;
    const char *name = routine->name;
    for (uint32_t from = 0, to; from < routine->order_count; from = to) {
        for (to = from + 1; to < routine->order_count && routine->order[to]->part == routine->order[from]->part; to++) {
        }
        put_part(e, routine, from, to);
    }
    put_part_table(e, routine);
    ctext_line(&e->c, line, "static TfyStatus %s(TfyTask *t, void *frame)", emit_routine_name(e, routine));
    ctext_line(&e->c, line, "{");
    e->c.depth = 1;
    ctext_piece(&e->c, line,
                arena_printf(e->arena,
                             "static TfyStatus (*const parts[])(TfyTask *, struct tfyg_frame_%s *, uint32_t *) = {",
                             name));
    for (uint32_t i = 0; i < routine->part_count; i++)
        ctext_piece(&e->c, line, arena_printf(e->arena, "tfyg_part%u_%s,", i, name));
    ctext_piece(&e->c, line, "};");
    ctext_line(&e->c, line, "struct tfyg_frame_%s *F = frame; uint32_t at = F->head.pc; TfyStatus X = TFY__GO;", name);
    ctext_line(&e->c, line, "tfy__poison(F, \"%s\");", object_map(e, routine));
    ctext_line(&e->c, line, "while (X == TFY__GO) X = parts[tfyg_part_of_%s[at]](t, F, &at);", name);
    put_body(e, routine, "    return X;\n");
}

/* ---- fns, constants, hooks ---- */

static void put_fn(Emit *e, const Routine *routine)
{
    uint32_t line = routine->line;
    Text p = {.arena = e->arena};
    const char *blocks = write_blocks(e, routine, 0, routine->order_count);
    put_signature(e, &p, routine);
    ctext_line(&e->c, line, "%s", p.data);
    ctext_line(&e->c, line, "{");
    e->c.depth = 1;
    put_locals(e, line);
    if (machine_rep(routine->result) == REP_OBJ) ctext_piece(&e->c, line, "TfyObj *R = NULL;");
    ctext_piece(&e->c, line, "TFY__UNUSED uint32_t M = tfy_mark(t);");
    if (routine->kind != ROUTINE_HOOK) ctext_line(&e->c, line, "if (!tfy_fn_enter(t, %u)) return false;", line);
    put_body(e, routine, blocks);
}

void emit_routine(Emit *e, const Routine *routine)
{
    e->routine = routine;
    machine_at(routine);
    CHECK(routine->order_count > 0 && routine->order[0] == routine->entry);
    give_labels(routine);
    ctext_raw(&e->c, "\n");
    if (routine->kind != ROUTINE_WORKFLOW) {
        put_fn(e, routine);
        return;
    }
    put_frame(e, routine);
    if (routine->part_count > 1)
        put_parts(e, routine);
    else
        put_whole(e, routine);
}
