/* wal_postgres.c: the store in PostgreSQL against a real server: what is written is read back whatever bytes it has; what is
 * damaged shows; and tables, addresses and libraries that are not as they have to be are refused with a reason. */
#include "wal_fixture.h"

#include "postgres.h"
#include "wal/log/saved.h"
#include "wal/store/pg_cluster.h"
#include "wal/store/pg_format.h"

static Postgres server;

typedef struct World {
    TfyCluster *cluster;
    TfyStore *store;
    TfyStoreHold hold; /* of the last commit */
    int64_t run, length;
    TfyLogRun row;
} World;

static int start_server(void **state)
{
    (void)state;
    return postgres_make(&server) || !postgres_find(&server) ? 0 : -1;
}

static int stop_server(void **state)
{
    (void)state;
    postgres_remove(&server);
    return 0;
}

/* A session that owns a run without records. *state NULL: there is no server. */
static int make_world(void **state)
{
    static World world;
    char error[TFY_ERROR_TEXT];
    TfyClaimed claimed;
    *state = NULL;
    if (!server.directory[0]) return 0;
    world = (World){.row = {.uuid = "a run of a test", .root = 1, .program = 1}};
    assert_true(postgres_fresh(&server, &(TfyPgMake){.lease_ms = 3000}));
    TfyPgOpen open = {.address = server.address};
    if (tfy__pg_cluster_open(&world.cluster, &open, error)) fail_msg("%s", error);
    open.session = world.hold.session =
        world.cluster->ops->open_session(world.cluster, &(TfyNewSession){.lease_ms = 3000}, &(int64_t){0});
    open.lease_ms = 60000;
    if (tfy__pg_open(&world.store, &open, error)) fail_msg("%s", error);
    const int64_t queue = world.cluster->ops->queue(world.cluster, "default", 1);
    world.run = world.cluster->ops->submit(world.cluster, queue, &world.row, NULL);
    assert_int_equal(world.cluster->ops->claim(world.cluster, world.hold.session, queue, false, &claimed, 1), 1);
    assert_int_equal(claimed.run, world.run);
    *state = &world;
    return 0;
}

static int remove_world(void **state)
{
    World *world = *state;
    if (!world) return 0;
    world->store->ops->close(world->store, true);
    world->cluster->ops->close(world->cluster);
    return 0;
}

static void begin(World *world)
{
    const TfyStoreHold hold = {world->hold.session, world->hold.commit + 1};
    assert_int_equal(world->store->ops->begin(world->store, &hold), 0);
}

static int commit(World *world)
{
    const int code = world->store->ops->commit(world->store);
    if (!code) world->hold.commit++;
    if (code) world->store->ops->rollback(world->store);
    return code;
}

static void commits(World *world)
{
    if (commit(world)) fail_msg("%s", world->store->error);
}

static void put(World *world, const char *payload, size_t len)
{
    const TfyLogRecord record = {.run = world->run,
                                 .tid = 1,
                                 .lsn = world->length + 1,
                                 .prev = world->length,
                                 .v = TFY_RECORD_V,
                                 .type = TFY_R_VALUE,
                                 .point = UINT32_MAX,
                                 .ts_ms = -5,
                                 .chain = UINT64_MAX,
                                 .payload = payload,
                                 .payload_len = (uint32_t)len},
                       *const list = &record;
    if (world->store->ops->put_records(world->store, &list, 1)) fail_msg("%s", world->store->error);
    world->length++;
}

/* ---- what goes in comes out ---- */

static void check_payload(World *world, int64_t lsn, const char *payload, size_t len)
{
    TfyLogRecord record;
    assert_int_equal(world->store->ops->get_record(world->store, world->run, lsn, &record), 0);
    assert_int_equal(record.payload_len, len);
    assert_memory_equal(record.payload, payload, len + 1); /* with the NUL */
    assert_int_equal(record.v, TFY_RECORD_V);
    assert_true(record.point == UINT32_MAX && record.chain == UINT64_MAX && record.ts_ms == -5);
}

static void test_odd_bytes(void **state)
{
    World *world = *state;
    static const char *const payloads[] = {
        "",
        "{}",
        "'; DROP TABLE tfy.run; --",
        "\\\\x41 \\' \\000 E'\\n' $1 $$ \"\" {a,b} {\"pieces\":1,\"bytes\":2,\"hash\":\"0000000000000000\"}",
        "\x01\x02\x1b[31m\x7f\t\r\n",
        "\xc3\xbc \xe2\x82\xac \xf0\x9f\x90\x98 \xef\xbf\xbd \xe2\x80\xae \xcc\x81",
    };
    enum { COUNT = sizeof payloads / sizeof *payloads };
    begin(world);
    for (int i = 0; i < COUNT; i++) put(world, payloads[i], strlen(payloads[i]));
    commits(world);
    for (int i = 0; i < COUNT; i++) check_payload(world, i + 1, payloads[i], strlen(payloads[i]));
    /* What is not UTF-8 is none of ours, and is refused as a whole. */
    begin(world);
    put(world, "\xff", 1);
    assert_int_equal(commit(world), TFY_E_DATA);
    world->length--;
    assert_non_null(strstr(world->store->error, "append records"));
    begin(world);
    put(world, "{}", 2);
    commits(world);
}

