/* diff_edge.h: from which step on the records of a compacted run can be compared with another run's.
 *
 * The snapshot keeps few records of a task's past, and of a task that had already ended at most its end. So each task
 * has an edge: the step it had reached, with all of that step's records if it was under way. The other run's records
 * of earlier steps have no counterpart. Steps have the same numbers in both runs as long as both runs did
 * the same. */
#ifndef CLI_LOOK_DIFF_EDGE_H
#define CLI_LOOK_DIFF_EDGE_H

#include "cli/look/db.h"
#include "wal/history/history.h"

typedef enum TfyDiffEdgeKind {
    EDGE_NONE,  /* all its records are there, or it never had any */
    EDGE_STEP,  /* the records after a step */
    EDGE_ENDED, /* its end only */
    EDGE_GONE   /* none */
} TfyDiffEdgeKind;

typedef struct TfyDiffEdge {
    TfyDiffEdgeKind kind;
    int64_t step;     /* the step it had reached … */
    bool under_way;   /* … and whether that step was under way */
    uint32_t spawned; /* how many tasks it had spawned */
    const char *path; /* the task's; owned by the history */
} TfyDiffEdge;

/* Of all tasks of a run, by path. */
typedef struct TfyDiffEdges {
    TfyDiffEdge *edges; /* NULL: the run is whole */
    size_t count;
} TfyDiffEdges;

bool tfy__diff_edges(TfyDiffEdges *edges, const TfyHistory *history); /* false: out of memory */
void tfy__diff_edges_free(TfyDiffEdges *edges);

/* Returns the edge of any task, also of one that the run does not have. */
TfyDiffEdge tfy__diff_edge(const TfyDiffEdges *edges, const char *path);

/* Can this record have a counterpart on the side that the edge belongs to? */
bool tfy__diff_beyond(const TfyDiffEdge *edge, const TfyLogRecord *record);

#endif
