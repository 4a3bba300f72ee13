/* follower.c: see follower.h. */
#include "publish/follower.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cli.h"
#include "publish/cursor.h"
#include "publish/feed.h"
#include "publish/waker.h"
#include "wal/rows/record.h"

enum { PAUSE_LEAST_MS = 500, SAVE_MS = 50 };

typedef struct Follower {
    const TfyFollow *follow;
    const TfyTargetKind *kind;
    TfyPublishTarget *target;
    TfyEvents *events;
    TfyCursor cursor;
    TfyWaker waker;
    TfyBatch *batch;
    int64_t moved_ms; /* when the cursor moved first since its last save, monotonic; 0: it has not */
    int64_t pause_ms; /* the next pause after a failure */
    bool begun;       /* the target is ready, as far as is known */
    bool ails;        /* a failure was told, and no success since */
} Follower;

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void tfy__delivery_fail(TfyDelivery *result, TfySent how, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(result->error, sizeof result->error, format, args);
    va_end(args);
    result->how = how;
}

/* ---- the cursor ---- */

static void move(Follower *it, int64_t lsn)
{
    if (lsn == it->cursor.state.lsn) return;
    it->cursor.state.lsn = lsn;
    it->cursor.state.since_ms = 0;
    if (!it->moved_ms) it->moved_ms = tfy__publish_ms();
}

static int save(Follower *it)
{
    it->moved_ms = 0;
    if (tfy__follow_cursor_save(&it->cursor)) return EXIT_DONE;
    return tfy__fail(EXIT_LOG, "%s: the cursor cannot be written: %s", it->follow->name, strerror(errno));
}

/* While there is more to do, a save every 50 ms is enough: each message after the saved place can be dropped by its id. */
static int save_if_due(Follower *it, bool rests)
{
    if (!it->moved_ms || (!rests && tfy__publish_ms() - it->moved_ms < SAVE_MS)) return EXIT_DONE;
    return save(it);
}

/* ---- failures ---- */

static void note_failure(Follower *it, const TfyDelivery *failure)
{
    TfyCursorState *state = &it->cursor.state;
    state->error_ms = wall_ms();
    if (!state->since_ms) state->since_ms = state->error_ms;
    snprintf(state->error, sizeof state->error, "%.*s", TFY_CURSOR_ERROR - 1, failure->error);
}

/* The message that does not get through has failed for too long. */
static bool gives_up(const Follower *it)
{
    const TfyCursorState *state = &it->cursor.state;
    return it->kind->give_up_ms && it->batch->count && wall_ms() - state->since_ms >= it->kind->give_up_ms;
}

static void say_failure(Follower *it, const TfyDelivery *failure, int64_t pause_ms)
{
    if (!it->ails) tfy__say("%s: %s; again in %.1f s", it->follow->name, failure->error, (double)pause_ms / 1000);
    it->ails = true;
}

/* Waits before the next attempt. Returns an exit status. */
static int fail(Follower *it, const TfyDelivery *failure)
{
    it->begun = false;
    note_failure(it, failure);
    const int status = save(it);
    if (status != EXIT_DONE) return status;
    if (failure->how == TFY_SENT_STOP) return tfy__fail(EXIT_DATA, "%s: %s", it->follow->name, failure->error);
    const int64_t pause = failure->pause_ms > it->pause_ms ? failure->pause_ms : it->pause_ms,
                  most = it->kind->pause_most_ms;
    it->pause_ms = it->pause_ms * 2 < most ? it->pause_ms * 2 : most;
    say_failure(it, failure, pause < most ? pause : most);
    tfy__publish_pause(pause < most ? pause : most);
    return EXIT_DONE;
}

static void succeed(Follower *it)
{
    if (it->ails) tfy__say("%s: %s takes messages again", it->follow->name, it->follow->address.shown);
    it->ails = false;
    it->pause_ms = PAUSE_LEAST_MS;
}

/* ---- delivering ---- */

/* Records up to this one are done with when the first `done` messages of the batch are. */
static int64_t reached(const Follower *it, size_t done)
{
    if (done == it->batch->count) return it->batch->lsn;
    return done ? it->batch->items[done - 1].lsn : it->cursor.state.lsn;
}

/* The next messages are done with. */
static void take_done(Follower *it, const TfyMessage *messages, size_t count)
{
    int64_t missed = 0;
    for (size_t i = 0; i < count; i++) missed += messages[i].missed;
    it->cursor.state.missed += missed;
    if (missed)
        tfy__say("%s: %lld records were removed by retention before they were published (message tfy.gap)",
                 it->follow->name, (long long)missed);
}

static size_t give_up(Follower *it, size_t done)
{
    TfyCursorState *state = &it->cursor.state;
    tfy__say("%s: gave up record %lld: %s", it->follow->name, (long long)it->batch->items[done].lsn, state->error);
    state->dropped++;
    it->pause_ms = PAUSE_LEAST_MS;
    take_done(it, it->batch->items + done, 1);
    return done + 1;
}

/* Messages were refused for good, and delivery goes on. */
static void note_drop(Follower *it, const TfyDelivery *result)
{
    TfyCursorState *state = &it->cursor.state;
    if (strcmp(state->error, result->error) != 0) tfy__say("%s: %s", it->follow->name, result->error);
    state->error_ms = wall_ms();
    snprintf(state->error, sizeof state->error, "%.*s", TFY_CURSOR_ERROR - 1, result->error);
}

static void take_result(Follower *it, const TfyDelivery *result)
{
    it->cursor.state.dropped += result->dropped;
    if (result->how == TFY_SENT && *result->error) note_drop(it, result);
    if (result->done) succeed(it);
}

