#include "cli/program/sent.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static bool is_text(const json_t *json, const char *text)
{
    const char *its = json_string_value(json);
    return its && strcmp(its, text) == 0;
}

/* The snapshot of a compacted run knows which signals arrived, and nothing else about them. */
static bool knows_signal(const json_t *snapshot, const char *id)
{
    const json_t *one;
    size_t i;
    json_array_foreach(tfy__member_get(snapshot, TFY_S_SIGNAL_IDS), i, one)
    {
        if (is_text(one, id)) return true;
    }
    return false;
}

/* Returns the number of the signal in its run, counted as the run counts them; 0: no record has the id. */
static json_int_t number_of(const TfyHistory *history, const char *id)
{
    json_int_t count = tfy__member_int(history->snapshot, TFY_S_SIGNAL_COUNT);
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->lsn <= history->run.base_lsn || !tfy__record_is_run_signal(record)) continue;
        count++;
        if (tfy__record_is(record, TFY_P_ID, id)) return count;
    }
    return 0;
}

/* Returns the newest step that took the signal: if its task was cancelled, another step takes the signal again.
 * UINT32_MAX: none has. */
static uint32_t taker_of(const TfyHistory *history, json_int_t number)
{
    uint32_t taker = UINT32_MAX;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type == TFY_R_WOKE && tfy__record_int(record, TFY_P_SEQ) == number) taker = i;
    }
    return taker;
}

bool tfy__sent_before(const TfyHistory *history, const char *id, char text[TFY_ERROR_TEXT])
{
    const bool ended = history->run.state >= TFY_TASK_COMPLETED;
    const json_int_t number = number_of(history, id);
    if (!number && !knows_signal(history->snapshot, id)) return false;
    if (!number) {
        snprintf(text, TFY_ERROR_TEXT, "sent before");
        return true;
    }
    const uint32_t taker = taker_of(history, number);
    if (taker != UINT32_MAX)
        snprintf(text, TFY_ERROR_TEXT, "sent before; step %lld of task %s took it",
                 (long long)history->records[taker].step, history->tasks[history->record_tasks[taker]].path);
    else
        snprintf(text, TFY_ERROR_TEXT, "sent before; %s",
                 ended ? "the run ended before a task took it" : "no task has taken it yet");
    return true;
}
