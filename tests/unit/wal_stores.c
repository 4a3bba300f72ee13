/* wal_stores.c: all stores are the same: what is put into one is put into each, in transactions of random rows, of which some are rolled back;
 * every look-up and every walk must then find the same in all of them, and in the file when it is opened anew. */
#include "wal_fixture.h"

enum { STORES = 2, TRANSACTIONS = 100, ROWS = 12, TEXT = 64 };

/* What the stores have, as far as the next row must know it. */
typedef struct Known {
    int64_t records, tasks, runs, programs, gap, mark;
    TfyStoreMeta meta;
    int64_t heads[TRANSACTIONS * ROWS + 1], root_of[TRANSACTIONS * ROWS + 1], program_of[TRANSACTIONS * ROWS + 1];
} Known;

typedef struct World {
    TfyStore *stores[STORES];
    Known known, before; /* before the transaction */
    uint64_t random;
} World;

static uint64_t below(World *world, uint64_t limit)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % limit;
}

#define ALL(world_, verb_, ...)                                                                                        \
    for (int i_ = 0; i_ < STORES; i_++)                                                                                \
    assert_int_equal((world_)->stores[i_]->ops->verb_((world_)->stores[i_] __VA_OPT__(, ) __VA_ARGS__), 0)

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
    world->known.program_of[id] = 1 + (int64_t)below(world, (uint64_t)world->known.programs);
    const TfyLogRun run = run_of(world, id);
    const TfyStoreTask task = task_of(world, tid, id, "1");
    ALL(world, put_run, &run, TFY_RUN_BEGINS);
    ALL(world, put_task, &task, true);
}

static void put_records(World *world)
{
    const TfyLogRecord *list[ROWS * 4];
    TfyLogRecord records[ROWS * 4];
    char payloads[ROWS * 4][TEXT];
    const uint32_t count = 1 + (uint32_t)below(world, ROWS * 4 - 1);
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
        list[i] = &records[i];
    }
    ALL(world, put_records, list, count);
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
    ALL(world, put_task, &task, false);
}

static void put_seal(World *world)
{
    const TfyStoreGap gap = {.lsn = world->known.gap = world->known.records, .below = 1, .chain = UINT64_MAX};
    const TfyStoreMark mark = {
        .lsn = world->known.mark = world->known.records, .epoch = 1, .rows = 3, .sum = UINT64_MAX - 1, .chain = 5};
    if (world->before.gap != world->known.records) ALL(world, put_gap, &gap);
    if (world->before.mark != world->known.records) ALL(world, put_mark, &mark);
    world->known.meta.mark = mark.lsn;
    world->known.meta.clean = !world->known.meta.clean;
    world->known.meta.next_lsn = mark.lsn + 1;
    snprintf(world->known.meta.owner, sizeof world->known.meta.owner, "pid %d (test)", (int)below(world, 1000));
    ALL(world, put_meta, &world->known.meta);
}

static void transact(World *world)
{
    world->before = world->known;
    ALL(world, begin);
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
        return;
    }
    for (int i = 0; i < STORES; i++) world->stores[i]->ops->rollback(world->stores[i]);
    world->known = world->before;
}

/* ---- reading ---- */

static void say_bytes(TfyBuffer *out, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) tfy__buffer_printf(out, "%02x", ((const uint8_t *)bytes)[i]);
}

static int say_record(void *state, const TfyLogRecord *record)
{
    tfy__buffer_printf(state, "record %lld %lld %lld %llx %lld %lld %u %d %d %.*s\n", (long long)record->lsn,
                       (long long)record->tid, (long long)record->prev, (unsigned long long)record->chain,
                       (long long)record->ts_ms, (long long)record->step, record->point, record->v, record->type,
                       (int)record->payload_len, record->payload);
    return 0;
}

static int say_task(void *state, const TfyStoreTask *task)
{
    tfy__buffer_printf(state, "task %lld %lld %s %lld %lld %lld %llx %lld %llx %lld %lld %lld\n", (long long)task->tid,
                       (long long)task->run, task->path, (long long)task->program, (long long)task->born,
                       (long long)task->base, (unsigned long long)task->base_chain, (long long)task->head,
                       (unsigned long long)task->chain, (long long)task->step, (long long)task->state,
                       (long long)task->wait);
    return 0;
}

static int say_run(void *state, const TfyLogRun *run)
{
    tfy__buffer_printf(state, "run %lld %lld %lld %d %lld %lld %lld %lld %lld %lld %lld %lld %lld ", (long long)run->id,
                       (long long)run->program, (long long)run->root, run->state, (long long)run->started_ms,
                       (long long)run->ended_ms, (long long)run->imported, (long long)run->base_lsn,
                       (long long)run->moved_lsn, (long long)run->options_lsn, (long long)run->parked_ms,
                       (long long)run->parked_at_ms, (long long)run->origin_lsn);
    say_bytes(state, run->uuid, sizeof run->uuid);
    if (run->origin_lsn) say_bytes(state, run->origin, sizeof run->origin);
    tfy__buffer_char(state, '\n');
    return 0;
}

static int say_mark(void *state, const TfyStoreMark *mark)
{
    tfy__buffer_printf(state, "mark %lld %lld %lld %llx %lld %llx %llx\n", (long long)mark->lsn, (long long)mark->epoch,
                       (long long)mark->rows, (unsigned long long)mark->sum, (long long)mark->gone_rows,
                       (unsigned long long)mark->gone_sum,
                       mark->lsn ? (unsigned long long)mark->chain : 0); /* the first one is of the database's id */
    return 0;
}

