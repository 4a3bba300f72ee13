/* hub_cluster.c: see hub_cluster.h. */
#include "hub/hub_cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/grow.h"
#include "base/lease.h"
#include "base/table.h"
#include "hub/ending.h"
#include "hub/observe.h"
#include "hub/seat.h"
#include "wal/store/store.h"

enum {
    POLL_MS = 1000,      /* how often claims and mail are asked for while there are none */
    NOTICE_MS = 20,      /* how soon again because of a notice */
    DUE_MS = 250,        /* how often due runs are looked for */
    ORPHANS_MS = 30000,  /* how often runs are looked for that nobody knows of */
    STANDBYS_MS = 60000, /* how often it is made sure that standbys are waited for */
    ROOM_MS = 60000,     /* how often it is made sure that more runs fit */
    SOLO_IDLE = 10,      /* claims in vain after which a solo hub is idle */
    SOLO_MS = 5000,      /* how often runs are looked for that need a process of their own */
    AWAY_MS = 50,        /* how soon a database that did not answer is asked again … */
    AWAY_MOST_MS = 2000,
    CLAIMS_MOST = 256,
    WAKE_MOST = 1000,
    LATE_MOST = 64,
    HANGS_PART = 3,  /* nothing is sent when a loop has made no turn for that part of the lease */
    EXIT_FENCED = 75 /* as if killed: another session continues the runs */
};

/* A run that was handed over, until the session's runs are read without it. */
typedef struct Held {
    TfyLink by_run;
    int64_t run, claims;
    uint32_t seat;
    uint64_t listed;
} Held;

struct HubCluster;

/* Something that the thread does again and again. Returns the milliseconds until the next time, or a negative code. */
typedef int64_t (*Duty)(struct HubCluster *self);

enum { OBSERVE, CLAIM, INBOX, DUE, ORPHANS, STANDBYS, ROOM, SOLO, DUTIES };

typedef struct HubCluster {
    TfySeats seats; /* must be first */
    TfyHubOpen open;
    pthread_t thread;
    bool started;
    /* The thread's alone. */
    TfyCluster *cluster;
    int64_t session, lease_ms;
    TfyObserver observer;
    int64_t due_ms[DUTIES], done_ms[DUTIES];
    int64_t away_ms, back_ms;     /* it did not answer: asked again after, at */
    int64_t queue, queue_program; /* where runs of that program wait */
    TfyTable held;
    bool claim_lost; /* the answer to a claim was */
    uint64_t readings;
    uint32_t vain; /* claims in a row that found nothing */
    uint64_t seed;
    bool ends; /* with the mutex of the seats */
} HubCluster;

static HubCluster *inside(TfyHub *hub)
{
    return (HubCluster *)((TfySeat *)hub)->all;
}

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static int64_t clock_ms(const HubCluster *self)
{
    return self->open.by_hand_ms ? self->open.by_hand_ms(self->open.state) : monotonic_ms();
}

/* A tenth more or less, so that workers that began together do not ask together for ever. */
static int64_t jittered(HubCluster *self, int64_t ms)
{
    self->seed = self->seed * 6364136223846793005u + 1442695040888963407u;
    return ms - ms / 10 + (int64_t)((self->seed >> 33) % (uint64_t)(ms / 5 + 1));
}

static uint64_t hash_of(int64_t run)
{
    return tfy__mix((uint64_t)run);
}

/* ---- claims ---- */

static int remember(HubCluster *self, const TfyClaim *claim, uint32_t seat)
{
    Held *held = TABLE_ITEM(tfy__table_find(&self->held, hash_of(claim->run)), Held, by_run);
    if (!held) {
        held = tfy__table_reserve(&self->held) ? calloc(1, sizeof *held) : NULL;
        if (!held) return TFY_E_NOMEM;
        held->run = claim->run;
        tfy__table_add(&self->held, &held->by_run, hash_of(held->run));
    }
    held->claims = claim->claims;
    held->seat = seat;
    held->listed = self->readings;
    return 0;
}

