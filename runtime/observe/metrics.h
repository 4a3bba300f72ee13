/* metrics.h: the figures of a process, or of runs in a log: counters, gauges and histograms in one table, printed as
 * Prometheus reads them.
 *
 * TfyMetrics holds the numbers, the table in metrics.c says what each is called and what it means. A live process
 * counts as things happen (a plain yield counts nothing); from a log the same numbers are found by reading it. Gauges
 * are what is true now: a log has none.
 *
 * Names follow Prometheus' rules: tfy_…, base units, _total for counters. What is added here goes into the table, and
 * nowhere else. */
#ifndef OBSERVE_METRICS_H
#define OBSERVE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "wal/rows/record.h"

#define TFY_BUCKETS   14  /* of a histogram, the last without a bound not counted */
#define TFY_TOOL_ROWS 256 /* tools told apart; all others are counted together as "other" */

/* How something ended. */
enum { TFY_ENDED_COMPLETED, TFY_ENDED_FAILED, TFY_ENDED_CANCELLED, TFY_ENDED_COUNT };

typedef struct TfyHistogram {
    uint64_t buckets[TFY_BUCKETS + 1]; /* not cumulative */
    double sum;                        /* seconds */
} TfyHistogram;

typedef struct TfyToolRow {
    char *name;        /* owned */
    uint64_t calls;    /* attempts that ended, one way or another */
    uint64_t failures; /* of them */
    uint64_t timeouts; /* of the failures */
    uint64_t retries;  /* further attempts */
    double max;        /* seconds: the longest */
    TfyHistogram seconds;
} TfyToolRow;

typedef struct TfyMetrics {
    uint64_t records[TFY_R_COUNT]; /* by type */
    uint64_t runs_ended[TFY_ENDED_COUNT], tasks_ended[TFY_ENDED_COUNT];
    uint64_t runs_started, tasks_started;
    uint64_t tokens[2]; /* prompt, completion */
    uint64_t questions; /* asked of people */
    uint64_t events, events_missed;
    TfyToolRow *tools; /* in the order in which they were first called; owned */
    uint32_t tool_count;
    bool live;         /* the gauges below mean something */
    double start_time; /* seconds since 1970 */
    uint64_t runs_live, tasks_live, tasks_ready, timers, calls_in_flight, heap_bytes, unsynced, subscribers;
} TfyMetrics;

void tfy__metrics_free(TfyMetrics *metrics);

/* The row of a tool, made when it is not there; NULL: no memory. */
TfyToolRow *tfy__metrics_tool(TfyMetrics *metrics, const char *name);
/* An attempt of it has ended. */
void tfy__metrics_call(TfyMetrics *metrics, const char *name, double seconds, bool failed, bool timeout);
void tfy__metrics_retry(TfyMetrics *metrics, const char *name);
double tfy__metrics_mean(const TfyToolRow *row); /* seconds */

/* Appends all of them in Prometheus' text format, version 0.0.4. */
void tfy__metrics_print(const TfyMetrics *metrics, TfyBuffer *out);

#endif
