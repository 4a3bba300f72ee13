/* emit_layout.c: points, frames and types as JSON: what the log stores beside the source, so that another build of the
 * compiler can tell whether an old task fits its frames.
 *
 * {"version": 1,
 *  "file": the main file's name, without its directory: messages show it, and a resumed run shows the same
 *  "modules": of a program of several files: [{"file", "line", "bytes", "imports": {PATH: index}}]; the stored source
 *             is the files one after the other, a newline between them
 *  "workflows": [{"name", "line", "slots", "params": [{"name", "type"}], "result", "of"}], in the order of the
 *             program's routines; "of": the point that a body of parallel or race, or an undo, belongs to
 *  "points": [{"n", "id", "kind", "workflow", "line", "asks": hash of how the source reads there (lower_origin.c),
 *             "callee": what is asked for: a workflow, tool, prompt or effect, "class": of a tool, "sandbox": that a
 *             tool names, "args": [{"name", "type"}] of what differs from program to program, "result": the type that
 *             the place wants, "live": [[slot, "name", "type", order], …], "dead": [slot, …]}],
 *  "types": [{"name", "kind", "fields" or "cases"}],
 *  "sandboxes": of a program that declares some: [{"name", "root", …}] as emit_sandbox.c writes them, for
 *             `tfy sandbox NAME`; also those that no tool names}
 *
 * A field is {"name", "type"}, and "default": true where it has one. A callee or result that a point has not is left
 * out. A point's "live" and "dead" say what changed since the workflow's last point that can be resumed: what the
 * slots that became live (or hold another variable now) hold, and which slots no longer hold anything. So the layout
 * grows with the program, not with its square. Variables of a workflow are numbered in the order in which it comes
 * to them; one that the compiler made has a fifth member, the hash of its statement. One line per element, for diff
 * and for people. */
#include <inttypes.h>
#include <string.h>

#include "emit_sandbox.h"
#include "machine.h"

static void put_name(Text *out, const char *key, const char *value)
{
    text_format(out, "\"%s\":", key);
    text_quote_json(out, value);
}

static void put_fields(Text *out, const TypeField *fields, uint32_t count)
{
    text_put(out, "[");
    for (uint32_t i = 0; i < count; i++) {
        text_put(out, i ? ",{" : "{");
        put_name(out, "name", fields[i].name);
        text_put(out, ",");
        put_name(out, "type", fields[i].type->name);
        text_put(out, fields[i].value ? ",\"default\":true}" : "}");
    }
    text_put(out, "]");
}

/* In the main file a number. In others "FILE:LINE", and in "at" the line of the stored source, where all files are
 * one after the other. */
static void put_line(Text *out, const Routine *routine, uint32_t line)
{
    const Module *module = routine->decl->module;
    if (!module->number) {
        text_format(out, ",\"line\":%u", line);
        return;
    }
    text_put(out, ",");
    put_name(out, "line", arena_printf(out->arena, "%s:%u", module->file, line - module->source->line_base));
    text_format(out, ",\"at\":%u", line);
}

static void put_imports(Text *out, const Module *module)
{
    const char *comma = "";
    for (const Decl *decl = module->decls; decl; decl = decl->next) {
        if (decl->kind != DECL_IMPORT) continue;
        const Expr *part = decl->value->parts;
        text_put(out, comma);
        text_quote_json(out, arena_strndup(out->arena, part->text, part->text_len));
        text_format(out, ":%u", decl->imported->number);
        comma = ",";
    }
}

/* How the stored source is cut into files again, and what their imports mean. */
static void put_modules(Text *out, const Program *program)
{
    const char *comma = "\n";
    text_put(out, ",\"modules\":[");
    for (const Module *module = program->modules; module; module = module->next) {
        text_format(out, "%s{", comma);
        put_name(out, "file", module->file);
        text_format(out, ",\"line\":%u,\"bytes\":%u,\"imports\":{", module->source->line_base + 1, module->source->len);
        put_imports(out, module);
        text_put(out, "}}");
        comma = ",\n";
    }
    text_put(out, "]");
}

