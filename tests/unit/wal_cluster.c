/* wal_cluster.c: sessions, runs that nobody owns, and mail, of databases in memory and in PostgreSQL: both do the same. */
#include "wal_fixture.h"

#include <pthread.h>

#include "postgres.h"
#include "proxy.h"
#include "wal/store/pg_cluster.h"
#include "wal/store/shared.h"

enum { HANDLES = 2, ROOM = 64 };

typedef struct World {
    TfyShared *shared; /* NULL: it is in PostgreSQL */
    TfyCluster *clusters[HANDLES];
    int64_t sessions[HANDLES];
    TfyStore *store; /* of the first session */
    TfyStoreHold hold;
    int64_t queue;
    int64_t expected_owner; /* of what is sent next */
} World;

static Postgres postgres; /* one for all tests */
static char address[300]; /* of the test's database in it */

static int64_t now_ms(void *state)
{
    (void)state;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static TfyCluster *open_cluster(World *world)
{
    TfyCluster *cluster = NULL;
    char error[TFY_ERROR_TEXT] = "no memory";
    const TfyPgOpen open = {.address = address};
    const int code = world->shared ? tfy__shared_cluster(&cluster, world->shared, now_ms, NULL)
                                   : tfy__pg_cluster_open(&cluster, &open, error);
    if (code) fail_msg("%s", error);
    return cluster;
}

static void open_store(World *world)
{
    char error[TFY_ERROR_TEXT] = "no memory";
    const TfyPgOpen open = {.address = address, .session = world->sessions[0]};
    const int code =
        world->shared ? tfy__shared_join(world->shared, &world->store) : tfy__pg_open(&world->store, &open, error);
    if (code) fail_msg("%s", error);
    world->hold = (TfyStoreHold){.session = world->sessions[0], .commit = 0};
}

static void fill(World *world)
{
    const TfyNewSession session = {.worker = "w\"1\\", .lease_ms = 3000};
    int64_t lease_ms = 0;
    for (int i = 0; i < HANDLES; i++) {
        world->clusters[i] = open_cluster(world);
        world->sessions[i] = world->clusters[i]->ops->open_session(world->clusters[i], &session, &lease_ms);
        assert_int_equal(lease_ms, 3000);
        assert_true(world->sessions[i] > 0);
    }
    open_store(world);
    world->queue = world->clusters[0]->ops->queue(world->clusters[0], "default", 1);
    assert_true(world->queue > 0);
}

static int make_world(void **state)
{
    static World world;
    world = (World){.shared = tfy__shared_new()};
    fill(&world);
    *state = &world;
    return 0;
}

static int make_world_with(void **state, const char *settings)
{
    static World world;
    *state = NULL;
    if (!postgres.directory[0]) return 0;
    world = (World){0};
    assert_true(postgres_fresh(&postgres, &(TfyPgMake){.lease_ms = 3000}));
    snprintf(address, sizeof address, "%s%s", postgres.address, settings);
    fill(&world);
    *state = &world;
    return 0;
}

static int make_world_in_postgres(void **state)
{
    return make_world_with(state, "");
}

/* As behind a pooler. */
static int make_world_unprepared(void **state)
{
    return make_world_with(state, "&tfy_prepare=0");
}

static int remove_world(void **state)
{
    World *world = *state;
    if (!world) return 0;
    world->store->ops->close(world->store, false);
    for (int i = 0; i < HANDLES; i++) world->clusters[i]->ops->close(world->clusters[i]);
    tfy__shared_free(world->shared);
    return 0;
}

#define CALL(world_, handle_, verb_, ...)                                                                              \
    (world_)->clusters[handle_]->ops->verb_((world_)->clusters[handle_] __VA_OPT__(, ) __VA_ARGS__)

/* By the handle's session. */
static int end_one(World *world, int handle, int64_t session, int64_t beat)
{
    const TfySessionEnd end = {.session = session, .beat = beat, .by = world->sessions[handle], .why = "silent"};
    return CALL(world, handle, end_session, &end);
}

static TfyLogRun row_of(int number)
{
    return (TfyLogRun){.uuid = {1, 2, 3, [14] = (uint8_t)(number >> 8), [15] = (uint8_t)number},
                       .root = 1,
                       .program = 1,
                       .started_ms = 5};
}

static int64_t submit(World *world, int number)
{
    TfyLogRun row = row_of(number);
    const int64_t id = CALL(world, 0, submit, world->queue, &row, "{\"workflow\":\"main\"}");
    if (id <= 0) fail_msg("%s", world->clusters[0]->error);
    assert_int_equal(row.id, id);
    return id;
}

static int count_living(void *state, const TfyLiving *living)
{
    assert_int_equal(living->lease_ms, 3000);
    return ++*(int *)state, 0;
}

static int living(World *world)
{
    int count = 0;
    assert_int_equal(CALL(world, 0, see_living, count_living, &count), 0);
    return count;
}

static int commit(World *world)
{
    world->hold.commit++;
    const int code = world->store->ops->commit(world->store);
    if (code) world->store->ops->rollback(world->store);
    return code;
}

static void begin(World *world)
{
    const TfyStoreHold hold = {world->hold.session, world->hold.commit + 1};
    assert_int_equal(world->store->ops->begin(world->store, &hold), 0);
}

/* A run of the first session leaves. */
static void leave(World *world, int64_t run, int64_t mail, int64_t due_ms)
{
    const TfyStoreLeaving leaving = {.run = run, .mail = mail, .due_ms = due_ms};
    begin(world);
    assert_int_equal(world->store->ops->put_leaving(world->store, &leaving, 1), 0);
    assert_int_equal(commit(world), 0);
}

/* ---- the tests ---- */

static void test_sessions(void **state)
{
    World *world = *state;
    assert_int_equal(living(world), HANDLES);
    begin(world);
    assert_int_equal(commit(world), 0);
    assert_int_equal(end_one(world, 1, world->sessions[0], 0), 0);
    assert_int_equal(living(world), HANDLES);
    assert_int_equal(end_one(world, 1, world->sessions[0], 1), 1);
    assert_int_equal(end_one(world, 1, world->sessions[0], 1), 0);
    assert_int_equal(end_one(world, 1, 12345, 0), 0);
    int code = TFY_STORE_AWAY; /* its connections were ended, too */
    for (int i = 0; code == TFY_STORE_AWAY && i < 100; i++) {
        int count = 0;
        if ((code = CALL(world, 1, see_living, count_living, &count)) == 0) assert_int_equal(count, HANDLES - 1);
    }
    assert_int_equal(code, 0);
    begin(world);
    code = commit(world);
    if (code == TFY_STORE_UNKNOWN) {
        bool happened = true;
        code = world->store->ops->settle(world->store, &world->hold, &happened);
        assert_false(happened);
    }
    assert_int_equal(code, TFY_STORE_FENCED);
}

static void test_submitted_runs(void **state)
{
    World *world = *state;
    TfyStore *store = world->store;
    const int64_t first = submit(world, 1), second = submit(world, 2);
    assert_true(second > first);
    assert_int_equal(submit(world, 1), first); /* the same one */
    TfyLogRun row = row_of(1), found;
    TfyLogRecord record;
    TfyStoreTask root;
    assert_int_equal(store->ops->look(store), 0);
    assert_int_equal(store->ops->find_run(store, row.uuid, &found), 0);
    assert_int_equal(found.id, first);
    assert_int_equal(found.lsn, 1);
    assert_int_equal(store->ops->get_record(store, first, 1, &record), 0);
    assert_string_equal(record.payload, "{\"workflow\":\"main\"}");
    assert_int_equal(record.type, TFY_R_INSTRUCTION_START);
    assert_true(record.chain == tfy__chain_next(tfy__chain_seed(row.uuid, "1"), &record));
    assert_int_equal(store->ops->get_task(store, first, 1, &root), 0);
    assert_string_equal(root.path, "1");
    assert_true(root.chain == record.chain);
    store->ops->look_away(store);
    row = row_of(3);
    const int64_t bare = CALL(world, 1, submit, world->queue, &row, NULL);
    assert_true(bare > second);
    assert_int_equal(store->ops->get_record(store, bare, 1, &record), TFY_E_ABSENT);
}

/* The hash of the program that is deployed under a name, or what its absence is called. */
static int note_hash(void *state, const TfyStoreProgram *program)
{
    assert_true(program->id > 0);
    assert_string_equal(program->tfyc, "1.0");
    assert_string_equal(program->layout, "{\"version\":1}");
    snprintf(state, 40, "%d %s", program->hash[0], program->source);
    return 7;
}

static const char *deployed(World *world, const char *name)
{
    static char noted[40];
    const int code = CALL(world, 0, deployed, name, note_hash, noted);
    if (code == TFY_E_ABSENT) return "none";
    assert_int_equal(code, 7);
    return noted;
}

static void test_deployments(void **state)
{
    World *world = *state;
    TfyStoreProgram old = {.hash = {1}, .tfyc = "1.0", .source = "it's \\ old", .layout = "{\"version\":1}"}, new = old;
    new.hash[0] = 2;
    new.source = "new";
    const int64_t first = CALL(world, 0, keep_program, &old), second = CALL(world, 1, keep_program, &new);
    assert_true(first > 0 && second > 0 && first != second);
    assert_int_equal(CALL(world, 1, keep_program, &old), first); /* the same one */
    assert_string_equal(deployed(world, "shop"), "none");
    assert_int_equal(CALL(world, 0, deploy, "shop", first), 1);
    assert_int_equal(CALL(world, 1, deploy, "shop", first), 0);
    assert_string_equal(deployed(world, "shop"), "1 it's \\ old");
    assert_int_equal(CALL(world, 1, deploy, "other", first), 1);
    assert_int_equal(CALL(world, 1, deploy, "shop", second), 1);
    assert_string_equal(deployed(world, "shop"), "2 new");
    assert_string_equal(deployed(world, "other"), "1 it's \\ old");
    assert_int_equal(CALL(world, 0, deploy, "shop", first), 1);
    assert_string_equal(deployed(world, "shop"), "1 it's \\ old");
}

static void test_claims(void **state)
{
    World *world = *state;
    TfyClaimed claimed[ROOM];
    int64_t ids[5];
    for (int i = 0; i < 5; i++) ids[i] = submit(world, i + 1);
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue + 1, false, claimed, ROOM), 0);
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, 2), 2);
    assert_true(claimed[0].run + claimed[1].run == ids[0] + ids[1]); /* the oldest ones */
    assert_int_equal(claimed[0].claims, 1);
    assert_int_equal(claimed[0].mail, 0);
    assert_int_equal(CALL(world, 1, claim, world->sessions[1], world->queue, false, claimed, ROOM), 3);
    assert_int_equal(CALL(world, 1, claim, world->sessions[1], world->queue, false, claimed, ROOM), 0);
    assert_int_equal(CALL(world, 0, see_owned, world->sessions[0], 0, claimed, ROOM), 2);
    assert_int_equal(claimed[0].run, ids[0]);
    assert_int_equal(CALL(world, 0, see_owned, world->sessions[0], ids[0], claimed, ROOM), 1);
    assert_int_equal(claimed[0].run, ids[1]);
    /* Runs of a session that lives are nobody's to free. */
    assert_int_equal(CALL(world, 0, free_runs, world->sessions[1], ROOM), 0);
    assert_int_equal(end_one(world, 0, world->sessions[1], 0), 1);
    assert_int_equal(CALL(world, 0, claim, world->sessions[1], world->queue, false, claimed, ROOM), TFY_STORE_FENCED);
    assert_non_null(world->shared ? world->clusters[0] : (void *)strstr(world->clusters[0]->error, "has ended"));
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, ROOM), 0);
    assert_int_equal(CALL(world, 0, free_runs, world->sessions[1], 2), 2);
    assert_int_equal(CALL(world, 0, free_runs, world->sessions[1], ROOM), 1);
    assert_int_equal(CALL(world, 0, free_runs, world->sessions[1], ROOM), 0);
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, ROOM), 3);
    for (int i = 0; i < 3; i++) assert_int_equal(claimed[i].claims, 2);
}

