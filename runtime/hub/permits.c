/* permits.c: see permits.h. */
#include "hub/permits.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/check.h"
#include "base/grow.h"

enum {
    ROUND_MS = 1000, /* how often a row is looked after */
    AGAIN_MS = 200,  /* … while steps wait */
    STALE_MS = 3000, /* who has not said so for longer waits no more */
    IDLE_MS = 60000, /* nothing is due */
    TURN_MS = 20,    /* then others have their turn */
    TRIES = 5,       /* while others write at the same time */
    GRANT_LEAST_MS = 100,
    GRANT_MOST_MS = 1000,
    PARTS = 256 /* of a period: grants that stop counting within one of them are one row */
};

/* ---- the loop ---- */

static TfyPermitBook *inside(TfyPermits *permits)
{
    return (TfyPermitBook *)permits;
}

static void lock(TfyPermitBook *book)
{
    pthread_mutex_lock(&book->mutex);
}

static void unlock(TfyPermitBook *book)
{
    pthread_mutex_unlock(&book->mutex);
}

static int64_t now_of(const TfyPermitBook *book)
{
    return book->now_ms(book->state);
}

/* One that was dropped and is not given back yet, or a new one. */
static TfyPermit *find(TfyPermitBook *book, const char *name)
{
    TfyPermit *permit = book->all.first;
    while (permit && strcmp(permit->kind.name, name) != 0) permit = permit->next;
    if (permit) return permit;
    permit = calloc(1, sizeof *permit);
    char *copy = permit ? strdup(name) : NULL;
    if (!copy) {
        free(permit);
        return NULL;
    }
    *permit = (TfyPermit){.kind.name = copy, .dropped = true, .settled = true, .empty = true, .due_ms = INT64_MAX};
    permit->hash = (int64_t)(XXH3_64bits(copy, strlen(copy)) >> 2);
    LIST_APPEND(&book->all, permit, next);
    return permit;
}

static TfyPermit *make(TfyPermits *permits, const TfyPermitKind *kind)
{
    TfyPermitBook *book = inside(permits);
    lock(book);
    TfyPermit *permit = find(book, kind->name);
    if (permit) {
        CHECK(permit->dropped == !permit->users);
        permit->users++;
        const char *name = permit->kind.name;
        permit->kind = *kind;
        permit->kind.name = name;
        permit->dropped = false;
    }
    unlock(book);
    return permit;
}

static void free_permit(TfyPermit *permit)
{
    free((char *)permit->kind.name);
    free(permit);
}

static bool has_room(const TfyPermit *permit)
{
    return !permit->kind.limit || permit->in_use < permit->lent;
}

static bool has_unit(const TfyPermit *permit, int64_t now_ms)
{
    return !permit->kind.rate || (permit->units && now_ms < permit->fresh_ms);
}

static bool take(TfyPermits *permits, TfyPermit *permit, int64_t *fresh_ms)
{
    TfyPermitBook *book = inside(permits);
    lock(book);
    const bool takes = has_room(permit) && has_unit(permit, now_of(book));
    if (takes && permit->kind.rate) permit->units--;
    permit->in_use += takes;
    if (permit->in_use > permit->peak) permit->peak = permit->in_use;
    *fresh_ms = permit->kind.rate ? permit->fresh_ms : 0;
    unlock(book);
    return takes;
}

static bool fresh(TfyPermits *permits, int64_t fresh_ms)
{
    return now_of(inside(permits)) < fresh_ms;
}

/* Ends the lock. */
static void hurry(TfyPermitBook *book, TfyPermit *permit, bool is_due)
{
    permit->hurried |= is_due;
    unlock(book);
    if (is_due) book->hurry(book->state);
}

/* What nobody else waits for is kept for a while. */
static void give(TfyPermits *permits, TfyPermit *permit)
{
    TfyPermitBook *book = inside(permits);
    lock(book);
    CHECK(permit->in_use > 0);
    permit->in_use--;
    const bool others = permit->users > 1 && permit->waits;
    hurry(book, permit, permit->kind.limit && (permit->contested || permit->in_use >= permit->lent));
    if (others && book->wake) book->wake(book->state);
}