static void put_workflow(Text *out, const Routine *routine)
{
    const char *comma = "";
    text_put(out, "{");
    put_name(out, "name", routine->label);
    put_line(out, routine, routine->line);
    text_format(out, ",\"slots\":%u,\"params\":[", routine->slot_count);
    for (uint32_t i = 0; i < routine->param_count; i++, comma = ",") {
        text_format(out, "%s{", comma);
        put_name(out, "name", routine->vars[i]->label);
        text_put(out, ",");
        put_name(out, "type", routine->vars[i]->type->name);
        text_put(out, "}");
    }
    text_put(out, "],");
    put_name(out, "result", routine->result->name);
    if (routine->of) {
        text_put(out, ",");
        put_name(out, "of", routine->of->id);
    }
    text_put(out, "}");
}

/* The variable in each slot at the last point that was written. */
typedef struct Slots {
    const Routine *routine;
    const Var **vars;
} Slots;

static void put_live(Text *out, Slots *slots, const Point *point)
{
    const char *comma = "";
    uint32_t next = 0;
    text_put(out, ",\"live\":[");
    for (uint32_t i = 0; i < point->live_count; i++) {
        const Var *var = point->live[i];
        CHECK(i == 0 || point->live[i - 1]->slot < var->slot); /* one variable a slot, in their order */
        if (slots->vars[var->slot] == var) continue;
        slots->vars[var->slot] = var;
        text_format(out, "%s[%d,", comma, var->slot);
        text_quote_json(out, var->label ? var->label : var->made);
        text_put(out, ",");
        text_quote_json(out, var->type->name);
        text_format(out, ",%u", var->id);
        if (!var->label) text_format(out, ",\"%016" PRIx64 "\"", var->origin);
        text_put(out, "]");
        comma = ",";
    }
    text_put(out, "],\"dead\":[");
    comma = "";
    for (uint32_t slot = 0; slot < point->routine->slot_count; slot++) {
        bool live = next < point->live_count && (uint32_t)point->live[next]->slot == slot;
        next += live;
        if (live || !slots->vars[slot]) continue;
        slots->vars[slot] = NULL;
        text_format(out, "%s%u", comma, slot);
        comma = ",";
    }
    text_put(out, "]");
}

static void put_args(Text *out, const TypeField *fields, uint32_t count)
{
    if (!count) return;
    text_put(out, ",\"args\":");
    put_fields(out, fields, count);
}

/* Parameters of a tool or prompt, and what goes through a channel; those of other effects are the runtime's. */
static void put_asked(Text *out, const Point *point)
{
    static const char *const classes[] = {
        [REPEAT_ONCE] = "once", [REPEAT_IDEMPOTENT] = "idempotent", [REPEAT_PURE] = "pure"};
    const Decl *callee = point->ask == ASK_EFFECT ? point->callee : NULL;
    const TypeField message = {.name = "message", .type = point->channel};
    uint32_t count = 0;
    for (const Field *f = callee ? callee->params : NULL; f; f = f->next) count++;
    TypeField *fields = arena_alloc(out->arena, (count + 1) * sizeof *fields);
    count = 0;
    for (const Field *f = callee ? callee->params : NULL; f; f = f->next)
        fields[count++] = (TypeField){.name = f->name.text, .type = f->type};
    if (callee) {
        text_put(out, ",");
        put_name(out, "class", classes[callee->repeat]);
        if (callee->sandbox) {
            text_put(out, ",");
            put_name(out, "sandbox", callee->sandbox->name);
        }
    }
    if (point->channel)
        put_args(out, &message, 1);
    else
        put_args(out, fields, count);
}

/* What is asked for, and what for: a change of either is another step. */
static void put_request(Text *out, const Point *point)
{
    const char *callee = point->callee    ? point->callee->full_name
                         : point->builtin ? point->builtin->name
                                          : point->effect;
    if (callee) {
        text_put(out, ",");
        put_name(out, "callee", callee);
        put_asked(out, point);
    }
    if (point->result) {
        text_put(out, ",");
        put_name(out, "result", point->result->name);
    }
}

