/* metrics.h: the metrics of a process, or of the runs in a log: counters, gauges and histograms in one table, printed
 * in the format of Prometheus.
 *
 * TfyMetrics holds the numbers; the table in metrics.c holds each one's name and meaning. A live process counts
 * events as they happen (a plain yield counts nothing); for a log, reading it produces the same numbers. Gauges
 * describe the present, so a log has none.
 *
 * Names follow the rules of Prometheus: tfy_…, base units, _total for counters. A new metric needs only a row in that
 * table. */
#ifndef OBSERVE_METRICS_H
#define OBSERVE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "wal/rows/record.h"

#define TFY_BUCKETS 14 /* of a histogram, without the last, unbounded one */
/* Tools counted separately; all others are counted together as "other". */
#define TFY_TOOL_ROWS  256
#define TFY_MODEL_ROWS 64 /* the same for models */

/* How a run or task finished. */
enum { TFY_ENDED_COMPLETED, TFY_ENDED_FAILED, TFY_ENDED_CANCELLED, TFY_ENDED_COUNT };

typedef struct TfyHistogram {
    uint64_t buckets[TFY_BUCKETS + 1]; /* not cumulative */
    double sum;                        /* seconds */
} TfyHistogram;

typedef struct TfyToolRow {
    char *name;        /* owned */
    uint64_t calls;    /* attempts that finished, successfully or not */
    uint64_t failures; /* failed attempts */
    uint64_t timeouts; /* failures by timeout */
    uint64_t retries;  /* repeated attempts */
    double max;        /* seconds: the longest attempt */
    TfyHistogram seconds;
} TfyToolRow;

/* What was asked of a model. */
typedef struct TfyModelRow {
    char *name;         /* of its entry in the file of models, else as its endpoint calls it; owned */
    uint64_t tokens[3]; /* sent; of these kept by the endpoint; answered */
    double cost;
} TfyModelRow;

typedef struct TfyMetrics {
    uint64_t records[TFY_R_COUNT]; /* by type */
    uint64_t runs_ended[TFY_ENDED_COUNT], tasks_ended[TFY_ENDED_COUNT];
    uint64_t runs_started, tasks_started;
    uint64_t tokens[2]; /* prompt, completion */
    uint64_t model_repeats;
    uint64_t questions; /* put to people */
    uint64_t events, events_missed;
    TfyToolRow *tools; /* in the order of their first calls; owned */
    uint32_t tool_count;
    TfyModelRow *models; /* in the order of their first answers; owned */
    uint32_t model_count;
    bool live;         /* the gauges below are valid */
    double start_time; /* seconds since 1970 */
    uint64_t runs_live, tasks_live, tasks_ready, timers, calls_in_flight, heap_bytes, unsynced, subscribers;
} TfyMetrics;

void tfy__metrics_free(TfyMetrics *metrics);

/* The row of a tool; adds one if it is missing. NULL: out of memory. */
TfyToolRow *tfy__metrics_tool(TfyMetrics *metrics, const char *name);
/* Counts an attempt that finished. */
void tfy__metrics_call(TfyMetrics *metrics, const char *name, double seconds, bool failed, bool timeout);
void tfy__metrics_retry(TfyMetrics *metrics, const char *name);
/* Counts an answer. tokens as in TfyModelRow, and cost in millionths: below 0: not known. */
void tfy__metrics_answer(TfyMetrics *metrics, const char *model, const int64_t tokens[3], int64_t cost);
double tfy__metrics_mean(const TfyToolRow *row); /* seconds */

/* Appends all metrics in the text format of Prometheus, version 0.0.4. */
void tfy__metrics_print(const TfyMetrics *metrics, TfyBuffer *out);

#endif
