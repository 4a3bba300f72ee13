/* emit_report.c: the size of tasks.
 *
 * A frame is a head and one word per slot. A task's stack holds the frames of the deepest chain of calls that its
 * workflow can make; it starts with STACK_FIRST bytes that are beside the task's slot, and beyond those it is a
 * block that doubles. A chain that comes back to a workflow in it has no bound that could be told here. */
#include <string.h>

#include "ctext.h"
#include "machine.h"

/* The runtime's measures; a test compares them with the runtime. */
enum { FRAME_HEAD = 40, SLOT_BYTES = 8, TASK_SLOT = 64, STACK_FIRST = 128 };

typedef enum Progress { UNSEEN, OPEN, DONE } Progress;

/* A workflow, by its index among the routines. */
typedef struct Weight {
    /* whose frames can be above its own: called workflows and undo blocks */
    uint32_t *callees;
    uint32_t callee_count, callee_cap;
    uint32_t next;  /* callee to inspect next, while OPEN */
    uint64_t stack; /* bytes of the deepest chain that starts with it */
    bool unbounded; /* it can call itself, at last */
    Progress progress;
} Weight;

typedef struct Report {
    const Machine *machine;
    Weight *weights;
    Text out;
} Report;

static uint32_t frame_bytes(const Routine *routine)
{
    return FRAME_HEAD + SLOT_BYTES * routine->slot_count;
}

/* ---- chains of calls ---- */

static void add_callee(Report *r, Weight *weight, uint32_t callee)
{
    if (callee == r->machine->routine_count) return;
    weight->callees = arena_grow(r->machine->arena, weight->callees, &weight->callee_cap, weight->callee_count + 1,
                                 sizeof *weight->callees);
    weight->callees[weight->callee_count++] = callee;
}

static void find_callees(Report *r, uint32_t index)
{
    const Routine *routine = r->machine->routines[index];
    const RtFunc *undo = machine_func(RT_UNDO_PUSH);
    for (uint32_t i = 0; i < routine->order_count; i++) {
        const MBlock *block = routine->order[i];
        const Term *term = &block->term;
        if (term->kind == TERM_POINT && term->point->ask == ASK_CALL && term->callee)
            add_callee(r, &r->weights[index], machine_find_workflow(r->machine, term->callee, NULL));
        for (uint32_t n = 0; n < block->count; n++) {
            const Instr *instr = block->instrs[n];
            for (uint32_t k = 0; instr->func == undo && k < instr->argc; k++)
                if (instr->args[k]->kind == VAL_FLOW)
                    add_callee(r, &r->weights[index], machine_find_workflow(r->machine, NULL, instr->args[k]->routine));
        }
    }
}

static void take_callee(Weight *weight, const Weight *callee)
{
    if (callee->progress == OPEN || callee->unbounded) weight->unbounded = true;
    if (callee->stack > weight->stack) weight->stack = callee->stack;
}

/* Depth first, without recursion: chains are as long as the program. */
static void weigh(Report *r, uint32_t first, uint32_t *open)
{
    uint32_t depth = 0;
    open[depth++] = first;
    while (depth) {
        uint32_t index = open[depth - 1];
        Weight *weight = &r->weights[index];
        if (weight->progress == UNSEEN) find_callees(r, index);
        weight->progress = OPEN;
        bool deeper = false;
        while (weight->next < weight->callee_count && !deeper) {
            uint32_t callee = weight->callees[weight->next];
            CHECK(r->machine->routines[callee]->kind == ROUTINE_WORKFLOW);
            deeper = r->weights[callee].progress == UNSEEN;
            if (deeper)
                open[depth++] = callee;
            else
                take_callee(weight, &r->weights[weight->callees[weight->next++]]);
        }
        if (deeper) continue;
        weight->stack += frame_bytes(r->machine->routines[index]);
        weight->progress = DONE;
        depth--;
    }
}

static uint64_t task_bytes(const Weight *weight)
{
    uint64_t block = STACK_FIRST;
    while (block < weight->stack) block *= 2;
    return TASK_SLOT + STACK_FIRST + (block > STACK_FIRST ? block : 0);
}

/* The point at which most slots are live; the first of several; NULL when it never stops. */
static const Point *widest_point(const Routine *routine)
{
    const Point *widest = NULL;
    for (uint32_t i = 0; i < routine->resume_count; i++)
        if (!widest || routine->resume[i]->live_count > widest->live_count) widest = routine->resume[i];
    return widest;
}

static const char *var_name(const Var *var)
{
    return var->label ? var->label : var->name;
}

static const char *place_of(Report *r, const Routine *routine, uint32_t line)
{
    const Module *module = routine->decl->module;
    line -= module->source->line_base;
    return module->number ? arena_printf(r->machine->arena, "%s:%u", module->file, line)
                          : arena_printf(r->machine->arena, "%u", line);
}

/* ---- for people ---- */

static int name_width(const Machine *machine)
{
    int width = 8;
    for (uint32_t i = 0; i < machine->routine_count; i++) {
        const Routine *routine = machine->routines[i];
        int len = routine->kind == ROUTINE_WORKFLOW ? (int)strlen(routine->label) : 0;
        if (len > width) width = len < 40 ? len : 40;
    }
    return width;
}