static int take_first_mail(void *letters, const TfyMail *mail)
{
    return tfy__letters_put(letters, mail) ? 0 : TFY_E_NOMEM;
}

/* Also reads what was sent to the run before the session owned it. */
static int make_claim(HubCluster *self, const TfyClaimed *claimed, TfySeatClaim **made)
{
    int code = 0;
    TfySeatClaim *claim = calloc(1, sizeof *claim);
    if (!claim) return TFY_E_NOMEM;
    if (claimed->mail)
        code = self->cluster->ops->see_mail(self->cluster, claimed->run, 0, true, take_first_mail, &claim->letters);
    const TfyLetter *first = claim->letters.first;
    claim->claim =
        (TfyClaim){.run = claimed->run, .claims = claimed->claims, .seen = first ? first->mail.n - 1 : claimed->mail};
    if (code)
        tfy__seat_claim_free(claim);
    else
        *made = claim;
    return code;
}

/* With the mutex. */
static int hand_over(HubCluster *self, TfySeatClaim *claim, TfyReadBatch *batch)
{
    const uint32_t seat = tfy__seats_choose(&self->seats);
    const int code = remember(self, &claim->claim, seat);
    if (code) {
        tfy__seat_claim_free(claim);
        return code;
    }
    return tfy__seat_hand_over(&self->seats.items[seat], claim, batch);
}

/* Reads what the loop will ask for; if that fails, the loop asks itself. NULL: nothing was read. */
static TfyReadBatch *read_batch(HubCluster *self, const TfyClaimed *claimed, int count)
{
    int64_t runs[CLAIMS_MOST];
    TfyAhead *ahead;
    if (!self->cluster->ops->read_ahead || !count) return NULL;
    for (int i = 0; i < count; i++) runs[i] = claimed[i].run;
    if (self->cluster->ops->read_ahead(self->cluster, runs, (uint32_t)count, &ahead) != 0) return NULL;
    TfyReadBatch *batch = malloc(sizeof *batch);
    if (batch)
        *batch = (TfyReadBatch){.users = 1, .ahead = ahead};
    else
        ahead->free(ahead);
    return batch;
}

/* All of them at once, so that the loop is not in the way of each. */
static int hand_over_all(HubCluster *self, const TfyClaimed *claimed, int count)
{
    LIST(TfySeatClaim) made = {0};
    int code = 0;
    TfyReadBatch *batch = read_batch(self, claimed, count);
    for (int i = 0; !code && i < count; i++) {
        TfySeatClaim *claim = NULL;
        code = make_claim(self, &claimed[i], &claim);
        if (claim) LIST_APPEND(&made, claim, next);
    }
    pthread_mutex_lock(&self->seats.mutex);
    for (TfySeatClaim *claim; (claim = LIST_TAKE(&made, next));) code = hand_over(self, claim, batch) ?: code;
    tfy__read_batch_drop(batch);
    tfy__seats_wake(&self->seats);
    pthread_mutex_unlock(&self->seats.mutex);
    return code;
}

/* Forgets runs that the last reading of the session's runs did not have. */
static void forget_left(HubCluster *self)
{
    for (TfyLink *link = tfy__table_walk(&self->held, NULL), *next; link; link = next) {
        Held *held = TABLE_ITEM(link, Held, by_run);
        next = tfy__table_walk(&self->held, link);
        if (held->listed == self->readings) continue;
        tfy__table_remove(&self->held, link);
        free(held);
    }
}

/* Reads which runs the session owns, and hands over those that it was never told of. */
static int find_lost_claims(HubCluster *self)
{
    TfyClaimed owned[CLAIMS_MOST];
    int64_t after = 0;
    int count = CLAIMS_MOST, lost = 0, code = 0;
    self->readings++;
    while (!code && count == CLAIMS_MOST) {
        count = self->cluster->ops->see_owned(self->cluster, self->session, after, owned, CLAIMS_MOST);
        if (count < 0) return count;
        lost = 0;
        for (int i = 0; i < count; i++) {
            Held *held = TABLE_ITEM(tfy__table_find(&self->held, hash_of(owned[i].run)), Held, by_run);
            after = owned[i].run;
            if (held && held->claims == owned[i].claims)
                held->listed = self->readings;
            else
                owned[lost++] = owned[i];
        }
        code = hand_over_all(self, owned, lost);
    }
    if (!code) forget_left(self);
    return code;
}