/* After a failure the target may know another place than the cursor's, so what is left of the batch is read again. */
static int deliver(Follower *it)
{
    const TfyBatch *batch = it->batch;
    int status = EXIT_DONE;
    size_t done = 0;
    while (status == EXIT_DONE && done < batch->count && !tfy__publish_ends()) {
        TfyDelivery result = {.how = TFY_SENT};
        it->kind->deliver(it->target, batch, done, &result);
        take_result(it, &result);
        take_done(it, batch->items + done, result.done);
        done += result.done;
        move(it, reached(it, done));
        status = save_if_due(it, false);
        if (result.how == TFY_SENT || status != EXIT_DONE) continue;
        status = fail(it, &result);
        if (result.how == TFY_SENT_AGAIN && gives_up(it)) move(it, reached(it, give_up(it, done)));
        return status;
    }
    if (done == batch->count) move(it, batch->lsn);
    return status;
}

/* ---- one round ---- */

/* What the target knows itself goes before the cursor. It cannot have what the log has not. */
static int begin(Follower *it)
{
    TfyDelivery result = {.how = TFY_SENT};
    int64_t lsn = it->cursor.state.lsn;
    if (it->kind->begin) it->kind->begin(it->target, &lsn, &result);
    if (result.how != TFY_SENT) return fail(it, &result);
    if (lsn && tfy__feed_reaches(it->events, lsn) == 0) {
        tfy__delivery_fail(&result, TFY_SENT_STOP,
                           "%s has record %lld of this database, which the log has not: the database is an older copy. "
                           "Take the newer one, or publish this one to a place of its own",
                           lsn == it->cursor.state.lsn ? "the cursor" : it->follow->address.shown, (long long)lsn);
        return fail(it, &result);
    }
    move(it, lsn);
    it->begun = true;
    return EXIT_DONE;
}

static void rest(Follower *it)
{
    const int fd = it->kind->idle_fd ? it->kind->idle_fd(it->target) : -1;
    if (tfy__waker_wait(&it->waker, fd)) it->begun = false;
}

static int round_of(Follower *it)
{
    int status = it->begun ? EXIT_DONE : begin(it);
    if (status != EXIT_DONE || !it->begun) return status;
    tfy__batch_empty(it->batch);
    it->batch->lsn = it->cursor.state.lsn;
    const int more = tfy__feed(it->events, it->follow, it->kind, it->batch);
    if (more < 0) return tfy__fail(tfy__exit_status(more), "%s: the log cannot be read", it->follow->name);
    status = deliver(it);
    const bool rests = !more && it->begun;
    if (rests && it->kind->begin) succeed(it); /* it had everything, and only its last answer was lost */
    if (status == EXIT_DONE) status = save_if_due(it, rests || tfy__publish_ends());
    if (status == EXIT_DONE && rests && !tfy__publish_ends()) rest(it);
    return status;
}

/* ---- opening ---- */

static int take_cursor(Follower *it, bool named)
{
    const TfyFollow *follow = it->follow;
    TfyCursorState *state = &it->cursor.state;
    if (it->cursor.seq && strcmp(state->db, follow->db_id) != 0)
        return tfy__fail(
            EXIT_DATA,
            "%s-follow/%s is the cursor of another database: remove it, and this one is published from its "
            "first record",
            follow->db, follow->name);
    if (it->cursor.seq && !named && strcmp(state->to, follow->address.shown) != 0)
        return tfy__fail(
            EXIT_DATA,
            "%s-follow/%s is the cursor of %s: give this follower a --name of its own, or --name %s if that "
            "target has moved",
            follow->db, follow->name, state->to, follow->name);
    snprintf(state->db, sizeof state->db, "%s", follow->db_id);
    snprintf(state->to, sizeof state->to, "%s", follow->address.shown);
    return EXIT_DONE;
}

static int open_all(Follower *it, TfyFollow *follow, bool named)
{
    char error[TFY_ERROR_TEXT];
    it->events = tfy__events_open(follow->db, error);
    if (!it->events) return tfy__fail(EXIT_MISSING, "%s", error);
    tfy__uuid_text(tfy__events_uuid(it->events), follow->db_id);
    it->batch = calloc(1, sizeof *it->batch);
    if (!it->batch) return tfy__fail(EXIT_BUG, "memory ran out");
    it->target = it->kind->open(follow, error);
    if (!it->target) return tfy__fail(EXIT_USAGE, "%s: %s", follow->address.shown, error);
    const int status = tfy__follow_cursor_open(&it->cursor, follow->db, follow->name, error);
    if (status != EXIT_DONE) return tfy__fail(status, "%s", error);
    return take_cursor(it, named);
}

static void close_all(Follower *it)
{
    if (it->target) it->kind->close(it->target);
    if (it->batch) tfy__batch_empty(it->batch);
    if (it->batch) tfy__buffer_free(&it->batch->texts);
    free(it->batch);
    tfy__waker_close(&it->waker);
    tfy__follow_cursor_close(&it->cursor);
    tfy__events_close(it->events);
}

int tfy__follow(TfyFollow *follow, const TfyTargetKind *kind, bool named)
{
    Follower it = {.follow = follow,
                   .kind = kind,
                   .cursor = {.fd = -1, .dir_fd = -1},
                   .waker = {follow->db, -1},
                   .pause_ms = PAUSE_LEAST_MS};
    int status = open_all(&it, follow, named);
    if (status == EXIT_DONE) tfy__say("%s: publishing %s to %s", follow->name, follow->db, follow->address.shown);
    while (status == EXIT_DONE && !tfy__publish_ends()) status = round_of(&it);
    close_all(&it);
    return status;
}