static void test_due(void **state)
{
    World *world = *state;
    TfyClaimed claimed[ROOM];
    for (int i = 0; i < 3; i++) submit(world, i + 1);
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, ROOM), 3);
    const int64_t now = now_ms(NULL);
    leave(world, claimed[0].run, 0, now - 1000);
    leave(world, claimed[1].run, 0, now + 3600000);
    leave(world, claimed[2].run, 0, INT64_MAX);
    const int64_t past = claimed[0].run;
    assert_int_equal(CALL(world, 1, claim, world->sessions[1], world->queue, false, claimed, ROOM), 0);
    assert_int_equal(CALL(world, 1, wake_due, ROOM), 1);
    assert_int_equal(CALL(world, 1, wake_due, ROOM), 0);
    assert_int_equal(CALL(world, 1, claim, world->sessions[1], world->queue, false, claimed, ROOM), 1);
    assert_int_equal(claimed[0].run, past);
}

typedef struct SeenMail {
    TfyMail last;
    int count;
    char body[80];
} SeenMail;

static int see_mail(void *state, const TfyMail *mail)
{
    SeenMail *seen = state;
    seen->last = *mail;
    snprintf(seen->body, sizeof seen->body, "%s", mail->body);
    return seen->count++ == 9;
}

static int64_t post(World *world, const TfyMail *mail)
{
    int64_t owner = -1;
    const int64_t n = CALL(world, 1, mail, mail, &owner);
    if (n > 0) assert_int_equal(owner, world->expected_owner);
    return n;
}

