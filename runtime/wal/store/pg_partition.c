/* pg_partition.c: see pg_partition.h. */
#include "wal/store/pg_partition.h"

#include "wal/store/pg_roles.h"

#include <stdio.h>
#include <string.h>

/* The number that a statement answers with; TFY_E_ABSENT: none. */
static int ask(TfyPgLink *link, const char *text, int64_t *number)
{
    TfyPgAsk asked;
    TfyPgResult *result = NULL;
    int code = tfy__pg_link_open(link);
    tfy__pg_ask_text(&asked, text, "look at the partitions");
    tfy__pg_ask_word(&asked, TFY_PG_RUNS_EACH);
    if (!code) code = tfy__pg_one(link, &asked, &result);
    if (code) return code;
    const bool found = link->api->ntuples(result) && !link->api->getisnull(result, 0, 0);
    if (found) *number = tfy__pg_word(link->api, result, 0, 0);
    link->api->clear(result);
    return found ? 0 : TFY_E_ABSENT;
}

static int queue(TfyPgLink *link, const char *format, int64_t number)
{
    char text[300];
    TfyPgAsk asked;
    snprintf(text, sizeof text, format, (long long)number, (long long)(number * TFY_PG_RUNS_EACH),
             (long long)((number + 1) * TFY_PG_RUNS_EACH));
    tfy__pg_ask_text(&asked, text, "change the partitions");
    return tfy__pg_queue(link, &asked);
}

/* What writes records meanwhile does not wait for a table that is attached; it would for one that is made in its place. */
static int make(TfyPgLink *link, int64_t number)
{
    int code = tfy__pg_queue_begin(link, TFY_PG_BEGIN);
    if (!code) code = tfy__pg_queue_as_owner(link);
    if (!code) code = queue(link, "CREATE TABLE tfy.record_%1$lld (LIKE tfy.record INCLUDING ALL)", number);
    if (!code)
        code = queue(link,
                     "ALTER TABLE tfy.record ATTACH PARTITION tfy.record_%1$lld FOR VALUES FROM (%2$lld) TO (%3$lld)",
                     number);
    if (!code) code = tfy__pg_queue_commit(link);
    if (!code) code = tfy__pg_sync(link, NULL, NULL);
    tfy__pg_unqueue(link);
    return code;
}

static bool is_denied(const TfyPgLink *link, int code)
{
    return code && strcmp(link->state, "42501") == 0;
}

int tfy__pg_make_partition(TfyPgLink *link)
{
    int64_t next = 0;
    int code =
        ask(link, "SELECT max(n) + 1 FROM " TFY_PG_PARTITIONS " HAVING " TFY_PG_NEWEST_RUN " + $1 > (max(n) + 1) * $1",
            &next);
    if (code) return code == TFY_E_ABSENT ? 0 : code;
    code = make(link, next);
    const bool is_there = strcmp(link->state, "42P07") == 0 || strcmp(link->state, "23505") == 0;
    if (is_denied(link, code)) return TFY_E_STATE;
    return !code ? 1 : is_there ? 0 : code;
}

/* Not in a statement of its own with a wait: who reads and writes would have to wait behind it. */
static int drop(TfyPgLink *link, int64_t number)
{
    int code = tfy__pg_queue_begin(link, TFY_PG_BEGIN);
    if (!code) code = tfy__pg_queue_text(link, "SET LOCAL lock_timeout = '200ms'", "set up a transaction");
    if (!code) code = tfy__pg_queue_as_owner(link);
    if (!code) code = queue(link, "DROP TABLE tfy.record_%1$lld", number);
    if (!code) code = tfy__pg_queue_commit(link);
    if (!code) code = tfy__pg_sync(link, NULL, NULL);
    tfy__pg_unqueue(link);
    return code;
}

/* A run that is being started has a number near the newest, and may not be seen yet. */
int tfy__pg_drop_partitions(TfyPgLink *link, int64_t *count)
{
    int64_t number = 0;
    int code = 0;
    for (*count = 0; !code; *count += !code) {
        code = ask(link,
                   "SELECT min(n) FROM " TFY_PG_PARTITIONS " HAVING (min(n) + 1) * $1 <="
                   " least((SELECT min(id) FROM tfy.run), " TFY_PG_NEWEST_RUN " - $1)",
                   &number);
        if (!code) code = drop(link, number);
    }
    return code == TFY_E_ABSENT || code == TFY_PG_AGAIN || is_denied(link, code) ? 0 : code;
}
