/* wal_shared_log.c: the log over a database that several sessions write: numbers within runs, commits whose answers get
 * lost, sessions that were ended, runs that leave, and renewals of the lease. */
#include "wal_fixture.h"

#include "wal/history/history.h"
#include "wal/store/shared.h"

enum { WORKERS = 2, RUNS = 3, LEASE_MS = 3000 };

/* A run that a worker has taken up, with its root and one child. */
typedef struct Taken {
    TfyLogRun run;
    TfyLogTask root, child;
} Taken;

typedef struct Worker {
    void *world;
    TfyLog *log;
    int64_t session;
    int64_t sent_ns; /* of the newest renewal */
    uint32_t renewals;
    Taken taken[RUNS];
} Worker;

typedef struct World {
    TfyShared *shared;
    Worker workers[WORKERS];
    int64_t runs[RUNS];
    int64_t now_ms;
    TfySharedFate fate; /* of the next request */
    bool random;        /* instead of that */
    bool hangs;         /* a loop of the first worker does, so it may send nothing */
    uint64_t seed;
} World;

static uint32_t draw(World *world, uint32_t below)
{
    world->seed = world->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(world->seed >> 33) % below;
}

static int64_t clock_ms(void *state)
{
    return ((World *)state)->now_ms;
}

static void note_renewal(void *state, int64_t sent_ns)
{
    Worker *worker = state;
    worker->sent_ns = sent_ns;
    worker->renewals++;
}

static bool may_send(void *state)
{
    const World *world = (World *)((Worker *)state)->world;
    return !world->hangs;
}

static TfySharedFate tell_fate(void *state, const TfyStoreHold *hold)
{
    World *world = state;
    if (!world->random) return world->fate;
    const uint32_t drawn = draw(world, 8);
    return drawn <= TFY_FATE_ANSWER_IS_LOST ? (TfySharedFate)drawn : TFY_FATE_ARRIVES;
}

static int64_t send(World *world, int64_t run)
{
    return tfy__shared_send(world->shared, &(TfyMail){.run = run, .body = "{}", .sender = "bea"});
}

static void open_worker(World *world, Worker *worker)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLogOptions options = {.wall_ms = clock_ms,
                             .by_hand_ms = clock_ms,
                             .clock_state = world,
                             .lease_ms = LEASE_MS,
                             .renewed = note_renewal,
                             .may_send = may_send,
                             .renewed_state = worker};
    worker->world = world;
    worker->session = options.session = tfy__shared_open_session(world->shared, LEASE_MS);
    assert_int_equal(tfy__shared_join(world->shared, &options.store), 0);
    assert_int_equal(tfy__log_open(&worker->log, &options, error), 0);
}

/* The program of all runs, which somebody has deployed. */
static void deploy(World *world)
{
    TfyStore *store;
    const TfyStoreProgram program = {.id = 1, .hash = {9}, .tfyc = "0.1.0", .source = "source", .layout = "{}"};
    const TfyStoreHold hold = {.session = tfy__shared_open_session(world->shared, LEASE_MS), .commit = 1};
    assert_int_equal(tfy__shared_join(world->shared, &store), 0);
    assert_int_equal(store->ops->begin(store, &hold), 0);
    assert_int_equal(store->ops->put_program(store, &program), 0);
    assert_int_equal(store->ops->commit(store), 0);
    store->ops->close(store, true);
}

static void submit(World *world, int index)
{
    char birth[200], uuid[37];
    TfyLogRun row = {.uuid = {1, 2, 3, 4, [15] = (uint8_t)index}, .root = 1, .program = 1, .started_ms = world->now_ms};
    tfy__uuid_text(row.uuid, uuid);
    snprintf(birth, sizeof birth, "{\"run\":\"%s\",\"tid\":1,\"path\":\"1\",\"workflow\":\"main\"}", uuid);
    world->runs[index] = tfy__shared_submit(world->shared, &row, birth);
    assert_true(world->runs[index] > 0);
}