static void test_mail(void **state)
{
    World *world = *state;
    TfyClaimed claimed[ROOM];
    SeenMail seen = {.count = 0};
    const int64_t run = submit(world, 1);
    TfyMail mail = {.run = run, .body = "{\"a\":\"'\\\\ü\"}", .id = "one", .sender = "me"};
    world->expected_owner = 0;
    assert_int_equal(post(world, &mail), 1);
    assert_int_equal(post(world, &mail), 1); /* it is there already */
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, ROOM), 1);
    assert_int_equal(claimed[0].mail, 1);
    assert_int_equal(CALL(world, 0, see_mail, run, 0, true, see_mail, &seen), 0);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last.n, 1);
    assert_null(seen.last.verdict);
    assert_string_equal(seen.body, mail.body);
    mail.id = NULL; /* any number of these */
    world->expected_owner = world->sessions[0];
    assert_int_equal(post(world, &mail), 2);
    assert_int_equal(post(world, &mail), 3);
    seen = (SeenMail){.count = 0};
    assert_int_equal(CALL(world, 0, see_mail, run, 1, true, see_mail, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.last.n, 3);
    seen = (SeenMail){.count = 0};
    assert_int_equal(CALL(world, 0, see_inbox, world->sessions[0], see_mail, &seen), 0);
    assert_int_equal(seen.last.n, 3);
    leave(world, run, 1, INT64_MAX); /* it does not know of the last two */
    assert_int_equal(world->store->stayed_count, 1);
    leave(world, run, 3, INT64_MAX);
    assert_int_equal(world->store->stayed_count, 0);
    assert_int_equal(CALL(world, 1, claim, world->sessions[1], world->queue, false, claimed, ROOM), 0);
    mail.id = "two";
    world->expected_owner = 0;
    assert_int_equal(post(world, &mail), 4); /* wakes it */
    assert_int_equal(CALL(world, 1, claim, world->sessions[1], world->queue, false, claimed, ROOM), 1);
    assert_int_equal(claimed[0].mail, 4);
    mail.run = 12345;
    assert_int_equal(post(world, &mail), TFY_E_ABSENT);
}