/* Steps that lack a use, of which nobody has asked for any yet. */
static bool lacks_unit(const TfyPermit *permit, int64_t now_ms)
{
    return has_room(permit) && !has_unit(permit, now_ms) && !permit->asked;
}

/* With the mutex. */
static void note_waits(TfyPermit *permit, uint32_t place, uint32_t steps)
{
    CHECK(place < TFY_LOOPS_MOST);
    permit->waits += steps - permit->waits_of[place];
    permit->waits_of[place] = steps;
}

static void await(TfyPermits *permits, TfyPermit *permit, uint32_t place, uint32_t steps)
{
    TfyPermitBook *book = inside(permits);
    lock(book);
    const bool more = steps > permit->waits_of[place];
    note_waits(permit, place, steps);
    hurry(book, permit, more || (steps && lacks_unit(permit, now_of(book))));
}

/* It is freed when the database has nothing of it. */
static void drop(TfyPermits *permits, TfyPermit *permit, uint32_t place)
{
    TfyPermitBook *book = inside(permits);
    lock(book);
    CHECK(permit->users > 0);
    note_waits(permit, place, 0);
    permit->dropped = !--permit->users;
    hurry(book, permit, permit->dropped);
}

/* ---- how much is whose ---- */

/* A session that could use some. */
typedef struct Claimant {
    int64_t wants, has, since_ms, session;
    int64_t gets;
} Claimant;

typedef struct Claimants {
    Claimant *items;
    uint32_t count, room;
} Claimants;

/* Those that have none, the longest wait first; then the others, who keep what they have if it can be. */
static int by_turn(const void *a, const void *b)
{
    const Claimant *x = a, *y = b;
    if (!x->has != !y->has) return x->has ? 1 : -1;
    if (x->has != y->has) return x->has > y->has ? -1 : 1;
    if (x->since_ms != y->since_ms) return x->since_ms < y->since_ms ? -1 : 1;
    return (x->session > y->session) - (x->session < y->session);
}

static int64_t less_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Evenly, to each no more than it wants; what is left over by one, in the order of turns. Returns what a session gets. */
static int64_t share_out(Claimants *all, int64_t total, int64_t session)
{
    int64_t unmet = 0, mine = 0;
    if (all->count) qsort(all->items, all->count, sizeof *all->items, by_turn);
    for (uint32_t i = 0; i < all->count; i++) unmet += all->items[i].wants > 0;
    while (total > 0 && unmet) {
        const int64_t each = total / unmet ?: 1;
        for (uint32_t i = 0; total > 0 && i < all->count; i++) {
            Claimant *one = &all->items[i];
            const int64_t more = less_of(less_of(each, one->wants - one->gets), total);
            if (more <= 0) continue;
            one->gets += more;
            total -= more;
            unmet -= one->gets == one->wants;
        }
    }
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].session == session) mine = all->items[i].gets;
    return mine;
}

static bool claims(Claimants *all, const Claimant *one)
{
    if (one->wants <= 0) return true;
    if (!GROW(all->items, all->room, all->count + 1, 8)) return false;
    all->items[all->count++] = *one;
    return true;
}

/* ---- a round ---- */

typedef struct Round {
    TfyPermitBook *book;
    TfyCluster *cluster;
    TfyPermit *permit;
    int64_t session, sent_ms;
    /* What it needs. */
    int64_t in_use, units, wants, asks;
    /* What the database has. */
    TfyPermitNow is;
    TfyPermitRow *rows, own;
    uint32_t count, room;
    /* What is decided. */
    int64_t target; /* more than that is not taken any more */
    TfyPermitRow next;
    int64_t uses, until_ms;
} Round;