static int make_world(void **state)
{
    static World world;
    world = (World){.shared = tfy__shared_new(), .now_ms = 10000, .seed = 1};
    world.shared->fate = tell_fate;
    world.shared->fate_state = &world;
    deploy(&world);
    for (int i = 0; i < RUNS; i++) submit(&world, i);
    for (int i = 0; i < WORKERS; i++) open_worker(&world, &world.workers[i]);
    *state = &world;
    return 0;
}

static int remove_world(void **state)
{
    World *world = *state;
    for (int i = 0; i < WORKERS; i++)
        if (world->workers[i].log) tfy__log_close(world->workers[i].log, false);
    tfy__shared_free(world->shared);
    return 0;
}

/* ---- what a worker does ---- */

static TfyHistory *read_run(const World *world, Worker *worker, int index, bool whole)
{
    char name[24], error[TFY_ERROR_TEXT] = "";
    TfyHistory *history = NULL;
    snprintf(name, sizeof name, "%lld", (long long)world->runs[index]);
    const int code = whole ? tfy__history_read(worker->log, name, &history, error)
                           : tfy__history_read_tail(worker->log, name, &history, error);
    if (code) fail_msg("run %d: %s", index, error);
    return history;
}

static void take_task(const TfyHistory *history, int64_t stored, Taken *taken, TfyLogTask *task, char *path)
{
    const TfyLogTask *found = tfy__history_task(history, (int64_t)history->run.owned.slot << 32 | stored);
    if (!found) return;
    *task = *found;
    task->run = &taken->run;
    task->path = path;
}

/* Claims a run, and takes it up from its newest snapshot. */
static Taken *take_up(World *world, Worker *worker, int index)
{
    static char paths[2][4] = {"1", "1.1"};
    Taken *taken = &worker->taken[index];
    assert_true(tfy__shared_claim(world->shared, worker->session, world->runs[index], world->now_ms));
    TfyHistory *history = read_run(world, worker, index, false);
    *taken = (Taken){.run = history->run};
    take_task(history, 1, taken, &taken->root, paths[0]);
    take_task(history, 2, taken, &taken->child, paths[1]);
    assert_true(taken->root.tid == taken->run.root);
    if (!taken->child.tid) taken->child.path = paths[1];
    tfy__history_free(history);
    return taken;
}

static TfyTicket append(const Worker *worker, TfyLogTask *task, const char *payload)
{
    const TfyTicket ticket =
        tfy__log_append(worker->log, task, TFY_R_VALUE, task->step + 1, 1, payload, strlen(payload));
    if (ticket > 0) assert_true(ticket == tfy__log_last(worker->log));
    return ticket;
}

static TfyTicket append_spawn(const Worker *worker, Taken *taken)
{
    char payload[80];
    const int len = snprintf(payload, sizeof payload, "{\"tid\":%lld,\"path\":\"1.1\",\"workflow\":\"side\"}",
                             (long long)tfy__log_coming_tid(worker->log, &taken->run));
    const TfyTicket ticket =
        tfy__log_append(worker->log, &taken->root, TFY_R_TASK_SPAWN, taken->root.step + 1, 1, payload, (size_t)len);
    taken->child.tid = tfy__log_next_tid(worker->log, &taken->run);
    taken->child.run = &taken->run;
    taken->child.born = taken->root.head;
    tfy__log_add_task(worker->log, &taken->child);
    return ticket;
}

static TfyTicket append_snapshot(const Worker *worker, Taken *taken)
{
    char payload[100];
    const int len = snprintf(payload, sizeof payload, "{\"tasks\":[{\"task\":1,\"chain\":\"%016llx\"}]}",
                             (unsigned long long)taken->child.chain);
    return tfy__log_append(worker->log, &taken->root, TFY_R_SNAPSHOT, 0, 0, payload, (size_t)len);
}

