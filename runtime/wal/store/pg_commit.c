/* pg_commit.c: sends a transaction to a database of PostgreSQL, and finds out what became of it. */
#include "base/check.h"
#include "base/grow.h"
#include "wal/store/store_pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

/* ---- the commit ---- */

/* The answers that matter. */
typedef struct Answers {
    PgStore *self;
    int commit; /* number of this statement */
    bool committed;
} Answers;

static int by_run(const void *run, const void *item)
{
    const int64_t one = *(const int64_t *)run, other = ((const PgLeft *)item)->row.run;
    return (one > other) - (one < other);
}

/* Rows name runs, and whether nobody owns them. */
static void note_left(PgStore *self, const TfyPgResult *result)
{
    const TfyPgApi *api = self->writing.api;
    for (int i = 0; self->leaving.count && i < api->ntuples(result); i++) {
        const int64_t run = tfy__pg_word(api, result, i, 0);
        PgLeft *left = bsearch(&run, self->leaving.items, self->leaving.count, sizeof *left, by_run);
        if (left) left->left = tfy__pg_word(api, result, i, 1) != 0;
    }
}

static int note_stayed(PgStore *self)
{
    self->base.stayed_count = 0;
    if (!GROW(self->stayed, self->stayed_room, self->leaving.count, 16)) return TFY_E_NOMEM;
    for (uint32_t i = 0; i < self->leaving.count; i++)
        if (!self->leaving.items[i].left) self->stayed[self->base.stayed_count++] = self->leaving.items[i].row;
    self->base.stayed = self->stayed;
    return 0;
}

static int see_answer(void *state, int number, TfyPgResult *result, bool *is_kept)
{
    Answers *answers = state;
    PgStore *self = answers->self;
    (void)is_kept;
    if (number == answers->commit) answers->committed = strcmp(self->writing.api->cmdStatus(result), "COMMIT") == 0;
    if (number == self->leaving_at[0] || number == self->leaving_at[1]) note_left(self, result);
    return 0;
}

static int queue_all(PgStore *self, Answers *answers)
{
    int code = tfy__pg_queue_begin(&self->writing, TFY_PG_BEGIN);
    if (!code) code = tfy__pg_queue_rows(self);
    answers->commit = self->writing.queued;
    return code ? code : tfy__pg_queue_commit(&self->writing);
}

static int fenced(PgStore *self, const TfyStoreHold *hold)
{
    snprintf(self->base.error, sizeof self->base.error, "session %lld has ended, and others continue its runs",
             (long long)hold->session);
    return TFY_STORE_FENCED;
}

int tfy__pg_told(PgStore *self, const TfyPgLink *link, int code)
{
    if (code) snprintf(self->base.error, sizeof self->base.error, "%s", link->error);
    return code;
}

/* The fence is behind BEGIN, and behind the settings if a transaction has them. */
static bool is_fenced(const PgStore *self)
{
    return self->writing.failed_at == (self->address.unprepared ? 2 : 1) && strcmp(self->writing.state, "22012") == 0;
}

static int not_as_expected(PgStore *self)
{
    snprintf(self->base.error, sizeof self->base.error,
             "the database does not %s for session %lld: rows are not as this session has left them",
             self->writing.sent[self->writing.failed_at].what, (long long)self->request.hold.session);
    return TFY_E_DATA;
}

/* By the fence: the session has ended, unless its row is older than what it was told. */
static int refused(PgStore *self, const TfyStoreHold *hold)
{
    const int code = tfy__pg_why_fenced(self, hold);
    if (code == TFY_STORE_FENCED) return fenced(self, hold);
    return self->base.error[0] ? code : tfy__pg_told(self, &self->writing, code);
}

/* Sends the transaction once. */
static int send(PgStore *self)
{
    TfyPgLink *link = &self->writing;
    Answers answers = {.self = self, .commit = -1};
    int code = tfy__pg_link_open(link);
    if (code) return tfy__pg_told(self, link, code);
    self->base.error[0] = '\0';
    code = queue_all(self, &answers);
    if (code) {
        tfy__pg_unqueue(link);
        return self->base.error[0] ? code : tfy__pg_told(self, link, code);
    }
    tfy__pg_note_written(self);
    code = tfy__pg_sync(link, see_answer, &answers);
    if (code == TFY_E_DATA && is_fenced(self)) return refused(self, &self->request.hold);
    if (code == TFY_E_DATA && strcmp(link->state, "22012") == 0) return not_as_expected(self);
    if (code) return tfy__pg_told(self, link, code);
    if (link->warned || !answers.committed) return tfy__pg_told(self, link, TFY_STORE_UNKNOWN);
    return note_stayed(self);
}

