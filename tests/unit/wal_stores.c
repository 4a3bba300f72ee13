/* wal_stores.c: all stores are the same: what is put into one is put into each, in transactions of random rows, of which some are rolled back;
 * every look-up and every walk must then find the same in all of them, and in the file when it is opened anew.
 *
 * A shared database numbers the records of each run by themselves, and has no chain of its own, meta and marks. So numbers are translated on
 * their way there, and back where something is said of a file. */
#include "wal_fixture.h"

#include "postgres.h"
#include "wal/store/shared.h"

enum {
    FILES = 2,
    SHARED = FILES,
    POSTGRES,
    STORES,
    TRANSACTIONS = 100,
    ROWS = 12,
    TEXT = 64,
    RECORDS = TRANSACTIONS * ROWS * 48
};

/* What the stores have, as far as the next row must know it. */
typedef struct Known {
    int64_t records, tasks, runs, programs, gap, mark;
    TfyStoreMeta meta;
    int64_t heads[TRANSACTIONS * ROWS + 1], root_of[TRANSACTIONS * ROWS + 1], program_of[TRANSACTIONS * ROWS + 1];
    int64_t run_of[TRANSACTIONS * ROWS + 1];  /* by task */
    int64_t lengths[TRANSACTIONS * ROWS + 1]; /* records of each run; 0: of nobody's */
} Known;

typedef struct World {
    TfyStore *stores[STORES];
    int count; /* of the stores; without PostgreSQL, or with it */
    TfyShared *shared;
    TfyStoreHold hold;   /* of the last transaction there, and in PostgreSQL */
    Known known, before; /* before the transaction */
    /* By a record's number in a file: that in its run, and that run; 0: nobody's. */
    int64_t own[RECORDS], run_of[RECORDS];
    uint64_t random;
} World;

static Postgres server;

static uint64_t below(World *world, uint64_t limit)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % limit;
}

