#include "wal/history/in_flight.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tfy.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

const TfyLogRecord **tfy__in_flight(const TfyHistory *history, uint32_t records)
{
    const TfyLogRecord **open = calloc(history->task_count + 1, sizeof(TfyLogRecord *));
    for (uint32_t i = 0; open && i < records; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (tfy__record_is_apart(record)) continue;
        open[history->record_tasks[i]] = tfy__record_starts_once(record) ? record : NULL;
    }
    return open;
}

TfyTicket tfy__in_flight_doubt(TfyLog *log, TfyLogTask *task, const TfyLogRecord *start, const char *key,
                               const char *why)
{
    TfyPayload begun;
    TfyBuffer out = {0};
    tfy__payload_open(&begun, start);
    const char *tool = tfy__payload_text(&begun, TFY_P_TOOL);
    if (!key) key = tfy__payload_text(&begun, TFY_P_KEY);
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_TOOL, tool ? tool : "?");
    tfy__put_text(&out, TFY_P_KEY, key ? key : "");
    tfy__put_text(&out, TFY_P_WHY, why);
    tfy__put_end(&out);
    const TfyTicket ticket = tfy__log_append_payload(log, task, TFY_R_IN_DOUBT, start->step, start->point, &out);
    tfy__payload_close(&begun);
    return ticket;
}
