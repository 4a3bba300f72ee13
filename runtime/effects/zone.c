/* zone.c: the effect zone: the rules of a time zone, read from the system's files and recorded as text (value/clock.c says
 * how it is written). */
#include "core/effect.h"
#include "effects/zone_file.h"
#include "value/heap.h"

static void give_zone(TfyCall *call, const TfyBuffer *rules)
{
    TfyTask *task = call->task; /* answering the call may free it */
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    TfyObj *text = tfy_string_of(task, rules->data, rules->len);
    TfyObj *zone =
        text ? tfy_record_of(task, &tfy_type_time_zone, (TfyValue[]){call->args[0], tfy_of_obj(text)}) : NULL;
    if (zone)
        tfy__call_done(call, tfy_of_obj(zone));
    else
        tfy__call_panicked(call);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void zone_start(TfyCall *call)
{
    const TfyString *name = (const TfyString *)call->args[0].o;
    TfyBuffer rules = {0};
    char error[TFY_ERROR_TEXT];
    call->outcome = TFY_NOT_DONE;
    const int code = tfy__zone_read(name->bytes, name->byte_len, &rules, error);
    if (code && tfy__is_no_room(code))
        tfy__call_no_room(call, code);
    else if (code)
        tfy__call_tool_error(call, code, "%s", error);
    else if (rules.failed)
        tfy__call_starved(call);
    else
        give_zone(call, &rules);
    tfy__buffer_free(&rules);
}

/* It never waits. */
static void zone_abort(TfyCall *call)
{
    (void)call;
}

const TfyPerformer tfy__perform_zone = {.name = "zone", .start = zone_start, .abort = zone_abort};