static int count_record(void *state, const TfyLogRecord *record)
{
    const size_t *len = state;
    assert_int_equal(record->payload_len, *len);
    for (size_t i = 0; i < *len; i += 4093) assert_int_equal(record->payload[i], 'a' + (char)(i % 23));
    return 7; /* ends the walk, and is its result */
}

static void test_large_payloads(void **state)
{
    World *world = *state;
    static const size_t sizes[] = {TFY_PG_PIECE, TFY_PG_PIECE + 1, 1 << 20, TFY_PG_PAYLOAD_MOST};
    char *payload = malloc(TFY_PG_PAYLOAD_MOST + 2);
    for (size_t i = 0; i < TFY_PG_PAYLOAD_MOST + 1; i++) payload[i] = 'a' + (char)(i % 23);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t len = sizes[i];
        const char was = payload[len];
        payload[len] = '\0';
        begin(world);
        put(world, payload, len);
        commits(world);
        check_payload(world, world->length, payload, len);
        assert_int_equal(world->store->ops->see_records(world->store, world->run, world->length, count_record, &len),
                         7);
        payload[len] = was;
    }
    world->store->ops->shrink(world->store);
    assert_int_equal(postgres_number(&server, "SELECT count(*) FROM tfy.piece WHERE lsn = 3"), 4);
    assert_int_equal(postgres_number(&server, "SELECT max(length(payload)) FROM tfy.record"), TFY_PG_PIECE);
    /* More than that is refused. */
    begin(world);
    const TfyLogRecord record = {.run = world->run,
                                 .lsn = 9,
                                 .payload = payload,
                                 .payload_len = TFY_PG_PAYLOAD_MOST + 1},
                       *const list = &record;
    assert_int_equal(world->store->ops->put_records(world->store, &list, 1), TFY_E_DATA);
    world->store->ops->rollback(world->store);
    free(payload);
}

/* Many rows are several statements, and a walk is several queries. */
static int next_record(void *state, const TfyLogRecord *record)
{
    int64_t *lsn = state;
    assert_int_equal(record->lsn, ++*lsn);
    return 0;
}

static void test_many_records(void **state)
{
    World *world = *state;
    begin(world);
    for (int i = 0; i < 20000; i++) put(world, "{\"now\":1}", 9);
    commits(world);
    int64_t lsn = 0;
    assert_int_equal(world->store->ops->see_records(world->store, world->run, 0, next_record, &lsn), 0);
    assert_int_equal(lsn, 20000);
}

static void test_the_last_of_several_rows_counts(void **state)
{
    World *world = *state;
    TfyStore *store = world->store;
    TfyStoreTask task = {.tid = 1, .run = world->run, .path = "1", .born = 1, .base_chain = 3}, found_task;
    TfyLogRun found, row = world->row;
    row.program = 1;
    begin(world);
    assert_int_equal(store->ops->put_task(store, &task, true), 0);
    for (int i = 1; i < 50; i++) {
        task.head = row.lsn = row.snap = i;
        assert_int_equal(store->ops->put_task(store, &task, false), 0);
        row.state = i == 49 ? TFY_TASK_COMPLETED : TFY_TASK_READY;
        assert_int_equal(store->ops->put_run(store, &row, i == 49 ? TFY_RUN_ENDS : TFY_RUN_CHANGES), 0);
        const TfyStoreGap gap = {.run = world->run, .lsn = 3, .below = i, .chain = 5};
        assert_int_equal(store->ops->put_gap(store, &gap), 0);
    }
    commits(world);
    TfyStoreGap gap;
    assert_int_equal(store->ops->get_task(store, world->run, 1, &found_task), 0);
    assert_int_equal(found_task.head, 49);
    assert_true(found_task.base_chain == 3);
    assert_int_equal(store->ops->get_run(store, world->run, &found), 0);
    assert_int_equal(found.snap, 49);
    assert_int_equal(found.state, TFY_TASK_COMPLETED);
    assert_int_equal(store->ops->get_gap(store, world->run, 3, &gap), 0);
    assert_int_equal(gap.below, 49);
    begin(world);
    task.tid = 2; /* it was never born */
    assert_int_equal(store->ops->put_task(store, &task, false), 0);
    assert_int_equal(commit(world), TFY_E_DATA);
    assert_non_null(strstr(store->error, "change tasks"));
}

static void test_history_for_people(void **state)
{
    World *world = *state;
    TfyLogRun row = {.uuid = "another run", .root = 1, .program = 1};
    char said[100];
    assert_true(world->cluster->ops->submit(world->cluster, world->cluster->ops->queue(world->cluster, "default", 1),
                                            &row, "{\"workflow\":\"main\",\"args\":{\"n\":1}}") > 0);
    assert_true(postgres_try(&server, said, sizeof said,
                             "SELECT type || ' ' || workflow || ' ' || task || ' ' || detail FROM tfy.history"));
    assert_string_equal(said, "InstructionStart main 1 {\"n\":1}");
}

/* ---- damage ---- */