static int put_verdict(World *world, int64_t run, int64_t n, const char *text)
{
    begin(world);
    assert_int_equal(world->store->ops->put_verdict(world->store, &(TfyStoreVerdict){run, n, text, TFY_E_DATA}), 0);
    const int code = commit(world);
    if (code) world->hold.commit--;
    return code;
}

static int see_verdict(void *state, const TfyMail *mail)
{
    char *verdicts = state;
    snprintf(verdicts + strlen(verdicts), 200 - strlen(verdicts), "%s,%d;", mail->verdict ? mail->verdict : "-",
             mail->code);
    return 0;
}

/* Only the owner gives a verdict, once, and the end of a run is one on all that was open. */
static void test_verdicts(void **state)
{
    World *world = *state;
    TfyClaimed claimed[ROOM];
    SeenMail seen = {.count = 0};
    char verdicts[200] = "";
    const int64_t run = submit(world, 1), other = submit(world, 2);
    const TfyMail mail = {.run = run, .body = "{}", .id = NULL, .sender = "me"};
    world->expected_owner = 0;
    for (int n = 1; n <= 3; n++) assert_int_equal(post(world, &mail), n);
    assert_int_equal(post(world, &(TfyMail){.run = other, .body = "{}", .sender = "me"}), 1);
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, 1), 1);
    assert_int_equal(claimed[0].run, run);
    assert_int_equal(put_verdict(world, run, 1, "it's \"taken\"\\"), 0);
    assert_int_equal(put_verdict(world, run, 1, "again"), TFY_E_DATA);
    assert_int_equal(put_verdict(world, run, 4, "of nothing"), TFY_E_DATA);
    assert_int_equal(put_verdict(world, other, 1, "not its own"), TFY_E_DATA);
    assert_int_equal(CALL(world, 0, see_mail, run, 0, true, see_mail, &seen), 0);
    assert_int_equal(seen.count, 2);
    TfyLogRun row = row_of(1);
    row.id = run;
    row.lsn = 1;
    row.state = TFY_TASK_COMPLETED;
    begin(world);
    assert_int_equal(world->store->ops->put_run(world->store, &row, TFY_RUN_ENDS), 0);
    assert_int_equal(world->store->ops->put_leaving(world->store,
                                                    &(TfyStoreLeaving){.run = run, .mail = -1, .due_ms = INT64_MAX}, 1),
                     0);
    assert_int_equal(commit(world), 0);
    assert_int_equal(CALL(world, 1, see_mail, run, 0, false, see_verdict, verdicts), 0);
    assert_string_equal(verdicts, "it's \"taken\"\\,-5;" TFY_VERDICT_ENDED ",-8;" TFY_VERDICT_ENDED ",-8;");
    assert_int_equal(post(world, &mail), TFY_E_STATE);
}

/* ---- of a server alone ---- */

enum { THREADS = 4, MANY = 400 };

typedef struct Claimer {
    TfyCluster *cluster;
    int64_t session, queue;
    TfyClaimed claimed[MANY];
    int count, code;
} Claimer;

static void *claim_all(void *state)
{
    Claimer *claimer = state;
    for (int empty = 0; empty < 3;) {
        const int count = claimer->cluster->ops->claim(claimer->cluster, claimer->session, claimer->queue, false,
                                                       claimer->claimed + claimer->count, 7);
        if (count < 0) return claimer->code = count, NULL;
        claimer->count += count;
        empty = count ? 0 : empty + 1;
    }
    return NULL;
}

/* Several claim at once: each run is claimed once. */
static void test_claims_at_once(void **state)
{
    static Claimer claimers[THREADS];
    pthread_t threads[THREADS];
    World *world = *state;
    int total = 0;
    for (int i = 0; i < MANY; i++) submit(world, i);
    int64_t lease_ms;
    for (int i = 0; i < THREADS; i++) {
        claimers[i] = (Claimer){.cluster = open_cluster(world), .queue = world->queue};
        claimers[i].session =
            claimers[i].cluster->ops->open_session(claimers[i].cluster, &(TfyNewSession){.lease_ms = 0}, &lease_ms);
        assert_true(claimers[i].session > 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, claim_all, &claimers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (claimers[i].code) fail_msg("%s", claimers[i].cluster->error);
        total += claimers[i].count;
        claimers[i].cluster->ops->close(claimers[i].cluster);
    }
    assert_int_equal(total, MANY);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.run WHERE owner IS NOT NULL AND claims = 1"),
                     MANY);
}

