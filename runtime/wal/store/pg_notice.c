/* pg_notice.c: see pg_notice.h. */
#include "wal/store/pg_notice.h"

#include <stdlib.h>
#include <string.h>

/* ---- telling ---- */

static void tell(TfyPgLink *link, const TfyPgAsk *ask)
{
    TfyPgResult *result = NULL;
    if (link->conn) (void)tfy__pg_one(link, ask, &result);
    if (result) link->api->clear(result);
}

void tfy__pg_notify_run(TfyPgLink *link, int64_t run)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask,
                     "SELECT pg_notify('tfy', CASE WHEN owner IS NULL THEN 'q' || queue ELSE 's' || owner END)"
                     " FROM tfy.run WHERE id = $1 AND state < 12",
                     "notify others");
    tfy__pg_ask_word(&ask, run);
    tell(link, &ask);
}

void tfy__pg_notify_queues(TfyPgLink *link, const int64_t *queues, uint32_t count)
{
    TfyPgAsk ask;
    TfyPgColumn column = {0};
    tfy__pg_column_start(&column, TFY_PG_I8);
    for (uint32_t i = 0; i < count; i++) tfy__pg_column_word(&column, TFY_PG_I8, queues[i]);
    tfy__pg_ask_text(&ask, "SELECT pg_notify('tfy', 'q' || q) FROM unnest($1::int8[]) AS q", "notify others");
    if (count && tfy__pg_ask_column(&ask, &column)) tell(link, &ask);
    tfy__pg_column_free(&column);
}

void tfy__pg_notify_permit(TfyPgLink *link, int64_t hash)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask, "SELECT pg_notify('tfy', 'p' || $1::int8)", "notify others");
    tfy__pg_ask_word(&ask, hash);
    tell(link, &ask);
}

/* ---- hearing ---- */

int tfy__pg_listen(TfyPgLink *link)
{
    if (!link->conn || link->address->unprepared) return -1;
    if (link->listens == PG_LISTENS_NOT) {
        int code = tfy__pg_queue_text(link, "LISTEN tfy", "listen");
        if (!code) code = tfy__pg_sync(link, NULL, NULL);
        tfy__pg_unqueue(link);
        if (!link->conn) return -1;
        link->listens = code ? PG_LISTENS_REFUSED : PG_LISTENS;
    }
    return link->listens == PG_LISTENS ? link->api->socket(link->conn) : -1;
}

static bool read_notice(const char *text, TfyNotice *notice)
{
    char *end;
    if (*text != TFY_NOTICE_MAIL && *text != TFY_NOTICE_READY && *text != TFY_NOTICE_PERMIT) return false;
    *notice = (TfyNotice){.kind = *text, .id = strtoll(text + 1, &end, 10)};
    return end > text + 1 && !*end;
}

bool tfy__pg_next_notice(TfyPgLink *link, TfyNotice *notice)
{
    if (!tfy__pg_link_lives(link)) return false;
    for (TfyPgNotify *heard; (heard = link->api->notifies(link->conn)) != NULL;) {
        const bool is_ours = strcmp(heard->channel, "tfy") == 0 && read_notice(heard->text, notice);
        link->api->freemem(heard);
        if (is_ours) return true;
    }
    return false;
}