static void test_damage_shows(void **state)
{
    World *world = *state;
    TfyStore *store = world->store;
    const TfyStoreTask task = {.tid = 1, .run = world->run, .path = "1", .born = 1};
    const TfyStoreProgram program = {.id = 1, .hash = "0123456789abcde", .tfyc = "1", .source = "s", .layout = "{}"};
    char *large = calloc(1, (1 << 20) + 1);
    memset(large, 'x', 1 << 20);
    begin(world);
    assert_int_equal(store->ops->put_task(store, &task, true), 0);
    assert_int_equal(store->ops->put_program(store, &program), 0);
    put(world, large, 1 << 20);
    commits(world);
    free(large);
    TfyLogRun run;
    TfyStoreTask found;
    TfyStoreProgram known;
    TfyLogRecord record;
    assert_int_equal(store->ops->get_run(store, world->run, &run), 0);
    assert_int_equal(store->ops->get_program(store, 1, NULL, &known), 0);
    postgres_do(&server, "UPDATE tfy.run SET started = started + 1");
    assert_int_equal(store->ops->get_run(store, world->run, &run), TFY_E_DATA);
    assert_non_null(strstr(store->error, "was changed since it was written"));
    postgres_do(&server, "UPDATE tfy.task SET state = 5");
    assert_int_equal(store->ops->get_task(store, world->run, 1, &found), TFY_E_DATA);
    postgres_do(&server, "UPDATE tfy.program SET source = 't'");
    assert_int_equal(store->ops->get_program(store, 0, program.hash, &known), TFY_E_DATA);
    static const char *const changes[] = {
        "UPDATE tfy.record SET type = 300",
        "UPDATE tfy.record SET v = -300, type = 17",
        "UPDATE tfy.record SET v = -1, payload = replace(payload, 'hash', 'hush')",
        "UPDATE tfy.record SET payload = replace(payload, 'hush', 'hash')",
        "DELETE FROM tfy.piece WHERE n = 2",
        "INSERT INTO tfy.piece SELECT run, lsn, 2, overlay(bytes PLACING 'y'::bytea FROM 1) FROM tfy.piece WHERE n = 1",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        postgres_do(&server, "%s", changes[i]);
        const int code = store->ops->get_record(store, world->run, 1, &record);
        assert_int_equal(code, i == 3 ? 0 : TFY_E_DATA);
    }
    postgres_do(&server, "UPDATE tfy.piece SET bytes = overlay(bytes PLACING 'x'::bytea FROM 1) WHERE n = 2");
    assert_int_equal(store->ops->get_record(store, world->run, 1, &record), 0);
}

/* ---- a view ---- */