static uint32_t room_for(HubCluster *self, int64_t *program)
{
    const uint32_t room = tfy__seats_room(&self->seats, program);
    return room < CLAIMS_MOST ? room : CLAIMS_MOST;
}

static int64_t find_queue(HubCluster *self, int64_t program)
{
    if (self->queue_program == program) return self->queue;
    const char *pool = self->open.pool ? self->open.pool : "default";
    const int64_t queue = self->cluster->ops->queue(self->cluster, pool, program);
    if (queue > 0) self->queue_program = program, self->queue = queue;
    return queue;
}

static int64_t claim_runs(HubCluster *self)
{
    TfyClaimed claimed[CLAIMS_MOST];
    int64_t program;
    int code = 0;
    if (self->claim_lost) {
        if ((code = find_lost_claims(self)) < 0) return code;
        self->claim_lost = false;
    }
    const uint32_t room = room_for(self, &program);
    if (!room || !program) return jittered(self, POLL_MS);
    const int64_t queue = find_queue(self, program);
    if (queue < 0) return queue;
    const int count = self->cluster->ops->claim(self->cluster, self->session, queue, self->open.solo, claimed, room);
    self->claim_lost = count == TFY_STORE_UNKNOWN;
    if (count < 0) return count;
    self->claim_lost = count > 0; /* until all of them were handed over */
    code = hand_over_all(self, claimed, count);
    if (code) return code;
    self->claim_lost = false;
    self->vain = count ? 0 : self->vain + 1;
    if (self->vain == SOLO_IDLE && self->open.solo_idle) self->open.solo_idle(self->open.state);
    return count == (int)room ? 0 : jittered(self, POLL_MS);
}

/* ---- mail ---- */

/* A run that was not handed over yet has its mail with its claim. */
static int take_mail(void *state, const TfyMail *mail)
{
    HubCluster *self = state;
    const Held *held = TABLE_ITEM(tfy__table_find(&self->held, hash_of(mail->run)), Held, by_run);
    return tfy__seat_take_mail(&self->seats.items[held ? held->seat : 0], mail, self->readings) ? 0 : TFY_E_NOMEM;
}

static int64_t read_inbox(HubCluster *self)
{
    self->readings++;
    const int code = self->cluster->ops->see_inbox(self->cluster, self->session, take_mail, self);
    if (code) return code;
    /* What had mail before, and has none: the run has ended, or has left with a verdict on it. */
    tfy__seats_drop_boxes(&self->seats, self->readings);
    return jittered(self, POLL_MS);
}

/* ---- other sessions ---- */

typedef struct Living {
    TfyLiving *items;
    uint32_t count, room;
} Living;

static int note_living(void *state, const TfyLiving *session)
{
    Living *living = state;
    if (!GROW(living->items, living->room, living->count + 1, 64)) return TFY_E_NOMEM;
    living->items[living->count++] = *session;
    return 0;
}

static int end_session(HubCluster *self, const TfyLiving *late)
{
    char why[120];
    snprintf(why, sizeof why, "it committed nothing for %" PRId64 " ms", late->lease_ms + late->lease_ms / 10);
    const TfySessionEnd end = {.session = late->session, .beat = late->beat, .by = self->session, .why = why};
    const int ended = tfy__end_silent(self->cluster, &end);
    return ended < 0 ? ended : 0;
}

