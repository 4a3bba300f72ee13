/* extern.c: tools that are C functions linked into the program. They are called at once, on the loop's thread;
 * everything else waits for them. */
#include <errno.h>
#include <stdlib.h>

#include "effects/secret.h"
#include "effects/secret_source.h"

/* Inserts the secrets into string parameters: in place, on the release stack, and released with it. False after
 * the call has failed. */
static bool fill_args(TfyCall *call, TfySecrets *secrets, TfyValue *filled)
{
    const TfyTool *tool = call->tool;
    for (uint32_t i = 0; i < tool->param_count; i++) {
        size_t len;
        filled[i] = call->args[i];
        bool text = tool->params[i].type->kind == TFY_STRING;
        if (!text || !((const TfyString *)call->args[i].o)->secrets) continue;
        const char *bytes = tfy__secrets_fill(secrets, call, call->args[i].o, &len);
        filled[i].o = bytes ? tfy_string_of(call->task, bytes, len) : NULL;
        if (filled[i].o) continue;
        if (bytes)
            tfy__call_panicked(call);
        else
            tfy__secrets_fail(call, secrets);
        return false;
    }
    return true;
}

static bool names_secrets(const TfyCall *call)
{
    for (uint32_t i = 0; i < call->tool->param_count; i++)
        if (call->tool->params[i].type->kind == TFY_STRING && ((const TfyString *)call->args[i].o)->secrets)
            return true;
    return false;
}

static void call_tool(TfyCall *call, const TfyValue *args)
{
    TfyTask *task = call->task;
    TfyValue result = {.i = 0};
    call->outcome = TFY_UNKNOWN; /* tfy_tool_fail and tfy_tool_unknown are more specific */
    if (call->tool->call(task, args, &result)) {
        if (!tfy__call_waits(call)) tfy__call_done(call, result);
    } else {
        TfyObj *error = tfy_take_error(task);
        tfy__call_fail(call, error->type, ((TfyRecord *)error)->fields);
        tfy_drop(task, error);
    }
}

static void start_with_secrets(TfyCall *call)
{
    TfySecrets secrets = {0};
    TfyValue *filled = tfy__sys_calloc(call->tool->param_count, sizeof *filled);
    if (!filled)
        tfy__call_starved(call);
    else if (fill_args(call, &secrets, filled)) {
        tfy__secrets_used(call, &secrets);
        call_tool(call, filled);
    }
    free(filled);
    tfy__secrets_free(&secrets);
}

static void start(TfyCall *call)
{
    TfyHeap *heap = call->task->heap; /* answering the call may free it */
    uint32_t mark = tfy_mark(call->task);
    call->outcome = TFY_NOT_DONE;
    if (names_secrets(call))
        start_with_secrets(call);
    else
        call_tool(call, call->args);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* Never in flight: it is answered inside start. */
static void abort_nothing(TfyCall *call)
{
}

const TfyPerformer tfy__perform_extern = {.name = "extern",
                                          .start = start,
                                          .abort = abort_nothing,
                                          .close = tfy__secret_close,
                                          .prepare = tfy__secrets_prepare};
