/* tools.c: the extern tools of tests/diff/tools.c as the interpreter has them. Every call leaves a line "WHO TOOL ARGUMENTS". */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

typedef struct Flaky {
    const char *who;
    int64_t id;
    uint32_t calls;
    struct Flaky *next;
} Flaky;

static uint32_t count_call(Interp *in, const char *who, int64_t id)
{
    Flaky *entry = in->flaky;
    while (entry && (entry->id != id || strcmp(entry->who, who) != 0)) entry = entry->next;
    if (!entry) {
        entry = must_alloc(sizeof *entry);
        *entry = (Flaky){.who = who, .id = id, .next = in->flaky};
        in->flaky = entry;
    }
    return ++entry->calls;
}

/* The first calls with an id fail, each task counting for itself. */
static const Value *flaky(Frame *f, const Value **args)
{
    Interp *in = f->task->interp;
    int64_t id = args[1]->i, fails = args[2]->i;
    char message[100];
    if (!fails) return value_int(1);
    int64_t call = fails < 90 ? count_call(in, args[0]->text, id) : 90;
    if (call > fails) return value_int(call);
    if (fails < 90)
        snprintf(message, sizeof message, "call %lld of %lld fails", (long long)call, (long long)id);
    else
        snprintf(message, sizeof message, "call of %lld fails", (long long)id);
    const Value *fields[] = {value_text(message, strlen(message)), value_text("t_flaky", 7), value_int(call)};
    raise_error(f, in->program->core.tool_error, fields);
    return NULL;
}

static const Value *text_of(int64_t n)
{
    char text[40];
    snprintf(text, sizeof text, "t%lld", (long long)n);
    return value_text(text, strlen(text));
}

const Value *perform_tool(Frame *f, const Decl *tool, const Value **args)
{
    const char *name = tool->name.text;
    Buf *calls = &f->task->interp->calls;
    buf_format(calls, "%s %s", args[0]->text, name);
    for (uint32_t i = 1; i < tool->param_count; i++)
        if (args[i]->kind == V_INT) buf_format(calls, " %lld", (long long)args[i]->i);
    buf_text(calls, "\n");
    if (strcmp(name, "t_add") == 0) return value_int((int64_t)((uint64_t)args[1]->i + (uint64_t)args[2]->i));
    if (strcmp(name, "t_text") == 0) return text_of(args[1]->i);
    if (strcmp(name, "t_maybe") == 0) return args[1]->i % 2 ? &value_null : text_of(args[1]->i);
    if (strcmp(name, "t_item") == 0 || strcmp(name, "t_ints") == 0 || strcmp(name, "t_shape") == 0) return args[1];
    if (strcmp(name, "t_half") == 0) return value_float(args[1]->f / 2);
    if (strcmp(name, "t_note") == 0) return &value_null;
    if (strcmp(name, "p_fail") == 0) {
        const Value *fields[] = {value_text("it fails", 8), value_text("p_fail", 6), value_int(1)};
        raise_error(f, f->task->interp->program->core.tool_error, fields);
        return NULL;
    }
    if (strncmp(name, "p_", 2) == 0) return args[1];
    if (strcmp(name, "t_flaky") == 0) return flaky(f, args);
    fprintf(stderr, "interp: no tool %s\n", name);
    exit(70);
}
