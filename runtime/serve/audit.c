/* audit.c: see audit.h. */
#include "serve/audit.h"

#include <stdlib.h>

#include "cli/look/event.h"
#include "serve/reader.h"
#include "serve/runs.h"
#include "wal/rows/payload.h"

enum { LIMIT_USUAL = 50, LIMIT_MOST = 200 };

const char *const tfy__audit_parameters[] = {"limit", "cursor", NULL};

/* One thing that was done, on its way into the answer. */
typedef struct Entry {
    TfyRequest *request;
    TfyEvents *events;
    int64_t lsn;
    uint32_t count; /* of those that are there */
} Entry;

static const char *what_of(const TfyLogRecord *record, const TfyPayload *payload)
{
    switch (record->type) {
    case TFY_R_APPROVAL: return "answer";
    case TFY_R_RESOLVED: return "resolve";
    case TFY_R_SIGNAL: return tfy__record_is_run_signal(record) ? "signal" : "kill";
    default: return tfy__payload_text(payload, TFY_P_WHAT);
    }
}

static int show_event(void *arg, const TfyEvent *event)
{
    Entry *entry = arg;
    const TfyLogRecord *record = event->record;
    TfyBuffer *out = &entry->request->answer;
    TfyPayload payload;
    if (record->lsn != entry->lsn) return 1; /* it was removed with its run */
    tfy__payload_open(&payload, record);
    json_t *via = tfy__payload_get(&payload, TFY_P_VIA);
    char *via_text = via ? json_dumps(via, JSON_COMPACT) : NULL;
    if (entry->count++) tfy__buffer_char(out, ',');
    tfy__buffer_text(out, "{\"record\":");
    tfy__event_text(event, out);
    tfy__answer_text(out, "what", what_of(record, &payload));
    tfy__answer_text(out, "by", tfy__payload_text(&payload, TFY_P_BY));
    tfy__buffer_printf(out, ",\"via\":%s}", via_text ? via_text : "null");
    free(via_text);
    tfy__payload_close(&payload);
    return 1;
}

static void show(void *arg, int64_t lsn)
{
    Entry *entry = arg;
    entry->lsn = lsn;
    (void)tfy__events_see(entry->events, lsn, show_event, entry);
}

void tfy__serve_audit(TfyRequest *request)
{
    Entry entry = {.request = request};
    TfyPlace behind;
    int64_t limit, next;
    if (!tfy__request_known(request, tfy__audit_parameters) ||
        !tfy__request_number(request, "limit", LIMIT_USUAL, 1, LIMIT_MOST, &limit) || !tfy__index_awaited(request) ||
        !tfy__cursor_read(request, 'a', &behind) || !(entry.events = tfy__reader_events(request)))
        return;
    tfy__buffer_text(&request->answer, "{\"audit\":[");
    if (request->reader->lists->audit(request->reader, request->caller.only, behind.at, (uint32_t)limit, show, &entry,
                                      &next) == TFY_OK)
        tfy__cursor_write(request, 'a', (TfyPlace){.at = next});
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the index cannot be read");
}