typedef struct Deployer {
    TfyCluster *cluster;
    uint8_t first; /* of its programs */
    int code;
} Deployer;

static void *deploy_all(void *state)
{
    enum { ROUNDS = 60, PROGRAMS = 8 };
    Deployer *deployer = state;
    TfyStoreProgram program = {.tfyc = "1.0", .source = "", .layout = "{\"version\":1}"};
    for (int i = 0; i < ROUNDS && deployer->code >= 0; i++) {
        program.hash[0] = (uint8_t)((deployer->first + i) % PROGRAMS + 1);
        const int64_t id = deployer->cluster->ops->keep_program(deployer->cluster, &program);
        deployer->code = id < 0 ? (int)id : deployer->cluster->ops->deploy(deployer->cluster, "shop", id);
    }
    return NULL;
}

/* Several deploy at once: each program is kept once, and the name has one of them. */
static void test_deployments_at_once(void **state)
{
    static Deployer deployers[THREADS];
    pthread_t threads[THREADS];
    World *world = *state;
    for (int i = 0; i < THREADS; i++) {
        deployers[i] = (Deployer){.cluster = open_cluster(world), .first = (uint8_t)i};
        assert_int_equal(pthread_create(&threads[i], NULL, deploy_all, &deployers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (deployers[i].code < 0) fail_msg("%s", deployers[i].cluster->error);
        deployers[i].cluster->ops->close(deployers[i].cluster);
    }
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.program"), 8);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.deployment"), 1);
}

/* Connections of the first session that are in a transaction. */
static int64_t half_open(const World *world)
{
    return postgres_number(
        &postgres, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tfy/%d' AND xact_start IS NOT NULL",
        (int)world->sessions[0]);
}

/* A stopped worker has sent half a commit: its transaction holds the session's row, and is ended with the session. */
static void test_half_a_commit_does_not_hold_up_the_end(void **state)
{
    World *world = *state;
    Proxy proxy;
    TfyStore *store;
    char before[300], error[TFY_ERROR_TEXT];
    const char *name = strstr(postgres.address, "///") + 3;
    assert_true(proxy_start(&proxy, postgres.directory));
    snprintf(before, sizeof before, "postgresql:///%.*s?host=%s&user=tfy", (int)strcspn(name, "?"), name,
             proxy.directory);
    const TfyPgOpen open = {.address = before, .session = world->sessions[0], .lease_ms = 3000};
    if (tfy__pg_open(&store, &open, error)) fail_msg("%s", error);
    proxy_fate(&proxy, PROXY_HALF);
    assert_int_equal(store->ops->begin(store, &(TfyStoreHold){world->sessions[0], 1}), 0);
    assert_int_equal(store->ops->commit(store), TFY_STORE_UNKNOWN); /* after a third of the lease */
    assert_int_equal(half_open(world), 1);
    assert_false(postgres_try(&postgres, NULL, 0, "SELECT 1 FROM tfy.session WHERE id = %d FOR UPDATE NOWAIT",
                              (int)world->sessions[0])); /* its row is locked */
    assert_int_equal(end_one(world, 1, world->sessions[0], 0), 1);
    for (int i = 0; i < 100 && half_open(world); i++) poll(NULL, 0, 20);
    assert_int_equal(half_open(world), 0);
    assert_int_equal(postgres_number(&postgres, "SELECT state FROM tfy.session WHERE id = %d", (int)world->sessions[0]),
                     TFY_SESSION_ENDED);
    store->ops->close(store, false);
    proxy_stop(&proxy);
}

/* ---- everybody at once ---- */

enum { CROWD = 3, CROWD_RUNS = 24, ROUNDS = 120, LETTERS = 300 };

/* A worker that claims runs, appends a record to each, and lets them go unless something has arrived. */
typedef struct Crowd {
    TfyCluster *cluster;
    TfyStore *store;
    TfyStoreHold hold;
    int64_t queue, appended;
    char error[400];
} Crowd;

static bool append_to(Crowd *self, const TfyClaimed *claimed, int count)
{
    TfyStore *store = self->store;
    self->hold.commit++;
    if (store->ops->begin(store, &self->hold)) return false;
    for (int i = 0; i < count; i++) {
        TfyLogRun row;
        const TfyStoreLeaving leaving = {.run = claimed[i].run, .mail = claimed[i].mail, .due_ms = INT64_MAX};
        /* What the run's row says of its length was written when it was let go. */
        if (store->ops->get_run(store, claimed[i].run, &row)) return false;
        const TfyLogRecord record = {.run = row.id,
                                     .tid = 1,
                                     .lsn = ++row.lsn,
                                     .v = TFY_RECORD_V,
                                     .type = TFY_R_VALUE,
                                     .payload = "{}",
                                     .payload_len = 2},
                           *const list = &record;
        if (store->ops->put_records(store, &list, 1) || store->ops->put_run(store, &row, TFY_RUN_CHANGES) ||
            store->ops->put_leaving(store, &leaving, 1))
            return false;
    }
    if (store->ops->commit(store)) return false;
    self->appended += count;
    return true;
}

