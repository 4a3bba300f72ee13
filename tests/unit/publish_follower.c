/* What a follower does with a target that takes all, some or nothing: the place of its cursor afterwards. */
#include "wal_fixture.h"

#include "publish/cursor.h"
#include "publish/follower.h"

enum { RECORDS = 1200 };

/* A target that does as it is told, and ends the follower with the last record. */
static struct {
    int64_t taken[2 * RECORDS + 1000]; /* lsns, in order */
    size_t count;
    size_t some;        /* takes so many of a delivery; 0: all */
    int64_t again_at;   /* fails once before this record */
    int64_t never_at;   /* fails always there */
    int64_t stop_at;    /* … for good */
    int64_t refused_at; /* takes it as one that it will never have */
    int64_t has;        /* the newest that it says it has; -1: it does not say */
    int64_t last;       /* ends after this one */
    int begun;
    bool ends;
} script;

bool tfy__publish_ends(void)
{
    return script.ends;
}

static TfyPublishTarget *open_target(const TfyFollow *follow, char *error)
{
    return (TfyPublishTarget *)&script;
}

static void begin(TfyPublishTarget *target, int64_t *lsn, TfyDelivery *result)
{
    script.begun++;
    if (script.has >= 0) *lsn = script.has;
}

static bool fails(int64_t lsn, TfyDelivery *result)
{
    const bool again = lsn == script.again_at || lsn == script.never_at;
    if (lsn == script.again_at) script.again_at = 0;
    if (again) tfy__delivery_fail(result, TFY_SENT_AGAIN, "it is busy");
    if (lsn == script.stop_at) tfy__delivery_fail(result, TFY_SENT_STOP, "it has had enough");
    return again || lsn == script.stop_at;
}

static void deliver(TfyPublishTarget *target, const TfyBatch *batch, size_t first, TfyDelivery *result)
{
    for (size_t i = first; i < batch->count && !(script.some && result->done == script.some); i++) {
        const int64_t lsn = batch->items[i].lsn;
        if (fails(lsn, result)) return;
        assert_int_equal(strlen(batch->texts.data + batch->items[i].at), batch->items[i].len);
        if (lsn == script.refused_at)
            result->dropped++;
        else
            script.taken[script.count++] = lsn;
        result->done++;
        if ((script.ends = lsn == script.last)) return;
    }
}

static void close_target(TfyPublishTarget *target)
{
}

static TfyTargetKind kind = {.name = "script",
                             .pause_most_ms = 500,
                             .open = open_target,
                             .begin = begin,
                             .deliver = deliver,
                             .close = close_target};

static void make_log(Place *place, int records)
{
    TfyLog *log;
    const TfyLogOptions options = {.path = place->db, .no_thread = true};
    assert_int_equal(tfy__log_open(&log, &options, place->error), TFY_OK);
    tfy__log_opened(log, "test", NULL);
    while (tfy__log_last_lsn(log) < records)
        tfy__log_append(log, tfy__log_self(log), TFY_R_ADMIN, 0, 0, "{\"what\":\"config\"}", 17);
    assert_int_equal(tfy__log_sync(log), TFY_OK);
    assert_int_equal(tfy__log_close(log, true), TFY_OK);
}

static int follow(Place *place)
{
    TfyFollow what = {.db = place->db, .name = "script"};
    assert_true(tfy__address_read(&what.address, "script://x", place->error));
    script.ends = false;
    script.count = 0;
    const int status = tfy__follow(&what, &kind, true);
    tfy__address_free(&what.address);
    return status;
}

static TfyCursorState state_of(const Place *place)
{
    TfyCursorState state;
    bool works;
    assert_true(tfy__follow_cursor_look(place->db, "script", &state, &works));
    assert_false(works);
    return state;
}

static void start(int64_t last)
{
    memset(&script, 0, sizeof script);
    script.has = -1;
    script.last = last;
    kind.give_up_ms = 0;
}

static void all_taken(int64_t from, int64_t to)
{
    assert_int_equal(script.count, to - from + 1);
    for (int64_t lsn = from; lsn <= to; lsn++) assert_int_equal(script.taken[lsn - from], lsn);
}

static void takes_all_in_order(void **state)
{
    make_log(*state, RECORDS);
    start(RECORDS);
    script.some = 7;
    assert_int_equal(follow(*state), 0);
    all_taken(1, RECORDS);
    assert_int_equal(state_of(*state).lsn, RECORDS);
    assert_int_equal(script.begun, 1);
}

static void goes_on_after_a_failure(void **state)
{
    make_log(*state, RECORDS);
    start(RECORDS);
    script.again_at = 700;
    assert_int_equal(follow(*state), 0);
    all_taken(1, RECORDS);
    assert_int_equal(script.begun, 2);
    assert_string_equal(state_of(*state).error, "it is busy");
    assert_int_equal(state_of(*state).since_ms, 0);
    assert_int_equal(state_of(*state).dropped, 0);
}

static void stops_where_it_must(void **state)
{
    make_log(*state, RECORDS);
    start(RECORDS);
    script.stop_at = 700;
    assert_int_equal(follow(*state), 65);
    all_taken(1, 699);
    assert_int_equal(state_of(*state).lsn, 699);
    script.stop_at = 0;
    assert_int_equal(follow(*state), 0);
    all_taken(700, RECORDS);
}

