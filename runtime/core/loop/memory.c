/* memory.c: limits the memory of one task, so that a task that grows without end fails alone.
 *
 * A task's memory is its stack, all values that its live frames refer to and the messages in channels it made; a
 * shared value counts for each task. Allocations are not counted per task. While all values together fit into one
 * task's limit, no task can exceed it; beyond that the tasks are measured, between two turns, whenever the total
 * has grown by another eighth. A task over the limit gets a cancellation that is recorded like a kill, so a replay
 * needs no limit; once delivered, it is a panic: `finally` and `undo` run, `catch` does not see it.
 *
 * Within one slice a task could still request a block of any size. So no single block may be larger than the
 * limit; that limit is recorded with the run, and a replay keeps it. */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "core/loop/state.h"
#include "value/map.h"

/* ---- measuring ---- */

/* The values still to be measured, and the shared objects that were counted. */
typedef struct Measure {
    uint64_t bytes, enough; /* enough: stop at this size */
    const TfyObj **grey;
    size_t grey_len, grey_cap;
    TfyNumbers seen;
    bool failed; /* no memory: the task counts as within its limit */
} Measure;

/* An object with several owners counts once. True: it was counted. */
static bool seen_before(Measure *m, const TfyObj *object)
{
    bool is_new = true;
    if (object->refs > 1 && !tfy__number_of(&m->seen, object, &is_new)) m->failed = true;
    return !is_new;
}

static void visit(Measure *m, const TfyType *type, TfyValue value)
{
    const TfyObj *object = type->scalar ? NULL : value.o;
    if (!object || object->refs == TFY_IMMORTAL || seen_before(m, object) || m->failed) return;
    m->bytes += tfy__object_size(object);
    uint8_t kind = object->type->kind;
    if (kind == TFY_STRING || kind == TFY_BYTES || kind == TFY_JSON || kind == TFY_BOX) return;
    if (!GROW(m->grey, m->grey_cap, m->grey_len + 1, 256)) {
        m->failed = true;
        return;
    }
    m->grey[m->grey_len++] = object;
}

static void visit_fields(Measure *m, const TfyObj *object, const TfyField *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) visit(m, fields[i].type, tfy_field(object, i));
}

static void visit_inside(Measure *m, const TfyObj *object)
{
    const TfyType *type = object->type;
    const TfyList *list = (const TfyList *)object;
    const TfyMap *map = (const TfyMap *)object;
    switch (type->kind) {
    case TFY_LIST:
        for (uint32_t i = 0; !type->elem->scalar && i < list->len; i++) visit(m, type->elem, list->items[i]);
        break;
    case TFY_MAP:
        for (uint32_t i = 0; i < map->len; i++) visit(m, type->key, map->entries[i].key);
        for (uint32_t i = 0; i < map->len; i++) visit(m, type->elem, map->entries[i].value);
        break;
    case TFY_ENUM:
        visit_fields(m, object, type->cases[object->aux].fields, type->cases[object->aux].field_count);
        break;
    default: visit_fields(m, object, type->fields, type->field_count); break;
    }
}

static void follow(Measure *m)
{
    while (m->grey_len && !m->failed && m->bytes <= m->enough) visit_inside(m, m->grey[--m->grey_len]);
}

static void measure_frame(Measure *m, const TfyFrame *frame)
{
    const TfyValue *slots = (const TfyValue *)(frame + 1);
    const TfyWorkflow *workflow = frame->workflow;
    if (frame->flags & FRAME_UNDOING) return; /* it has returned */
    if (frame->pc == 0) {
        for (uint32_t i = 0; i < workflow->param_count; i++) visit(m, workflow->params[i].type, slots[i]);
        return;
    }
    const TfyPoint *point = workflow->resume[frame->pc - 1];
    for (uint32_t i = 0; i < point->live_count; i++) visit(m, point->live[i].type, slots[point->live[i].slot]);
}

static bool is_over(const TaskRest *rest, uint64_t limit)
{
    const TfyTask *task = rest->task;
    Measure m = {.bytes = rest->stack_cap, .enough = limit};
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev)
        if (at != task->top || !(task->state & T_RETURNING)) measure_frame(&m, frame_at(task, at));
    for (uint32_t i = 0; i < rest->channel_count; i++) {
        const Channel *channel = rest->channels[i];
        for (uint32_t j = 0; j < channel->count; j++)
            visit(&m, channel->elem, channel->ring[(channel->head + j) & (channel->cap - 1)].value);
    }
    if (rest->answer_type) visit(&m, rest->answer_type, task->result);
    follow(&m);
    free(m.grey);
    tfy__numbers_free(&m.seen);
    return !m.failed && m.bytes > limit;
}

static bool folded_is_over(const TfyLoop *loop, const Folded *folded, uint64_t limit)
{
    const TfyPoint *point = tfy__folded_point(loop, folded);
    const TfyValue *values = tfy__folded_values(folded);
    Measure m = {.enough = limit};
    for (uint32_t i = 0; i < point->live_count; i++) visit(&m, point->live[i].type, values[i]);
    follow(&m);
    free(m.grey);
    tfy__numbers_free(&m.seen);
    return !m.failed && m.bytes > limit;
}

/* ---- inspecting ---- */

/* They are live: their run does not replay. */
static void look_at_folded(TfyLoop *loop, uint64_t limit)
{
    uint32_t at = 0;
    for (Folded *folded; (folded = tfy__folded_next(loop, NULL, &at));) {
        TaskRest *rest = folded_is_over(loop, folded, limit) ? tfy__unfold(loop, folded) : NULL;
        if (rest) tfy__cancel_request(rest, OVER_MEMORY, NULL, false);
    }
}

void tfy__memory_init(TfyLoop *loop)
{
    loop->memory_watch = loop->options.max_memory ? loop->options.max_memory : SIZE_MAX;
    loop->heap.block_limit = loop->options.max_memory;
}

void tfy__memory_look(TfyLoop *loop)
{
    size_t limit = loop->options.max_memory, in_use = loop->heap.in_use;
    loop->memory_watch = limit;
    if (in_use <= limit) return;
    for (Run *run = loop->runs.first; run; run = run->next) {
        if (run->ended || run->history) continue;
        for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
            if (rest->task && is_over(rest, limit)) tfy__cancel_request(rest, OVER_MEMORY, NULL, false);
    }
    look_at_folded(loop, limit);
    loop->memory_watch = in_use + in_use / 8;
}