/* Until none has stayed. */
static bool work_on(Crowd *self, TfyClaimed *claimed, int count)
{
    while (count) {
        if (!append_to(self, claimed, count)) return false;
        count = (int)self->store->stayed_count;
        if (count && self->cluster->ops->see_owned(self->cluster, self->hold.session, 0, claimed, ROOM) != count)
            return snprintf(self->store->error, 100, "the stayed runs are not the owned ones"), false;
    }
    return true;
}

static void *work(void *state)
{
    Crowd *self = state;
    TfyClaimed claimed[ROOM];
    for (int i = 0; i < ROUNDS; i++) {
        const int count = self->cluster->ops->claim(self->cluster, self->hold.session, self->queue, false, claimed, 5);
        if (count < 0)
            return snprintf(self->error, sizeof self->error, "claim: %d %s", count, self->cluster->error), NULL;
        if (!work_on(self, claimed, count))
            return snprintf(self->error, sizeof self->error, "commit: %s", self->store->error), NULL;
    }
    return NULL;
}

typedef struct Sender {
    TfyCluster *cluster;
    const int64_t *runs;
    int code;
} Sender;

static void *send_letters(void *state)
{
    Sender *self = state;
    for (int i = 0; i < LETTERS; i++) {
        char id[20];
        snprintf(id, sizeof id, "%d", i / 2); /* each of them twice */
        const TfyMail mail = {.run = self->runs[i / 2 % CROWD_RUNS], .body = "{}", .id = id, .sender = "me"};
        int64_t owner;
        const int64_t code = self->cluster->ops->mail(self->cluster, &mail, &owner);
        if (code < 0) return self->code = (int)code, NULL;
    }
    return NULL;
}

/* Workers, senders and those who wake runs, on the same runs: nobody waits for anybody in a circle, no record is missing or there
 * twice, and no letter lies with a run that nobody will take. */
static void test_everybody_at_once(void **state)
{
    static Crowd crowd[CROWD];
    World *world = *state;
    int64_t runs[CROWD_RUNS], appended = 0;
    char error[TFY_ERROR_TEXT];
    Sender senders[2];
    pthread_t threads[CROWD + 2];
    int64_t lease_ms;
    for (int i = 0; i < CROWD_RUNS; i++) runs[i] = submit(world, i);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (Crowd){.cluster = open_cluster(world), .queue = world->queue};
        crowd[i].hold.session =
            crowd[i].cluster->ops->open_session(crowd[i].cluster, &(TfyNewSession){.lease_ms = 30000}, &lease_ms);
        const TfyPgOpen open = {.address = address, .session = crowd[i].hold.session, .lease_ms = 30000};
        if (tfy__pg_open(&crowd[i].store, &open, error)) fail_msg("%s", error);
    }
    for (int i = 0; i < 2; i++) senders[i] = (Sender){.cluster = world->clusters[i], .runs = runs};
    for (int i = 0; i < CROWD + 2; i++)
        assert_int_equal(i < CROWD ? pthread_create(&threads[i], NULL, work, &crowd[i])
                                   : pthread_create(&threads[i], NULL, send_letters, &senders[i - CROWD]),
                         0);
    for (int i = 0; i < CROWD + 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < CROWD; i++) {
        if (crowd[i].error[0]) fail_msg("%s", crowd[i].error);
        appended += crowd[i].appended;
        crowd[i].store->ops->close(crowd[i].store, true);
        crowd[i].cluster->ops->close(crowd[i].cluster);
    }
    for (int i = 0; i < 2; i++)
        if (senders[i].code) fail_msg("mail: %s", senders[i].cluster->error);
    assert_true(appended > CROWD_RUNS);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.record"), appended + CROWD_RUNS);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.run r WHERE lsn <> (SELECT count(*) FROM "
                                                "tfy.record WHERE run = r.id)"),
                     0);
    assert_int_equal(postgres_number(&postgres, "SELECT sum(mail) FROM tfy.run"), LETTERS / 2);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.inbox"), LETTERS / 2);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.run WHERE owner IS NOT NULL"), 0);
}

/* ---- runs of which processes die ---- */

/* What the end of sessions told. */
typedef struct Heard {
    int count;
    TfyBlame last;
} Heard;

static void hear_blame(void *state, const TfyBlame *blame)
{
    Heard *heard = state;
    heard->count++;
    heard->last = *blame;
}

/* The second handle's; the end of its last one may have cut its connection. */
static int64_t fresh_session(World *world)
{
    const TfyNewSession session = {.worker = "w", .lease_ms = 3000};
    int64_t id = TFY_STORE_AWAY, lease_ms;
    for (int i = 0; (id == TFY_STORE_AWAY || id == TFY_STORE_UNKNOWN) && i < 100; i++)
        id = CALL(world, 1, open_session, &session, &lease_ms);
    assert_true(id > 0);
    return world->sessions[1] = id;
}

/* How many runs a new session gets of these. */
static int claim_as_new(World *world, bool solo)
{
    TfyClaimed claimed[ROOM];
    return CALL(world, 1, claim, fresh_session(world), world->queue, solo, claimed, ROOM);
}

