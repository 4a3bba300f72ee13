/* queue.h: which runs may begin, by the limits of their workflows:
 *
 *   "limits": {"order": {"max_running": 200, "max_queued": 10000, "rate": "10/s", "per_key": 1}}
 *
 * A start that may not begin is recorded and answered all the same. Its run is in the log alone; here is only its place in
 * the queue: by priority, then in the order of starting. Runs that have the same "concurrency" wait for each other. What
 * is here follows from the log, so after a restart the queue is as it was.
 *
 * All of it is the loop's own. */
#ifndef SERVE_QUEUE_H
#define SERVE_QUEUE_H

#include "serve/serve.h"

enum {
    TFY_PRIORITY_MOST = 100,
    TFY_CONCURRENCY_MOST = 256, /* bytes */
};

/* A start, as far as the queue knows it. */
typedef struct TfyQueued {
    const char *program, *workflow;
    const char *run;                 /* uuid */
    const char *concurrency;         /* NULL: none */
    int64_t per_key;                 /* of its own: so many with its concurrency; 0: what the workflow has */
    int64_t priority, lsn, asked_ms; /* asked_ms: wall clock: when it was recorded */
} TfyQueued;

/* The loop must be open. NULL: error (TFY_ERROR_TEXT bytes) says why. */
struct TfyQueue *tfy__queue_open(TfyServer *server, char *error);
void tfy__queue_close(struct TfyQueue *queue);

typedef enum TfyAdmission {
    TFY_ADMIT_NOW,
    TFY_ADMIT_LATER,
    TFY_ADMIT_NOT, /* the queue is full */
} TfyAdmission;
TfyAdmission tfy__queue_ask(struct TfyQueue *queue, const TfyQueued *start);
/* It was started, as the queue wanted. */
void tfy__queue_add(struct TfyQueue *queue, const TfyQueued *start, TfyAdmission admission);
bool tfy__queue_holds(struct TfyQueue *queue, const char *run); /* it has not begun */

/* A run is set aside (core/served.h), or is no longer. */
void tfy__queue_diverged(struct TfyQueue *queue, const char *run, bool aside);
int64_t tfy__queue_place(struct TfyQueue *queue, const char *run); /* its place in the queue, from 1; 0: it has begun */

/* From any thread: time has passed, so that a rate may let somebody in. */
void tfy__queue_tick(struct TfyQueue *queue);
/* Appends the figures, in Prometheus' text format. */
void tfy__queue_figures(const struct TfyQueue *queue, TfyBuffer *out);

#endif
