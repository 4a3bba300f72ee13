/* otlp_form.h: records as spans, points of metrics and log records of OTLP/JSON.
 *
 *   the end of a run      span "invoke_workflow W"      the end of a task      span "tfy.task"
 *   what a model answered span "chat MODEL", points     a tool's result        span "execute_tool T"
 *   what else a step did  span "tfy.WHAT"               all other records      a log record "tfy.record.TYPE"
 *
 * A span is made of the record that ends it, so it is sent when it is over. Its ids are those of observe/line.h: a repeat, a
 * resume and a replay have the same. A run with the label "traceparent" is in the trace of its caller, below the span that
 * the label names; its own spans have the ids that they always have. */
#ifndef PUBLISH_OTLP_FORM_H
#define PUBLISH_OTLP_FORM_H

#include <jansson.h>
#include <stdbool.h>

#include "publish/target.h"

typedef struct TfyOtlp {
    bool content;                              /* texts may leave */
    json_t *spans, *durations, *tokens, *logs; /* arrays */
} TfyOtlp;

bool tfy__otlp_open(TfyOtlp *otlp, bool content); /* false: no memory */
void tfy__otlp_close(TfyOtlp *otlp);

/* Adds what a message of the feed (an event, whole) says. */
void tfy__otlp_add(TfyOtlp *otlp, const TfyMessage *message, const char *text);

/* The documents for /v1/traces, /v1/metrics and /v1/logs, malloc'ed; NULL: there is nothing to say, or no memory (*failed).
 * db: uuid of the database. */
char *tfy__otlp_traces(const TfyOtlp *otlp, const char *db, bool *failed);
char *tfy__otlp_metrics(const TfyOtlp *otlp, const char *db, bool *failed);
char *tfy__otlp_logs(const TfyOtlp *otlp, const char *db, bool *failed);

#endif