/* Whether all of it is durable now. */
static bool written(const Worker *worker)
{
    tfy__log_flush(worker->log);
    while (tfy__log_write(worker->log)) continue;
    return tfy__log_durable(worker->log) == tfy__log_last(worker->log);
}

/* ---- the tests ---- */

/* A run goes from one session to the other: its records are numbered on, from its newest snapshot. */
static void test_a_run_goes_on_in_another_session(void **state)
{
    World *world = *state;
    Worker *first = &world->workers[0], *second = &world->workers[1];
    Taken *taken = take_up(world, first, 0);
    assert_int_equal(taken->root.head, 1);
    assert_true(append_spawn(first, taken) > 0);
    assert_int_equal(taken->child.born, 2);
    assert_true(append(first, &taken->child, "{\"now\":1}") > 0);
    assert_true(append_snapshot(first, taken) > 0);
    assert_int_equal(taken->run.snap, 4);
    assert_int_equal(tfy__log_leave(first->log, &taken->run, 0, INT64_MAX), 0);
    assert_true(written(first));
    const TfySharedRun *run = tfy__shared_run(world->shared, world->runs[0]);
    assert_int_equal(run->owner, 0);
    assert_int_equal(run->row.lsn, 4);
    assert_false(tfy__shared_claim(world->shared, second->session, world->runs[0], world->now_ms)); /* not yet due */
    assert_int_equal(send(world, world->runs[0]), 1);
    take_up(world, second, 1); /* so that the numbers of its tasks differ from those of the first session */
    taken = take_up(world, second, 0);
    assert_true(taken->root.tid != first->taken[0].root.tid);
    assert_int_equal(taken->child.head, 3);
    assert_int_equal(taken->run.owned.tasks, 2);
    assert_true(append(second, &taken->child, "{\"now\":2}") > 0);
    assert_true(append(second, &second->taken[1].root, "{\"now\":3}") > 0);
    assert_true(append(second, &taken->root, "{\"now\":4}") > 0);
    assert_true(written(second));
    TfyHistory *history = read_run(world, second, 0, true); /* checks all chains */
    assert_int_equal(history->record_count, 6);
    assert_int_equal(history->task_count, 2);
    for (uint32_t i = 0; i < history->record_count; i++) assert_int_equal(history->records[i].lsn, i + 1);
    tfy__history_free(history);
    history = read_run(world, second, 1, true);
    assert_int_equal(history->record_count, 2);
    assert_int_equal(history->records[1].lsn, 2);
    tfy__history_free(history);
}

/* What several runs append in one turn is numbered within each. */
static void append_anything(World *world, Worker *worker)
{
    Taken *taken = &worker->taken[draw(world, RUNS)];
    char payload[40];
    snprintf(payload, sizeof payload, "{\"now\":%lld}", (long long)tfy__log_last(worker->log) + 1);
    if (!taken->child.tid && draw(world, 4) == 0)
        assert_true(append_spawn(worker, taken) > 0);
    else if (taken->child.tid && draw(world, 6) == 0)
        assert_true(append_snapshot(worker, taken) > 0);
    else
        assert_true(append(worker, taken->child.tid && draw(world, 2) ? &taken->child : &taken->root, payload) > 0);
}

/* Records in the database, of all runs, except the births that came with the runs. */
static int64_t stored_count(const World *world)
{
    int64_t count = 0;
    for (int i = 0; i < RUNS; i++) count += (int64_t)tfy__shared_run(world->shared, world->runs[i])->records.count - 1;
    return count;
}

/* Commits that do not arrive, arrive late, or whose answers get lost: what was acknowledged is there, everything is there in
 * the end, and nothing is there twice. */
