#include "cli/look/diff_edge.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

#include <stdlib.h>
#include <string.h>

static int by_path(const void *left, const void *right)
{
    return strcmp(((const TfyDiffEdge *)left)->path, ((const TfyDiffEdge *)right)->path);
}

static TfyDiffEdge *find(const TfyDiffEdges *edges, const char *path)
{
    return bsearch(&(TfyDiffEdge){.path = path}, edges->edges, edges->count, sizeof *edges->edges, by_path);
}

static void take_live(TfyDiffEdges *edges, const json_t *task)
{
    const char *path = tfy__member_text(task, TFY_S_PATH);
    const json_t *pending = tfy__member_get(task, TFY_S_PENDING);
    TfyDiffEdge *edge = path ? find(edges, path) : NULL;
    if (!edge) return;
    edge->kind = EDGE_STEP;
    edge->step = tfy__member_int(pending ? pending : task, TFY_S_STEP);
    edge->under_way = pending != NULL;
    edge->spawned = (uint32_t)tfy__member_int(task, TFY_S_SPAWNED);
}

bool tfy__diff_edges(TfyDiffEdges *edges, const TfyHistory *history)
{
    const json_t *tasks = tfy__member_get(history->snapshot, TFY_S_TASKS), *task;
    size_t i;
    *edges = (TfyDiffEdges){0};
    if (!history->run.base_lsn) return true;
    edges->edges = calloc(history->task_count + 1, sizeof *edges->edges);
    if (!edges->edges) return false;
    edges->count = history->task_count;
    for (i = 0; i < edges->count; i++) {
        const bool later = history->tasks[i].born > history->run.base_lsn;
        edges->edges[i] = (TfyDiffEdge){.kind = later ? EDGE_NONE : EDGE_ENDED, .path = history->tasks[i].path};
    }
    qsort(edges->edges, edges->count, sizeof *edges->edges, by_path);
    json_array_foreach(tasks, i, task) take_live(edges, task);
    return true;
}

void tfy__diff_edges_free(TfyDiffEdges *edges)
{
    free(edges->edges);
}

/* A task that is missing from the run was spawned before the snapshot if one of its ancestors had ended by then or
 * had already spawned that many. */
static TfyDiffEdgeKind missing(const TfyDiffEdges *edges, const char *path)
{
    char *above = strdup(path);
    TfyDiffEdgeKind kind = EDGE_GONE;
    for (char *dot; above && (dot = strrchr(above, '.'));) {
        *dot = '\0';
        const TfyDiffEdge *parent = find(edges, above);
        if (!parent) continue;
        const bool made = parent->kind == EDGE_STEP && strtoul(dot + 1, NULL, 10) <= parent->spawned;
        if (parent->kind != EDGE_ENDED && !made) kind = EDGE_NONE;
        break;
    }
    free(above);
    return kind;
}

TfyDiffEdge tfy__diff_edge(const TfyDiffEdges *edges, const char *path)
{
    if (!edges->edges) return (TfyDiffEdge){.path = path};
    const TfyDiffEdge *edge = find(edges, path);
    return edge ? *edge : (TfyDiffEdge){.kind = missing(edges, path), .path = path};
}

static bool ends_task(const TfyLogRecord *record)
{
    return record->type == TFY_R_TASK_EXIT || record->type == TFY_R_TASK_ABORT || record->type == TFY_R_TASK_COMPLETE;
}

/* A task whose edge is a step can still end at that step. Events from outside that arrived during the step may be on
 * one side only. */
static bool beyond_step(const TfyDiffEdge *edge, const TfyLogRecord *record)
{
    if (record->step != edge->step) return record->step > edge->step;
    return ends_task(record) || (edge->under_way && tfy__record_is_of_step(record));
}

bool tfy__diff_beyond(const TfyDiffEdge *edge, const TfyLogRecord *record)
{
    if (record->type == TFY_R_INSTRUCTION_START) return true; /* every run keeps that record */
    switch (edge->kind) {
    case EDGE_NONE: return true;
    case EDGE_STEP: return beyond_step(edge, record);
    case EDGE_ENDED: return ends_task(record);
    default: return false;
    }
}
