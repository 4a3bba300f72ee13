/* line.h: log lines: what the program says with `log`, and what the runtime says of runs, tasks, steps and effects;
 * as text or as JSON.
 *
 * Spans nest: run, task (in the task that spawned it), step, effect (an attempt of a step). Their ids follow from the
 * run's uuid, the task's path and the numbers of step and attempt alone, so a resumed or replayed run has the same.
 * The trace is the run: its id is the uuid without dashes. Trace ids have 16 bytes and span ids 8, none is zero: what
 * W3C's Trace Context wants. */
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

/* Who speaks. */
typedef enum TfyTarget {
    TFY_TARGET_PROGRAM, /* `log` in the program */
    TFY_TARGET_RUN,
    TFY_TARGET_TASK,
    TFY_TARGET_STEP,
    TFY_TARGET_EFFECT,
    TFY_TARGET_COUNT
} TfyTarget;

typedef struct TfyLineFilter {
    uint8_t level[TFY_TARGET_COUNT]; /* TfyLevel: the highest that is shown */
} TfyLineFilter;

typedef struct TfyLine {
    int64_t ts_ms;
    TfyLevel level;
    const char *level_name; /* what the program calls it; NULL: as we do */
    TfyTarget target;
    const char *message;
    size_t message_len;
    const char *stage;    /* of the live event it goes with; NULL: none */
    const char *run;      /* uuid; NULL: it is about the process; then all below is unused */
    const char *task;     /* path; NULL: about the run */
    const char *workflow; /* that runs; NULL: unknown */
    const char *file;     /* NULL: the main file */
    uint32_t line;        /* in the source; 0: none */
    int64_t step;         /* 0: about the task */
    uint32_t attempt;     /* 0: about the step */
} TfyLine;

/* "info", or a list such as "warn,effect=debug": a level for all, levels for some. False: error_text (TFY_ERROR_TEXT
 * bytes) says why. */
bool tfy__line_filter(TfyLineFilter *filter, const char *text, char *error_text);
TfyLevel tfy__line_level(const char *name, size_t len); /* TFY_LEVEL_COUNT: no such level */
bool tfy__line_wanted(const TfyLineFilter *filter, TfyLevel level, TfyTarget target);

void tfy__line_json(TfyBuffer *out, const TfyLine *line); /* with the newline */
void tfy__line_text(TfyBuffer *out, const TfyLine *line);

/* "0af7651916cd43dd8448eb211c80319c" of a uuid in text. */
void tfy__trace_id(const char *run, char out[33]);
/* task NULL: of the run; step 0: of the task; attempt 0: of the step; else of the effect. */
uint64_t tfy__span_id(const char *run, const char *task, int64_t step, uint32_t attempt);
/* Of the span around it; 0: none (a run). */
uint64_t tfy__span_parent(const char *run, const char *task, int64_t step, uint32_t attempt);

#endif
