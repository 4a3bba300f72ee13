#include "in_flight.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../tfy.h"

/* Questions to people and waiting for signals begin with a StepStart too; only tools of `once` have their arguments in it. */
static bool is_once_start(const TfyLogRecord *record)
{
    if (record->type != TFY_R_STEP_START) return false;
    json_t *payload = json_loadb(record->payload, record->payload_len, JSON_ALLOW_NUL, NULL);
    const bool is = json_object_get(payload, "args") != NULL;
    json_decref(payload);
    return is;
}

const TfyLogRecord **tfy__in_flight(const TfyHistory *history, uint32_t records)
{
    const TfyLogRecord **open = calloc(history->task_count + 1, sizeof(TfyLogRecord *));
    for (uint32_t i = 0; open && i < records; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (tfy__record_is_apart(record)) continue;
        open[history->record_tasks[i]] = is_once_start(record) ? record : NULL;
    }
    return open;
}

int64_t tfy__in_flight_doubt(TfyLog *log, TfyLogTask *task, const TfyLogRecord *start, const char *key, const char *why)
{
    json_t *begun = json_loadb(start->payload, start->payload_len, JSON_ALLOW_NUL, NULL);
    const char *tool = json_string_value(json_object_get(begun, "tool"));
    if (!key) key = json_string_value(json_object_get(begun, "key"));
    json_t *doubt = json_pack("{s:s,s:s,s:s}", "tool", tool ? tool : "?", "key", key ? key : "", "why", why);
    char *text = doubt ? json_dumps(doubt, JSON_COMPACT) : NULL;
    const int64_t lsn =
        text ? tfy__log_append(log, task, TFY_R_IN_DOUBT, start->step, start->point, text, strlen(text)) : TFY_E_NOMEM;
    free(text);
    json_decref(doubt);
    json_decref(begun);
    return lsn;
}