static void test_a_look_is_one_view(void **state)
{
    World *world = *state;
    TfyStore *store = world->store;
    TfyLogRecord record;
    TfyLogRun run;
    assert_int_equal(store->ops->look(store), 0);
    assert_int_equal(store->ops->get_run(store, world->run, &run), 0);
    begin(world);
    put(world, "{}", 2);
    commits(world);
    assert_int_equal(store->ops->get_record(store, world->run, 1, &record), TFY_E_ABSENT);
    store->ops->look_away(store);
    assert_int_equal(store->ops->get_record(store, world->run, 1, &record), 0);
    /* A view is lost with its connection; the next look has another one. */
    assert_int_equal(store->ops->look(store), 0);
    assert_int_equal(store->ops->get_run(store, world->run, &run), 0);
    postgres_do(&server,
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'tfy/%%'");
    assert_int_equal(store->ops->get_run(store, world->run, &run), TFY_STORE_AWAY);
    assert_int_equal(store->ops->get_run(store, world->run, &run), TFY_STORE_AWAY);
    store->ops->look_away(store);
    assert_int_equal(store->ops->look(store), 0);
    assert_int_equal(store->ops->get_run(store, world->run, &run), 0);
    store->ops->look_away(store);
}

/* ---- what was read ahead ---- */

typedef struct Walked {
    int64_t first, last;
    int old; /* records as they were when they were read ahead */
} Walked;

static int walk_record(void *state, const TfyLogRecord *record)
{
    Walked *walked = state;
    if (!walked->first) walked->first = record->lsn, walked->last = record->lsn - 1;
    assert_int_equal(record->lsn, walked->last + 1);
    walked->last = record->lsn;
    walked->old += record->payload[0] == 'o';
    return 0;
}

static void walks(World *world, int64_t from, int64_t first, int64_t last, int old)
{
    Walked walked = {0};
    assert_int_equal(world->store->ops->see_records(world->store, world->run, from, walk_record, &walked), 0);
    assert_int_equal(walked.first, first);
    assert_int_equal(walked.last, last);
    assert_int_equal(walked.old, old);
}

static int count_task(void *state, const TfyStoreTask *task)
{
    assert_string_equal(task->path, "1");
    return ++*(int *)state, 0;
}

/* So many records of so many bytes and the root task, read ahead from the snapshot on, and then all records change. */
static TfyAhead *read_ahead(World *world, int count, size_t bytes, int64_t snap)
{
    char *payload = malloc(bytes);
    TfyAhead *ahead;
    assert_non_null(payload);
    memset(payload, 'o', bytes);
    begin(world);
    for (int i = 0; i < count; i++) put(world, payload, bytes);
    const TfyStoreTask root = {.run = world->run, .tid = 1, .path = "1", .program = 1, .born = 1, .head = 1};
    assert_int_equal(world->store->ops->put_task(world->store, &root, true), 0);
    commits(world);
    free(payload);
    postgres_do(&server, "UPDATE tfy.run SET snap = %lld", (long long)snap);
    if (world->cluster->ops->read_ahead(world->cluster, &world->run, 1, &ahead)) fail_msg("%s", world->cluster->error);
    postgres_do(&server, "UPDATE tfy.record SET payload = 'new'");
    world->store->ops->use_ahead(world->store, ahead);
    return ahead;
}

static void test_rows_that_were_read_ahead(void **state)
{
    World *world = *state;
    TfyStore *store = world->store;
    TfyLogRecord record;
    TfyLogRun run;
    TfyStoreTask task;
    int64_t last = 0;
    int tasks = 0;
    TfyAhead *ahead = read_ahead(world, 6, 10, 4);
    postgres_do(&server, "UPDATE tfy.task SET head = 5");
    postgres_do(&server, "UPDATE tfy.run SET lsn = 77");
    for (int64_t lsn = 1; lsn <= 6; lsn++) { /* the birth of the root, and from the snapshot on */
        assert_int_equal(store->ops->get_record(store, world->run, lsn, &record), 0);
        assert_int_equal(record.payload[0], lsn == 1 || lsn >= 4 ? 'o' : 'n');
    }
    assert_int_equal(store->ops->get_record(store, world->run, 7, &record), TFY_E_ABSENT);
    assert_int_equal(store->ops->get_run(store, world->run, &run), 0);
    assert_true(run.lsn != 77 && run.snap == 4 && run.owner == world->hold.session);
    assert_int_equal(store->ops->get_run(store, world->run + 1, &run), TFY_E_ABSENT);
    assert_int_equal(store->ops->get_task(store, world->run, 1, &task), 0);
    assert_int_equal(task.head, 1);
    assert_int_equal(store->ops->get_task(store, world->run, 2, &task), TFY_E_ABSENT);
    assert_int_equal(store->ops->see_tasks(store, world->run, count_task, &tasks), 0);
    assert_int_equal(tasks, 1);
    assert_int_equal(store->ops->last_task(store, world->run, &last), 0);
    assert_int_equal(last, 1);
    walks(world, 4, 4, 6, 3);
    walks(world, 5, 5, 6, 2);
    walks(world, 7, 0, 0, 0);
    walks(world, 3, 3, 6, 0); /* what is before the snapshot was not read */
    store->ops->use_ahead(store, NULL);
    ahead->free(ahead);
    walks(world, 4, 4, 6, 0);
    assert_int_equal(store->ops->get_run(store, world->run, &run), 0);
    assert_int_equal(run.lsn, 77);
}

static void test_of_a_long_run_the_rest_is_read_later(void **state)
{
    TfyAhead *ahead = read_ahead(*state, 700, 10, 3);
    walks(*state, 3, 3, 700, 512);
    walks(*state, 600, 600, 700, 0);
    ((World *)*state)->store->ops->use_ahead(((World *)*state)->store, NULL);
    ahead->free(ahead);
}

static void test_of_large_records_the_rest_is_read_later(void **state)
{
    TfyAhead *ahead = read_ahead(*state, 6, 30000, 0);
    walks(*state, 1, 1, 6, 3);
    walks(*state, 5, 5, 6, 0);
    ((World *)*state)->store->ops->use_ahead(((World *)*state)->store, NULL);
    ahead->free(ahead);
}

/* ---- partitions ---- */

#define PARTITIONS "SELECT count(*) FROM pg_class WHERE relname ~ '^record_[0-9]+$' AND relkind = 'r'"

static void test_partitions_are_made_ahead(void **state)
{
    World *world = *state;
    TfyCluster *cluster = world->cluster;
    TfyLogRun row = {.uuid = "another of them", .root = 1, .program = 1};
    assert_int_equal(postgres_number(&server, PARTITIONS), 2);
    assert_int_equal(cluster->ops->make_room(cluster), 0);
    postgres_do(&server, "SELECT setval('tfy.run_id_seq', 10000000)");
    assert_int_equal(cluster->ops->make_room(cluster), 0); /* as many fit as into one */
    postgres_do(&server, "SELECT setval('tfy.run_id_seq', 19999999)");
    assert_int_equal(cluster->ops->make_room(cluster), 1);
    assert_int_equal(cluster->ops->make_room(cluster), 0);
    assert_int_equal(postgres_number(&server, PARTITIONS), 3);
    const int64_t queue = cluster->ops->queue(cluster, "default", 1);
    assert_int_equal(cluster->ops->submit(cluster, queue, &row, "{}"), 20000000);
    assert_int_equal(postgres_number(&server, "SELECT count(*) FROM tfy.record_2"), 1);
    /* The same constraints as the others: a record is there once. */
    assert_int_equal(postgres_number(&server, "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
                                              " WHERE c.relname = 'record_2' AND indisprimary"),
                     1);
}

/* ---- notices ---- */

/* The next notice that arrives within some seconds. */
static void hears(TfyCluster *cluster, char kind, int64_t id)
{
    TfyNotice notice = {0};
    struct pollfd on = {.fd = cluster->ops->listen(cluster), .events = POLLIN};
    assert_true(on.fd >= 0);
    for (int i = 0; i < 20 && !cluster->ops->notice(cluster, &notice); i++) poll(&on, 1, 500);
    assert_int_equal(notice.kind, kind);
    assert_int_equal(notice.id, id);
    assert_false(cluster->ops->notice(cluster, &notice));
}

static void test_notices(void **state)
{
    World *world = *state;
    TfyCluster *cluster = world->cluster, *sender;
    char error[TFY_ERROR_TEXT], address[300];
    TfyLogRun row = {.uuid = "another of them", .root = 1, .program = 1};
    assert_true(cluster->ops->listen(cluster) >= 0);
    if (tfy__pg_cluster_open(&sender, &(TfyPgOpen){.address = server.address}, error)) fail_msg("%s", error);
    sender->ops->notify(sender, world->run);
    hears(cluster, TFY_NOTICE_MAIL, world->hold.session);
    const int64_t queue = sender->ops->queue(sender, "default", 1),
                  run = sender->ops->submit(sender, queue, &row, NULL);
    sender->ops->notify(sender, run);
    hears(cluster, TFY_NOTICE_READY, queue);
    sender->ops->notify(sender, run + 1); /* there is none */
    postgres_do(&server, "SELECT pg_notify('tfy', t) FROM unnest('{s,q,x1,s1x,\"\",\"q 1 \",-}'::text[]) AS t");
    postgres_do(&server, "NOTIFY other, 's1'");
    postgres_do(&server, "UPDATE tfy.run SET due = 1 WHERE id = %lld", (long long)run);
    assert_int_equal(sender->ops->wake_due(sender, 10), 1);
    hears(cluster, TFY_NOTICE_READY, queue);
    /* Another connection listens anew. */
    postgres_do(&server,
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'tfy/%lld'",
                (long long)world->hold.session);
    assert_false(cluster->ops->notice(cluster, &(TfyNotice){0}));
    assert_int_equal(cluster->ops->listen(cluster), -1);
    assert_int_equal(cluster->ops->wake_due(cluster, 10), 0);
    assert_true(cluster->ops->listen(cluster) >= 0);
    /* Runs of an ended session are told of when they are freed. */
    assert_true(sender->ops->listen(sender) >= 0);
    assert_int_equal(
        sender->ops->end_session(
            sender, &(TfySessionEnd){.session = world->hold.session, .beat = world->hold.commit, .why = "a test"}),
        1);
    assert_int_equal(sender->ops->free_runs(sender, world->hold.session, 10), 1);
    hears(sender, TFY_NOTICE_READY, queue);
    sender->ops->close(sender);
    /* Nothing is left in a connection that others use, too. */
    snprintf(address, sizeof address, "%s&tfy_prepare=0", server.address);
    if (tfy__pg_cluster_open(&sender, &(TfyPgOpen){.address = address}, error)) fail_msg("%s", error);
    assert_int_equal(sender->ops->listen(sender), -1);
    sender->ops->close(sender);
}

/* ---- saved tables ---- */

typedef struct SavedSeen {
    TfyBuffer text;
    int columns;
} SavedSeen;

static int see_column(void *state, const char *name, const char *decl)
{
    SavedSeen *seen = state;
    tfy__buffer_printf(&seen->text, "%s %s,", name, decl);
    seen->columns++;
    return 0;
}

static int see_table(void *state, const char *name)
{
    tfy__buffer_printf(&((SavedSeen *)state)->text, "[%s]", name);
    return 0;
}

static int see_row(void *state, const char *task, int64_t step, const TfyCell *cells)
{
    SavedSeen *seen = state;
    tfy__buffer_printf(&seen->text, "\n%s %lld:", task, (long long)step);
    for (int i = 0; i < seen->columns; i++) {
        tfy__buffer_printf(&seen->text, " %d", cells[i].kind);
        if (cells[i].kind == TFY_CELL_INT) tfy__buffer_printf(&seen->text, "=%lld", (long long)cells[i].i);
        if (cells[i].kind == TFY_CELL_FLOAT) tfy__buffer_printf(&seen->text, "=%.17g", cells[i].f);
        if (cells[i].bytes) tfy__buffer_printf(&seen->text, "=%.*s", (int)cells[i].len, cells[i].bytes);
    }
    return 0;
}

/* All that a store says about saved tables. */
static char *said_of(TfyStore *store, const char *run)
{
    SavedSeen seen = {.columns = -SAVED_KEYS};
    assert_int_equal(store->ops->look(store), 0);
    assert_int_equal(store->ops->see_tables(store, see_table, &seen), 0);
    assert_int_equal(store->ops->see_columns(store, "Seen", see_column, &seen), 0);
    assert_int_equal(store->ops->see_saved(store, "Seen", run, see_row, &seen), 0);
    assert_int_equal(store->ops->see_columns(store, "none", see_column, &seen), TFY_E_ABSENT);
    store->ops->look_away(store);
    assert_false(seen.text.failed);
    return seen.text.data;
}

static void save(TfyLog *log, TfyLogTask *task, int64_t step, const TfyCell *cells, uint32_t count)
{
    char error[TFY_ERROR_TEXT] = "";
    if (tfy__log_save(log, "run-1", task, step, "Seen", cells, count, error)) fail_msg("%s", error);
    tfy__log_flush(log);
    const int code = tfy__log_sync(log);
    tfy__log_error_text(log, error);
    if (code) fail_msg("%d %s", code, error);
}

/* The same rows by the log into a file and into PostgreSQL. */
static void save_all(TfyLog *log)
{
    TfyLogTask task = {.path = (char *)"1.2"};
    const TfyCell cells[] = {
        {.name = "n", .decl = "INT", .kind = TFY_CELL_INT, .i = INT64_MIN},
        {.name = "yes", .decl = "BOOL INT", .kind = TFY_CELL_INT, .i = 1},
        {.name = "at", .decl = "TIME INT", .kind = TFY_CELL_INT, .i = INT64_C(1) << 40},
        {.name = "lasts", .decl = "DURATION INT", .kind = TFY_CELL_INT, .i = -1},
        {.name = "x", .decl = "REAL", .kind = TFY_CELL_FLOAT, .f = 0.1},
        {.name = "order", .decl = "TEXT", .kind = TFY_CELL_TEXT, .bytes = "'ü\"$1\\", .len = 7},
        {.name = "raw", .decl = "BLOB", .kind = TFY_CELL_BLOB, .bytes = "a\0b", .len = 3},
        {.name = "json", .decl = "JSON TEXT", .kind = TFY_CELL_TEXT, .bytes = "{\"a\": 1,  \"a\":2}", .len = 16},
        {.name = "more", .decl = "TEXT", .kind = TFY_CELL_NULL},
    };
    save(log, &task, 1, cells, 7);
    save(log, &task, 2, cells, 9); /* it gets wider */
    save(log, &task, 2, cells, 1); /* is there already */
    task.path = (char *)"1";
    save(log, &task, 3, cells + 8, 1);
}

static void test_saved_tables(void **state)
{
    World *world = *state;
    char error[TFY_ERROR_TEXT] = "", path[64] = "/tmp/tfy-saved-XXXXXX", file[80];
    TfyLog *log;
    TfyStore *store;
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/f.db", path);
    const TfyLogOptions in_file = {.path = file};
    if (tfy__log_open(&log, &in_file, error)) fail_msg("%s", error);
    save_all(log);
    assert_int_equal(tfy__log_close(log, true), 0);
    assert_int_equal(tfy__store_open_sqlite(&store, file, TFY_STORE_READ, error), 0);
    char *expected = said_of(store, "run-1");
    store->ops->close(store, true);
    const TfyPgOpen open = {.address = server.address, .session = world->hold.session};
    TfyLogOptions shared = {.session = world->hold.session, .lease_ms = 3000};
    if (tfy__pg_open(&shared.store, &open, error)) fail_msg("%s", error);
    if (tfy__log_open(&log, &shared, error)) fail_msg("%s", error);
    save_all(log);
    char *said = said_of(world->store, "run-1");
    assert_string_equal(said, expected);
    assert_int_equal(tfy__log_close(log, true), 0);
    postgres_do(&server, "CREATE TABLE saved.other(a int)");
    assert_int_equal(world->store->ops->see_columns(world->store, "other", see_column, NULL), TFY_E_DATA);
    assert_int_equal(postgres_number(&server, "SELECT \"lasts\" FROM saved.\"Seen\" WHERE tfy_step = 2"), -1);
    free(expected);
    free(said);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

/* ---- tables that are not as they have to be ---- */

static int try_open(const char *address, char *error)
{
    TfyStore *store = NULL;
    TfyCluster *cluster = NULL;
    const TfyPgOpen open = {.address = address};
    const int code = tfy__pg_open(&store, &open, error);
    if (store) store->ops->close(store, false);
    char other[TFY_ERROR_TEXT];
    assert_int_equal(tfy__pg_cluster_open(&cluster, &open, other), code);
    if (cluster) cluster->ops->close(cluster);
    return code;
}

static void test_tables(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT];
    if (!server.directory[0]) skip();
    assert_true(postgres_fresh(&server, NULL));
    assert_int_equal(try_open(server.address, error), TFY_E_ABSENT);
    assert_non_null(strstr(error, "tfy db create"));
    assert_int_equal(tfy__pg_create(server.address, &(TfyPgMake){.lease_ms = 1}, error), TFY_E_INVALID);
    assert_int_equal(tfy__pg_create(server.address, &(TfyPgMake){0}, error), 0);
    assert_int_equal(postgres_number(&server, "SELECT lease_ms FROM tfy.meta"), 30000);
    assert_int_equal(tfy__pg_create(server.address, &(TfyPgMake){0}, error), TFY_E_STATE);
    assert_non_null(strstr(error, "has a schema tfy"));
    assert_int_equal(try_open(server.address, error), 0);
    postgres_do(&server, "UPDATE tfy.meta SET format = 77");
    assert_int_equal(try_open(server.address, error), 0); /* newer, and for us to use */
    postgres_do(&server, "UPDATE tfy.meta SET reads_from = 77");
    assert_int_equal(try_open(server.address, error), TFY_E_DATA);
    assert_non_null(strstr(error, "format 77"));
    postgres_do(&server, "UPDATE tfy.meta SET format = 0, reads_from = 0");
    assert_int_equal(try_open(server.address, error), TFY_E_DATA);
    assert_non_null(strstr(error, "tfy db upgrade"));
    postgres_do(&server, "DELETE FROM tfy.meta");
    assert_int_equal(try_open(server.address, error), TFY_E_DATA);
    postgres_do(&server, "DROP TABLE tfy.gap");
    postgres_do(&server, "INSERT INTO tfy.meta VALUES (1, gen_random_uuid(), %d, 1, 30000, false)", TFY_PG_FORMAT);
    TfyStore *store;
    const TfyPgOpen open = {.address = server.address};
    assert_int_equal(tfy__pg_open(&store, &open, error), TFY_E_STATE);
    assert_non_null(strstr(error, "read a gap"));
    assert_non_null(strstr(error, "tfy.gap"));
}

/* What the tables are like: a number that differs if anything of them does. */
#define TABLES                                                                                                         \
    "SELECT ('x' || left(md5((SELECT string_agg(concat_ws(' ', table_schema, table_name, column_name, data_type,"      \
    " is_nullable, column_default), ',' ORDER BY table_schema, table_name, column_name) FROM"                          \
    " information_schema.columns WHERE table_schema IN ('tfy', 'saved')) || (SELECT string_agg(indexdef, ',' ORDER BY" \
    " indexdef) FROM pg_indexes WHERE schemaname = 'tfy')), 15))::bit(60)::int8"

/* From each older format, with what the tables had. */
static void test_upgrades(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT];
    int64_t from;
    if (!server.directory[0]) skip();
    assert_true(postgres_fresh(&server, NULL));
    assert_int_equal(tfy__pg_upgrade(server.address, NULL, &from, &(TfyPgRoles){0}, error), TFY_E_ABSENT);
    assert_true(postgres_fresh(&server, &(TfyPgMake){0}));
    const int64_t tables = postgres_number(&server, TABLES);
    for (int format = 1; format < TFY_PG_FORMAT; format++) {
        assert_true(postgres_fresh(&server, &(TfyPgMake){.format = format}));
        assert_int_equal(postgres_number(&server, "SELECT format FROM tfy.meta"), format);
        postgres_do(&server, "INSERT INTO tfy.session(lease_ms) VALUES (4321)");
        assert_int_equal(try_open(server.address, error), TFY_E_DATA);
        if (format == TFY_PG_FORMAT - 1) assert_true(postgres_number(&server, TABLES) != tables);
        /* All or nothing. */
        postgres_do(&server, "ALTER TABLE tfy.meta ADD CHECK (format <> %d)", TFY_PG_FORMAT);
        assert_int_equal(tfy__pg_upgrade(server.address, NULL, &from, &(TfyPgRoles){0}, error), TFY_E_DATA);
        assert_int_equal(postgres_number(&server, "SELECT format FROM tfy.meta"), format);
        postgres_do(&server, "ALTER TABLE tfy.meta DROP CONSTRAINT meta_format_check");
        if (tfy__pg_upgrade(server.address, NULL, &from, &(TfyPgRoles){0}, error)) fail_msg("%s", error);
        assert_int_equal(from, format);
        assert_int_equal(postgres_number(&server, TABLES), tables);
        assert_int_equal(postgres_number(&server, "SELECT lease_ms FROM tfy.session"), 4321);
        assert_int_equal(try_open(server.address, error), 0);
        assert_int_equal(tfy__pg_upgrade(server.address, NULL, &from, &(TfyPgRoles){0}, error), 0);
        assert_int_equal(from, TFY_PG_FORMAT);
    }
    postgres_do(&server, "UPDATE tfy.meta SET format = 77");
    assert_int_equal(tfy__pg_upgrade(server.address, NULL, &from, &(TfyPgRoles){0}, error), TFY_E_DATA);
    assert_non_null(strstr(error, "use a newer Tiffany"));
}

