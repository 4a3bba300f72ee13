/* pg_gc.c: see pg_gc.h. */
#include "wal/store/pg_gc.h"

#include "wal/store/pg_link.h"
#include "wal/store/pg_partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_AT_ONCE = 1000, PATIENCE_MS = 600000, LOCKED_TRIES = 3, NAMED = 8 };
#define DAY_MS INT64_C(86400000)

typedef struct Gc {
    const TfyPgGcOptions *options;
    TfyPgGcResult *result;
    TfyPgAddress address;
    TfyPgLink link;
    int64_t now_ms;            /* of the database */
    int64_t before_ms;         /* runs that ended before go … */
    int64_t newest_ms, newest; /* … and those up to this one, by the time of their end, then by their id */
    TfyPgColumn going;         /* ids of a transaction */
    char *error_text;
} Gc;

static int failed(Gc *gc, int code)
{
    if (code == TFY_PG_AGAIN || code == TFY_STORE_AWAY || code == TFY_STORE_UNKNOWN) code = TFY_E_IO;
    if (code == TFY_STORE_FULL) code = TFY_E_IO;
    return tfy__log_refuse(gc->error_text, code, "%.200s: %.290s", gc->address.text, gc->link.error);
}

/* The first value of a statement's only row; *word stays if it is null, or if there is no row. */
static int ask_words(Gc *gc, const char *text, int64_t *words, int count)
{
    TfyPgAsk ask;
    TfyPgResult *result = NULL;
    tfy__pg_ask_text(&ask, text, "look for what can go");
    if (strstr(text, "$1")) tfy__pg_ask_word(&ask, gc->options->keep);
    const int code = tfy__pg_one(&gc->link, &ask, &result);
    if (code) return failed(gc, code);
    const TfyPgApi *api = gc->link.api;
    for (int i = 0; i < count && api->ntuples(result); i++)
        if (!api->getisnull(result, 0, i)) words[i] = tfy__pg_word(api, result, 0, i);
    api->clear(result);
    return 0;
}

static int measure(Gc *gc, int64_t *bytes)
{
    return ask_words(gc,
                     "SELECT sum(pg_total_relation_size(c.oid))::int8 FROM pg_class c"
                     " WHERE c.relnamespace = 'tfy'::regnamespace AND c.relkind = 'r'",
                     bytes, 1);
}