static void put_summary(Report *r, uint32_t index, int width)
{
    const Routine *routine = r->machine->routines[index];
    const Weight *weight = &r->weights[index];
    const Point *widest = widest_point(routine);
    text_format(&r->out, "%-*s %6u %6u ", width, routine->label, frame_bytes(routine), routine->slot_count);
    if (weight->unbounded)
        text_format(&r->out, "%8s %8s  ", "recurs", "recurs");
    else
        text_format(&r->out, "%8llu %8llu  ", (unsigned long long)weight->stack,
                    (unsigned long long)task_bytes(weight));
    if (widest)
        text_format(&r->out, "%s, line %s: %u\n", widest->id, place_of(r, routine, widest->line), widest->live_count);
    else
        text_put(&r->out, "it never stops\n");
}

static void put_points(Report *r, const Routine *routine)
{
    const Point *widest = widest_point(routine);
    if (!widest) return;
    text_format(&r->out, "\n%s\n", routine->label);
    for (uint32_t i = 0; i < routine->resume_count; i++) {
        const Point *point = routine->resume[i];
        text_format(&r->out, "%c %5s  %-32s %3u live%s", point == widest ? '*' : ' ', place_of(r, routine, point->line),
                    point->id, point->live_count, point->live_count ? ": " : "");
        for (uint32_t n = 0; n < point->live_count; n++)
            text_format(&r->out, "%s%s", n ? ", " : "", var_name(point->live[n]));
        text_put(&r->out, "\n");
    }
}

static void put_table(Report *r)
{
    int width = name_width(r->machine);
    text_format(&r->out, "%-*s %6s %6s %8s %8s  %s\n", width, "WORKFLOW", "FRAME", "SLOTS", "STACK", "TASK",
                "WIDEST POINT");
    for (uint32_t i = 0; i < r->machine->routine_count; i++)
        if (r->machine->routines[i]->kind == ROUTINE_WORKFLOW) put_summary(r, i, width);
    for (uint32_t i = 0; i < r->machine->routine_count; i++)
        if (r->machine->routines[i]->kind == ROUTINE_WORKFLOW) put_points(r, r->machine->routines[i]);
}

/* ---- for programs ---- */

static void put_string(Report *r, const char *key, const char *value)
{
    text_format(&r->out, "\"%s\": ", key);
    text_quote_json(&r->out, value);
}

static void put_json_place(Report *r, const Routine *routine, uint32_t line)
{
    const Module *module = routine->decl->module;
    put_string(r, "file", module->file);
    text_format(&r->out, ", \"line\": %u", line - module->source->line_base);
}

static void put_json_point(Report *r, const Routine *routine, const Point *point)
{
    text_put(&r->out, "{");
    put_string(r, "id", point->id);
    text_put(&r->out, ", ");
    put_json_place(r, routine, point->line);
    text_put(&r->out, ", \"live\": [");
    for (uint32_t i = 0; i < point->live_count; i++) {
        const Var *var = point->live[i];
        text_format(&r->out, "%s{\"slot\": %d, ", i ? ", " : "", var->slot);
        put_string(r, "name", var_name(var));
        text_put(&r->out, ", ");
        put_string(r, "type", var->type->name);
        text_put(&r->out, "}");
    }
    text_put(&r->out, "]}");
}

static void put_json_workflow(Report *r, uint32_t index)
{
    const Routine *routine = r->machine->routines[index];
    const Weight *weight = &r->weights[index];
    const Point *widest = widest_point(routine);
    text_put(&r->out, "{");
    put_string(r, "workflow", routine->label);
    text_put(&r->out, ", ");
    put_json_place(r, routine, routine->line);
    text_format(&r->out, ", \"frame_bytes\": %u, \"slots\": %u", frame_bytes(routine), routine->slot_count);
    if (weight->unbounded)
        text_put(&r->out, ", \"stack_bytes\": null, \"task_bytes\": null");
    else
        text_format(&r->out, ", \"stack_bytes\": %llu, \"task_bytes\": %llu", (unsigned long long)weight->stack,
                    (unsigned long long)task_bytes(weight));
    text_put(&r->out, ", \"widest\": ");
    text_quote_json(&r->out, widest ? widest->id : "");
    text_put(&r->out, ", \"points\": [");
    for (uint32_t i = 0; i < routine->resume_count; i++) {
        text_put(&r->out, i ? ",\n  " : "\n  ");
        put_json_point(r, routine, routine->resume[i]);
    }
    text_put(&r->out, "]}");
}

static void put_json(Report *r)
{
    const char *comma = "[";
    for (uint32_t i = 0; i < r->machine->routine_count; i++) {
        if (r->machine->routines[i]->kind != ROUTINE_WORKFLOW) continue;
        text_put(&r->out, comma);
        put_json_workflow(r, i);
        comma = ",\n";
    }
    text_put(&r->out, *comma == '[' ? "[]\n" : "]\n");
}

char *emit_report(const Machine *machine, bool json, size_t *len)
{
    Report r = {.machine = machine, .out = {.arena = machine->arena}};
    uint32_t *open = arena_alloc(machine->arena, (machine->routine_count + 1) * sizeof *open);
    r.weights = arena_alloc(machine->arena, (machine->routine_count + 1) * sizeof *r.weights);
    for (uint32_t i = 0; i < machine->routine_count; i++)
        if (machine->routines[i]->kind == ROUTINE_WORKFLOW && r.weights[i].progress == UNSEEN) weigh(&r, i, open);
    if (json)
        put_json(&r);
    else
        put_table(&r);
    *len = r.out.len;
    return r.out.data;
}
