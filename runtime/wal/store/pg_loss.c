/* pg_loss.c: what a session does when the database has lost commits that it had acknowledged: see store_pg.h.
 *
 * A standby that nobody waited for has taken over, or an older backup was restored. The commits of a session are numbered, so it
 * finds out by its own row, and no clock or id of the server is needed. Its runs must not continue from what is left: steps that
 * were done are not recorded any more, and a `once` step would be done twice unseen. So each is held for a person, before the
 * session ends: those that the database says it owns, and those of which it knows newer records than the database has, whoever
 * owns them now. Of the latter it remembers the ones that it wrote last. */
#include "wal/store/store_pg.h"

#include <stdio.h>
#include <stdlib.h>

enum { WRITTEN_MOST = 16384 /* runs */ };

struct PgWritten {
    TfyLink by_run;
    PgWritten *prev, *next;
    int64_t run, lsn; /* of its newest record that was sent */
};

/* ---- what was written ---- */

/* Different runs have different hashes. */
static uint64_t hash_of(int64_t run)
{
    return tfy__mix((uint64_t)run);
}

static void forget(PgStore *self, PgWritten *written)
{
    LIST2_REMOVE(&self->written, written, prev, next);
    tfy__table_remove(&self->written_by_run, &written->by_run);
    free(written);
    self->written_count--;
}

/* Without memory it is not remembered. */
static PgWritten *remember(PgStore *self, int64_t run)
{
    PgWritten *written = tfy__table_reserve(&self->written_by_run) ? calloc(1, sizeof *written) : NULL;
    if (!written) return NULL;
    written->run = run;
    tfy__table_add(&self->written_by_run, &written->by_run, hash_of(run));
    self->written_count++;
    return written;
}

static void note(PgStore *self, const TfyLogRecord *record)
{
    PgWritten *written = TABLE_ITEM(tfy__table_find(&self->written_by_run, hash_of(record->run)), PgWritten, by_run);
    if (written)
        LIST2_REMOVE(&self->written, written, prev, next);
    else if (!(written = remember(self, record->run)))
        return;
    written->lsn = record->lsn;
    LIST2_APPEND(&self->written, written, prev, next);
    if (self->written_count > WRITTEN_MOST) forget(self, self->written.first);
}

void tfy__pg_note_written(PgStore *self)
{
    const PgRequest *request = &self->request;
    for (uint32_t i = 0; i < request->records.count; i++) {
        const TfyLogRecord *record = &request->records.items[i].row; /* by run and lsn */
        if (i + 1 == request->records.count || record->run != request->records.items[i + 1].row.run) note(self, record);
    }
}

void tfy__pg_forget_written(PgStore *self)
{
    while (self->written.first) forget(self, self->written.first);
    tfy__table_free(&self->written_by_run);
}

/* ---- the loss ---- */

static int ask_lost(PgStore *self, TfyPgAsk *ask, const TfyStoreHold *hold)
{
    TfyPgColumn *runs = &self->pack.columns[0], *lsns = &self->pack.columns[1];
    tfy__pg_column_start(runs, TFY_PG_I8);
    tfy__pg_column_start(lsns, TFY_PG_I8);
    for (const PgWritten *written = self->written.first; written; written = written->next) {
        tfy__pg_column_word(runs, TFY_PG_I8, written->run);
        tfy__pg_column_word(lsns, TFY_PG_I8, written->lsn);
    }
    tfy__pg_ask(&self->writing, ask, W_LOST);
    tfy__pg_ask_word(ask, hold->session);
    tfy__pg_ask_word(ask, hold->commit - 1);
    return tfy__pg_ask_column(ask, runs) && tfy__pg_ask_column(ask, lsns) ? 0 : TFY_E_NOMEM;
}

static void say_lost(PgStore *self, const TfyStoreHold *hold, int64_t beat, const TfyPgResult *result)
{
    const TfyPgApi *api = self->writing.api;
    const long long held = tfy__pg_word(api, result, 0, 0), absent = tfy__pg_word(api, result, 0, 1);
    int at = snprintf(self->base.error, sizeof self->base.error,
                      "the database has lost acknowledged commits: session %lld has had %lld by the database, and "
                      "%lld were acknowledged. %lld of its runs are held: 'tfy ps --state held' lists them, and 'tfy "
                      "release RUN' continues one",
                      (long long)hold->session, (long long)beat, (long long)hold->commit - 1, held);
    if (absent && at < (int)sizeof self->base.error)
        snprintf(self->base.error + at, sizeof self->base.error - (size_t)at, "; %lld more are not there", absent);
}

/* The same again changes nothing. */
static int hold_runs(PgStore *self, const TfyStoreHold *hold, int64_t beat)
{
    TfyPgAsk ask;
    TfyPgResult *result = NULL;
    int code = ask_lost(self, &ask, hold);
    if (!code) code = tfy__pg_one(&self->writing, &ask, &result);
    if (code == TFY_STORE_UNKNOWN || code == TFY_PG_AGAIN) code = TFY_STORE_AWAY;
    if (!code && !self->writing.api->ntuples(result)) code = TFY_E_DATA;
    if (!code) say_lost(self, hold, beat, result);
    if (result) self->writing.api->clear(result);
    return code ? code : TFY_E_DATA;
}

/* A row that is not there was lost with all of its commits: rows of sessions stay for a day. */
int tfy__pg_read_session(PgStore *self, const TfyStoreHold *hold, bool *lives, int64_t *beat)
{
    TfyPgAsk ask;
    TfyPgResult *result;
    const TfyPgApi *api = self->writing.api;
    tfy__pg_ask(&self->writing, &ask, W_SESSION);
    tfy__pg_ask_word(&ask, hold->session);
    const int code = tfy__pg_one(&self->writing, &ask, &result);
    if (code) return code;
    const bool found = api->ntuples(result) == 1;
    *lives = found && tfy__pg_word(api, result, 0, 0) == 0;
    *beat = found ? tfy__pg_word(api, result, 0, 1) : -1;
    api->clear(result);
    return *beat < hold->commit - 1 ? hold_runs(self, hold, *beat < 0 ? 0 : *beat) : 0;
}

int tfy__pg_why_fenced(PgStore *self, const TfyStoreHold *hold)
{
    bool lives;
    int64_t beat;
    const int code = tfy__pg_read_session(self, hold, &lives, &beat);
    if (!code) return TFY_STORE_FENCED;
    /* Nothing of the commit happened, so it may be tried again, and is refused again. */
    return code == TFY_STORE_UNKNOWN || code == TFY_PG_AGAIN ? TFY_STORE_AWAY : code;
}