/* Sessions are silent since the answer arrived: what it shows may be younger than the request, which may have taken long. */
static int64_t observe(HubCluster *self)
{
    Living living = {0};
    TfyLiving late[LATE_MOST];
    int code = self->cluster->ops->see_living(self->cluster, note_living, &living);
    int count =
        code ? 0 : tfy__observer_see(&self->observer, living.items, living.count, clock_ms(self), late, LATE_MOST);
    free(living.items);
    if (self->cluster->outdated && self->open.outdated) self->open.outdated(self->open.state);
    if (count < 0) code = count;
    for (int i = 0; !code && i < count; i++) code = end_session(self, &late[i]);
    return code ? code : jittered(self, tfy__observer_pause_ms(&self->observer));
}

static bool is_eldest(const HubCluster *self)
{
    return !self->observer.lower;
}

static int64_t wake_due(HubCluster *self)
{
    const int count = is_eldest(self) ? self->cluster->ops->wake_due(self->cluster, WAKE_MOST) : 0;
    return count < 0 ? count : count == WAKE_MOST ? 0 : jittered(self, is_eldest(self) ? DUE_MS : POLL_MS);
}

/* Runs of sessions that were ended and not freed; and a claim that was given up and arrived later than it was asked for. */
static int64_t find_orphans(HubCluster *self)
{
    int code = find_lost_claims(self);
    if (!code && is_eldest(self)) code = tfy__free_runs(self->cluster, 0);
    return code ? code : jittered(self, ORPHANS_MS);
}

static int64_t check_standbys(HubCluster *self)
{
    const int code = self->cluster->ops->check_standbys(self->cluster);
    return code ? code : jittered(self, STANDBYS_MS);
}

/* Who may not change tables leaves it to others; `tfy db check` says when it is time. */
static int64_t make_room(HubCluster *self)
{
    int (*const make)(TfyCluster *) = self->cluster->ops->make_room;
    const int code = make && is_eldest(self) ? make(self->cluster) : 0;
    return code < 0 && code != TFY_E_STATE ? code : jittered(self, ROOM_MS);
}

static int64_t look_for_solo(HubCluster *self)
{
    int64_t program;
    if (self->open.solo || !self->open.solo_waits) return STANDBYS_MS;
    (void)room_for(self, &program);
    const int64_t queue = program ? find_queue(self, program) : 0;
    const int64_t waits = queue > 0 ? self->cluster->ops->solo_waits(self->cluster, queue) : queue;
    if (waits > 0) self->open.solo_waits(self->open.state);
    return waits < 0 ? waits : jittered(self, SOLO_MS);
}

/* ---- the thread ---- */

static const Duty duties[DUTIES] = {
    [OBSERVE] = observe,      [CLAIM] = claim_runs,        [INBOX] = read_inbox, [DUE] = wake_due,
    [ORPHANS] = find_orphans, [STANDBYS] = check_standbys, [ROOM] = make_room,   [SOLO] = look_for_solo};

static bool may_pass(int64_t code)
{
    return code == TFY_STORE_AWAY || code == TFY_STORE_UNKNOWN || code == TFY_STORE_FULL;
}

static void give_up(HubCluster *self, int64_t code)
{
    tfy__seats_fail(&self->seats, (int)code,
                    code == TFY_E_NOMEM ? "no memory for what the database says" : self->cluster->error);
}

/* Does what is due; returns when something is due next. A session that has ended hears of it from its log. */
static int64_t work_once(HubCluster *self, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    if (now_ms < self->back_ms) return self->back_ms;
    for (int i = 0; i < DUTIES && !self->seats.code; i++) {
        if (self->due_ms[i] <= now_ms) {
            const int64_t pause_ms = duties[i](self);
            if (pause_ms < 0 && !may_pass(pause_ms) && pause_ms != TFY_STORE_FENCED) give_up(self, pause_ms);
            if (pause_ms < 0) {
                self->away_ms = self->away_ms ? self->away_ms * 2 : AWAY_MS;
                if (self->away_ms > AWAY_MOST_MS) self->away_ms = AWAY_MOST_MS;
                self->back_ms = now_ms + jittered(self, self->away_ms);
                return self->back_ms; /* nor would the others be answered */
            }
            self->away_ms = self->back_ms = 0;
            self->done_ms[i] = now_ms;
            self->due_ms[i] = now_ms + pause_ms;
        }
        if (self->due_ms[i] < next_ms) next_ms = self->due_ms[i];
    }
    return next_ms;
}

