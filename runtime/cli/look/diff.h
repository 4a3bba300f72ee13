/* diff.h: two runs side by side: which of their records are the same, changed, or in one of them only.
 *
 * Tasks are paired by their paths, the records of a task by the points they belong to (their ids, which survive edits
 * elsewhere) and their types. Two records that are paired are the same when what the program asked for and what it
 * got are. What differs between any two runs does not count: times, uuids, numbers of tasks, steps and lines, keys
 * made of them, who answered, how long something took.
 *
 * Where one of the runs was compacted, tasks are compared from the step on that both have (diff_edge.h); what comes
 * before is counted, and no difference. */
#ifndef CLI_LOOK_DIFF_H
#define CLI_LOOK_DIFF_H

#include "cli/look/diff_edge.h"
#include "wal/history/history.h"

typedef enum TfyDiffHow { TFY_DIFF_SAME, TFY_DIFF_CHANGED, TFY_DIFF_ONLY_A, TFY_DIFF_ONLY_B } TfyDiffHow;

/* One of the two runs. */
typedef struct TfyDiffSide {
    const TfyHistory *history;
    TfySourceMap map;
    TfyDiffEdges edges;
    uint32_t left_out; /* records that can have no counterpart in the other run */
} TfyDiffSide;

/* A record, or a pair of them. */
typedef struct TfyDiffRow {
    TfyDiffHow how;
    uint32_t a, b;    /* indexes into records; ALIGN_NONE: in the other run only */
    const char *path; /* of the task */
    uint64_t order;   /* where it comes among the differences: by the records of a */
    json_t *changed;  /* of a changed one: [{"what": "argument" | "result" | "error", "member", "a"?, "b"?}]; owned */
} TfyDiffRow;

typedef struct TfyDiff {
    TfyDiffSide a, b;
    TfyDiffRow *rows; /* task by task, in a's order, those of b alone behind them */
    size_t count, cap;
    size_t counts[4]; /* by TfyDiffHow */
} TfyDiff;

bool tfy__diff_runs(TfyDiff *diff, const TfyHistory *a, const TfyHistory *b); /* false: no memory */
void tfy__diff_free(TfyDiff *diff);
const TfyDiffRow *tfy__diff_first(const TfyDiff *diff); /* the first difference; NULL: there is none */

/* A record's payload without what does not count. The caller gives it back. */
json_t *tfy__diff_normal(const TfyLogRecord *record);

#endif