static void read_needs(Round *round)
{
    TfyPermit *permit = round->permit;
    const TfyPermitKind *kind = &permit->kind;
    lock(round->book);
    round->sent_ms = now_of(round->book);
    if (permit->units && round->sent_ms >= permit->fresh_ms) permit->units = 0;
    const uint32_t waits = permit->dropped ? 0 : permit->waits, peak = permit->contested ? 0 : permit->peak;
    round->in_use = permit->in_use;
    round->units = permit->units;
    round->wants = less_of(kind->limit, (int64_t)permit->in_use + waits);
    if (round->wants < less_of(peak, permit->lent)) round->wants = less_of(peak, permit->lent);
    round->asks = kind->rate ? less_of(kind->rate, (int64_t)waits - permit->units) : 0;
    if (round->asks < 0) round->asks = 0;
    permit->peak = permit->in_use;
    permit->hurried = false;
    unlock(round->book);
}

static int note_row(void *state, const TfyPermitRow *row)
{
    Round *round = state;
    if (row->session == round->session) {
        round->own = *row;
        return 0;
    }
    if (!GROW(round->rows, round->room, round->count + 1, 8)) return TFY_E_NOMEM;
    round->rows[round->count++] = *row;
    return 0;
}

static int read_rows(Round *round)
{
    TfyCluster *cluster = round->cluster;
    round->count = 0;
    round->own = (TfyPermitRow){.session = round->session};
    return cluster->ops->see_permits(cluster, round->permit->kind.name, &round->is, note_row, round);
}

static bool is_stale(const Round *round, const TfyPermitRow *row)
{
    return round->is.now_ms - row->at_ms > STALE_MS;
}

static bool decide_limit(Round *round, Claimants *all)
{
    const TfyPermitRow *own = &round->own;
    TfyPermitRow *next = &round->next;
    int64_t free_now = round->permit->kind.limit;
    const bool waited = own->wants > 0 && !own->lent;
    Claimant mine = {round->wants, own->lent, waited ? own->since_ms : round->is.now_ms, own->session, 0};
    if (own->lent) mine.since_ms = own->since_ms;
    bool ok = claims(all, &mine);
    for (uint32_t i = 0; ok && i < round->count; i++) {
        const TfyPermitRow *row = &round->rows[i];
        const int64_t wants = is_stale(round, row) ? row->lent : row->wants;
        free_now -= row->lent;
        ok = claims(all, &(Claimant){wants, row->lent, row->since_ms, row->session, 0});
    }
    if (free_now < 0) free_now = 0;
    round->target = less_of(share_out(all, round->permit->kind.limit, own->session), free_now);
    next->lent = round->target > round->in_use ? round->target : round->in_use;
    next->wants = round->wants;
    next->since_ms = next->lent > own->lent || (own->lent && !next->lent) ? round->is.now_ms : mine.since_ms;
    return ok;
}

static int64_t grant_ms(int64_t period_ms)
{
    const int64_t quarter_ms = period_ms / 4;
    return quarter_ms < GRANT_LEAST_MS ? GRANT_LEAST_MS : less_of(quarter_ms, GRANT_MOST_MS);
}

/* When a use that may begin until then, and a moment longer, counts no more; rounded up, so that there are few such times. */
static int64_t counts_until(int64_t until_ms, int64_t period_ms)
{
    const int64_t end_ms = until_ms + 1 + period_ms, part_ms = period_ms / PARTS;
    return part_ms > 1 ? (end_ms + part_ms - 1) / part_ms * part_ms : end_ms;
}

static bool decide_rate(Round *round, Claimants *all)
{
    const TfyPermitKind *kind = &round->permit->kind;
    const TfyPermitRow *own = &round->own;
    TfyPermitRow *next = &round->next;
    Claimant mine = {round->asks, 0, own->asks ? own->asked_ms : round->is.now_ms, own->session, 0};
    if (kind->limit) mine.wants = round->asks = less_of(round->asks, round->target - round->in_use - round->units);
    bool ok = claims(all, &mine);
    for (uint32_t i = 0; ok && i < round->count; i++) {
        const TfyPermitRow *row = &round->rows[i];
        if (is_stale(round, row)) continue;
        ok = claims(all, &(Claimant){row->asks, 0, row->asked_ms, row->session, 0});
    }
    const int64_t left = kind->rate - round->is.used;
    round->uses = share_out(all, left, own->session);
    round->until_ms = counts_until(round->is.now_ms + grant_ms(kind->rate_ms), kind->rate_ms);
    next->asks = round->asks > 0 ? round->asks - round->uses : 0;
    next->asked_ms = round->uses ? round->is.now_ms : mine.since_ms;
    return ok;
}