static void test_lost_answers(void **state)
{
    World *world = *state;
    Worker *worker = &world->workers[0];
    for (int i = 0; i < RUNS; i++) take_up(world, worker, i);
    const TfyTicket none = tfy__log_last(worker->log);
    for (int turn = 0; turn < 4000; turn++) {
        world->random = true;
        for (uint32_t i = draw(world, 4); i > 0; i--) append_anything(world, worker);
        if (draw(world, 2)) tfy__log_flush(worker->log);
        if (draw(world, 2)) tfy__log_write(worker->log);
        if (draw(world, 3) == 0) tfy__shared_late_arrives(world->shared);
        world->now_ms += draw(world, 120);
        assert_int_equal(tfy__log_error(worker->log), 0);
        assert_true(tfy__log_durable(worker->log) - none <= stored_count(world));
        assert_true(stored_count(world) <= tfy__log_last(worker->log) - none);
    }
    world->random = false;
    world->fate = TFY_FATE_ARRIVES;
    world->now_ms += 1000;
    assert_true(written(worker));
    while (tfy__shared_late_arrives(world->shared)) continue;
    assert_int_equal(stored_count(world), tfy__log_last(worker->log) - none);
    for (int i = 0; i < RUNS; i++) {
        TfyHistory *history = read_run(world, worker, i, true);
        assert_int_equal(history->record_count, worker->taken[i].run.lsn);
        tfy__history_free(history);
    }
    assert_int_equal(worker->renewals, tfy__shared_session(world->shared, worker->session)->beat);
}

/* A session that somebody has ended writes nothing more, and its log says so. */
static void check_fenced(World *world, TfySharedFate before)
{
    Worker *worker = &world->workers[0];
    char error[TFY_ERROR_TEXT];
    Taken *taken = take_up(world, worker, 0);
    assert_true(append(worker, &taken->root, "{\"now\":1}") > 0);
    assert_true(written(worker));
    world->fate = before;
    assert_true(append(worker, &taken->root, "{\"now\":2}") > 0);
    tfy__log_flush(worker->log);
    if (before != TFY_FATE_ARRIVES) assert_false(written(worker));
    const TfyTicket durable = tfy__log_durable(worker->log);
    const int64_t beat = tfy__shared_session(world->shared, worker->session)->beat;
    assert_false(tfy__shared_end_session(world->shared, worker->session, beat - 1));
    assert_true(tfy__shared_end_session(world->shared, worker->session, beat));
    assert_int_equal(tfy__shared_free_runs(world->shared, worker->session, 1000), 1);
    world->fate = TFY_FATE_ARRIVES;
    world->now_ms += 1000;
    assert_true(append(worker, &taken->root, "{\"now\":3}") > 0);
    assert_false(written(worker));
    tfy__shared_late_arrives(world->shared);
    assert_int_equal(tfy__log_error(worker->log), TFY_E_HELD);
    assert_true(append(worker, &taken->root, "{\"now\":4}") < 0);
    assert_true(tfy__log_durable(worker->log) == durable);
    tfy__log_error_text(worker->log, error);
    assert_non_null(strstr(error, "session"));
    /* Another one goes on. */
    const int64_t had = beat == 1 ? 2 : 3;
    taken = take_up(world, &world->workers[1], 0);
    assert_int_equal(taken->root.head, had);
    assert_true(append(&world->workers[1], &taken->root, "{\"now\":5}") > 0);
    assert_true(written(&world->workers[1]));
}

static void test_an_ended_session_writes_nothing(void **state)
{
    check_fenced(*state, TFY_FATE_ARRIVES);
}

static void test_ended_while_the_answer_is_lost(void **state)
{
    check_fenced(*state, TFY_FATE_ANSWER_IS_LOST);
}

static void test_ended_while_a_commit_is_late(void **state)
{
    check_fenced(*state, TFY_FATE_LATE);
}

