/* feed.c: see feed.h. */
#include "publish/feed.h"

#include <string.h>

#include "value/json.h"

enum { PAGE = 2000 }; /* records: a transaction that reads for long would keep the log's own file from being reused */

typedef struct Feeding {
    TfyEvents *events;
    const TfyFollow *follow;
    const TfyTargetKind *kind;
    TfyBatch *batch;
    TfyEventFilter filter;
    int looked;
} Feeding;

/* Begins a CloudEvent up to "data":. */
static void add_head(Feeding *feeding, int64_t lsn, const char *type, const TfyEvent *event)
{
    TfyBuffer *out = &feeding->batch->texts;
    const char *db = feeding->follow->db_id;
    tfy__buffer_printf(out, "{\"specversion\":\"1.0\",\"id\":\"%s/%lld\",\"source\":\"/tfy/%s\",\"type\":\"%s\"", db,
                       (long long)lsn, db, type);
    if (event && event->run) tfy__buffer_printf(out, ",\"subject\":\"%s/%s\"", event->run->uuid, event->task);
    if (event) tfy__buffer_text(out, ",\"time\":\"");
    if (event) tfy__write_time(out, event->record->ts_ms);
    tfy__buffer_text(out, event ? "\",\"datacontenttype\":\"application/json\",\"data\":"
                                : ",\"datacontenttype\":\"application/json\",\"data\":");
}

/* Ends the text that starts there, and gives it a message. */
static void end_message(TfyBatch *batch, size_t at, int64_t lsn, int type, const TfyEvent *event)
{
    TfyEventRun *run = type ? tfy__event_run_keep(event->run) : NULL;
    batch->items[batch->count++] = (TfyMessage){lsn, event->record->ts_ms, type, run, at, batch->texts.len - at, 0};
    tfy__buffer_char(&batch->texts, '\0');
}

static void add_gap(Feeding *feeding, int64_t from, int64_t to, const TfyEvent *next)
{
    TfyBatch *batch = feeding->batch;
    const size_t at = batch->texts.len;
    if (!feeding->kind->events_whole) add_head(feeding, to, "tfy.gap", NULL);
    tfy__buffer_printf(&batch->texts, "{\"from\":%lld,\"to\":%lld,\"why\":\"compacted\"}", (long long)from,
                       (long long)to);
    if (!feeding->kind->events_whole) tfy__buffer_char(&batch->texts, '}');
    end_message(batch, at, to, 0, next);
    batch->items[batch->count - 1].missed = to - from + 1;
}

/* The event, with what only other records say: when what it ended began, and the key of the step. */
static void add_whole(Feeding *feeding, const TfyEvent *event)
{
    TfyBuffer *out = &feeding->batch->texts;
    TfyEventBefore before;
    tfy__event_before(feeding->events, event, &before);
    tfy__event_whole(event, out);
    if (!out->failed) out->len--; /* the last brace */
    tfy__buffer_printf(out, ",\"since_ms\":%lld,\"version\":\"%s\",\"attempt\":%u,\"key\":", (long long)before.ts_ms,
                       tfy__event_version(event), before.attempt);
    tfy__buffer_json_string(out, before.key, strlen(before.key));
    tfy__buffer_char(out, '}');
}

static void add_record(Feeding *feeding, const TfyEvent *event)
{
    TfyBatch *batch = feeding->batch;
    const size_t at = batch->texts.len;
    const int type = event->record->type;
    char name[64];
    if (feeding->kind->events_whole) {
        add_whole(feeding, event);
    } else {
        snprintf(name, sizeof name, "tfy.record.%s", tfy__record_type_name(type));
        add_head(feeding, event->record->lsn, name, event);
        tfy__event_text(event, &batch->texts);
        tfy__buffer_char(&batch->texts, '}');
    }
    end_message(batch, at, event->record->lsn, type, event);
}

/* A record may take two places: a gap before it, and itself. */
static bool is_full(const TfyBatch *batch)
{
    return batch->count + 2 > TFY_BATCH_MOST || batch->texts.len >= TFY_BATCH_BYTES;
}

static int take(void *arg, const TfyEvent *event)
{
    Feeding *feeding = arg;
    TfyBatch *batch = feeding->batch;
    const int64_t lsn = event->record->lsn;
    if (feeding->looked++ == PAGE || is_full(batch)) return 1;
    if (lsn > batch->lsn + 1) add_gap(feeding, batch->lsn + 1, lsn - 1, event);
    if (tfy__event_wanted(&feeding->filter, event->run, event->task, event->record->type)) add_record(feeding, event);
    batch->lsn = lsn;
    return batch->texts.failed ? TFY_E_NOMEM : 0;
}

int tfy__feed(TfyEvents *events, const TfyFollow *follow, const TfyTargetKind *kind, TfyBatch *batch)
{
    Feeding feeding = {events, follow, kind, batch, {.types = follow->types}, 0};
    return tfy__events_see(events, batch->lsn + 1, take, &feeding);
}

void tfy__batch_empty(TfyBatch *batch)
{
    for (size_t i = 0; i < batch->count; i++) tfy__event_run_drop(batch->items[i].run);
    batch->count = 0;
    tfy__buffer_reset(&batch->texts);
}

static int is_there(void *arg, const TfyEvent *event)
{
    return 1;
}

int tfy__feed_reaches(TfyEvents *events, int64_t lsn)
{
    return tfy__events_see(events, lsn, is_there, NULL);
}
