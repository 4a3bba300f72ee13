/* line.h: log lines as text or as JSON: what the program writes with `log`, and what the runtime reports about runs,
 * tasks, steps and effects.
 *
 * Spans nest: run, task (in the task that spawned it), step, effect (an attempt of a step). Their ids depend only on
 * the run's uuid, the task's path, and the numbers of step and attempt, so a resumed or replayed run has the same
 * ids. The run is the trace: the trace id is the uuid without dashes; only who exports spans may put a run into the trace
 * of its caller (tfy__trace_parent). As W3C's Trace Context requires, trace ids have
 * 16 bytes, span ids have 8, and none is zero. */
#ifndef OBSERVE_LINE_H
#define OBSERVE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef enum TfyLevel {
    TFY_LEVEL_OFF,
    TFY_LEVEL_ERROR,
    TFY_LEVEL_WARN,
    TFY_LEVEL_INFO,
    TFY_LEVEL_DEBUG,
    TFY_LEVEL_TRACE,
    TFY_LEVEL_COUNT
} TfyLevel;

/* The source of a line. */
typedef enum TfyTarget {
    TFY_TARGET_PROGRAM, /* `log` in the program */
    TFY_TARGET_RUN,
    TFY_TARGET_TASK,
    TFY_TARGET_STEP,
    TFY_TARGET_EFFECT,
    TFY_TARGET_COUNT
} TfyTarget;

typedef struct TfyLineFilter {
    uint8_t level[TFY_TARGET_COUNT]; /* TfyLevel: the highest level that is shown */
} TfyLineFilter;

typedef struct TfyLine {
    int64_t ts_ms;
    TfyLevel level;
    const char *level_name; /* the program's name for the level; NULL: the runtime's */
    TfyTarget target;
    const char *message;
    size_t message_len;
    const char *stage;    /* of the live event that belongs to the line; NULL: none */
    const char *run;      /* uuid; NULL: about the process, and the members below are unused */
    const char *task;     /* path; NULL: about the run */
    const char *workflow; /* the workflow that runs; NULL: unknown */
    const char *file;     /* NULL: the main file */
    uint32_t line;        /* in the source; 0: unknown */
    int64_t step;         /* 0: about the task */
    uint32_t attempt;     /* 0: about the step */
} TfyLine;

/* Parses "info", or a list such as "warn,effect=debug": a level for all targets, and levels for some. False:
 * error_text (TFY_ERROR_TEXT bytes) says why. */
bool tfy__line_filter(TfyLineFilter *filter, const char *text, char *error_text);
TfyLevel tfy__line_level(const char *name, size_t len); /* TFY_LEVEL_COUNT: not a level */
bool tfy__line_wanted(const TfyLineFilter *filter, TfyLevel level, TfyTarget target);

void tfy__line_json(TfyBuffer *out, const TfyLine *line); /* with the newline */
void tfy__line_text(TfyBuffer *out, const TfyLine *line);

/* "0af7651916cd43dd8448eb211c80319c": the trace id for a uuid. */
void tfy__trace_id(const char *run, char out[33]);
/* The id of a run's span (task NULL), a task's (step 0), a step's (attempt 0), or else an effect's. */
uint64_t tfy__span_id(const char *run, const char *task, int64_t step, uint32_t attempt);
/* The id of the enclosing span; 0: none (the span is a run's). */
uint64_t tfy__span_parent(const char *run, const char *task, int64_t step, uint32_t attempt);

enum { TFY_TRACE_PARENT_LEN = 55 };

/* A span of somebody else, which called for a run. */
typedef struct TfyTraceParent {
    char trace[33]; /* the id of its trace */
    uint64_t span;
} TfyTraceParent;

/* Reads W3C's traceparent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01". A later version may have more behind
 * its first TFY_TRACE_PARENT_LEN bytes. False: it is malformed, and must be ignored. */
bool tfy__trace_parent(const char *text, TfyTraceParent *parent);

#endif