/* A run for which something has arrived stays with its session, which hears of it, also when the answer got lost. */
static void test_a_run_stays(void **state)
{
    World *world = *state;
    Worker *worker = &world->workers[0];
    TfyStoreLeaving stayed[RUNS];
    for (int lost = 0; lost < 2; lost++) {
        Taken *taken = take_up(world, worker, lost);
        assert_int_equal(send(world, world->runs[lost]), 1);
        assert_true(append_spawn(worker, taken) > 0);
        assert_true(append_snapshot(worker, taken) > 0);
        assert_int_equal(tfy__log_leave(worker->log, &taken->run, 0, INT64_MAX), 0);
        world->fate = lost ? TFY_FATE_ANSWER_IS_LOST : TFY_FATE_ARRIVES;
        assert_int_equal(written(worker), !lost);
        world->fate = TFY_FATE_ARRIVES;
        world->now_ms += 1000;
        assert_true(written(worker));
        assert_int_equal(tfy__log_stayed(worker->log, stayed, RUNS), 1);
        assert_int_equal(stayed[0].run, world->runs[lost]);
        assert_int_equal(stayed[0].mail, 0);
        assert_int_equal(tfy__log_stayed(worker->log, stayed, RUNS), 0);
        assert_true(append(worker, &taken->child, "{\"now\":1}") > 0); /* it goes on */
        assert_true(written(worker));
    }
}

/* The lease is renewed by any commit, by an empty one if nothing else is sent, and counts from the first sending. */
static void test_renewals(void **state)
{
    World *world = *state;
    Worker *worker = &world->workers[0];
    char notice[TFY_ERROR_TEXT];
    tfy__log_beat(worker->log);
    assert_true(written(worker));
    assert_int_equal(worker->renewals, 1);
    assert_true(worker->sent_ns == world->now_ms * 1000000);
    world->now_ms += LEASE_MS / 3 - 1;
    tfy__log_beat(worker->log);
    assert_true(written(worker));
    assert_int_equal(worker->renewals, 1); /* it is too early */
    world->now_ms += 1;
    const int64_t first_ms = world->now_ms;
    world->fate = TFY_FATE_LOST;
    tfy__log_beat(worker->log);
    tfy__log_write(worker->log);
    assert_int_equal(worker->renewals, 1);
    assert_true(tfy__log_full(worker->log));
    assert_true(tfy__log_notice(worker->log, notice));
    assert_non_null(strstr(notice, "does not answer"));
    tfy__log_beat(worker->log); /* one is under way */
    world->fate = TFY_FATE_ARRIVES;
    world->now_ms += 500;
    assert_true(written(worker));
    assert_int_equal(worker->renewals, 2);
    assert_true(worker->sent_ns == first_ms * 1000000);
    assert_false(tfy__log_full(worker->log));
    assert_int_equal(tfy__shared_session(world->shared, worker->session)->beat, 2);
}

/* A run of which the newest record is missing, or one was changed, is refused. */
static void test_damage_shows(void **state)
{
    World *world = *state;
    Worker *worker = &world->workers[0];
    char error[TFY_ERROR_TEXT], name[24];
    TfyHistory *history;
    Taken *taken = take_up(world, worker, 0);
    assert_true(append_spawn(worker, taken) > 0);
    assert_true(append_snapshot(worker, taken) > 0);
    for (int i = 0; i < 3; i++) assert_true(append(worker, &taken->root, "{\"now\":1}") > 0);
    assert_true(append_snapshot(worker, taken) > 0);
    assert_int_equal(tfy__log_leave(worker->log, &taken->run, -1, 0), 0);
    assert_true(written(worker));
    snprintf(name, sizeof name, "%lld", (long long)world->runs[0]);
    TfySharedRun *run = tfy__shared_run(world->shared, world->runs[0]);
    run->records.count--;
    assert_int_equal(tfy__history_read_tail(worker->log, name, &history, error), TFY_E_DATA);
    assert_non_null(strstr(error, "record 7 is missing"));
    run->records.count++;
    ((char *)((TfyLogRecord *)tfy__rows_at(&run->records, 3))->payload)[2] ^= 1;
    assert_int_equal(tfy__history_read(worker->log, name, &history, error), TFY_E_DATA);
    assert_non_null(strstr(error, "record 4 was changed"));
}

