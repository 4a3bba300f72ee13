/* extern.c: tools that are C functions linked into the program. They are called at once, on the loop's thread; whoever writes one knows
 * that everything else waits for it. */
#include "core/effect.h"

static void start(TfyCall *call)
{
    TfyTask *task = call->task; /* the call may be gone when it is answered */
    TfyHeap *heap = task->heap;
    TfyValue result = {.i = 0};
    uint32_t mark = tfy_mark(task);
    if (call->tool->call(task, call->args, &result)) {
        tfy__call_done(call, result);
    } else {
        TfyObj *error = tfy_take_error(task);
        tfy__call_fail(call, error->type, ((TfyRecord *)error)->fields);
        tfy_drop(task, error);
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* Never in flight: it is answered inside start. */
static void abort_nothing(TfyCall *call)
{
}

const TfyPerformer tfy__perform_extern = {.name = "extern", .start = start, .abort = abort_nothing};