static void say_program(TfyBuffer *out, const TfyStoreProgram *program)
{
    tfy__buffer_printf(out, "program %lld %s %s %s ", (long long)program->id, program->tfyc, program->source,
                       program->layout);
    say_bytes(out, program->hash, sizeof program->hash);
    tfy__buffer_char(out, '\n');
}

#define GET(out_, store_, say_, row_, verb_, ...)                                                                      \
    do {                                                                                                               \
        const int code_ = (store_)->ops->verb_((store_), __VA_ARGS__, &(row_));                                        \
        if (code_)                                                                                                     \
            tfy__buffer_printf((out_), #verb_ ": %d\n", code_);                                                        \
        else                                                                                                           \
            say_((out_), &(row_));                                                                                     \
    } while (0)

/* Single rows, of which some are not there. */
static void say_rows(TfyBuffer *out, TfyStore *store, const Known *known, int64_t random)
{
    TfyLogRecord record;
    TfyStoreTask task;
    TfyLogRun run;
    TfyStoreProgram program;
    TfyStoreMark mark;
    TfyStoreGap gap;
    uint8_t uuid[16] = {0};
    const int64_t id = random % (known->runs + 2);
    memcpy(uuid, &id, sizeof id);
    uuid[15] = 7;
    GET(out, store, say_record, record, get_record, random % (known->records + 2));
    GET(out, store, say_task, task, get_task, random % (known->tasks + 2));
    GET(out, store, say_run, run, get_run, id);
    GET(out, store, say_run, run, find_run, uuid);
    GET(out, store, say_program, program, get_program, random % (known->programs + 2), NULL);
    memset(uuid, (int)(random % (known->programs + 2)), sizeof uuid);
    GET(out, store, say_program, program, get_program, 0, uuid);
    GET(out, store, say_mark, mark, get_mark, random % (known->records + 2));
    for (int64_t lsn = 1; lsn <= known->records + 1; lsn++)
        if (store->ops->get_gap(store, lsn, &gap) == 0)
            tfy__buffer_printf(out, "gap %lld %lld %llx\n", (long long)gap.lsn, (long long)gap.below,
                               (unsigned long long)gap.chain);
}

static void say_all(TfyBuffer *out, TfyStore *store, const Known *known, int64_t random)
{
    TfyStoreMeta meta;
    int64_t run = 0, program = 0, tid = 0;
    assert_int_equal(store->ops->look(store), 0);
    assert_int_equal(store->ops->get_meta(store, &meta), 0);
    tfy__buffer_printf(out, "meta %lld %s %lld %lld %lld %lld\n", (long long)meta.epoch, meta.owner,
                       (long long)meta.clean, (long long)meta.next_lsn, (long long)meta.mark, (long long)meta.base);
    say_rows(out, store, known, random);
    const int walks[] = {store->ops->see_records(store, random % (known->records + 2), say_record, out),
                         store->ops->see_tasks(store, random % (known->runs + 2), say_task, out),
                         store->ops->see_runs(store, random % 2, say_run, out),
                         store->ops->see_parked(store, random % (known->programs + 2), random % 5000, say_run, out),
                         store->ops->see_ahead(store, random % (known->programs + 2), random % 5000, say_run, out),
                         store->ops->see_marks(store, say_mark, out)};
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) assert_int_equal(walks[i], 0);
    assert_int_equal(store->ops->last_ids(store, &run, &program, &tid), 0);
    tfy__buffer_printf(out, "last %lld %lld %lld\n", (long long)run, (long long)program, (long long)tid);
    store->ops->look_away(store);
    assert_false(out->failed);
}

static void compare(const World *world, int64_t random)
{
    TfyBuffer said[STORES] = {0};
    for (int i = 0; i < STORES; i++) say_all(&said[i], world->stores[i], &world->known, random);
    for (int i = 1; i < STORES; i++) {
        size_t at = 0, line = 0;
        for (; said[i].data[at] && said[i].data[at] == said[0].data[at]; at++)
            if (said[i].data[at] == '\n') line = at + 1;
        if (said[i].data[at] != said[0].data[at])
            fail_msg("store %d has %.200s\nand store 0 %.200s", i, said[i].data + line, said[0].data + line);
    }
    for (int i = 0; i < STORES; i++) tfy__buffer_free(&said[i]);
}

/* ---- the tests ---- */

static void open_all(World *world, const Place *place, uint64_t seed)
{
    char error[TFY_ERROR_TEXT];
    world->random = seed;
    assert_int_equal(tfy__store_open_memory(&world->stores[0]), 0);
    assert_int_equal(tfy__store_open_sqlite(&world->stores[1], place->db, TFY_STORE_CREATE, error), 0);
    for (int i = 0; i < STORES; i++) {
        TfyStore *store = world->stores[i];
        store->wal_limit = UINT32_MAX;
        assert_int_equal(store->ops->look(store), 0);
        const int code = store->ops->get_meta(store, &world->known.meta);
        store->ops->look_away(store);
        if (!code) continue;
        assert_int_equal(store->ops->begin(store), 0);
        assert_int_equal(tfy__store_found(store), 0);
        assert_int_equal(store->ops->commit(store), 0);
    }
    TfyStore *store = world->stores[1];
    assert_int_equal(store->ops->look(store), 0);
    assert_int_equal(store->ops->get_meta(store, &world->known.meta), 0);
    store->ops->look_away(store);
    world->known.meta.epoch++; /* an opening */
    ALL(world, begin);
    ALL(world, put_meta, &world->known.meta);
    ALL(world, commit);
}

static void test_same(void **state)
{
    Place *place = *state;
    static World world;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        memset(&world, 0, sizeof world);
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
        for (int i = 0; i < STORES; i++) world.stores[i]->ops->close(world.stores[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_same, make_place, remove_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