/* The second handle's session ends. */
static void lose(World *world, int64_t beat, bool in_order, int64_t blamed)
{
    const TfySessionEnd end = {
        .session = world->sessions[1], .beat = beat, .why = "test", .in_order = in_order, .blamed = blamed};
    assert_int_equal(CALL(world, 0, end_session, &end), 1);
    assert_true(CALL(world, 0, free_runs, end.session, ROOM) >= 0);
}

/* The second handle's session records something. */
static void record_it(World *world, int64_t run, int64_t lsn, uint8_t type)
{
    TfyStore *store = NULL;
    char error[TFY_ERROR_TEXT] = "no memory";
    const TfyPgOpen open = {.address = address, .session = world->sessions[1]};
    const TfyStoreHold hold = {world->sessions[1], 1};
    const TfyLogRecord record = {
        .run = run, .tid = 1, .lsn = lsn, .v = TFY_RECORD_V, .type = type, .payload = "{}", .payload_len = 2};
    const TfyLogRecord *const list = &record;
    const int code = world->shared ? tfy__shared_join(world->shared, &store) : tfy__pg_open(&store, &open, error);
    if (code) fail_msg("%s", error);
    assert_int_equal(store->ops->begin(store, &hold), 0);
    assert_int_equal(store->ops->put_records(store, &list, 1), 0);
    assert_int_equal(store->ops->commit(store), 0);
    store->ops->close(store, false);
}

/* Whoever ends a session knows that it was told of more commits than the database has. */
static void test_lost_commits_of_the_dead(void **state)
{
    World *world = *state;
    Heard heard = {0};
    int64_t owner;
    const int64_t lost = submit(world, 1);
    world->clusters[0]->blame = hear_blame;
    world->clusters[0]->blame_state = &heard;
    for (int acknowledged = 1; acknowledged <= 2; acknowledged++) {
        assert_int_equal(claim_as_new(world, false), 1);
        record_it(world, lost, acknowledged + 1, TFY_R_VALUE);
        const TfySessionEnd end = {.session = world->sessions[1],
                                   .beat = 1,
                                   .why = "test",
                                   .blamed = acknowledged == 1 ? 0 : lost,
                                   .acknowledged = acknowledged};
        assert_int_equal(CALL(world, 0, end_session, &end), 1);
        assert_int_equal(CALL(world, 0, free_runs, end.session, ROOM), 1);
        assert_int_equal(world->clusters[0]->lost, acknowledged - 1);
    }
    assert_int_equal(heard.count, 0); /* the run is not to blame for that */
    assert_int_equal(claim_as_new(world, false), 0);
    assert_int_equal(CALL(world, 0, release, lost, &owner), 1);
    assert_int_equal(claim_as_new(world, false), 1);
}

static void test_blamed_runs(void **state)
{
    World *world = *state;
    Heard heard = {0};
    const int64_t bad = submit(world, 1), good = submit(world, 2);
    world->clusters[0]->blame = hear_blame;
    world->clusters[0]->blame_state = &heard;
    for (int i = 1; i <= TFY_HELD_CRASHES; i++) {
        assert_int_equal(CALL(world, 0, solo_waits, world->queue), i > TFY_SOLO_CRASHES);
        assert_int_equal(claim_as_new(world, i > TFY_SOLO_CRASHES), i > TFY_SOLO_CRASHES ? 1 : 2);
        assert_int_equal(CALL(world, 0, solo_waits, world->queue), 0);
        lose(world, 0, false, bad);
        assert_int_equal(heard.count, i);
        assert_int_equal(heard.last.run, bad);
        assert_int_equal(heard.last.crashes, i);
        assert_int_equal(heard.last.held, i == TFY_HELD_CRASHES);
        assert_memory_equal(heard.last.uuid, row_of(1).uuid, 16);
    }
    assert_int_equal(claim_as_new(world, true), 0);
    assert_int_equal(claim_as_new(world, false), 1);
    lose(world, 0, false, bad); /* which it does not own */
    assert_int_equal(claim_as_new(world, false), 1);
    lose(world, 0, false, 12345);
    assert_int_equal(heard.count, TFY_HELD_CRASHES);
    TfyClaimed claimed;
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, &claimed, 1), 1);
    assert_int_equal(claimed.run, good);
}

static void test_claims_in_vain(void **state)
{
    World *world = *state;
    Heard heard = {0};
    const int64_t run = submit(world, 1);
    int64_t lsn = 1;
    world->clusters[0]->blame = hear_blame;
    world->clusters[0]->blame_state = &heard;
    for (int i = 0; i < TFY_HELD_VAIN; i++) { /* sessions that end in order say nothing of it */
        assert_int_equal(claim_as_new(world, false), 1);
        lose(world, 0, true, 0);
    }
    for (int i = 0; i < TFY_SOLO_VAIN; i++) {
        assert_int_equal(claim_as_new(world, false), 1);
        record_it(world, run, ++lsn, TFY_R_CLAIMED);
        lose(world, 1, false, 0);
    }
    assert_int_equal(claim_as_new(world, false), 0);
    assert_int_equal(claim_as_new(world, true), 1);
    record_it(world, run, ++lsn, TFY_R_VALUE);
    lose(world, 1, false, 0);
    for (int i = 0; i < TFY_HELD_VAIN; i++) {
        assert_int_equal(heard.count, 0);
        assert_int_equal(claim_as_new(world, i >= TFY_SOLO_VAIN), 1);
        lose(world, 0, false, 0);
    }
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.last.run, run);
    assert_int_equal(heard.last.vain, TFY_HELD_VAIN);
    assert_true(heard.last.held);
    assert_int_equal(claim_as_new(world, true) + claim_as_new(world, false), 0);
}

