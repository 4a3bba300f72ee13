/* diff.h: compares two runs: which of their records are the same, changed, or in one of them only.
 *
 * Tasks are paired by their paths, the records of a task by their points (the points' ids, which survive edits
 * elsewhere) and their types. Two paired records are the same when the program's request and its result are the same.
 * Members that differ between any two runs do not count: times, uuids, numbers of tasks, steps and lines, keys made
 * of them, who answered, durations.
 *
 * If one of the runs was compacted, tasks are compared from the first step that both have (diff_edge.h); earlier
 * records are counted but are not differences. */
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
    uint32_t left_out; /* records that cannot have a counterpart in the other run */
} TfyDiffSide;

/* A record, or a pair of them. */
typedef struct TfyDiffRow {
    TfyDiffHow how;
    uint32_t a, b;    /* indexes into records; ALIGN_NONE: only the other run has it */
    const char *path; /* the task's */
    uint64_t order;   /* its position among the differences: by the records of a */
    json_t *changed;  /* of a changed one: [{"what": "argument" | "result" | "error", "member", "a"?, "b"?}]; owned */
} TfyDiffRow;

typedef struct TfyDiff {
    TfyDiffSide a, b;
    TfyDiffRow *rows; /* task by task, in a's order; the tasks that only b has follow */
    size_t count, cap;
    size_t counts[4]; /* indexed by TfyDiffHow */
} TfyDiff;

bool tfy__diff_runs(TfyDiff *diff, const TfyHistory *a, const TfyHistory *b); /* false: out of memory */
void tfy__diff_free(TfyDiff *diff);
const TfyDiffRow *tfy__diff_first(const TfyDiff *diff); /* the first difference; NULL: there is none */

/* Returns a record's payload without the members that do not count. The caller releases it. */
json_t *tfy__diff_normal(const TfyLogRecord *record);

#endif
