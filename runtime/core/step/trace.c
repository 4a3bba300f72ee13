/* trace.c: the span of a call, as W3C's traceparent says it to whoever is called. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"
#include "core/step/step.h"
#include "observe/line.h"

bool tfy__trace_note(Run *run, const TfyLogRecord *birth)
{
    size_t len;
    TfyTraceParent caller;
    const char *raw = tfy__record_raw(birth, TFY_P_LABELS, &len);
    json_t *labels = raw && memmem(raw, len, "traceparent", 11) ? json_loadb(raw, len, JSON_ALLOW_NUL, NULL) : NULL;
    const char *text = json_string_value(json_object_get(labels, "traceparent"));
    const bool called = text && tfy__trace_parent(text, &caller);
    if (called) run->trace = strdup(caller.trace);
    json_decref(labels);
    return !called || run->trace;
}

void tfy__call_trace(const TfyCall *call, char out[TFY_TRACE_PARENT_LEN + 1])
{
    const TaskRest *rest = step_of_call((TfyCall *)call)->rest;
    const uint32_t attempt = call->attempt > 1 ? call->attempt : 0; /* the first one's span is the step's */
    char own[33];
    tfy__trace_id(rest->run->uuid, own);
    snprintf(out, TFY_TRACE_PARENT_LEN + 1, "00-%.32s-%016" PRIx64 "-01", rest->run->trace ? rest->run->trace : own,
             tfy__span_id(rest->run->uuid, rest->log.path, call->step, attempt));
}
