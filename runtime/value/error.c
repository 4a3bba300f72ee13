/* error.c: raises panics and errors. A pending error always takes precedence over a new one: people need to see the
 * first cause. */
#include "base/buffer.h"
#include "value/heap.h"

/* The panic of last resort is static data: when memory is out, there may be none left to report that. */
static const TfyString no_memory_text = {.head = {.refs = TFY_IMMORTAL, .type = &tfy_type_string},
                                         .byte_len = 18,
                                         .len = 18,
                                         .cap = 18,
                                         .bytes = "memory has run out"};
static const struct {
    TfyObj head;
    TfyValue fields[1];
} no_memory = {.head = {.refs = TFY_IMMORTAL, .type = &tfy_type_panic}, .fields = {{.o = (TfyObj *)&no_memory_text}}};

bool tfy__out_of_memory(TfyTask *task)
{
    if (!task->error) task->error = (TfyObj *)&no_memory;
    return false;
}

bool tfy__starved(TfyTask *task)
{
    if (!task->error) task->heap->ran_out = true;
    return tfy__out_of_memory(task);
}

bool tfy__buffer_refused(TfyTask *task, const TfyBuffer *buffer)
{
    return buffer->starved ? tfy__starved(task) : tfy__out_of_memory(task);
}

static bool raise_message(TfyTask *task, const TfyType *type, uint32_t line, const TfyBuffer *text)
{
    if (text->failed) return tfy__buffer_refused(task, text);
    TfyObj *message = tfy__string_new(task, &tfy_type_string, text->data, text->len);
    if (!message) return tfy__out_of_memory(task);
    TfyObj *error = tfy__record_new(task, type);
    if (!error) {
        tfy_drop(task, message);
        return false;
    }
    error->aux = line;
    ((TfyRecord *)error)->fields[0].o = message;
    task->error = error;
    return false;
}

bool tfy_panic(TfyTask *task, uint32_t line, const char *format, ...)
{
    if (task->error) return false;
    TfyBuffer text = {0};
    va_list args;
    va_start(args, format);
    tfy__buffer_vprintf(&text, format, args);
    va_end(args);
    raise_message(task, &tfy_type_panic, line, &text);
    tfy__buffer_free(&text);
    return false;
}

bool tfy__overflow(TfyTask *task, uint32_t line)
{
    return tfy_panic(task, line, "the result does not fit an int (64 bits)");
}

bool tfy__div_zero(TfyTask *task, uint32_t line)
{
    return tfy_panic(task, line, "division by zero");
}

bool tfy__not_finite(TfyTask *task, uint32_t line)
{
    return tfy_panic(task, line, "the result is not a finite number");
}

bool tfy_assert(TfyTask *task, uint32_t line, bool ok, const char *text)
{
    return ok || tfy_panic(task, line, "assertion failed: %s", text);
}

bool tfy_fail(TfyTask *task, const TfyType *error, uint32_t line, const TfyValue *fields)
{
    if (task->error) return false;
    TfyObj *raised = tfy__record_new(task, error);
    if (!raised) return false;
    raised->aux = line;
    for (uint32_t i = 0; i < error->field_count; i++)
        ((TfyRecord *)raised)->fields[i] = tfy__keep_value(error->fields[i].type, fields[i]);
    task->error = raised;
    return false;
}

bool tfy_fail_with(TfyTask *task, TfyObj *error)
{
    if (!task->error) task->error = tfy_keep(error);
    return false;
}

bool tfy_retriable(const TfyTask *task)
{
    static const TfyType *const final[] = {&tfy_type_panic,          &tfy_type_cancelled,      &tfy_type_denied,
                                           &tfy_type_task_failed,    &tfy_type_channel_closed, &tfy_type_lost,
                                           &tfy_type_budget_exceeded};
    if (!task->error) return false;
    for (size_t i = 0; i < sizeof final / sizeof final[0]; i++)
        if (task->error->type == final[i]) return false;
    return true;
}