static int decide(Round *round)
{
    Claimants limit = {0}, rate = {0};
    round->next = (TfyPermitRow){.session = round->session, .at_ms = round->is.now_ms};
    round->target = round->uses = 0;
    const bool ok = (!round->permit->kind.limit || decide_limit(round, &limit)) &&
                    (!round->permit->kind.rate || decide_rate(round, &rate));
    free(limit.items);
    free(rate.items);
    return ok ? 0 : TFY_E_NOMEM;
}

static bool is_empty(const TfyPermitRow *row)
{
    return !row->lent && !row->wants && !row->asks;
}

/* Others would read the same. */
static bool is_written(const Round *round)
{
    const TfyPermitRow *own = &round->own, *next = &round->next;
    if (round->uses || own->lent != next->lent || own->wants != next->wants || own->asks != next->asks) return false;
    return is_empty(next) || next->at_ms - own->at_ms < ROUND_MS * 3 / 4;
}

/* Somebody else has a use for what this session has, or for what it gives back. */
static bool others_wait(const Round *round)
{
    bool wait = false;
    for (uint32_t i = 0; i < round->count; i++) {
        const TfyPermitRow *row = &round->rows[i];
        wait |= !is_stale(round, row) && row->wants > row->lent;
    }
    return wait;
}

/* Before it is written: what the session has to give back is not taken from now on. */
static void lower(Round *round)
{
    TfyPermit *permit = round->permit;
    lock(round->book);
    if (round->next.lent < permit->in_use) round->next.lent = permit->in_use;
    if (round->target < permit->lent) permit->lent = (uint32_t)round->target;
    permit->contested = others_wait(round);
    unlock(round->book);
}

/* When it is written. A grant counts from when this round began to ask. */
static bool raise(Round *round)
{
    TfyPermit *permit = round->permit;
    const int64_t lasts_ms = grant_ms(permit->kind.rate_ms) * 9 / 10, fresh_ms = round->sent_ms + lasts_ms;
    lock(round->book);
    const bool more = round->target > permit->lent || round->uses;
    permit->lent = (uint32_t)round->target;
    if (round->uses) {
        if (!permit->units || fresh_ms < permit->fresh_ms) permit->fresh_ms = fresh_ms;
        permit->units += (uint32_t)round->uses;
    }
    permit->asked = round->next.asks > 0;
    permit->empty = is_empty(&round->next);
    unlock(round->book);
    return more;
}

/* 1: it is written; 0: somebody else was first. */
static int write_row(Round *round)
{
    TfyCluster *cluster = round->cluster;
    const TfyPermitPut put = {.name = round->permit->kind.name,
                              .turn = round->is.turn,
                              .row = round->next,
                              .uses = round->uses,
                              .until_ms = round->until_ms};
    round->permit->settled = false;
    const int code = cluster->ops->put_permit(cluster, &put);
    if (code == 1) round->permit->settled = true;
    return code;
}

/* Those who wait for what was given back, and those who may have to give something. */
static void tell(const Round *round)
{
    TfyCluster *cluster = round->cluster;
    const bool gave = round->next.lent < round->own.lent && others_wait(round);
    const bool needs = round->next.lent < round->next.wants && round->next.wants > round->own.wants && round->count;
    if ((gave || needs) && cluster->ops->notify_permit) cluster->ops->notify_permit(cluster, round->permit->hash);
}

static int64_t next_ms(const Round *round, int code)
{
    const TfyPermit *permit = round->permit;
    const TfyPermitRow *next = &round->next;
    if (code < 0) return round->sent_ms + AGAIN_MS;
    if (!code) return round->sent_ms + 1 + (round->sent_ms + round->session) % 16; /* others write, too */
    if (is_empty(next) && permit->settled) return INT64_MAX;
    int64_t pause_ms = next->lent < next->wants ? AGAIN_MS : ROUND_MS;
    if (next->asks && round->is.first_ms > round->is.now_ms)
        pause_ms = less_of(pause_ms, round->is.first_ms - round->is.now_ms);
    return round->sent_ms + pause_ms;
}