/* A database that was put in the place of the one that a process has used. */
static void test_another_database(void **state)
{
    World *world = *state;
    TfyLogRun run;
    TfyStoreMeta meta;
    assert_int_equal(world->store->ops->get_meta(world->store, &meta), 0);
    postgres_do(&server, "UPDATE tfy.meta SET db = gen_random_uuid()");
    postgres_do(&server,
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'tfy/%%'");
    assert_int_equal(world->store->ops->get_run(world->store, world->run, &run), TFY_E_STATE);
    assert_non_null(strstr(world->store->error, "another database"));
    begin(world);
    assert_int_equal(commit(world), TFY_E_STATE);
}

static void test_other_encodings(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT], address[300];
    if (!server.directory[0]) skip();
    assert_true(postgres_fresh(&server, NULL));
    postgres_do(&server, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
    snprintf(address, sizeof address, "postgresql:///latin?host=%s&user=tfy", server.directory);
    assert_int_equal(tfy__pg_create(address, &(TfyPgMake){0}, error), TFY_E_STATE);
    assert_non_null(strstr(error, "UTF8"));
}

/* ---- libraries and addresses ---- */

static void test_missing_library(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT];
    TfyPgApi api;
    assert_int_equal(tfy__pg_api_open("libpq.so.99", &api, error), TFY_E_ABSENT);
    assert_non_null(strstr(error, "package libpq5"));
    assert_int_equal(tfy__pg_api_open("libc.so.6", &api, error), TFY_E_ABSENT);
    assert_non_null(strstr(error, "libpq 14 or newer"));
}