#define EACH(world_, from_, to_, verb_, ...)                                                                           \
    for (int i_ = (from_); i_ < (to_); i_++)                                                                           \
        if ((world_)->stores[i_]->ops->verb_((world_)->stores[i_] __VA_OPT__(, ) __VA_ARGS__))                         \
    fail_msg("store %d, " #verb_ ": %s", i_, (world_)->stores[i_]->error)
#define ALL(world_, verb_, ...)       EACH(world_, 0, (world_)->count, verb_, __VA_ARGS__)
#define IN_FILES(world_, verb_, ...)  EACH(world_, 0, FILES, verb_, __VA_ARGS__)
#define IN_SHARED(world_, verb_, ...) EACH(world_, SHARED, (world_)->count, verb_, __VA_ARGS__)

/* ---- writing ---- */

static void put_program(World *world)
{
    char source[TEXT];
    const int64_t id = ++world->known.programs;
    snprintf(source, sizeof source, "workflow main() {} // %lld", (long long)id);
    TfyStoreProgram program = {.id = id, .tfyc = "1.0", .source = source, .layout = "{\"points\":[]}"};
    memset(program.hash, (int)id, sizeof program.hash);
    ALL(world, put_program, &program);
}

static TfyLogRun run_of(World *world, int64_t id)
{
    TfyLogRun run = {.id = id,
                     .program = world->known.program_of[id],
                     .root = world->known.root_of[id],
                     .state = TFY_TASK_READY,
                     .started_ms = 1000 + id};
    memcpy(run.uuid, &id, sizeof id);
    run.uuid[15] = 7;
    if (id % 3 == 0) run.origin_lsn = id;
    if (id % 3 == 0) memset(run.origin, 9, sizeof run.origin);
    return run;
}

static TfyStoreTask task_of(const World *world, int64_t tid, int64_t run, const char *path)
{
    const int64_t head = world->known.heads[tid];
    return (TfyStoreTask){.tid = tid,
                          .run = run,
                          .path = path,
                          .program = world->known.program_of[run],
                          .born = 1,
                          .base_chain = (uint64_t)tid * 77,
                          .head = head,
                          .chain = (uint64_t)head * 1009 + UINT64_C(0xf000000000000000),
                          .step = head,
                          .state = TFY_TASK_READY};
}

static void put_run(World *world)
{
    const int64_t id = ++world->known.runs, tid = ++world->known.tasks;
    world->known.root_of[id] = tid;
    world->known.run_of[tid] = id;
    world->known.program_of[id] = 1 + (int64_t)below(world, (uint64_t)world->known.programs);
    const TfyLogRun run = run_of(world, id);
    const TfyStoreTask task = task_of(world, tid, id, "1");
    ALL(world, put_run, &run, TFY_RUN_BEGINS);
    ALL(world, put_task, &task, true); /* it has no records */
}

static void put_records(World *world)
{
    const TfyLogRecord *list[ROWS * 4], *of_runs[ROWS * 4];
    TfyLogRecord records[ROWS * 4], own[ROWS * 4];
    char payloads[ROWS * 4][TEXT];
    const uint32_t count = 1 + (uint32_t)below(world, ROWS * 4 - 1);
    uint32_t of_runs_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t lsn = ++world->known.records, tid = (int64_t)below(world, (uint64_t)world->known.tasks + 1);
        const int len = snprintf(payloads[i], TEXT, "{\"text\":\"\u00fc%c%lld\"}", (int)below(world, 26) + 'a',
                                 (long long)below(world, UINT64_MAX));
        records[i] = (TfyLogRecord){.lsn = lsn,
                                    .tid = tid,
                                    .prev = world->known.heads[tid],
                                    .chain = below(world, UINT64_MAX),
                                    .ts_ms = (int64_t)below(world, 1 << 30),
                                    .step = lsn,
                                    .point = (uint32_t)below(world, UINT32_MAX),
                                    .v = TFY_RECORD_V,
                                    .type = (uint8_t)(1 + below(world, 41)),
                                    .payload_len = (uint32_t)len,
                                    .payload = payloads[i]};
        world->known.heads[tid] = lsn;
        world->run_of[lsn] = world->known.run_of[tid];
        world->own[lsn] = ++world->known.lengths[world->run_of[lsn]];
        list[i] = &records[i];
        own[i] = records[i];
        own[i].run = world->run_of[lsn];
        own[i].lsn = world->own[lsn];
        own[i].prev = world->own[own[i].prev];
        if (tid) of_runs[of_runs_count++] = &own[i];
    }
    IN_FILES(world, put_records, list, count);
    IN_SHARED(world, put_records, of_runs, of_runs_count);
}

static void put_change(World *world)
{
    const int64_t id = 1 + (int64_t)below(world, (uint64_t)world->known.runs);
    TfyLogRun run = run_of(world, id);
    run.parked_ms = (int64_t)below(world, 5000);
    run.parked_at_ms = run.parked_ms ? (int64_t)below(world, 5000) : 0;
    run.moved_lsn = (int64_t)below(world, 9);
    run.options_lsn = (int64_t)below(world, 9);
    run.base_lsn = (int64_t)below(world, 9);
    ALL(world, put_run, &run, TFY_RUN_CHANGES);
    if (below(world, 3)) return;
    run.state = TFY_TASK_COMPLETED;
    run.ended_ms = 2000 + id;
    ALL(world, put_run, &run, TFY_RUN_ENDS);
}

static void put_task(World *world)
{
    const int64_t id = 1 + (int64_t)below(world, (uint64_t)world->known.runs);
    TfyStoreTask task = task_of(world, world->known.root_of[id], id, "1");
    task.state = TFY_TASK_SLEEPING;
    task.wait = (int64_t)below(world, 40);
    IN_FILES(world, put_task, &task, false);
    task.head = world->own[task.head];
    IN_SHARED(world, put_task, &task, false);
}