static void hasten(HubCluster *self, int duty)
{
    const int64_t soon_ms = self->done_ms[duty] + NOTICE_MS;
    if (soon_ms < self->due_ms[duty]) self->due_ms[duty] = soon_ms;
}

static void take_notices(HubCluster *self)
{
    TfyNotice notice;
    while (self->cluster->ops->notice(self->cluster, &notice)) {
        if (notice.kind == TFY_NOTICE_MAIL && notice.id == self->session) hasten(self, INBOX);
        if (notice.kind == TFY_NOTICE_READY && notice.id == self->queue) hasten(self, CLAIM);
    }
}

/* Until then, or until the loop or a notice wakes the thread; one that has given up waits for the loop alone. */
static void rest(HubCluster *self, int64_t next_ms)
{
    const bool listens = !self->seats.code && self->cluster->ops->listen;
    struct pollfd on[] = {{.fd = self->seats.kick_fd, .events = POLLIN},
                          {.fd = listens ? self->cluster->ops->listen(self->cluster) : -1, .events = POLLIN}};
    if (listens) take_notices(self); /* those that came with other answers */
    for (int i = 0; listens && i < DUTIES; i++)
        if (self->due_ms[i] < next_ms && self->back_ms <= monotonic_ms()) next_ms = self->due_ms[i];
    const int64_t left_ms = next_ms - monotonic_ms();
    const int timeout = self->seats.code ? -1 : left_ms <= 0 ? 0 : left_ms < POLL_MS ? (int)left_ms : POLL_MS;
    if (poll(on, 2, timeout) > 0 && on[0].revents) (void)!read(self->seats.kick_fd, &(uint64_t){0}, sizeof(uint64_t));
}

static void *work(void *arg)
{
    HubCluster *self = arg;
    bool ends = false;
    pthread_setname_np(pthread_self(), "tfy database");
    while (!ends) {
        pthread_mutex_lock(&self->seats.mutex);
        if (self->seats.kicked) self->due_ms[CLAIM] = 0;
        self->seats.kicked = false;
        ends = self->ends;
        pthread_mutex_unlock(&self->seats.mutex);
        if (!ends) rest(self, work_once(self, clock_ms(self)));
    }
    return NULL;
}

int64_t tfy__hub_cluster_work(TfyHub *hub)
{
    HubCluster *self = inside(hub);
    CHECK(!self->started);
    if (self->seats.kicked) self->due_ms[CLAIM] = 0;
    self->seats.kicked = false;
    return work_once(self, clock_ms(self));
}

/* ---- what the loop asks ---- */

static int join(TfyHub *hub, TfyStore **store, char *error_text)
{
    const HubCluster *self = inside(hub);
    return self->open.join(self->open.state, hub->with ? 0 : hub->session, hub->lease_ms, store, error_text);
}

/* In the thread that writes the log. A process whose end has begun does not go on as if it had a lease. */
static void renewed(TfyHub *hub, int64_t sent_ns)
{
    if (hub->acknowledged) *hub->acknowledged = *hub->acknowledged + 1;
    if (!inside(hub)->open.leased) return;
    const int code = tfy__lease_renew(sent_ns, hub->lease_ms);
    if (code >= 0) return;
    dprintf(STDERR_FILENO, "tfy: the lease of session %" PRId64 " cannot be renewed: %s\n", hub->session,
            strerror(-code));
    _exit(EXIT_FENCED);
}

/* In the thread that writes the log, about all loops. A single one that hangs hands over nothing that could be sent. */
static bool may_send(TfyHub *hub)
{
    const HubCluster *self = inside(hub);
    return self->seats.count == 1 || tfy__seats_turn(&self->seats, clock_ms(self), self->lease_ms / HANGS_PART);
}