static const char *value_of(const TfyPgAddress *address, const char *keyword)
{
    for (int i = 0; i < address->count; i++)
        if (strcmp(address->keywords[i], keyword) == 0) return address->values[i];
    return "";
}

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wrong;   /* part of the message; NULL: it is right */
        const char *sslmode; /* of a right one */
    } rows[] = {
        {"postgresql://h/db", NULL, "verify-full"},
        {"postgres://h/db", NULL, "verify-full"},
        {"postgresql://me@h:5433/db?sslmode=verify-full", NULL, "verify-full"},
        {"postgresql://h/db?sslmode=require", "sslmode=require does not prove", NULL},
        {"postgresql://h/db?sslmode=disable&tfy_plain=1", NULL, "disable"},
        {"postgresql://h/db?tfy_plain=1", NULL, ""},
        {"postgresql://h1,h2/db?tfy_plain=0", NULL, "verify-full"},
        {"postgresql:///db?host=/tmp", NULL, ""},
        {"postgresql:///db?host=/tmp,h", NULL, "verify-full"},
        {"postgresql:///db?host=/tmp&hostaddr=10.0.0.1", NULL, "verify-full"},
        {"postgresql://%2Ftmp/db", NULL, ""},
        {"postgresql:///db?host=/tmp&tfy_prepare=0&target_session_attrs=any&application_name=x", NULL, ""},
        {"postgres://me:secret@h/db", "has a password", NULL},
        {"postgre://h/db", "begins with postgresql://", NULL},
        {"h/db", "begins with postgresql://", NULL},
        {"postgresql://me:secret@h/db", "has a password", NULL},
        {"postgresql://me:@h/db", "has a password", NULL},
        {"postgresql://me:sec%ret@h/db", "has a password", NULL},
        {"postgresql://h/db?password=secret", "has a password", NULL},
        {"postgresql://h/db?%70assword=secret", "has a password", NULL},
        {"postgresql://h/db?tfy_plain=yes", "'tfy_plain=yes' is not a setting", NULL},
        {"postgresql://h/db?tfy_secret", "'tfy_secret' is not a setting", NULL},
        {"postgresql://h/db?bogus=1", "is not the address of a database", NULL},
        {"postgresql://h:port/db?x", "is not the address of a database", NULL},
        {"postgresql://[::1/db", "is not the address of a database", NULL},
    };
    const TfyPgApi *api;
    char error[TFY_ERROR_TEXT];
    if (tfy__pg_api(&api, error)) skip();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TfyPgAddress address;
        const int code = tfy__pg_address_read(&address, api, rows[i].text, "tfy/7", error);
        if (rows[i].wrong && (code != TFY_E_INVALID || !strstr(error, rows[i].wrong)))
            fail_msg("%s: %d %s", rows[i].text, code, error);
        if (!rows[i].wrong && code) fail_msg("%s: %s", rows[i].text, error);
        if (code && strstr(rows[i].text, "sec") && strstr(rows[i].wrong, "password")) assert_null(strstr(error, "sec"));
        if (!code) {
            assert_string_equal(value_of(&address, "sslmode"), rows[i].sslmode);
            assert_string_equal(value_of(&address, "target_session_attrs"), "read-write");
            assert_string_equal(value_of(&address, "application_name"), "tfy/7");
            assert_null(strstr(address.text, "tfy_"));
            assert_true(address.unprepared == (strstr(rows[i].text, "tfy_prepare=0") != NULL));
            assert_int_equal(tfy__pg_address_name(&address, "tfy/8"), 0);
            assert_string_equal(value_of(&address, "application_name"), "tfy/8");
        }
        tfy__pg_address_free(&address);
    }
}