static void put_seal(World *world)
{
    TfyStoreGap gap = {.lsn = world->known.gap = world->known.records, .below = 1, .chain = UINT64_MAX};
    const TfyStoreMark mark = {
        .lsn = world->known.mark = world->known.records, .epoch = 1, .rows = 3, .sum = UINT64_MAX - 1, .chain = 5};
    if (world->before.mark != world->known.records) IN_FILES(world, put_mark, &mark);
    if (world->before.gap != world->known.records) {
        IN_FILES(world, put_gap, &gap);
        gap.run = world->run_of[gap.lsn];
        gap.lsn = world->own[gap.lsn];
        if (gap.run) IN_SHARED(world, put_gap, &gap);
    }
    world->known.meta.mark = mark.lsn;
    world->known.meta.clean = !world->known.meta.clean;
    world->known.meta.next_lsn = mark.lsn + 1;
    snprintf(world->known.meta.owner, sizeof world->known.meta.owner, "pid %d (test)", (int)below(world, 1000));
    IN_FILES(world, put_meta, &world->known.meta);
}

static void transact(World *world)
{
    world->before = world->known;
    IN_FILES(world, begin, NULL);
    IN_SHARED(world, begin, &(TfyStoreHold){world->hold.session, world->hold.commit + 1});
    for (uint64_t rows = 1 + below(world, ROWS); rows; rows--) {
        const uint64_t kind = world->known.runs ? below(world, 8) : world->known.programs ? 1 : 0;
        if (kind == 0)
            put_program(world);
        else if (kind == 1)
            put_run(world);
        else if (kind < 5)
            put_records(world);
        else if (kind < 7)
            put_change(world);
        else
            put_task(world);
    }
    if (world->known.records && below(world, 4) == 0) put_seal(world);
    if (below(world, 4)) {
        ALL(world, commit);
        world->hold.commit++;
        return;
    }
    for (int i = 0; i < world->count; i++) world->stores[i]->ops->rollback(world->stores[i]);
    world->known = world->before;
}

/* ---- reading ---- */

static void say_bytes(TfyBuffer *out, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) tfy__buffer_printf(out, "%02x", ((const uint8_t *)bytes)[i]);
}

/* What is said of one store; numbers are those in their runs. */
typedef struct Said {
    TfyBuffer *out;
    const World *world;
    bool shared;
    int64_t run, from; /* of see_records */
} Said;

static void say_record(const Said *said, const TfyLogRecord *record)
{
    const World *world = said->world;
    const int64_t lsn = said->shared ? record->lsn : world->own[record->lsn],
                  prev = said->shared ? record->prev : world->own[record->prev];
    tfy__buffer_printf(said->out, "record %lld %lld %lld %llx %lld %lld %u %d %d %.*s\n", (long long)lsn,
                       (long long)record->tid, (long long)prev, (unsigned long long)record->chain,
                       (long long)record->ts_ms, (long long)record->step, record->point, record->v, record->type,
                       (int)record->payload_len, record->payload);
}

static int walk_record(void *state, const TfyLogRecord *record)
{
    const Said *said = state;
    const World *world = said->world;
    const bool other =
        !said->shared && (world->run_of[record->lsn] != said->run || world->own[record->lsn] < said->from);
    if (!other) say_record(said, record);
    return 0;
}

static void say_task(const Said *said, const TfyStoreTask *task)
{
    const int64_t head = said->shared ? task->head : said->world->own[task->head];
    tfy__buffer_printf(said->out, "task %lld %lld %s %lld %lld %lld %llx %lld %llx %lld %lld %lld\n",
                       (long long)task->tid, (long long)task->run, task->path, (long long)task->program,
                       (long long)task->born, (long long)task->base, (unsigned long long)task->base_chain,
                       (long long)head, (unsigned long long)task->chain, (long long)task->step, (long long)task->state,
                       (long long)task->wait);
}

static int walk_task(void *state, const TfyStoreTask *task)
{
    say_task(state, task);
    return 0;
}

