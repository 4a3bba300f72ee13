/* emit_c.c: the order of the output: what a reader of the C file meets, from top to bottom. */
#include <string.h>

#include "emit.h"

static const char head[] = "#include \"tfy.h\"\n"
                           "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
                           "#define S(N) ((TfyObj *)&tfyg_s##N)\n"
                           "#define CASE(TYPE, NAME) ((TfyObj *)&tfyg_case_##TYPE##_##NAME)\n";

static CText begin_part(Emit *e)
{
    CText before = e->c;
    ctext_init(&e->c, e->arena, e->file);
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

char *emit_c(const Machine *machine, const EmitOptions *options, size_t *len)
{
    Text file = {.arena = machine->arena}, out = {.arena = machine->arena};
    text_quote_c(&file, options->source_name, strlen(options->source_name));
    Emit e = {
        .machine = machine, .options = options, .arena = machine->arena, .file = options->lines ? file.data : NULL};
    e.needed = arena_alloc(machine->arena, machine->program->type_count + 1);
    ctext_init(&e.c, e.arena, e.file);
    Text routines = write_part(&e, write_routines);
    Text tables = write_part(&e, write_tables);
    Text workflows = write_part(&e, emit_workflows);
    Text types = write_part(&e, emit_types);
    Text forwards = write_part(&e, emit_forwards);
    Text strings = write_part(&e, emit_strings);
    Text program = write_part(&e, emit_program);
    const Text *parts[] = {&strings, &types, &forwards, &tables, &routines, &workflows, &program};
    text_format(&out, "/* Made by tfyc %s from %s. */\n", TFY_VERSION, options->source_name);
    text_put(&out, head);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i]->len) text_add(&out, parts[i]->data, parts[i]->len);
    *len = out.len;
    return out.data;
}