/* Whether the same may succeed at once. Who has waited for a lock in vain goes on only if a lost connection of its own had it. */
static bool is_clear(PgStore *self)
{
    if (strcmp(self->writing.state, "55P03") != 0) return true;
    return self->writing.lost_pid && tfy__pg_end_lost(&self->writing) == 0;
}

int tfy__pg_commit(TfyStore *store)
{
    PgStore *self = tfy__pg_inside(store);
    CHECK(self->request.open);
    tfy__pg_sort_rows(&self->request);
    int code = send(self);
    for (int i = 1; code == TFY_PG_AGAIN && i < TRIES && is_clear(self); i++) code = send(self);
    if (code == TFY_PG_AGAIN) code = TFY_STORE_AWAY;
    if (code)
        tfy__pg_forget_tails(self);
    else
        tfy__pg_note_tails(self);
    if (code != TFY_STORE_AWAY && code != TFY_STORE_FULL) tfy__pg_rollback(store);
    return code;
}

/* ---- after a lost answer ---- */

typedef struct Confirmed {
    const TfyPgApi *api;
    int number; /* of the statement */
    bool found, committed;
} Confirmed;

static int see_confirmed(void *state, int number, TfyPgResult *result, bool *is_kept)
{
    Confirmed *confirmed = state;
    (void)is_kept;
    if (number == confirmed->number) confirmed->found = confirmed->api->ntuples(result) == 1;
    if (number == confirmed->number + 1)
        confirmed->committed = strcmp(confirmed->api->cmdStatus(result), "COMMIT") == 0;
    return 0;
}

/* A commit of its own that changes nothing: when it is acknowledged, what it stands on is as durable. */
static int confirm(PgStore *self, const TfyStoreHold *hold)
{
    TfyPgAsk ask;
    TfyPgLink *link = &self->writing;
    Confirmed confirmed = {.api = link->api};
    int code = tfy__pg_queue_begin(link, TFY_PG_BEGIN);
    confirmed.number = link->queued;
    tfy__pg_ask(link, &ask, W_CONFIRM);
    tfy__pg_ask_word(&ask, hold->session);
    tfy__pg_ask_word(&ask, hold->commit);
    if (!code) code = tfy__pg_queue(link, &ask);
    if (!code) code = tfy__pg_queue_commit(link);
    if (!code) code = tfy__pg_sync(link, see_confirmed, &confirmed);
    tfy__pg_unqueue(link);
    if (code) return code;
    return link->warned || !confirmed.found || !confirmed.committed ? TFY_STORE_UNKNOWN : 0;
}

/* Those that the session owns have stayed. */
static int read_stayed(PgStore *self, const TfyStoreHold *hold)
{
    TfyPgAsk ask;
    TfyPgResult *result = NULL;
    const TfyPgApi *api = self->writing.api;
    if (!self->leaving.count) return 0;
    int code = tfy__pg_ask_owned(self, &ask, hold->session);
    if (!code) code = tfy__pg_one(&self->writing, &ask, &result);
    if (code) return code;
    for (uint32_t i = 0; i < self->leaving.count; i++) self->leaving.items[i].left = true;
    for (int i = 0; i < api->ntuples(result); i++) {
        const int64_t run = tfy__pg_word(api, result, i, 0);
        PgLeft *left = bsearch(&run, self->leaving.items, self->leaving.count, sizeof *left, by_run);
        if (left) left->left = false;
    }
    api->clear(result);
    return note_stayed(self);
}

static int not_its_own(PgStore *self, const TfyStoreHold *hold, int64_t beat)
{
    snprintf(self->base.error, sizeof self->base.error,
             "session %lld has had %lld commits by the database, and only %lld were sent", (long long)hold->session,
             (long long)beat, (long long)hold->commit);
    return TFY_E_DATA;
}

static int find_out(PgStore *self, const TfyStoreHold *hold, bool *happened)
{
    bool lives;
    int64_t beat;
    int code = tfy__pg_link_open(&self->writing);
    if (!code) code = tfy__pg_read_session(self, hold, &lives, &beat);
    if (code) return code;
    if (!lives) return fenced(self, hold);
    if (beat > hold->commit) return not_its_own(self, hold, beat);
    if (beat < hold->commit) return 0;
    code = confirm(self, hold);
    if (!code) code = read_stayed(self, hold);
    *happened = !code;
    return code;
}

int tfy__pg_settle(TfyStore *store, const TfyStoreHold *hold, bool *happened)
{
    PgStore *self = tfy__pg_inside(store);
    *happened = false;
    self->base.error[0] = '\0';
    int code = find_out(self, hold, happened);
    if (code == TFY_PG_AGAIN) {
        is_clear(self);
        code = TFY_STORE_AWAY;
    }
    return self->base.error[0] ? code : tfy__pg_told(self, &self->writing, code);
}
