/* emit_c.c: the order of the output: what a reader of the C file meets, from top to bottom. */
#include <string.h>

#include "emit.h"

static const char head[] =
    "#include \"tfy.h\"\n"
    "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
    "#define TFYG_UNUSED __attribute__((unused))\n"
    "#define TFYG_STRING(N, BYTES, POINTS, TEXT) static TFYG_UNUSED const struct { TfyObj head; uint32_t bytes, "
    "points, cap, unused; char text[(BYTES) + 1]; } \\\n"
    "    tfyg_s##N = {{TFY_IMMORTAL, 0, &tfy_type_string}, BYTES, POINTS, BYTES, 0, TEXT}\n"
    "#define S(N) ((TfyObj *)&tfyg_s##N)\n"
    "#define CASE(TYPE, NAME) ((TfyObj *)&tfyg_case_##TYPE##_##NAME)\n"
    "#define TFYG_GO ((TfyStatus)-1)\n"
    "static TFYG_UNUSED void tfyg_release(TfyTask *t, void *frame, const char *objects)\n"
    "{\n"
    "    TfyValue *slots = (TfyValue *)((TfyFrame *)frame + 1);\n"
    "    for (uint32_t slot = 0; objects[slot]; slot++)\n"
    "        if (objects[slot] == 'o') tfy_clear(t, &slots[slot].o);\n"
    "}\n"
    "#ifdef TFY_POISON\n"
    "#define TFYG_OBJECTS(NAME, MAP) static const char tfyg_objects_##NAME[] = MAP;\n"
    "#define TFYG_POISON(NAME) tfyg_poison(frame, tfyg_objects_##NAME)\n"
    "static const TfyObj tfyg_dead = {TFY_IMMORTAL, 0, NULL};\n"
    "static TFYG_UNUSED void tfyg_poison(TfyFrame *frame, const char *objects)\n"
    "{\n"
    "    const TfyPoint *point = frame->pc ? frame->workflow->resume[frame->pc - 1] : NULL;\n"
    "    TfyValue *slots = (TfyValue *)(frame + 1);\n"
    "    for (uint32_t slot = 0, live = 0; point && objects[slot]; slot++) {\n"
    "        if (live < point->live_count && point->live[live].slot == slot) { live++; continue; }\n"
    "        if (objects[slot] == 'o' && slots[slot].o && slots[slot].o != &tfyg_dead) __builtin_trap();\n"
    "        slots[slot] = objects[slot] == 'o' ? tfy_of_obj((TfyObj *)&tfyg_dead) : "
    "tfy_of_int((int64_t)TFY_POISON_WORD);\n"
    "    }\n"
    "}\n"
    "#else\n"
    "#define TFYG_OBJECTS(NAME, MAP)\n"
    "#define TFYG_POISON(NAME) (void)0\n"
    "#endif\n";

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