static void say_run(const Said *said, const TfyLogRun *run)
{
    tfy__buffer_printf(said->out, "run %lld %lld %lld %d %lld %lld %lld %lld %lld %lld %lld %lld %lld ",
                       (long long)run->id, (long long)run->program, (long long)run->root, run->state,
                       (long long)run->started_ms, (long long)run->ended_ms, (long long)run->imported,
                       (long long)run->base_lsn, (long long)run->moved_lsn, (long long)run->options_lsn,
                       (long long)run->parked_ms, (long long)run->parked_at_ms, (long long)run->origin_lsn);
    say_bytes(said->out, run->uuid, sizeof run->uuid);
    if (run->origin_lsn) say_bytes(said->out, run->origin, sizeof run->origin);
    tfy__buffer_char(said->out, '\n');
}

static int walk_run(void *state, const TfyLogRun *run)
{
    say_run(state, run);
    return 0;
}

static void say_mark(const Said *said, const TfyStoreMark *mark)
{
    tfy__buffer_printf(said->out, "mark %lld %lld %lld %llx %lld %llx %llx\n", (long long)mark->lsn,
                       (long long)mark->epoch, (long long)mark->rows, (unsigned long long)mark->sum,
                       (long long)mark->gone_rows, (unsigned long long)mark->gone_sum,
                       mark->lsn ? (unsigned long long)mark->chain : 0); /* the first one is of the database's id */
}

static int walk_mark(void *state, const TfyStoreMark *mark)
{
    say_mark(state, mark);
    return 0;
}

static void say_program(const Said *said, const TfyStoreProgram *program)
{
    tfy__buffer_printf(said->out, "program %lld %s %s %s ", (long long)program->id, program->tfyc, program->source,
                       program->layout);
    say_bytes(said->out, program->hash, sizeof program->hash);
    tfy__buffer_char(said->out, '\n');
}

#define GET(said_, store_, say_, row_, verb_, ...)                                                                     \
    do {                                                                                                               \
        const int code_ = (store_)->ops->verb_((store_), __VA_ARGS__, &(row_));                                        \
        if (code_)                                                                                                     \
            tfy__buffer_printf((said_)->out, #verb_ ": %d\n", code_);                                                  \
        else                                                                                                           \
            say_((said_), &(row_));                                                                                    \
    } while (0)

/* Single rows, of which some are not there. */
static void say_rows(const Said *said, TfyStore *store, int64_t random)
{
    const World *world = said->world;
    const Known *known = &world->known;
    TfyLogRecord record;
    TfyStoreTask task;
    TfyLogRun run;
    TfyStoreProgram program;
    uint8_t uuid[16] = {0};
    const int64_t id = random % (known->runs + 2), tid = 1 + random % (known->tasks + 1),
                  lsn = 1 + random % (known->records + 1);
    memcpy(uuid, &id, sizeof id);
    uuid[15] = 7;
    if (world->run_of[lsn] || lsn > known->records)
        GET(said, store, say_record, record, get_record, world->run_of[lsn], said->shared ? world->own[lsn] : lsn);
    GET(said, store, say_task, task, get_task, known->run_of[tid], tid);
    GET(said, store, say_run, run, get_run, id);
    GET(said, store, say_run, run, find_run, uuid);
    GET(said, store, say_program, program, get_program, random % (known->programs + 2), NULL);
    memset(uuid, (int)(random % (known->programs + 2)), sizeof uuid);
    GET(said, store, say_program, program, get_program, 0, uuid);
    for (int64_t i = 1; i <= known->records; i++) {
        TfyStoreGap gap;
        if (world->run_of[i] && !store->ops->get_gap(store, world->run_of[i], said->shared ? world->own[i] : i, &gap))
            tfy__buffer_printf(said->out, "gap %lld %lld %llx\n", (long long)world->own[i], (long long)gap.below,
                               (unsigned long long)gap.chain);
    }
}

/* What a shared database has none of. */
static void say_file(Said *said, TfyStore *store, int64_t random)
{
    const Known *known = &said->world->known;
    TfyStoreMeta meta;
    TfyStoreMark mark;
    TfyStoreGap gap;
    assert_int_equal(store->ops->get_meta(store, &meta), 0);
    tfy__buffer_printf(said->out, "meta %lld %s %lld %lld %lld %lld\n", (long long)meta.epoch, meta.owner,
                       (long long)meta.clean, (long long)meta.next_lsn, (long long)meta.mark, (long long)meta.base);
    GET(said, store, say_mark, mark, get_mark, random % (known->records + 2));
    said->run = said->from = 0;
    const int walks[] = {store->ops->see_records(store, 0, 1, walk_record, said),
                         store->ops->see_tasks(store, 0, walk_task, said),
                         store->ops->see_parked(store, random % (known->programs + 2), random % 5000, walk_run, said),
                         store->ops->see_ahead(store, random % (known->programs + 2), random % 5000, walk_run, said),
                         store->ops->see_marks(store, walk_mark, said)};
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) assert_int_equal(walks[i], 0);
    for (int64_t lsn = 1; lsn <= known->records + 1; lsn++)
        if (store->ops->get_gap(store, 0, lsn, &gap) == 0) tfy__buffer_printf(said->out, "gap %lld\n", (long long)lsn);
}

