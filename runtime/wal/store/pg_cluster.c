/* pg_cluster.c: see pg_cluster.h. */
#include "wal/store/pg_cluster.h"

#include "base/check.h"
#include "wal/store/birth.h"
#include "wal/store/pg_ahead.h"
#include "wal/store/pg_calls.h"
#include "wal/store/pg_link.h"
#include "wal/store/pg_listed.h"
#include "wal/store/pg_notice.h"
#include "wal/store/pg_partition.h"
#include "wal/store/pg_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 3,
    CLAIM_MOST = 256,
    ASKS = 6,
    PATIENCE_MS = 10000,
    QUEUES_TOLD = 32,
    STATE_DONE = 8,
    STATE_ENDED = 9,
    FREED_QUEUE = 5, /* columns of answers */
    LOST_COUNT = 5
};

typedef struct PgCluster {
    TfyCluster base; /* must be first */
    TfyPgAddress address;
    TfyPgLink link;
    /* The statements of the call. */
    TfyPgAsk asks[ASKS];
    int count;
} PgCluster;

static PgCluster *inside(TfyCluster *cluster)
{
    return (PgCluster *)cluster;
}

/* ---- a call ---- */

/* One more statement of the call. */
static TfyPgAsk *add(PgCluster *self, Call call)
{
    CHECK(self->count < ASKS);
    TfyPgAsk *ask = &self->asks[self->count++];
    tfy__pg_ask(&self->link, ask, (int)call);
    return ask;
}

