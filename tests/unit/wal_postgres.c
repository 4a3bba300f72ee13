/* wal_postgres.c: the store in PostgreSQL against a real server: what is written is read back whatever bytes it has, and what
 * breaks is told rightly: connections, servers, disks, libpq, tables and addresses. */
#include "wal_fixture.h"

#include "postgres.h"

static Postgres server;

static int start_server(void **state)
{
    (void)state;
    postgres_make(&server);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    postgres_remove(&server);
    return 0;
}

typedef struct World {
    TfyStore *store;
    TfyStoreHold hold; /* of the next commit */
    int64_t run;
} World;

static int64_t open_session(int64_t lease_ms)
{
    return postgres_number(&server,
                           "WITH s AS (INSERT INTO tfy.session(lease_ms) VALUES (%d) RETURNING id) SELECT id FROM s",
                           (int)lease_ms);
}

static void test_create(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT];
    if (!server.directory[0]) skip();
    assert_true(postgres_fresh(&server, NULL));
    assert_int_equal(tfy__pg_create(server.address, &(TfyPgMake){.lease_ms = 3000}, error), 0);
    assert_int_equal(postgres_number(&server, "SELECT lease_ms FROM tfy.meta"), 3000);
    assert_int_equal(tfy__pg_create(server.address, &(TfyPgMake){0}, error), TFY_E_STATE);
    (void)open_session;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_create)};
    return cmocka_run_group_tests_name("wal_postgres", tests, start_server, stop_server);
}