static const TfyHubOps ops = {.join = join,
                              .renewed = renewed,
                              .may_send = may_send,
                              .want = tfy__seat_want,
                              .claimed = tfy__seat_claimed,
                              .news = tfy__seat_news,
                              .mail = tfy__seat_mail,
                              .wake_by = tfy__seat_wake_by,
                              .failed = tfy__seat_failed};

/* ---- opening and closing ---- */

static void free_hub(HubCluster *self)
{
    tfy__seats_free(&self->seats);
    self->readings++;
    forget_left(self);
    tfy__table_free(&self->held);
    tfy__observer_free(&self->observer);
    self->cluster->ops->close(self->cluster);
    free(self);
}

/* The runs of the session are divided among its loops. */
static void set_hubs(HubCluster *self)
{
    const uint32_t count = self->seats.count;
    for (uint32_t i = 0; i < count; i++) {
        TfyHub *hub = &self->seats.items[i].hub;
        hub->ops = &ops;
        hub->claims = &tfy__claims;
        hub->worker = self->open.session.worker;
        hub->session = self->session;
        hub->lease_ms = self->lease_ms;
        hub->place = i;
        hub->most = self->open.solo ? 1 : (TFY_RUNS_MOST + count - 1) / count;
    }
}

static int begin(HubCluster *self, char *error_text)
{
    const int unsafe = self->cluster->ops->check_standbys(self->cluster);
    if (unsafe) return tfy__log_refuse(error_text, unsafe, "%s", self->cluster->error);
    const int64_t sent_ns = tfy__lease_now_ns();
    const int64_t id = self->cluster->ops->open_session(self->cluster, &self->open.session, &self->lease_ms);
    if (id < 0) return tfy__log_refuse(error_text, (int)id, "%s", self->cluster->error);
    self->session = self->observer.session = id;
    set_hubs(self);
    self->seed = (uint64_t)id;
    const int late = self->open.leased ? tfy__lease_renew(sent_ns, self->lease_ms) : 0;
    if (late < 0)
        return tfy__log_refuse(error_text, TFY_E_STATE, "this process cannot be held to a lease: %s", strerror(-late));
    if (self->open.by_hand_ms) return 0;
    self->started = pthread_create(&self->thread, NULL, work, self) == 0;
    return self->started ? 0 : tfy__log_refuse(error_text, TFY_E_NOMEM, "no thread for the database");
}

int tfy__hub_cluster_open(TfyHub **hub, const TfyHubOpen *open, char *error_text)
{
    HubCluster *self = calloc(1, sizeof *self);
    *hub = NULL;
    if (!self) {
        open->cluster->ops->close(open->cluster);
        return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for a session");
    }
    CHECK(!open->solo || open->loops <= 1);
    self->open = *open;
    self->cluster = open->cluster;
    self->cluster->blame = open->blame;
    self->cluster->blame_state = open->state;
    int code = tfy__seats_init(&self->seats, open->loops ? open->loops : 1);
    if (code == TFY_E_IO)
        tfy__log_refuse(error_text, code, "no descriptor for a session: %s", strerror(errno));
    else if (code)
        tfy__log_refuse(error_text, code, "no memory for a session");
    else
        code = begin(self, error_text);
    if (code)
        free_hub(self);
    else
        *hub = &self->seats.items[0].hub;
    return code;
}

TfyHub *tfy__hub_cluster_loop(TfyHub *hub, uint32_t loop)
{
    HubCluster *self = inside(hub);
    CHECK(loop < self->seats.count);
    return &self->seats.items[loop].hub;
}

void tfy__hub_cluster_close(TfyHub *hub, bool done)
{
    if (!hub) return;
    HubCluster *self = inside(hub);
    pthread_mutex_lock(&self->seats.mutex);
    self->ends = true;
    tfy__seats_kick(&self->seats);
    pthread_mutex_unlock(&self->seats.mutex);
    if (self->started) pthread_join(self->thread, NULL);
    if (done)
        tfy__end_finished(
            self->cluster,
            &(TfySessionEnd){.session = self->session, .by = self->session, .why = "it is done", .in_order = true});
    free_hub(self);
}