static int find_limits(Gc *gc)
{
    int64_t words[2] = {0};
    int code = ask_words(gc, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", &gc->now_ms, 1);
    gc->before_ms = gc->options->older_than_ms < 0 ? INT64_MIN : gc->now_ms - gc->options->older_than_ms;
    if (code || gc->options->keep < 0) return code;
    code = ask_words(gc,
                     "SELECT ended, id FROM tfy.run WHERE state >= 12 AND owner IS NULL"
                     " ORDER BY ended DESC, id DESC OFFSET $1 LIMIT 1",
                     words, 2);
    gc->newest_ms = words[0];
    gc->newest = words[1];
    return code;
}

/* ---- runs ---- */

/* The id of such a run is made of its key or name: as long as it is there, the same start finds it. */
static bool key_holds(const Gc *gc, const TfyPgGone *gone, int64_t started_ms)
{
    return gone->uuid[6] >> 4 == NAMED && gc->now_ms - started_ms < DAY_MS;
}

static int take_run(Gc *gc, const TfyPgResult *rows, int row)
{
    const TfyPgApi *api = gc->link.api;
    TfyPgGone gone = {.run = tfy__pg_word(api, rows, row, 0),
                      .state = (int)tfy__pg_word(api, rows, row, 2),
                      .ended_ms = tfy__pg_word(api, rows, row, 3),
                      .records = tfy__pg_word(api, rows, row, 5)};
    if (!tfy__pg_id(api, rows, row, 1, gone.uuid)) return TFY_E_DATA;
    if (key_holds(gc, &gone, tfy__pg_word(api, rows, row, 4))) return gc->result->kept++, 0;
    const int code = gc->options->see ? gc->options->see(gc->options->state, &gone) : 0;
    if (code) return code;
    gc->result->runs++;
    gc->result->records += gone.records;
    tfy__pg_column_word(&gc->going, TFY_PG_I8, gone.run);
    return 0;
}

/* A run that has ended does not change any more, but by somebody else who removes it. */
static int remove_going(Gc *gc)
{
    static const char *const texts[] = {
        "SELECT id FROM tfy.run WHERE id = ANY($1::int8[]) ORDER BY id FOR UPDATE",
        "DELETE FROM tfy.record WHERE run = ANY($1::int8[])",
        "DELETE FROM tfy.piece WHERE run = ANY($1::int8[])",
        "DELETE FROM tfy.task WHERE run = ANY($1::int8[])",
        "DELETE FROM tfy.gap WHERE run = ANY($1::int8[])",
        "DELETE FROM tfy.inbox WHERE run = ANY($1::int8[])",
        "DELETE FROM tfy.question WHERE run = ANY($1::int8[])",
        "DELETE FROM tfy.dep WHERE run = ANY($1::int8[])",
        "DELETE FROM tfy.run WHERE id = ANY($1::int8[]) AND state >= 12 AND owner IS NULL",
    };
    int code = tfy__pg_queue_begin(&gc->link, TFY_PG_BEGIN);
    for (size_t i = 0; !code && i < sizeof texts / sizeof *texts; i++) {
        TfyPgAsk ask;
        tfy__pg_ask_text(&ask, texts[i], "remove runs");
        code = tfy__pg_ask_column(&ask, &gc->going) ? tfy__pg_queue(&gc->link, &ask) : TFY_E_NOMEM;
    }
    if (!code) code = tfy__pg_queue_commit(&gc->link);
    if (!code) code = tfy__pg_sync(&gc->link, NULL, NULL);
    tfy__pg_unqueue(&gc->link);
    return code;
}

static int remove_taken(Gc *gc)
{
    int code = TFY_PG_AGAIN;
    if (gc->options->dry_run || !gc->going.count) return 0;
    for (int i = 0; code == TFY_PG_AGAIN && i < LOCKED_TRIES; i++) code = remove_going(gc);
    return code ? failed(gc, code) : 0;
}

/* The next thousand behind *after, which becomes the last of them; 0: there was none. */
static int remove_some(Gc *gc, int64_t *after, int *count)
{
    TfyPgAsk ask;
    TfyPgResult *rows = NULL;
    const TfyPgApi *api = gc->link.api;
    tfy__pg_ask_text(&ask,
                     "SELECT id, uuid, state, ended, started, (SELECT count(*) FROM tfy.record w WHERE w.run = r.id)"
                     " FROM tfy.run r WHERE id > $1 AND state >= 12 AND owner IS NULL"
                     " AND (ended < $2 OR (ended, id) <= ($3, $4)) ORDER BY id LIMIT 1000",
                     "look for what can go");
    const int64_t words[] = {*after, gc->before_ms, gc->newest_ms, gc->newest};
    for (int i = 0; i < 4; i++) tfy__pg_ask_word(&ask, words[i]);
    int code = tfy__pg_one(&gc->link, &ask, &rows);
    if (code) return failed(gc, code);
    *count = api->ntuples(rows);
    if (*count) *after = tfy__pg_word(api, rows, *count - 1, 0);
    tfy__pg_column_start(&gc->going, TFY_PG_I8);
    for (int i = 0; !code && i < *count; i++) code = take_run(gc, rows, i);
    api->clear(rows);
    const int removed = remove_taken(gc); /* also those before one that was refused: they were seen */
    return code ? code : removed;
}
_Static_assert(RUNS_AT_ONCE == 1000, "the statement says so");

/* ---- what is left of others ---- */

static int remove_count(Gc *gc, const char *text, int64_t *count)
{
    return ask_words(gc, text, count, 1);
}

static int remove_rest(Gc *gc)
{
    int64_t verdicts = 0;
    if (gc->options->dry_run) return 0;
    int code = remove_count(gc,
                            "WITH gone AS (DELETE FROM tfy.session s WHERE state <> 0 AND ended <"
                            " (extract(epoch FROM clock_timestamp()) * 1000)::int8 - 86400000 AND NOT EXISTS"
                            " (SELECT 1 FROM tfy.run WHERE owner = s.id) RETURNING 1) SELECT count(*) FROM gone",
                            &gc->result->sessions);
    if (!code)
        code = remove_count(gc,
                            "WITH gone AS (DELETE FROM tfy.inbox WHERE verdict IS NOT NULL AND at <"
                            " (extract(epoch FROM clock_timestamp()) * 1000)::int8 - 86400000 RETURNING 1)"
                            " SELECT count(*) FROM gone",
                            &verdicts);
    if (code) return code;
    code = tfy__pg_drop_partitions(&gc->link, &gc->result->partitions);
    return code ? failed(gc, code) : 0;
}

static int collect(Gc *gc)
{
    int64_t after = 0;
    int count = RUNS_AT_ONCE;
    int code = measure(gc, &gc->result->bytes_before);
    if (!code) code = find_limits(gc);
    while (!code && count == RUNS_AT_ONCE) code = remove_some(gc, &after, &count);
    if (!code) code = remove_rest(gc);
    return code ? code : measure(gc, &gc->result->bytes_after);
}

int tfy__pg_gc(const char *address, const TfyPgGcOptions *options, TfyPgGcResult *result, char *error_text)
{
    Gc gc = {.options = options, .result = result, .newest_ms = INT64_MIN, .error_text = error_text};
    *result = (TfyPgGcResult){0};
    int code = tfy__pg_reach(&gc.link, &gc.address, address, PATIENCE_MS, error_text);
    gc.link.needs = TFY_PG_GC;
    if (!code) code = tfy__pg_link_first(&gc.link, error_text);
    if (!code) code = collect(&gc);
    tfy__pg_column_free(&gc.going);
    tfy__pg_leave(&gc.link, &gc.address);
    return code;
}
