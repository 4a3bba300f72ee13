/* timeline.h: what each task of a run did when, computed from its records alone.
 *
 * Records divide a task's time. The time between two records is named after the second one: the result of a tool, the
 * end of a sleep or of a wait, an answer; else it is running. */
#ifndef CLI_LOOK_TIMELINE_H
#define CLI_LOOK_TIMELINE_H

#include "cli/look/db.h"

typedef enum TfySpanKind {
    TFY_SPAN_RUNS,
    TFY_SPAN_WORKS,
    TFY_SPAN_SLEEPS,
    TFY_SPAN_WAITS,
    TFY_SPAN_ASKS,
    TFY_SPAN_THINKS,
    TFY_SPAN_KINDS
} TfySpanKind;

extern const char *const tfy__span_kinds[TFY_SPAN_KINDS]; /* "run", "tool", "sleep", "wait", "person", "model" */

/* One activity of a task, from one time to another. */
typedef struct TfySpan {
    uint32_t task; /* index in the history */
    TfySpanKind kind;
    bool failed;
    int64_t from_ms, to_ms;
    int64_t step;
    uint32_t point; /* where in the program; 0: unknown */
    char label[96];
} TfySpan;

typedef struct TfyTimeline {
    const TfyHistory *history;
    TfySourceMap map;
    struct TfyReading *readings; /* per task; NULL: memory ran out */
    TfySpan *spans;              /* by task, then by time */
    size_t count, cap;
    int64_t begin_ms, end_ms;
} TfyTimeline;

/* For those who read the records of a task in their order. Until when it pauses behind a record, before it tries again or because
 * an endpoint is busy; 0: it does not. */
int64_t tfy__record_pause_ms(const TfyLogRecord *record);
/* Whether a timeout, and not a sleep, runs behind a record; before: whether one did up to it. */
bool tfy__record_bounds(const TfyLogRecord *record, bool before);

/* The history outlives the timeline, which was zeroed. */
void tfy__timeline_read(TfyTimeline *timeline, const TfyHistory *history);
void tfy__timeline_free(TfyTimeline *timeline);

#endif