static void say_all(Said *said, TfyStore *store, int64_t random, bool whole)
{
    const Known *known = &said->world->known;
    int64_t run = 0, program = 0, tid = 0;
    assert_int_equal(store->ops->look(store), 0);
    said->run = 1 + random % (known->runs + 1);
    said->from = random % (known->lengths[said->run] + 2);
    say_rows(said, store, random);
    const int walks[] = {store->ops->see_records(store, said->run, said->shared ? said->from : 1, walk_record, said),
                         store->ops->see_tasks(store, said->run, walk_task, said),
                         store->ops->see_runs(store, random % 2, walk_run, said)};
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) assert_int_equal(walks[i], 0);
    assert_int_equal(store->ops->last_ids(store, &run, &program, &tid), 0);
    tfy__buffer_printf(said->out, "last %lld %lld\n", (long long)run, (long long)program);
    if (whole) say_file(said, store, random);
    if (whole) assert_int_equal(tid, known->tasks);
    store->ops->look_away(store);
    assert_false(said->out->failed);
}

/* Compares the first store with another. */
static void compare_with(const World *world, int other, int64_t random)
{
    TfyBuffer texts[2] = {0};
    for (int i = 0; i < 2; i++) {
        const int store = i ? other : 0;
        Said said = {.out = &texts[i], .world = world, .shared = store >= SHARED};
        say_all(&said, world->stores[store], random, other < SHARED);
    }
    size_t at = 0, line = 0;
    for (; texts[1].data[at] && texts[1].data[at] == texts[0].data[at]; at++)
        if (texts[1].data[at] == '\n') line = at + 1;
    if (texts[1].data[at] != texts[0].data[at])
        fail_msg("store %d has %.200s\nand store 0 %.200s", other, texts[1].data + line, texts[0].data + line);
    for (int i = 0; i < 2; i++) tfy__buffer_free(&texts[i]);
}

static void compare(const World *world, int64_t random)
{
    for (int i = 1; i < world->count; i++) compare_with(world, i, random);
}

/* ---- the tests ---- */