static void ask_words(TfyPgAsk *ask, const int64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) tfy__pg_ask_word(ask, words[i]);
}
#define WORDS(ask_, ...)                                                                                               \
    ask_words(ask_, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void ask_text(TfyPgAsk *ask, const char *text)
{
    tfy__pg_ask_bytes(ask, text, text ? strlen(text) : 0, TFY_PG_TEXT);
}

/* The answer that the call is about, and whether its transaction is committed. */
typedef struct Answer {
    const TfyPgApi *api;
    int number, last; /* of the statement, and of COMMIT; -1: there is none */
    TfyPgResult *result;
    bool committed;
} Answer;

static int see_answer(void *state, int number, TfyPgResult *result, bool *kept)
{
    Answer *answer = state;
    if (number == answer->last) answer->committed = strcmp(answer->api->cmdStatus(result), "COMMIT") == 0;
    if (number != answer->number) return 0;
    answer->result = result;
    *kept = true;
    return 0;
}

static int queue_asks(PgCluster *self, bool writes, Answer *answer)
{
    int code = writes ? tfy__pg_queue_begin(&self->link, TFY_PG_BEGIN) : 0;
    for (int i = 0; !code && i < self->count; i++) code = tfy__pg_queue(&self->link, &self->asks[i]);
    answer->number = self->link.queued - 1; /* the last one */
    if (!writes) return code;
    answer->last = self->link.queued;
    return code ? code : tfy__pg_queue_commit(&self->link);
}

static int told(PgCluster *self, int code)
{
    if (code < 0) snprintf(self->base.error, sizeof self->base.error, "%s", self->link.error);
    return code;
}

/* Sends the call's statements once. The answer to the last one is the caller's to clear. */
static int send(PgCluster *self, bool writes, TfyPgResult **result)
{
    TfyPgLink *link = &self->link;
    Answer answer = {.api = link->api, .last = -1};
    int code = tfy__pg_link_open(link);
    if (!code) code = queue_asks(self, writes, &answer);
    if (!code) code = tfy__pg_sync(link, see_answer, &answer);
    tfy__pg_unqueue(link);
    if (!code && writes && (link->warned || !answer.committed)) code = TFY_STORE_UNKNOWN;
    if (code && answer.result) link->api->clear(answer.result);
    *result = code ? NULL : answer.result;
    return code;
}

/* What is in the way of others is tried again; a read that was not answered has done nothing. */
static int call(PgCluster *self, bool writes, TfyPgResult **result)
{
    int code = TFY_PG_AGAIN;
    for (int i = 0; code == TFY_PG_AGAIN && i < TRIES; i++) code = send(self, writes, result);
    self->count = 0;
    if (code == TFY_PG_AGAIN || (code == TFY_STORE_UNKNOWN && !writes)) code = TFY_STORE_AWAY;
    return told(self, code);
}

/* How many rows the last statement has. */
static int call_count(PgCluster *self)
{
    TfyPgResult *result;
    int code = call(self, true, &result);
    if (code) return code;
    code = self->link.api->ntuples(result);
    self->link.api->clear(result);
    return code;
}

/* Tells who may claim runs of these queues, which are in a column of the result. */
static void notify_queues(PgCluster *self, const TfyPgResult *result, int column)
{
    const TfyPgApi *api = self->link.api;
    int64_t queues[QUEUES_TOLD];
    uint32_t count = 0;
    for (int i = 0; i < api->ntuples(result) && count < QUEUES_TOLD; i++) {
        const int64_t queue = tfy__pg_word(api, result, i, column);
        uint32_t at = 0;
        while (at < count && queues[at] != queue) at++;
        if (at == count && queue) queues[count++] = queue;
    }
    tfy__pg_notify_queues(&self->link, queues, count);
}

/* The first value of the last statement's row; TFY_E_ABSENT: it has none. */
static int64_t call_word(PgCluster *self, bool writes)
{
    TfyPgResult *result;
    const TfyPgApi *api = self->link.api;
    const int code = call(self, writes, &result);
    if (code) return code;
    const int64_t word = api->ntuples(result) ? tfy__pg_word(api, result, 0, 0) : TFY_E_ABSENT;
    api->clear(result);
    return word;
}

/* ---- sessions ---- */

static int rename_link(PgCluster *self, int64_t session)
{
    char name[40];
    snprintf(name, sizeof name, "tfy/%lld", (long long)session);
    const int code = tfy__pg_address_name(&self->address, name);
    tfy__pg_link_drop(&self->link);
    return code;
}

static int64_t open_session(TfyCluster *cluster, const TfyNewSession *session, int64_t *lease_ms)
{
    PgCluster *self = inside(cluster);
    const TfyPgApi *api = self->link.api;
    TfyPgResult *result;
    TfyPgAsk *ask = add(self, C_OPEN);
    ask_text(ask, session->worker);
    ask_text(ask, session->address);
    ask_text(ask, session->version);
    WORDS(ask, session->lease_ms);
    ask_text(ask, session->pool);
    ask_text(ask, session->name);
    tfy__pg_ask_bytes(ask, session->program, session->program ? 16 : 0, TFY_PG_BYTES);
    WORDS(ask, session->capacity);
    int code = call(self, true, &result);
    if (code) return code;
    const int64_t id = tfy__pg_word(api, result, 0, 0);
    *lease_ms = tfy__pg_word(api, result, 0, 1);
    api->clear(result);
    code = rename_link(self, id);
    return code ? code : id;
}

static int check_standbys(TfyCluster *cluster)
{
    PgCluster *self = inside(cluster);
    add(self, C_STANDBYS);
    const int64_t count = call_word(self, false);
    if (count <= 0) return (int)count;
    snprintf(cluster->error, sizeof cluster->error,
             "a standby follows the database asynchronously, so a failover would lose acknowledged commits, and `once` "
             "steps could happen twice: set synchronous_standby_names, or make the database so that it may");
    return TFY_E_IO;
}

static int see_living(TfyCluster *cluster, TfySeeLiving *see, void *state)
{
    PgCluster *self = inside(cluster);
    const TfyPgApi *api = self->link.api;
    TfyPgResult *result;
    add(self, C_LIVING);
    int code = call(self, false, &result);
    if (code) return code;
    if (api->ntuples(result)) cluster->outdated = tfy__pg_word(api, result, 0, 3) > TFY_PG_FORMAT;
    for (int i = 0; !code && i < api->ntuples(result); i++) {
        const TfyLiving living = {.session = tfy__pg_word(api, result, i, 0),
                                  .beat = tfy__pg_word(api, result, i, 1),
                                  .lease_ms = tfy__pg_word(api, result, i, 2)};
        code = see(state, &living);
    }
    api->clear(result);
    return code;
}

/* Ends what a session still has of connections, since a transaction in one of them may hold rows. */
static int cut(PgCluster *self, int64_t session)
{
    char name[40];
    snprintf(name, sizeof name, "tfy/%lld", (long long)session);
    ask_text(add(self, C_CUT), name);
    return (int)call_word(self, false);
}

/* A row of a run that has something to blame, or NULL in its place. */
static void tell_blame(const PgCluster *self, const TfyPgResult *result, int row)
{
    const TfyPgApi *api = self->link.api;
    TfyBlame blame = {.run = tfy__pg_word(api, result, row, 0),
                      .crashes = tfy__pg_word(api, result, row, 2),
                      .vain = tfy__pg_word(api, result, row, 3),
                      .held = tfy__pg_word(api, result, row, 4)};
    if (self->base.blame && tfy__pg_id(api, result, row, 1, blame.uuid))
        self->base.blame(self->base.blame_state, &blame);
}

static int end_once(PgCluster *self, const TfySessionEnd *end)
{
    TfyPgResult *result;
    add(self, C_HURRY);
    TfyPgAsk *ask = add(self, C_END);
    WORDS(ask, end->session, end->beat, end->by);
    ask_text(ask, end->why);
    WORDS(ask, end->in_order ? STATE_DONE : STATE_ENDED, end->blamed, end->acknowledged);
    const int code = send(self, true, &result);
    self->count = 0;
    if (code) return told(self, code);
    const int found = self->link.api->ntuples(result);
    if (found) tell_blame(self, result, 0);
    if (found) self->base.lost += (uint32_t)tfy__pg_word(self->link.api, result, 0, LOST_COUNT);
    self->link.api->clear(result);
    return found;
}

static int end_session(TfyCluster *cluster, const TfySessionEnd *end)
{
    PgCluster *self = inside(cluster);
    int code = TFY_PG_AGAIN;
    for (int i = 0; code == TFY_PG_AGAIN && i < TRIES; i++) {
        code = end_once(self, end);
        if (code == TFY_PG_AGAIN || code == 1) cut(self, end->session);
    }
    return code == TFY_PG_AGAIN ? TFY_STORE_AWAY : code;
}

/* ---- runs ---- */

static int free_runs(TfyCluster *cluster, int64_t session, uint32_t most)
{
    PgCluster *self = inside(cluster);
    const TfyPgApi *api = self->link.api;
    TfyPgResult *result;
    if (session)
        WORDS(add(self, C_FREE), session, most);
    else
        WORDS(add(self, C_FREE_ALL), most);
    const int code = call(self, true, &result);
    if (code) return code;
    const int count = api->ntuples(result);
    for (int i = 0; i < count; i++)
        if (tfy__pg_word(api, result, i, 4)) tell_blame(self, result, i);
    notify_queues(self, result, FREED_QUEUE);
    api->clear(result);
    return count;
}

/* ---- programs ---- */

/* The number of the program, if it is kept; else that of the program to be. */
static int64_t program_number(PgCluster *self, const TfyStoreProgram *program, bool *known)
{
    TfyPgResult *result;
    const TfyPgApi *api = self->link.api;
    tfy__pg_ask_bytes(add(self, C_PROGRAM_NUMBER), program->hash, sizeof program->hash, TFY_PG_BYTES);
    const int code = call(self, false, &result);
    if (code) return code;
    const int64_t id = tfy__pg_word(api, result, 0, 0);
    *known = tfy__pg_word(api, result, 0, 1);
    api->clear(result);
    return id;
}

/* Two that keep the same at once: the second one finds the first one's. */
static int64_t keep_program(TfyCluster *cluster, const TfyStoreProgram *program)
{
    PgCluster *self = inside(cluster);
    TfyStoreProgram row = *program;
    bool known = false;
    row.id = program_number(self, program, &known);
    if (row.id < 0 || known) return row.id;
    TfyPgAsk *ask = add(self, C_KEEP);
    WORDS(ask, row.id);
    tfy__pg_ask_bytes(ask, row.hash, sizeof row.hash, TFY_PG_BYTES);
    ask_text(ask, row.tfyc);
    ask_text(ask, row.source);
    ask_text(ask, row.layout);
    WORDS(ask, (int64_t)tfy__store_sum_program(&row));
    tfy__pg_ask_bytes(add(self, C_KEPT), row.hash, sizeof row.hash, TFY_PG_BYTES);
    return call_word(self, true);
}

static int deploy(TfyCluster *cluster, const char *name, int64_t program)
{
    PgCluster *self = inside(cluster);
    add(self, C_DEPLOYER);
    for (int i = C_REPLACE; i <= C_DEPLOY; i++) {
        TfyPgAsk *ask = add(self, (Call)i);
        ask_text(ask, name);
        WORDS(ask, program);
    }
    return call_count(self);
}

/* What it has of the result is borrowed. False: it is damaged. */
static bool read_program(PgCluster *self, const TfyPgResult *result, TfyStoreProgram *row)
{
    const TfyPgApi *api = self->link.api;
    *row = (TfyStoreProgram){.id = tfy__pg_word(api, result, 0, 0),
                             .tfyc = api->getvalue(result, 0, 2),
                             .source = api->getvalue(result, 0, 3),
                             .layout = api->getvalue(result, 0, 4)};
    return tfy__pg_id(api, result, 0, 1, row->hash) &&
           (int64_t)tfy__store_sum_program(row) == tfy__pg_word(api, result, 0, 5);
}

static int damaged_program(PgCluster *self, const char *name)
{
    snprintf(self->base.error, sizeof self->base.error, "the row of the program of '%.100s' is damaged", name);
    return TFY_E_DATA;
}

static int deploy_share(TfyCluster *cluster, const char *name, int64_t program, int percent)
{
    PgCluster *self = inside(cluster);
    CHECK(percent > 0 && percent <= 100);
    add(self, C_DEPLOYER);
    for (int i = C_YIELD; i <= C_SHARE; i++) {
        TfyPgAsk *ask = add(self, (Call)i);
        ask_text(ask, name);
        WORDS(ask, program, percent);
    }
    return call_count(self);
}

/* Shows the one that the call finds. */
static int see_program(PgCluster *self, Call statement, const char *name, TfySeeProgram *see, void *state)
{
    const TfyPgApi *api = self->link.api;
    TfyPgResult *result;
    ask_text(add(self, statement), name);
    int code = call(self, false, &result);
    if (code) return code;
    TfyStoreProgram row;
    if (!api->ntuples(result))
        code = TFY_E_ABSENT;
    else if (api->ntuples(result) > 1)
        code = TFY_E_INVALID;
    else
        code = read_program(self, result, &row) ? see(state, &row) : damaged_program(self, name);
    api->clear(result);
    return code;
}

static int deployed(TfyCluster *cluster, const char *name, TfySeeProgram *see, void *state)
{
    return see_program(inside(cluster), C_DEPLOYED, name, see, state);
}

static int find_program(TfyCluster *cluster, const char *hash, TfySeeProgram *see, void *state)
{
    return see_program(inside(cluster), C_FIND_PROGRAM, hash, see, state);
}

/* ---- queues and runs ---- */

static int64_t queue(TfyCluster *cluster, const char *pool, int64_t program)
{
    PgCluster *self = inside(cluster);
    for (int i = C_QUEUE; i <= C_FIND_QUEUE; i++) {
        TfyPgAsk *ask = add(self, (Call)i);
        ask_text(ask, pool);
        WORDS(ask, program);
    }
    return call_word(self, true);
}

/* Of a run that was imported when it had ended, nobody knows a pool. */
static int64_t queue_beside(TfyCluster *cluster, int64_t run, int64_t program)
{
    PgCluster *self = inside(cluster);
    for (int i = C_BESIDE; i <= C_FIND_BESIDE; i++) WORDS(add(self, (Call)i), run, program);
    const int64_t beside = call_word(self, true);
    return beside == TFY_E_ABSENT ? queue(cluster, "default", program) : beside;
}

/* The number of the run to be; or, with *known, that of the run that has its uuid. */
static int64_t number_of(PgCluster *self, const uint8_t uuid[16], bool *known)
{
    TfyPgResult *result;
    const TfyPgApi *api = self->link.api;
    tfy__pg_ask_bytes(add(self, C_NUMBER), uuid, 16, TFY_PG_UUID);
    const int code = call(self, false, &result);
    if (code) return code;
    *known = !api->getisnull(result, 0, 1);
    const int64_t id = tfy__pg_word(api, result, 0, *known ? 1 : 0);
    api->clear(result);
    return id;
}

static void add_run(PgCluster *self, int64_t queue_id, const TfyLogRun *row, const TfyPgListed *listed,
                    uint8_t origin[TFY_ORIGIN_SIZE])
{
    TfyPgAsk *ask = add(self, C_SUBMIT);
    tfy__store_origin_blob(row, origin);
    WORDS(ask, row->id);
    tfy__pg_ask_bytes(ask, row->uuid, sizeof row->uuid, TFY_PG_UUID);
    WORDS(ask, row->program, queue_id, row->root, row->state, row->started_ms, row->ended_ms, row->imported,
          (int64_t)tfy__store_sum_run(row));
    tfy__pg_ask_bytes(ask, row->origin_lsn ? origin : NULL, row->origin_lsn ? TFY_ORIGIN_SIZE : 0, TFY_PG_BYTES);
    WORDS(ask, row->parked_ms, row->moved_lsn, row->base_lsn, row->parked_at_ms, row->options_lsn, row->lsn, row->snap);
    ask_text(ask, listed->program_name);
    ask_text(ask, listed->workflow);
    ask_text(ask, listed->by);
    ask_text(ask, listed->labels);
}

static void add_birth(PgCluster *self, const TfyLogRun *row, const char *birth)
{
    TfyLogRecord record;
    TfyStoreTask root;
    tfy__store_birth(row, birth, &record, &root);
    TfyPgAsk *ask = add(self, C_RECORD);
    WORDS(ask, row->id, record.ts_ms, (int64_t)record.chain, record.tid, record.type, record.v);
    tfy__pg_ask_bytes(ask, birth, record.payload_len, TFY_PG_TEXT);
    ask = add(self, C_ROOT);
    WORDS(ask, row->id, root.tid);
    ask_text(ask, root.path);
    WORDS(ask, root.program, root.born, root.base, (int64_t)root.base_chain, root.head, (int64_t)root.chain, root.step,
          root.state, root.wait, (int64_t)tfy__store_sum_task(&root));
}

static int64_t submit_once(PgCluster *self, int64_t queue_id, TfyLogRun *row, const char *birth)
{
    uint8_t origin[TFY_ORIGIN_SIZE];
    bool known = false;
    const int64_t id = number_of(self, row->uuid, &known);
    if (id < 0) return id;
    row->id = id;
    if (known) return id;
    if (birth) row->lsn = 1;
    TfyPgListed listed;
    tfy__pg_listed_start(&listed);
    const TfyLogRecord record = tfy__record_of_payload(birth);
    if (birth) tfy__pg_listed_birth(&listed, &record);
    add_run(self, queue_id, row, &listed, origin);
    if (birth) add_birth(self, row, birth);
    const int code = call_count(self);
    tfy__pg_listed_free(&listed);
    return code < 0 ? code : id;
}

/* Two that submit the same at once: the second one finds the first one's run. */
static int64_t submit(TfyCluster *cluster, int64_t queue_id, TfyLogRun *row, const char *birth)
{
    PgCluster *self = inside(cluster);
    if (birth && strlen(birth) > TFY_PG_PAYLOAD_MOST) {
        snprintf(self->base.error, sizeof self->base.error, "a run begins with at most %d MB of arguments",
                 TFY_PG_PAYLOAD_MOST >> 20);
        return TFY_E_DATA;
    }
    const int64_t id = submit_once(self, queue_id, row, birth);
    const bool again = id == TFY_E_DATA && strcmp(self->link.state, "23505") == 0;
    return again ? submit_once(self, queue_id, row, birth) : id;
}

static int64_t number(TfyCluster *cluster, const uint8_t uuid[16])
{
    bool known = false;
    const int64_t id = number_of(inside(cluster), uuid, &known);
    if (id < 0 || !known) return id;
    snprintf(cluster->error, sizeof cluster->error, "the database has this run already");
    return TFY_E_STATE;
}

static int take_claimed(PgCluster *self, TfyPgResult *result, TfyClaimed *claimed, uint32_t room)
{
    const TfyPgApi *api = self->link.api;
    const int count = api->ntuples(result);
    CHECK(count <= (int)room);
    for (int i = 0; i < count; i++)
        claimed[i] = (TfyClaimed){.run = tfy__pg_word(api, result, i, 0),
                                  .claims = tfy__pg_word(api, result, i, 1),
                                  .mail = tfy__pg_word(api, result, i, 2)};
    api->clear(result);
    return count;
}

static int fenced(PgCluster *self, int64_t session)
{
    snprintf(self->base.error, sizeof self->base.error, "session %lld has ended, and others continue its runs",
             (long long)session);
    return TFY_STORE_FENCED;
}

static int claim(TfyCluster *cluster, int64_t session, int64_t queue_id, bool solo, TfyClaimed *claimed, uint32_t room)
{
    PgCluster *self = inside(cluster);
    TfyPgResult *result;
    if (room > CLAIM_MOST) room = CLAIM_MOST;
    WORDS(add(self, C_LIVES), session);
    WORDS(add(self, solo ? C_CLAIM_SOLO : C_CLAIM), session, queue_id, room);
    const int code = call(self, true, &result);
    if (code == TFY_E_DATA && strcmp(self->link.state, "22012") == 0) return fenced(self, session);
    return code ? code : take_claimed(self, result, claimed, room);
}

static int take(TfyCluster *cluster, int64_t session, int64_t run, TfyClaimed *claimed, int64_t *due_ms)
{
    PgCluster *self = inside(cluster);
    TfyPgResult *result;
    WORDS(add(self, C_LIVES), session);
    WORDS(add(self, C_TAKE), session, run);
    const int code = call(self, true, &result);
    if (code == TFY_E_DATA && strcmp(self->link.state, "22012") == 0) return fenced(self, session);
    if (code) return code;
    *due_ms = self->link.api->ntuples(result) ? tfy__pg_word(self->link.api, result, 0, 3) : 0;
    return take_claimed(self, result, claimed, 1);
}

static int solo_waits(TfyCluster *cluster, int64_t queue_id)
{
    PgCluster *self = inside(cluster);
    WORDS(add(self, C_SOLO), queue_id);
    const int64_t found = call_word(self, false);
    return found == TFY_E_ABSENT ? 0 : (int)found;
}

static int see_owned(TfyCluster *cluster, int64_t session, int64_t after, TfyClaimed *owned, uint32_t room)
{
    PgCluster *self = inside(cluster);
    TfyPgResult *result;
    WORDS(add(self, C_OWNED), session, after, room);
    const int code = call(self, false, &result);
    return code ? code : take_claimed(self, result, owned, room);
}

static int read_ahead(TfyCluster *cluster, const int64_t *runs, uint32_t count, TfyAhead **ahead)
{
    PgCluster *self = inside(cluster);
    const int code = tfy__pg_read_ahead(&self->link, runs, count, ahead);
    return told(self, code == TFY_PG_AGAIN || code == TFY_STORE_UNKNOWN ? TFY_STORE_AWAY : code);
}

/* Of C_HOLD and C_RELEASE. */
static int change_held(PgCluster *self, Call which, int64_t run, int64_t *owner)
{
    const TfyPgApi *api = self->link.api;
    TfyPgResult *result;
    WORDS(add(self, which), run);
    int code = call(self, true, &result);
    *owner = 0;
    if (code) return code;
    if (!api->ntuples(result))
        code = TFY_E_ABSENT;
    else if (tfy__pg_word(api, result, 0, 0) >= TFY_TASK_COMPLETED)
        code = TFY_E_STATE;
    else
        code = (int)tfy__pg_word(api, result, 0, 2);
    if (code >= 0) *owner = tfy__pg_word(api, result, 0, 1);
    api->clear(result);
    return code;
}

static int hold(TfyCluster *cluster, int64_t run, int64_t *owner)
{
    return change_held(inside(cluster), C_HOLD, run, owner);
}

static int release(TfyCluster *cluster, int64_t run, int64_t *owner)
{
    return change_held(inside(cluster), C_RELEASE, run, owner);
}

static int wake_due(TfyCluster *cluster, uint32_t most)
{
    PgCluster *self = inside(cluster);
    const TfyPgApi *api = self->link.api;
    TfyPgResult *result;
    WORDS(add(self, C_DUE), most);
    const int code = call(self, true, &result);
    if (code) return code;
    const int count = api->ntuples(result);
    notify_queues(self, result, 0);
    api->clear(result);
    return count;
}

/* ---- mail ---- */

/* The number of what has this id already. TFY_E_ABSENT: nothing has; TFY_E_STATE: and the run has ended. *owner: as in
 * `mail`; -1: there is no such run. */
static int64_t known_mail(PgCluster *self, const TfyMail *mail, int64_t *owner)
{
    const TfyPgApi *api = self->link.api;
    TfyPgResult *result;
    TfyPgAsk *ask = add(self, C_KNOWN);
    WORDS(ask, mail->run);
    ask_text(ask, mail->id);
    int64_t n = call(self, false, &result);
    if (n) return n;
    const bool found = api->ntuples(result), known = found && !api->getisnull(result, 0, 0);
    *owner = found ? tfy__pg_word(api, result, 0, 1) : -1;
    n = known ? tfy__pg_word(api, result, 0, 0) : TFY_E_ABSENT;
    if (found && !known && tfy__pg_word(api, result, 0, 2) >= TFY_TASK_COMPLETED) n = TFY_E_STATE;
    api->clear(result);
    return n;
}

/* Its number; TFY_E_ABSENT: there is no such run, or it has ended meanwhile. */
static int64_t send_mail(PgCluster *self, const TfyMail *mail, int64_t *owner)
{
    TfyPgResult *result;
    TfyPgAsk *ask = add(self, C_MAIL);
    WORDS(ask, mail->run);
    ask_text(ask, mail->body);
    ask_text(ask, mail->id);
    ask_text(ask, mail->sender);
    const int code = call(self, true, &result);
    if (code) return code;
    const TfyPgApi *api = self->link.api;
    const bool sent = api->ntuples(result);
    const int64_t n = sent ? tfy__pg_word(api, result, 0, 0) : TFY_E_ABSENT;
    if (sent) *owner = tfy__pg_word(api, result, 0, 1);
    api->clear(result);
    return n;
}

/* Two that send the same at once: the second one is refused by the index, and finds the first one's. */
static int64_t put_mail(TfyCluster *cluster, const TfyMail *mail, int64_t *owner)
{
    PgCluster *self = inside(cluster);
    int64_t n = known_mail(self, mail, owner);
    if (n != TFY_E_ABSENT || *owner < 0) return n;
    n = send_mail(self, mail, owner);
    const bool refused = mail->id && n == TFY_E_DATA && strcmp(self->link.state, "23505") == 0;
    return refused || n == TFY_E_ABSENT ? known_mail(self, mail, owner) : n;
}

static const char *text_at(const TfyPgApi *api, const TfyPgResult *result, int row, int column)
{
    return api->getisnull(result, row, column) ? NULL : api->getvalue(result, row, column);
}

static int see_all(PgCluster *self, TfySeeMail *see, void *state)
{
    const TfyPgApi *api = self->link.api;
    TfyPgResult *result;
    int code = call(self, false, &result);
    if (code) return code;
    for (int i = 0; !code && i < api->ntuples(result); i++) {
        const TfyMail mail = {.run = tfy__pg_word(api, result, i, 0),
                              .n = tfy__pg_word(api, result, i, 1),
                              .body = text_at(api, result, i, 2),
                              .id = text_at(api, result, i, 3),
                              .sender = text_at(api, result, i, 4),
                              .verdict = text_at(api, result, i, 5),
                              .code = (int)tfy__pg_word(api, result, i, 6)};
        code = see(state, &mail);
    }
    api->clear(result);
    return code;
}

static int see_mail(TfyCluster *cluster, int64_t run, int64_t after, bool open, TfySeeMail *see, void *state)
{
    PgCluster *self = inside(cluster);
    WORDS(add(self, open ? C_OPEN_MAIL : C_SEE), run, after);
    return see_all(self, see, state);
}

static int see_inbox(TfyCluster *cluster, int64_t session, TfySeeMail *see, void *state)
{
    PgCluster *self = inside(cluster);
    WORDS(add(self, C_INBOX), session);
    return see_all(self, see, state);
}

static int make_room(TfyCluster *cluster)
{
    PgCluster *self = inside(cluster);
    const int code = tfy__pg_make_partition(&self->link);
    return told(self, code == TFY_PG_AGAIN || code == TFY_STORE_UNKNOWN ? TFY_STORE_AWAY : code);
}

/* ---- permits ---- */

static int read_permits(const PgCluster *self, const TfyPgResult *result, TfyPermitNow *now, TfySeePermit *see,
                        void *state)
{
    const TfyPgApi *api = self->link.api;
    int code = 0;
    for (int i = 0; !code && i < api->ntuples(result); i++) {
        int64_t words[11];
        for (int j = 0; j < 11; j++) words[j] = tfy__pg_word(api, result, i, j);
        *now = (TfyPermitNow){words[0], words[1], words[2], words[3]};
        const TfyPermitRow row = {words[4], words[5], words[6], words[7], words[8], words[9], words[10]};
        if (!api->getisnull(result, i, 4)) code = see(state, &row);
    }
    return code;
}

static int see_permits(TfyCluster *cluster, const char *name, TfyPermitNow *now, TfySeePermit *see, void *state)
{
    PgCluster *self = inside(cluster);
    TfyPgResult *result;
    ask_text(add(self, C_PERMITS), name);
    int code = call(self, false, &result);
    if (code) return code;
    code = read_permits(self, result, now, see, state);
    self->link.api->clear(result);
    return code;
}

static int put_permit(TfyCluster *cluster, const TfyPermitPut *put)
{
    PgCluster *self = inside(cluster);
    const TfyPermitRow *row = &put->row;
    TfyPgAsk *ask = add(self, C_PERMIT);
    ask_text(ask, put->name);
    WORDS(ask, put->turn, row->session, row->lent, row->wants, row->since_ms, row->asks, row->asked_ms, row->at_ms,
          put->uses, put->until_ms);
    return call_count(self);
}

static int forget_permits(TfyCluster *cluster)
{
    PgCluster *self = inside(cluster);
    for (int i = C_FORGET_PERMITS; i <= C_FORGET_LIMITERS; i++) add(self, (Call)i);
    const int code = call_count(self);
    return code < 0 ? code : 0;
}

/* ---- notices ---- */

static void notify_permit(TfyCluster *cluster, int64_t hash)
{
    tfy__pg_notify_permit(&inside(cluster)->link, hash);
}

static void notify(TfyCluster *cluster, int64_t run)
{
    tfy__pg_notify_run(&inside(cluster)->link, run);
}

static int listen(TfyCluster *cluster)
{
    return tfy__pg_listen(&inside(cluster)->link);
}

static bool notice(TfyCluster *cluster, TfyNotice *out)
{
    return tfy__pg_next_notice(&inside(cluster)->link, out);
}

/* ---- opening ---- */

static void close_cluster(TfyCluster *cluster)
{
    PgCluster *self = inside(cluster);
    if (self->link.api) tfy__pg_link_free(&self->link);
    tfy__pg_address_free(&self->address);
    free(self);
}

static const TfyClusterOps ops = {
    .open_session = open_session,
    .check_standbys = check_standbys,
    .see_living = see_living,
    .end_session = end_session,
    .free_runs = free_runs,
    .keep_program = keep_program,
    .deploy = deploy,
    .deploy_share = deploy_share,
    .deployed = deployed,
    .find_program = find_program,
    .queue = queue,
    .queue_beside = queue_beside,
    .submit = submit,
    .number = number,
    .claim = claim,
    .take = take,
    .solo_waits = solo_waits,
    .see_owned = see_owned,
    .read_ahead = read_ahead,
    .hold = hold,
    .release = release,
    .wake_due = wake_due,
    .mail = put_mail,
    .see_mail = see_mail,
    .see_inbox = see_inbox,
    .see_permits = see_permits,
    .put_permit = put_permit,
    .forget_permits = forget_permits,
    .make_room = make_room,
    .notify = notify,
    .notify_permit = notify_permit,
    .listen = listen,
    .notice = notice,
    .close = close_cluster,
};

static int open_link(PgCluster *self, const TfyPgOpen *open, char *error_text)
{
    char name[40] = "tfy";
    TfyPgLink *link = &self->link;
    *link = (TfyPgLink){.api = open->api,
                        .address = &self->address,
                        .statements = tfy__pg_calls,
                        .statement_count = C_COUNT,
                        .newer = open->newer,
                        .needs = TFY_PG_WORKER,
                        .patience_ms = open->lease_ms ? open->lease_ms / 3 : PATIENCE_MS};
    int code = link->api ? 0 : tfy__pg_api(&link->api, error_text);
    if (open->session) snprintf(name, sizeof name, "tfy/%lld", (long long)open->session);
    if (!code) code = tfy__pg_address_read(&self->address, link->api, open->address, name, error_text);
    if (code) return code;
    return tfy__pg_link_first(link, error_text);
}

int tfy__pg_cluster_open(TfyCluster **cluster, const TfyPgOpen *open, char *error_text)
{
    *cluster = NULL;
    PgCluster *self = calloc(1, sizeof *self);
    if (!self) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for a database");
    self->base.ops = &ops;
    const int code = open_link(self, open, error_text);
    if (code)
        close_cluster(&self->base);
    else
        *cluster = &self->base;
    return code;
}