static void test_held_runs(void **state)
{
    World *world = *state;
    TfyClaimed claimed[ROOM];
    TfyLogRun row;
    int64_t owner = -1;
    const int64_t run = submit(world, 1), other = submit(world, 2);
    assert_int_equal(CALL(world, 1, hold, run, &owner), 1);
    assert_int_equal(owner, 0);
    assert_int_equal(CALL(world, 1, hold, run, &owner), 0);
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, ROOM), 1);
    assert_int_equal(claimed[0].run, other);
    assert_int_equal(CALL(world, 1, release, run, &owner), 1);
    assert_int_equal(CALL(world, 1, release, run, &owner), 0);
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, ROOM), 1);
    assert_int_equal(claimed[0].run, run);
    /* One that a session owns is held when it leaves. */
    assert_int_equal(CALL(world, 1, hold, run, &owner), 1);
    assert_int_equal(owner, world->sessions[0]);
    assert_int_equal(world->store->ops->get_run(world->store, run, &row), 0);
    assert_int_equal(row.turn, TFY_RUN_OWNED);
    assert_int_equal(row.held, TFY_HELD_PERSON);
    leave(world, run, 0, now_ms(NULL) - 1000);
    assert_int_equal(CALL(world, 1, wake_due, ROOM), 0);
    assert_int_equal(world->store->ops->get_run(world->store, run, &row), 0);
    assert_int_equal(row.turn, TFY_RUN_HELD);
    assert_int_equal(CALL(world, 1, release, run, &owner), 1);
    /* The owner says that it is damaged. */
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, ROOM), 1);
    const TfyStoreLeaving leaving = {.run = run, .mail = -1, .damaged = true};
    begin(world);
    assert_int_equal(world->store->ops->put_leaving(world->store, &leaving, 1), 0);
    assert_int_equal(commit(world), 0);
    assert_int_equal(CALL(world, 0, claim, world->sessions[0], world->queue, false, claimed, ROOM), 0);
    assert_int_equal(world->store->ops->get_run(world->store, run, &row), 0);
    assert_int_equal(row.held, TFY_HELD_DAMAGED);
    assert_int_equal(CALL(world, 1, release, 12345, &owner), TFY_E_ABSENT);
    assert_int_equal(CALL(world, 1, hold, 12345, &owner), TFY_E_ABSENT);
}

#define EACH_TEST(X)                                                                                                   \
    X(test_sessions)                                                                                                   \
    X(test_submitted_runs)                                                                                             \
    X(test_claims)                                                                                                     \
    X(test_deployments)                                                                                                \
    X(test_due)                                                                                                        \
    X(test_held_runs)                                                                                                  \
    X(test_lost_commits_of_the_dead)                                                                                   \
    X(test_blamed_runs)                                                                                                \
    X(test_claims_in_vain)                                                                                             \
    X(test_mail) X(test_verdicts)
#define EACH_SERVER_TEST(X)                                                                                            \
    X(test_claims_at_once)                                                                                             \
    X(test_deployments_at_once)                                                                                        \
    X(test_everybody_at_once)                                                                                          \
    X(test_half_a_commit_does_not_hold_up_the_end)

#define IN_POSTGRES(test_)                                                                                             \
    static void postgres_##test_(void **state)                                                                         \
    {                                                                                                                  \
        if (!*state) skip();                                                                                           \
        test_(state);                                                                                                  \
    }
EACH_TEST(IN_POSTGRES)
EACH_SERVER_TEST(IN_POSTGRES)

static int start_postgres(void **state)
{
    (void)state;
    return postgres_make(&postgres) || !postgres_find(&postgres) ? 0 : -1;
}

static int stop_postgres(void **state)
{
    (void)state;
    postgres_remove(&postgres);
    return 0;
}

int main(void)
{
#define TEST(test_)       cmocka_unit_test_setup_teardown(test_, make_world, remove_world),
#define TEST_IN_PG(test_) cmocka_unit_test_setup_teardown(postgres_##test_, make_world_in_postgres, remove_world),
#define UNPREPARED(test_) cmocka_unit_test_setup_teardown(postgres_##test_, make_world_unprepared, remove_world),
    const struct CMUnitTest tests[] = {EACH_TEST(TEST) EACH_TEST(TEST_IN_PG) EACH_SERVER_TEST(TEST_IN_PG)
                                           EACH_TEST(UNPREPARED)};
    return cmocka_run_group_tests_name("wal_cluster", tests, start_postgres, stop_postgres);
}