/* 1: it is in the database; 0: it is not, since others write all the time; or a negative code. */
static int try_once(Round *round)
{
    int code = read_rows(round);
    if (!code) code = decide(round);
    if (code) return code;
    lower(round);
    /* A request that was given up, and may come late, must not find what it was decided on. */
    return round->permit->settled && is_written(round) ? 1 : write_row(round);
}

/* 1: there is more to take; 0; or a negative code. */
static int do_round(Round *round)
{
    TfyPermit *permit = round->permit;
    bool more = false;
    int code = 0;
    read_needs(round);
    if (permit->settled && permit->empty && !round->wants && !round->asks) {
        permit->due_ms = INT64_MAX;
        return 0;
    }
    for (int i = 0; !code && i < TRIES; i++) {
        round->sent_ms = now_of(round->book);
        code = try_once(round);
    }
    if (code == 1) {
        more = raise(round);
        tell(round);
    }
    permit->due_ms = next_ms(round, code);
    return code < 0 ? code : more;
}

/* ---- the rounds ---- */

/* The one whose round is due first, and when. */
static TfyPermit *first_due(TfyPermitBook *book, int64_t *due_ms)
{
    TfyPermit *first = NULL;
    lock(book);
    for (TfyPermit *permit = book->all.first; permit; permit = permit->next) {
        if (permit->hurried) permit->due_ms = 0;
        if (!first || permit->due_ms < first->due_ms) first = permit;
    }
    unlock(book);
    *due_ms = first ? first->due_ms : INT64_MAX;
    return first;
}

static void forget(TfyPermitBook *book, TfyPermit *permit)
{
    lock(book);
    const bool done = permit->dropped && permit->settled && permit->empty;
    if (done) LIST_REMOVE(&book->all, permit, next);
    unlock(book);
    if (done) free_permit(permit);
}

int64_t tfy__permits_work(TfyPermitBook *book, TfyCluster *cluster, int64_t session, bool *more)
{
    const int64_t begun_ms = now_of(book);
    int64_t due_ms;
    TfyPermit *permit = first_due(book, &due_ms);
    for (; permit && due_ms <= now_of(book); permit = first_due(book, &due_ms)) {
        if (now_of(book) - begun_ms > TURN_MS) return 0;
        Round round = {.book = book, .cluster = cluster, .permit = permit, .session = session};
        const int code = do_round(&round);
        free(round.rows);
        if (code < 0) return code;
        *more |= code;
        forget(book, permit);
    }
    const int64_t left_ms = due_ms - now_of(book);
    return left_ms < 0 ? 0 : left_ms < IDLE_MS ? left_ms : IDLE_MS;
}

bool tfy__permits_hear(TfyPermitBook *book, int64_t hash)
{
    bool heard = false;
    lock(book);
    for (TfyPermit *permit = book->all.first; permit; permit = permit->next)
        if (permit->hash == hash && !permit->empty) permit->hurried = heard = true;
    unlock(book);
    return heard;
}

static const TfyPermitsOps ops = {
    .make = make, .take = take, .fresh = fresh, .give = give, .await = await, .drop = drop};

void tfy__permits_init(TfyPermitBook *book, int64_t (*now_ms)(void *state), void (*hurry_up)(void *state),
                       void (*wake)(void *state), void *state)
{
    *book = (TfyPermitBook){.base = {.ops = &ops}, .now_ms = now_ms, .hurry = hurry_up, .wake = wake, .state = state};
    pthread_mutex_init(&book->mutex, NULL);
}

void tfy__permits_free(TfyPermitBook *book)
{
    for (TfyPermit *permit; (permit = LIST_TAKE(&book->all, next));) free_permit(permit);
    pthread_mutex_destroy(&book->mutex);
}
