/* diff_edge.h: from where on the records of a run that was compacted can be compared with another run's.
 *
 * Of what a task did before the snapshot few records are left, and of a task that had ended by then its end at most.
 * So each task has an edge: the step it stood at, of which all records are there if it was under way. What another
 * run's task did before that step has no counterpart. Steps are counted alike where both runs have done the same so
 * far. */
#ifndef CLI_LOOK_DIFF_EDGE_H
#define CLI_LOOK_DIFF_EDGE_H

#include "cli/look/db.h"
#include "wal/history/history.h"

typedef enum TfyDiffEdgeKind {
    EDGE_NONE,  /* all its records are there, or there never were any */
    EDGE_STEP,  /* those behind a step */
    EDGE_ENDED, /* how it ended */
    EDGE_GONE   /* none */
} TfyDiffEdgeKind;

typedef struct TfyDiffEdge {
    TfyDiffEdgeKind kind;
    int64_t step;     /* where it stood … */
    bool under_way;   /* … in the midst of that */
    uint32_t spawned; /* how many tasks it had made */
    const char *path; /* of the task; the history's */
} TfyDiffEdge;

/* Of all tasks of a run, by path. */
typedef struct TfyDiffEdges {
    TfyDiffEdge *edges; /* NULL: the run is whole */
    size_t count;
} TfyDiffEdges;

bool tfy__diff_edges(TfyDiffEdges *edges, const TfyHistory *history); /* false: no memory */
void tfy__diff_edges_free(TfyDiffEdges *edges);

/* Of any task, also one that the run does not have. */
TfyDiffEdge tfy__diff_edge(const TfyDiffEdges *edges, const char *path);

/* Can there be a counterpart of this record on the side that the edge is of? */
bool tfy__diff_beyond(const TfyDiffEdge *edge, const TfyLogRecord *record);

#endif