/* ---- several loops of a session ---- */

/* Another loop of a worker's session, with a log of its own; the caller closes it first. */
static Worker open_beside(World *world, const Worker *worker)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLogOptions options = {.wall_ms = clock_ms, .by_hand_ms = clock_ms, .clock_state = world, .with = worker->log};
    Worker beside = {.session = worker->session};
    assert_int_equal(tfy__shared_join(world->shared, &options.store), 0);
    assert_int_equal(tfy__log_open(&beside.log, &options, error), 0);
    assert_int_equal(tfy__log_epoch(beside.log), worker->session);
    return beside;
}

static bool all_durable(const Worker *worker)
{
    return tfy__log_durable(worker->log) == tfy__log_last(worker->log);
}

/* What the loops have handed over goes in one commit; each has tickets of its own, and what one has not handed over waits. */
static void test_two_loops_share_commits(void **state)
{
    World *world = *state;
    Worker *first = &world->workers[0], beside = open_beside(world, first);
    Taken *one = take_up(world, first, 0), *other = take_up(world, &beside, 1);
    const TfyTicket none = tfy__log_last(first->log);
    assert_true(append(first, &one->root, "{\"now\":1}") == none + 1);
    assert_true(append(&beside, &other->root, "{\"now\":2}") == none + 1);
    assert_true(append(&beside, &other->root, "{\"now\":3}") == none + 2);
    tfy__log_flush(first->log);
    tfy__log_flush(beside.log);
    assert_true(append(&beside, &other->root, "{\"now\":4}") == none + 3);
    assert_true(tfy__log_write(beside.log)); /* either may */
    assert_false(tfy__log_write(first->log));
    assert_int_equal(tfy__shared_session(world->shared, first->session)->beat, 1);
    assert_true(all_durable(first));
    assert_true(tfy__log_durable(beside.log) == none + 2);
    assert_int_equal(tfy__shared_run(world->shared, world->runs[0])->records.count, 2);
    assert_int_equal(tfy__shared_run(world->shared, world->runs[1])->records.count, 3);
    assert_int_equal(tfy__log_sync(beside.log), 0); /* its own alone */
    assert_true(all_durable(&beside));
    TfyHistory *history = read_run(world, &beside, 1, true);
    assert_int_equal(history->record_count, 4);
    tfy__history_free(history);
    assert_true(append(&beside, &other->root, "{\"now\":5}") > 0);
    assert_int_equal(tfy__log_close(beside.log, true), 0); /* hands over the rest, and waits for it */
    assert_int_equal(tfy__shared_run(world->shared, world->runs[1])->records.count, 5);
    assert_true(append(first, &one->root, "{\"now\":6}") > 0);
    assert_true(written(first));
}

/* The one that is closed while the database is away does not wait, and the others write what it has left. */
static void test_a_loop_ends_while_nothing_is_written(void **state)
{
    World *world = *state;
    Worker *first = &world->workers[0], beside = open_beside(world, first);
    Taken *one = take_up(world, first, 0), *other = take_up(world, &beside, 1);
    for (int lost = 0; lost < 2; lost++) {
        world->fate = lost ? TFY_FATE_LOST : TFY_FATE_ANSWER_IS_LOST;
        assert_true(append(&beside, &other->root, "{\"now\":1}") > 0);
        assert_false(written(&beside));
        assert_true(append(&beside, &other->root, "{\"now\":2}") > 0);
        assert_int_equal(tfy__log_close(beside.log, true), TFY_E_IO);
        world->fate = TFY_FATE_ARRIVES;
        world->now_ms += 1000;
        assert_true(append(first, &one->root, "{\"now\":3}") > 0);
        assert_true(written(first));
        assert_int_equal(tfy__shared_run(world->shared, world->runs[1 + lost])->records.count, 3);
        if (lost) return;
        beside = open_beside(world, first);
        other = take_up(world, &beside, 2);
    }
}