static void gives_up_one_alone(void **state)
{
    make_log(*state, RECORDS);
    start(RECORDS);
    script.never_at = 700;
    kind.give_up_ms = 300;
    assert_int_equal(follow(*state), 0);
    assert_int_equal(script.count, RECORDS - 1);
    assert_int_equal(script.taken[699], 701);
    assert_int_equal(state_of(*state).dropped, 1);
    assert_int_equal(state_of(*state).lsn, RECORDS);
}

static void counts_what_is_refused(void **state)
{
    make_log(*state, RECORDS);
    start(RECORDS);
    script.refused_at = 3;
    assert_int_equal(follow(*state), 0);
    assert_int_equal(state_of(*state).dropped, 1);
}

static void believes_the_target(void **state)
{
    make_log(*state, RECORDS);
    start(600);
    assert_int_equal(follow(*state), 0);
    start(RECORDS);
    script.has = 500;
    assert_int_equal(follow(*state), 0);
    all_taken(501, RECORDS);
    script.has = RECORDS + 1;
    assert_int_equal(follow(*state), 65);
}

/* A gap is one message, of the last record that is gone, and counts once however often delivery fails after it. */
static void a_gap_counts_once(void **state)
{
    Place *place = *state;
    make_log(place, RECORDS);
    run_sql(place->db, "UPDATE meta SET gc=1; DELETE FROM wal WHERE lsn BETWEEN 10 AND 20; UPDATE meta SET gc=0");
    start(RECORDS);
    script.some = 12;
    script.again_at = 30;
    assert_int_equal(follow(place), 0);
    assert_int_equal(script.count, RECORDS - 10);
    assert_int_equal(script.taken[8], 9);
    assert_int_equal(script.taken[9], 20);
    assert_int_equal(state_of(place).missed, 11);
}

static void save_of(TfyCursor *cursor, int64_t lsn)
{
    cursor->state.lsn = lsn;
    assert_true(tfy__follow_cursor_save(cursor));
}

/* Whatever bytes of a save are missing, the file says what it said before, or what was saved. */
static void a_torn_save_is_no_save(void **state)
{
    Place *place = *state;
    TfyCursor cursor;
    char name[128];
    snprintf(name, sizeof name, "%s-follow/x", place->db);
    assert_int_equal(tfy__follow_cursor_open(&cursor, place->db, "x", place->error), 0);
    for (int64_t lsn = 1; lsn <= 4; lsn++) save_of(&cursor, lsn);
    tfy__follow_cursor_close(&cursor);
    size_t len;
    char *bytes = read_file(name, &len);
    assert_int_equal(len, 2 * TFY_CURSOR_PLACE);
    for (size_t at = TFY_CURSOR_PLACE; at < len; at += 61) { /* the fourth save is in the second place */
        char *torn = malloc(len);
        memcpy(torn, bytes, len);
        memset(torn + at, 'x', 61 < len - at ? 61 : len - at);
        write_file(name, torn, len);
        free(torn);
        assert_int_equal(tfy__follow_cursor_open(&cursor, place->db, "x", place->error), 0);
        assert_int_equal(cursor.state.lsn, 3);
        tfy__follow_cursor_close(&cursor);
    }
    write_file(name, bytes, 100);
    assert_int_equal(tfy__follow_cursor_open(&cursor, place->db, "x", place->error), 0);
    assert_int_equal(cursor.seq, 0);
    tfy__follow_cursor_close(&cursor);
    free(bytes);
}

static void addresses(void **state)
{
    static const char *const names[] = {"stream", "max", NULL};
    TfyAddress address;
    char error[TFY_ERROR_TEXT];
    int64_t max;
    assert_true(tfy__address_read(&address, "redis://ann@[::1]:6379/2?stream=a%2Fb&max=10", error));
    assert_true(tfy__address_parameters(&address, names, error));
    assert_string_equal(address.host, "::1");
    assert_string_equal(address.user, "ann");
    assert_string_equal(address.shown, "redis://[::1]:6379/2");
    assert_string_equal(tfy__address_parameter(&address, "stream"), "a/b");
    assert_true(tfy__address_is_loopback(&address));
    assert_true(tfy__address_number(&address, "max", 5, 1, 10, &max, error));
    assert_false(tfy__address_number(&address, "max", 5, 1, 9, &max, error));
    tfy__address_free(&address);
    static const char *const refused[] = {"", "x", "http://", "redis://h:99999", "redis://u:p@h", "http://a b", NULL};
    for (int i = 0; refused[i]; i++) assert_false(tfy__address_read(&address, refused[i], error));
    static const char *const queries[] = {"r://h?steam=1", "r://h?max", "r://h?max=", "r://h?max=1&max=2", NULL};
    for (int i = 0; queries[i]; i++) {
        assert_true(tfy__address_read(&address, queries[i], error));
        assert_false(tfy__address_parameters(&address, names, error));
        tfy__address_free(&address);
    }
    assert_true(tfy__address_read(&address, "http://127.evil.example/", error));
    assert_false(tfy__address_is_loopback(&address));
    tfy__address_free(&address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(takes_all_in_order, make_place, remove_place),
        cmocka_unit_test_setup_teardown(goes_on_after_a_failure, make_place, remove_place),
        cmocka_unit_test_setup_teardown(stops_where_it_must, make_place, remove_place),
        cmocka_unit_test_setup_teardown(gives_up_one_alone, make_place, remove_place),
        cmocka_unit_test_setup_teardown(counts_what_is_refused, make_place, remove_place),
        cmocka_unit_test_setup_teardown(believes_the_target, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_gap_counts_once, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_torn_save_is_no_save, make_place, remove_place),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