static void test_nobody_answers(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT];
    const TfyPgApi *api;
    if (tfy__pg_api(&api, error)) skip();
    assert_int_equal(try_open("postgresql:///db?host=/nonexistent&user=me", error), TFY_E_IO);
    assert_non_null(strstr(error, "/nonexistent"));
    assert_null(strchr(error, '\n'));
    assert_int_equal(tfy__pg_create("postgresql:///db?host=/nonexistent&user=me", &(TfyPgMake){0}, error), TFY_E_IO);
    if (!server.directory[0]) skip();
    char address[200];
    snprintf(address, sizeof address, "postgresql:///nothing?host=%s&user=tfy", server.directory);
    assert_int_equal(try_open(address, error), TFY_E_IO);
    assert_non_null(strstr(error, "does not exist"));
}

#define IN_WORLD(X)                                                                                                    \
    X(test_odd_bytes)                                                                                                  \
    X(test_large_payloads)                                                                                             \
    X(test_many_records)                                                                                               \
    X(test_the_last_of_several_rows_counts)                                                                            \
    X(test_history_for_people)                                                                                         \
    X(test_damage_shows)                                                                                               \
    X(test_rows_that_were_read_ahead)                                                                                  \
    X(test_of_a_long_run_the_rest_is_read_later)                                                                       \
    X(test_of_large_records_the_rest_is_read_later)                                                                    \
    X(test_partitions_are_made_ahead)                                                                                  \
    X(test_notices)                                                                                                    \
    X(test_a_look_is_one_view)                                                                                         \
    X(test_saved_tables)                                                                                               \
    X(test_another_database)

#define IN_POSTGRES(test_)                                                                                             \
    static void postgres_##test_(void **state)                                                                         \
    {                                                                                                                  \
        if (!*state) skip();                                                                                           \
        test_(state);                                                                                                  \
    }
IN_WORLD(IN_POSTGRES)

int main(void)
{
#define TEST(test_) cmocka_unit_test_setup_teardown(postgres_##test_, make_world, remove_world),
    const struct CMUnitTest tests[] = {
        IN_WORLD(TEST) cmocka_unit_test(test_tables),
        cmocka_unit_test(test_upgrades),
        cmocka_unit_test(test_other_encodings),
        cmocka_unit_test(test_missing_library),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_nobody_answers),
    };
    return cmocka_run_group_tests_name("wal_postgres", tests, start_server, stop_server);
}
