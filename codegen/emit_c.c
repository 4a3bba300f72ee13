/* emit_c.c: the order of the output: what a reader of the C file meets, from top to bottom. */
#include <string.h>

#include "emit.h"

static const char head[] = "#include \"tfy_program.h\"\n"
                           "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
                           "#define S(N) ((TfyObj *)&tfyg_s##N)\n"
                           "#define CASE(TYPE, NAME) ((TfyObj *)&tfyg_case_##TYPE##_##NAME)\n";

static CText begin_part(Emit *e)
{
    CText before = e->c;
    ctext_init(&e->c, e->arena, e->files);
    return before;
}

static Text end_part(Emit *e, CText before)
{
    ctext_flush(&e->c);
    Text part = e->c.out;
    e->c = before;
    return part;
}

/* Writes one part of the output on its own: types come first in the file, but which are needed is known last. */
static Text write_part(Emit *e, void (*write)(Emit *e))
{
    CText before = begin_part(e);
    write(e);
    return end_part(e, before);
}

static void write_routines(Emit *e)
{
    for (uint32_t i = 0; i < e->machine->routine_count; i++) emit_routine(e, e->machine->routines[i]);
}

static void write_tables(Emit *e)
{
    emit_points(e);
    emit_tools(e);
}

static const LineFile *list_files(const Machine *machine, const EmitOptions *options)
{
    uint32_t count = 0;
    for (const Module *module = machine->program->modules; module; module = module->next) count++;
    LineFile *files = arena_alloc(machine->arena, (count + 1) * sizeof *files);
    for (const Module *module = machine->program->modules; module; module = module->next) {
        const char *name = module->number ? module->source->name : options->source_name;
        Text quoted = {.arena = machine->arena};
        text_quote_c(&quoted, name, strlen(name));
        files[module->number] = (LineFile){quoted.data, module->source->line_base};
    }
    return files;
}

char *emit_c(const Machine *machine, const EmitOptions *options, size_t *len)
{
    Text out = {.arena = machine->arena};
    Emit e = {.machine = machine, .options = options, .arena = machine->arena};
    if (options->lines) e.files = list_files(machine, options);
    e.needed = arena_alloc(machine->arena, machine->program->type_count + 1);
    ctext_init(&e.c, e.arena, e.files);
    Text routines = write_part(&e, write_routines);
    Text tables = write_part(&e, write_tables);
    Text workflows = write_part(&e, emit_workflows);
    Text types = write_part(&e, emit_types);
    Text forwards = write_part(&e, emit_forwards);
    Text strings = write_part(&e, emit_strings);
    Text program = write_part(&e, emit_program);
    const Text *parts[] = {&strings, &types, &forwards, &tables, &routines, &workflows, &program};
    size_t whole = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) whole += parts[i]->len;
    text_format(&out, "/* Made by tfyc %s from %s. */\n", TFY_VERSION, options->source_name);
    text_put(&out, head);
    text_reserve(&out, whole);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i]->len) text_add(&out, parts[i]->data, parts[i]->len);
    *len = out.len;
    return out.data;
}