static void open_all(World *world, const Place *place, uint64_t seed)
{
    char error[TFY_ERROR_TEXT];
    world->random = seed;
    assert_int_equal(tfy__store_open_memory(&world->stores[0]), 0);
    assert_int_equal(tfy__store_open_sqlite(&world->stores[1], place->db, TFY_STORE_CREATE, error), 0);
    for (int i = 0; i < FILES; i++) {
        TfyStore *store = world->stores[i];
        store->wal_limit = UINT32_MAX;
        assert_int_equal(store->ops->look(store), 0);
        const int code = store->ops->get_meta(store, &world->known.meta);
        store->ops->look_away(store);
        if (!code) continue;
        assert_int_equal(store->ops->begin(store, NULL), 0);
        assert_int_equal(tfy__store_found(store), 0);
        assert_int_equal(store->ops->commit(store), 0);
    }
    TfyStore *store = world->stores[1];
    assert_int_equal(store->ops->look(store), 0);
    assert_int_equal(store->ops->get_meta(store, &world->known.meta), 0);
    store->ops->look_away(store);
    world->known.meta.epoch++; /* an opening */
    IN_FILES(world, begin, NULL);
    IN_FILES(world, put_meta, &world->known.meta);
    IN_FILES(world, commit);
    world->shared = tfy__shared_new();
    assert_int_equal(tfy__shared_join(world->shared, &world->stores[SHARED]), 0);
    world->hold.session = tfy__shared_open_session(world->shared, 1000);
}

/* The same session in PostgreSQL. */
static void open_postgres(World *world, const char *settings)
{
    char error[TFY_ERROR_TEXT], address[300];
    assert_true(postgres_fresh(&server, &(TfyPgMake){.lease_ms = 3000}));
    postgres_do(&server, "INSERT INTO tfy.session(id, lease_ms) VALUES (%d, 3000)", (int)world->hold.session);
    snprintf(address, sizeof address, "%s%s", server.address, settings);
    const TfyPgOpen open = {.address = address, .session = world->hold.session};
    if (tfy__pg_open(&world->stores[POSTGRES], &open, error)) fail_msg("%s", error);
    world->count = STORES;
}

static void close_all(World *world)
{
    for (int i = 0; i < world->count; i++) world->stores[i]->ops->close(world->stores[i], true);
    tfy__shared_free(world->shared);
}

static void test_same(void **state)
{
    Place *place = *state;
    static World world;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        memset(&world, 0, sizeof world);
        world.count = POSTGRES;
        snprintf(place->db, sizeof place->db, "%s/%d.db", place->directory, (int)seed);
        open_all(&world, place, seed * UINT64_C(0x9e3779b97f4a7c15));
        for (int i = 0; i < TRANSACTIONS; i++) {
            transact(&world);
            compare(&world, (int64_t)below(&world, 1 << 20));
        }
        assert_true(world.known.records > 1000 && world.known.runs > 20 && world.known.mark);
        world.stores[1]->ops->close(world.stores[1], true);
        if (tfy__store_open_sqlite(&world.stores[1], place->db, TFY_STORE_READ, place->error))
            fail_msg("%s", place->error);
        for (int i = 0; i < 50; i++) compare(&world, (int64_t)below(&world, 1 << 20));
        close_all(&world);
    }
}

/* A server answers more slowly than memory, so the comparisons are fewer. */
static void compare_with_postgres(Place *place, uint64_t seed, const char *settings)
{
    static World world;
    memset(&world, 0, sizeof world);
    snprintf(place->db, sizeof place->db, "%s/%d.db", place->directory, (int)seed);
    open_all(&world, place, seed * UINT64_C(0x9e3779b97f4a7c15));
    open_postgres(&world, settings);
    for (int i = 0; i < TRANSACTIONS; i++) {
        transact(&world);
        if (i < 10 || i % 10 == 9) compare(&world, (int64_t)below(&world, 1 << 20));
    }
    assert_true(world.known.records > 1000 && world.known.runs > 20);
    close_all(&world);
}

static int start_postgres(void **state)
{
    (void)state;
    return postgres_make(&server) || !postgres_find(&server) ? 0 : -1;
}

static int stop_postgres(void **state)
{
    (void)state;
    postgres_remove(&server);
    return 0;
}

static void test_same_in_postgres(void **state)
{
    if (!server.directory[0]) skip();
    compare_with_postgres(*state, 4, "");
    compare_with_postgres(*state, 5, "&tfy_prepare=0");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
    const struct CMUnitTest tests[] = {TEST(test_same), TEST(test_same_in_postgres)};
    return cmocka_run_group_tests(tests, start_postgres, stop_postgres);
}
