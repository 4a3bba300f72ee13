/* machine_dump.c: machines as text, for `tfyc --dump machine`: states with their live sets, blocks with their edges,
 * slots. */
#include <inttypes.h>
#include <string.h>

#include "machine.h"

static void put_val(FILE *out, const Val *val);

static void put_list(FILE *out, Val *const *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        put_val(out, items[i]);
    }
}

static void put_string(FILE *out, const Val *val)
{
    fprintf(out, "string %u", val->index);
}

static const char *operator_text(Op op)
{
    static const char *const texts[] = {
        [OP_EQ] = "==", [OP_NE] = "!=", [OP_LT] = "<", [OP_LE] = "<=", [OP_GT] = ">", [OP_GE] = ">="};
    return texts[op];
}

static void put_around(FILE *out, const char *before, const Val *val, const char *after)
{
    fputs(before, out);
    put_val(out, val);
    fputs(after, out);
}

static void put_infix(FILE *out, const Val *val, const char *op)
{
    put_around(out, "(", val->a, " ");
    fputs(op, out);
    put_around(out, " ", val->b, ")");
}

static void put_val(FILE *out, const Val *val)
{
    switch (val->kind) {
    case VAL_VAR: fputs(val->var->name, out); return;
    case VAL_INT: fprintf(out, "%" PRId64, val->i); return;
    case VAL_FLOAT: fprintf(out, "%.17g", val->f); return;
    case VAL_BOOL: fputs(val->i ? "true" : "false", out); return;
    case VAL_NULL: fputs("null", out); return;
    case VAL_STRING: put_string(out, val); return;
    case VAL_CASE: fprintf(out, "%s.%s", val->type->name, val->type->cases[val->index].name); return;
    case VAL_TYPE: fprintf(out, "<%s>", val->type->name); return;
    case VAL_POINT: fprintf(out, "point %u", val->point->number); return;
    case VAL_FLOW: fprintf(out, "workflow %s", val->routine ? val->routine->label : val->decl->full_name); return;
    case VAL_TOOL: fprintf(out, "tool %s", val->decl ? val->decl->full_name : val->text); return;
    case VAL_CTEXT: fprintf(out, "'%s'", val->text); return;
    case VAL_FIELD:
        put_val(out, val->a);
        fprintf(out, ".%u", val->index);
        return;
    case VAL_UNBOX: put_around(out, "unbox(", val->a, ")"); return;
    case VAL_TAG: put_around(out, "case(", val->a, ")"); return;
    case VAL_IS:
        put_val(out, val->a);
        fprintf(out, " is %s", val->type->name);
        return;
    case VAL_CALL:
        fprintf(out, "%s(", val->func->name + 4);
        put_list(out, val->args, val->argc);
        fputs(")", out);
        return;
    case VAL_NOT: put_around(out, "!", val->a, ""); return;
    case VAL_NEG: put_around(out, "-", val->a, ""); return;
    case VAL_FLOAT_OF: put_around(out, "float(", val->a, ")"); return;
    case VAL_AND: put_infix(out, val, "&&"); return;
    case VAL_OR: put_infix(out, val, "||"); return;
    case VAL_CMP: put_infix(out, val, operator_text(val->op)); return;
    case VAL_NEXT: put_around(out, "", val->a, " + 1"); return;
    case VAL_COND:
        put_around(out, "(", val->a, " ? ");
        put_around(out, "", val->b, " : ");
        put_around(out, "", val->c, ")");
        return;
    case VAL_WORD: put_val(out, val->a); return;
    case VAL_PLACE: fprintf(out, "&%s", val->var->name); return;
    case VAL_ARRAY:
        fputs("[", out);
        put_list(out, val->args, val->argc);
        fputs("]", out);
        return;
    }
}

static void put_call(FILE *out, const Instr *instr)
{
    if (instr->dst) fprintf(out, "%s = ", instr->dst->name);
    fprintf(out, "%s(", instr->func ? instr->func->name + 4 : instr->decl->full_name);
    put_list(out, instr->args, instr->argc);
    fputs(")", out);
    if (instr->landing) fprintf(out, "  else B%u", instr->landing->id);
}

static void put_instr(FILE *out, const Instr *instr)
{
    const char *name = instr->dst ? instr->dst->name : "";
    fprintf(out, "    %4u  ", instr->line);
    switch (instr->kind) {
    case IN_SET:
    case IN_PUT:
    case IN_STORE:
        fprintf(out, "%s%s = %s", instr->kind == IN_PUT ? "*" : "", name,
                instr->kind == IN_STORE ? (instr->i ? "instead keep " : "keep ") : "");
        put_val(out, instr->a);
        break;
    case IN_TAKE: fprintf(out, instr->dst ? "%s = answer" : "forget answer%s", name); break;
    case IN_CALL: put_call(out, instr); break;
    case IN_RESULT: put_around(out, "result = ", instr->a, ""); break;
    case IN_TAKE_ERROR: fprintf(out, "%s = error", name); break;
    case IN_DROP_ERROR: fputs("drop error", out); break;
    case IN_PUT_ERROR: fprintf(out, "error = %s", name); break;
    case IN_MASK: fputs(instr->i > 0 ? "hold cancellation" : "let cancellation through", out); break;
    case IN_END: fputs(instr->cut ? "end, cut" : "end", out); break;
    case IN_RELEASE: fprintf(out, "release %s", name); break;
    }
    fputs("\n", out);
}

