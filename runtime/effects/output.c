/* output.c: text from outside as the result of a call. */
#include "effects/output.h"

#include <stdio.h>
#include <string.h>

#include "effects/process.h"
#include "value/heap.h"
#include "value/json.h"

/* A decoder's message "$.a.b: expected …" as a BadValue. */
static bool fail_value(TfyCall *call, const char *error)
{
    const char *colon = strstr(error, ": ");
    char path[TFY_ERROR_TEXT];
    snprintf(path, sizeof path, "%.*s", colon && *error == '$' ? (int)(colon - error) : 1, *error == '$' ? error : "$");
    tfy__call_bad_value(call, path, error);
    return true;
}

static bool fail_cut(TfyCall *call, const char *whole)
{
    char text[192];
    const size_t most = tfy__output_most(call->loop);
    const bool is_whole = most % (1 << 20) == 0;
    snprintf(text, sizeof text,
             "the output is longer than %zu %s (--max-output SIZE allows more); only %s can hold a part of it",
             is_whole ? most >> 20 : most, is_whole ? "MiB" : "bytes", whole);
    tfy__call_bad_value(call, "$", text);
    return true;
}

bool tfy__output_give(TfyCall *call, const TfyBuffer *output, bool cut, const char *whole)
{
    TfyTask *task = call->task;
    TfyValue value = {.i = 0};
    char error[TFY_ERROR_TEXT];
    bool lossy = false;
    if (call->result->kind == TFY_NOTHING) {
        tfy__call_done(call, value);
        return true;
    }
    if (cut) return fail_cut(call, whole);
    TfyObj *text = tfy__process_text(task, output, false, &lossy);
    if (!text) return false;
    const TfyString *string = (const TfyString *)text;
    if (call->result->kind == TFY_STRING) {
        tfy__call_done(call, tfy_of_obj(text));
        return true;
    }
    if (tfy__decode_text(task, call->result, string->bytes, string->byte_len, &value, error)) {
        tfy__call_done(call, value);
        return true;
    }
    return !task->error && fail_value(call, error);
}

void tfy__output_panicked(TfyCall *call)
{
    TfyTask *task = call->task;
    TfyObj *error = tfy_take_error(task);
    tfy__call_fail(call, error->type, ((TfyRecord *)error)->fields);
    tfy_drop(task, error);
}