static void test_a_run_stays_with_its_loop(void **state)
{
    World *world = *state;
    Worker *first = &world->workers[0], beside = open_beside(world, first);
    TfyStoreLeaving stayed[RUNS];
    Taken *taken = take_up(world, &beside, 0);
    assert_int_equal(send(world, world->runs[0]), 1);
    assert_true(append_snapshot(&beside, taken) > 0);
    assert_int_equal(tfy__log_leave(beside.log, &taken->run, 0, INT64_MAX), 0);
    assert_true(written(&beside));
    assert_int_equal(tfy__log_stayed(first->log, stayed, RUNS), 0);
    assert_int_equal(tfy__log_stayed(beside.log, stayed, RUNS), 1);
    assert_int_equal(stayed[0].run, world->runs[0]);
    assert_int_equal(tfy__log_close(beside.log, true), 0);
}

static void test_all_loops_hear_of_the_end(void **state)
{
    World *world = *state;
    char error[TFY_ERROR_TEXT];
    Worker *first = &world->workers[0], beside = open_beside(world, first);
    Taken *taken = take_up(world, first, 0), *other = take_up(world, &beside, 1);
    assert_true(tfy__shared_end_session(world->shared, first->session, 0));
    assert_true(append(first, &taken->root, "{\"now\":1}") > 0);
    assert_false(written(first));
    assert_int_equal(tfy__log_error(beside.log), TFY_E_HELD);
    assert_true(append(&beside, &other->root, "{\"now\":2}") < 0);
    tfy__log_error_text(beside.log, error);
    assert_non_null(strstr(error, "session"));
    assert_int_equal(tfy__log_close(beside.log, true), TFY_E_HELD);
}

/* While one loop hangs nothing is sent, so the session loses its lease, and the others say so. */
static void test_a_loop_that_hangs(void **state)
{
    World *world = *state;
    Worker *first = &world->workers[0], beside = open_beside(world, first);
    char notice[TFY_ERROR_TEXT];
    Taken *taken = take_up(world, first, 0);
    tfy__log_beat(beside.log);
    assert_true(written(&beside));
    assert_int_equal(first->renewals, 1);
    world->hangs = true;
    world->now_ms += 10;
    tfy__log_beat(beside.log); /* it is not due, but tells */
    assert_true(tfy__log_write(beside.log));
    assert_true(tfy__log_full(first->log));
    assert_true(tfy__log_notice(beside.log, notice));
    assert_false(tfy__log_notice(first->log, notice)); /* once */
    assert_non_null(strstr(notice, "one of the loops of this process hangs"));
    world->now_ms += 1000;
    assert_true(append(first, &taken->root, "{\"now\":1}") > 0);
    assert_false(written(first));
    assert_int_equal(first->renewals, 1);
    assert_int_equal(tfy__shared_session(world->shared, first->session)->beat, 1);
    world->hangs = false;
    world->now_ms += 1000;
    assert_true(written(first));
    assert_false(tfy__log_full(beside.log));
    assert_int_equal(first->renewals, 2);
    assert_int_equal(tfy__log_close(beside.log, true), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, remove_world)
    const struct CMUnitTest tests[] = {
        TEST(test_a_run_goes_on_in_another_session),
        TEST(test_lost_answers),
        TEST(test_an_ended_session_writes_nothing),
        TEST(test_ended_while_the_answer_is_lost),
        TEST(test_ended_while_a_commit_is_late),
        TEST(test_a_run_stays),
        TEST(test_renewals),
        TEST(test_damage_shows),
        TEST(test_two_loops_share_commits),
        TEST(test_a_loop_ends_while_nothing_is_written),
        TEST(test_a_run_stays_with_its_loop),
        TEST(test_all_loops_hear_of_the_end),
        TEST(test_a_loop_that_hangs),
    };
    return cmocka_run_group_tests_name("wal_shared_log", tests, NULL, NULL);
}