static void put_point(FILE *out, const Term *term)
{
    static const char *const verbs[] = {[ASK_YIELD] = "yield", [ASK_FUEL] = "fuel",        [ASK_EFFECT] = "perform",
                                        [ASK_CALL] = "call",   [ASK_BACKOFF] = "back off", [ASK_UNDO] = "undo"};
    const Point *point = term->point;
    fprintf(out, "%s", verbs[point->ask]);
    if (point->builtin)
        fprintf(out, " %s", point->builtin->name);
    else if (point->callee)
        fprintf(out, " %s", point->callee->full_name);
    if (term->argc) {
        fputs("(", out);
        put_list(out, term->args, term->argc);
        fputs(")", out);
    }
    const Val *const policies[] = {term->retry, term->backoff, term->timeout, term->key, term->call};
    static const char *const names[] = {"retry", "backoff", "timeout", "key", "call"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!policies[i]) continue;
        fprintf(out, " %s ", names[i]);
        put_val(out, policies[i]);
        for (const CatchName *on = i == 0 ? point->retry_on : NULL; on; on = on->next)
            fprintf(out, "%s%s", on == point->retry_on ? " on " : " | ", on->type->name);
    }
    for (uint32_t i = 0; i < term->dying_count; i++) fprintf(out, "%s %s", i ? "," : "  release", term->dying[i]->name);
    fprintf(out, "  state %u -> B%u, error -> B%u", point->pc, term->to->id, term->landing->id);
}

static void put_term(FILE *out, const Term *term)
{
    fprintf(out, "    %4u  ", term->line);
    switch (term->kind) {
    case TERM_JUMP: fprintf(out, "-> B%u", term->to->id); break;
    case TERM_BRANCH:
        put_around(out, "if ", term->cond, "");
        fprintf(out, " -> B%u else B%u", term->to->id, term->other->id);
        break;
    case TERM_SWITCH:
        put_around(out, "switch ", term->cond, ":");
        for (uint32_t i = 0; i < term->case_count; i++)
            fprintf(out, " %u -> B%u,", term->cases[i].value, term->cases[i].to->id);
        fprintf(out, " else B%u", term->to->id);
        break;
    case TERM_FUEL:
        if (term->point)
            put_point(out, term);
        else
            fprintf(out, "fuel -> B%u, error -> B%u", term->to->id, term->landing->id);
        break;
    case TERM_POINT: put_point(out, term); break;
    case TERM_RETURN: fputs("return", out); break;
    case TERM_FAILED: fputs("failed", out); break;
    case TERM_NONE: break;
    }
    fputs("\n", out);
}

static void put_block(FILE *out, const Routine *routine, const MBlock *block)
{
    fprintf(out, "  B%u:%s%s", block->id, block->landing ? " landing" : "", block->halts ? " halts" : "");
    const char *comma = "  live ";
    for (uint32_t i = 0; i < routine->var_count && block->live_in; i++) {
        if (!(block->live_in[i / 64] >> (i % 64) & 1)) continue;
        fprintf(out, "%s%s", comma, routine->vars[i]->name);
        comma = ", ";
    }
    fputs("\n", out);
    for (uint32_t i = 0; i < block->prologue_count; i++) put_instr(out, block->prologue[i]);
    for (uint32_t i = 0; i < block->count; i++) put_instr(out, block->instrs[i]);
    put_term(out, &block->term);
}

static void put_states(FILE *out, const Routine *routine)
{
    for (uint32_t i = 0; i < routine->resume_count; i++) {
        const Point *point = routine->resume[i];
        fprintf(out, "  state %u: point %u \"%s\" line %u, live", point->pc, point->number, point->id, point->line);
        for (uint32_t n = 0; n < point->live_count; n++)
            fprintf(out, "%s %s@%d", n ? "," : "", point->live[n]->name, point->live[n]->slot);
        fputs(point->live_count ? "\n" : " nothing\n", out);
    }
}

static void put_vars(FILE *out, const Routine *routine)
{
    for (uint32_t i = 0; i < routine->var_count; i++) {
        const Var *var = routine->vars[i];
        if (!var->used && var->kind != VAR_PARAM) continue;
        fprintf(out, "  %s: %s", var->name, var->type->name);
        if (var->slot >= 0) fprintf(out, ", slot %d", var->slot);
        fprintf(out, "%s%s\n", var->kind == VAR_HIDDEN ? ", hidden" : "", var->owned ? ", owns" : "");
    }
}

static void dump_routine(FILE *out, const Routine *routine)
{
    static const char *const kinds[] = {
        [ROUTINE_WORKFLOW] = "workflow", [ROUTINE_FN] = "fn", [ROUTINE_CONST] = "const", [ROUTINE_HOOK] = "hook"};
    fprintf(out, "%s %s -> %s, line %u, %u slots\n", kinds[routine->kind], routine->name, routine->result->name,
            routine->line, routine->slot_count);
    put_vars(out, routine);
    put_states(out, routine);
    for (uint32_t i = 0; i < routine->entry_release_count; i++)
        fprintf(out, "  at entry: release %s\n", routine->entry_releases[i]->dst->name);
    for (uint32_t i = 0; i < routine->order_count; i++) put_block(out, routine, routine->order[i]);
    fputs("\n", out);
}

static void dump_marks(FILE *out, const Machine *machine)
{
    for (uint32_t i = 0; i < machine->point_count; i++) {
        const Point *point = machine->points[i];
        if (point->ask == ASK_MARK) fprintf(out, "mark %u \"%s\" line %u\n", point->number, point->id, point->line);
    }
}

void machine_dump(const Machine *machine, FILE *out)
{
    for (uint32_t i = 0; i < machine->routine_count; i++) dump_routine(out, machine->routines[i]);
    dump_marks(out, machine);
}