static void put_point(Text *out, Slots *slots, const Point *point)
{
    static const char *const kinds[] = {
        [ASK_YIELD] = "yield",     [ASK_FUEL] = "fuel", [ASK_EFFECT] = "effect", [ASK_CALL] = "call",
        [ASK_BACKOFF] = "backoff", [ASK_UNDO] = "undo", [ASK_MARK] = "mark"};
    text_format(out, "{\"n\":%u,", point->number);
    put_name(out, "id", point->id);
    text_format(out, ",\"kind\":\"%s\",", kinds[point->ask]);
    put_name(out, "workflow", point->routine->label);
    put_line(out, point->routine, point->line);
    if (point->asks) text_format(out, ",\"asks\":\"%016" PRIx64 "\"", point->asks);
    put_request(out, point);
    if (slots->routine != point->routine) {
        slots->routine = point->routine;
        slots->vars = arena_alloc(out->arena, (point->routine->slot_count + 1) * sizeof *slots->vars);
    }
    if (point->ask != ASK_MARK) put_live(out, slots, point);
    text_put(out, "}");
}

static void put_type(Text *out, const Type *type)
{
    text_put(out, "{");
    put_name(out, "name", type->name);
    if (type->kind != TYPE_ENUM) {
        text_format(out, ",\"kind\":\"%s\",\"fields\":", type->kind == TYPE_ERROR ? "error" : "record");
        put_fields(out, type->fields, type->field_count);
    } else {
        text_put(out, ",\"kind\":\"enum\",\"cases\":[");
        for (uint32_t i = 0; i < type->case_count; i++) {
            text_put(out, i ? ",{" : "{");
            put_name(out, "name", type->cases[i].name);
            text_put(out, ",\"fields\":");
            put_fields(out, type->cases[i].fields, type->cases[i].field_count);
            text_put(out, "}");
        }
        text_put(out, "]");
    }
    text_put(out, "}");
}

static bool has_field(const Type *type, const Type *of)
{
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].type == of) return true;
    return false;
}

/* Some built-in records are described like declared ones, by the programs that use them: no other carries them. */
static bool is_carried(const Machine *machine, const Type *type)
{
    const Program *program = machine->program;
    if (type != program->core.symbol && type != program->core.place) return false;
    for (const Type *other = program->types; other; other = other->next)
        if (other->elem == type || has_field(other, type)) return true;
    for (uint32_t i = 0; i < machine->routine_count; i++) {
        const Routine *routine = machine->routines[i];
        if (routine->result == type) return true;
        for (uint32_t k = 0; k < routine->var_count; k++)
            if (routine->vars[k]->type == type) return true;
    }
    return false;
}

/* Without the bracket behind them. */
static void put_sandboxes(Text *out, const Program *program)
{
    const char *before = "],\n\"sandboxes\":[\n";
    for (uint32_t i = 0; i < program->decl_count; i++) {
        if (program->decls[i]->kind != DECL_SANDBOX) continue;
        text_put(out, before);
        put_json_sandbox(out, program->decls[i]->sandbox);
        before = ",\n";
    }
}

char *emit_layout(const Machine *machine, const char *file)
{
    Text out = {.arena = machine->arena};
    const char *comma = "\n";
    Slots slots = {0};
    text_put(&out, "{\"version\":1,");
    CHECK(!strchr(file, '/'));
    put_name(&out, "file", file);
    if (machine->program->modules->next) put_modules(&out, machine->program);
    text_put(&out, ",\"workflows\":[");
    for (uint32_t i = 0; i < machine->routine_count; i++) {
        if (machine->routines[i]->kind != ROUTINE_WORKFLOW) continue;
        text_put(&out, comma);
        put_workflow(&out, machine->routines[i]);
        comma = ",\n";
    }
    text_put(&out, "],\n\"points\":[");
    for (uint32_t i = 0; i < machine->point_count; i++) {
        text_put(&out, i ? ",\n" : "\n");
        CHECK(machine->points[i]->number == i + 1);
        put_point(&out, &slots, machine->points[i]);
    }
    text_put(&out, "],\n\"types\":[");
    comma = "\n";
    for (const Type *type = machine->program->types; type; type = type->next) {
        if (!type->decl && !is_carried(machine, type)) continue;
        text_put(&out, comma);
        put_type(&out, type);
        comma = ",\n";
    }
    put_sandboxes(&out, machine->program);
    text_put(&out, "]}\n");
    return out.data;
}
