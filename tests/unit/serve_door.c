/* serve_door.c: how long codes and sessions count, by a clock that the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "serve/clock.h"
#include "serve/door.h"
#include "serve/serve.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

static int64_t now_ms;

int64_t tfy__clock_ms(void)
{
    return now_ms;
}

/* Of lists of tokens, which no test here asks for. */
json_t *tfy__json_time(int64_t ms)
{
    return json_integer(ms);
}

typedef struct Place {
    char directory[64], db[96], error[TFY_ERROR_TEXT];
    TfyDoor *door;
} Place;

static void open_door(Place *place)
{
    place->door = tfy__door_open(place->db, place->error);
    if (!place->door) fail_msg("%s", place->error);
}

static int make_place(void **state)
{
    Place *place = calloc(1, sizeof *place);
    strcpy(place->directory, "/tmp/tfy-door-XXXXXX");
    if (!mkdtemp(place->directory)) return -1;
    snprintf(place->db, sizeof place->db, "%s/runs.db", place->directory);
    now_ms = INT64_C(1767225600000);
    *state = place;
    open_door(place);
    return 0;
}

static int remove_place(void **state)
{
    Place *place = *state;
    char command[128];
    tfy__door_close(place->door);
    snprintf(command, sizeof command, "rm -rf %s", place->directory);
    const int code = system(command);
    free(place);
    return code;
}

static void open_again(Place *place)
{
    tfy__door_close(place->door);
    open_door(place);
}

static const TfyCaller ann = {.name = "ann", .how = "unix", .roles = TFY_ROLE_VIEWER};

static void make_code(Place *place, char code[TFY_SECRET_SIZE])
{
    assert_true(tfy__door_code(place->door, &ann, code));
}

static int enter(Place *place, const char *secret, char session[TFY_SECRET_SIZE])
{
    TfyCaller caller = {.how = "http"};
    return tfy__door_enter(place->door, secret, &caller, session);
}

static bool counts(Place *place, const char *session)
{
    TfyCaller caller = {.how = "http"};
    const TfyKnown known = tfy__door_session(place->door, session, &caller);
    if (known == TFY_KNOWN) assert_string_equal(caller.name, "ann");
    return known == TFY_KNOWN;
}

/* A code is good for ten minutes, and once. */
static void test_code(void **state)
{
    Place *place = *state;
    char code[TFY_SECRET_SIZE], late[TFY_SECRET_SIZE], session[TFY_SECRET_SIZE];
    make_code(place, code);
    make_code(place, late);
    now_ms += 10 * MINUTE - 1;
    assert_int_equal(enter(place, code, session), TFY_OK);
    assert_true(counts(place, session));
    assert_int_equal(enter(place, code, session), TFY_E_ABSENT);
    now_ms += 1;
    assert_int_equal(enter(place, late, session), TFY_E_ABSENT);
}

static void start_session(Place *place, char session[TFY_SECRET_SIZE])
{
    char code[TFY_SECRET_SIZE];
    make_code(place, code);
    assert_int_equal(enter(place, code, session), TFY_OK);
}

/* A session that nobody uses for twelve hours ends; each use begins them anew. */
static void test_idle(void **state)
{
    Place *place = *state;
    char session[TFY_SECRET_SIZE];
    start_session(place, session);
    now_ms += 12 * HOUR - 1;
    assert_true(counts(place, session));
    now_ms += 12 * HOUR - 1;
    assert_true(counts(place, session));
    now_ms += 12 * HOUR;
    assert_false(counts(place, session));
}

/* The same when the server ended in between. */
static void test_idle_reopened(void **state)
{
    Place *place = *state;
    char session[TFY_SECRET_SIZE];
    start_session(place, session);
    now_ms += 11 * HOUR;
    assert_true(counts(place, session));
    open_again(place);
    now_ms += 12 * HOUR - 1;
    assert_true(counts(place, session));
    open_again(place);
    now_ms += 12 * HOUR;
    assert_false(counts(place, session));
}

/* After seven days each ends, however it is used, and a stream that it opened is not heard any more. */
static void test_oldest(void **state)
{
    Place *place = *state;
    char session[TFY_SECRET_SIZE];
    TfyCaller caller = {.how = "http"};
    start_session(place, session);
    assert_int_equal(tfy__door_session(place->door, session, &caller), TFY_KNOWN);
    for (int i = 0; i < 14; i++) {
        now_ms += DAY / 2 - 1;
        assert_true(counts(place, session));
        if (i == 5) open_again(place);
    }
    now_ms += 13;
    assert_true(counts(place, session));
    assert_true(tfy__door_holds(place->door, &caller));
    now_ms += 1;
    assert_false(tfy__door_holds(place->door, &caller));
    assert_false(counts(place, session));
    open_again(place);
    assert_false(counts(place, session));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_code, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_idle, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_idle_reopened, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_oldest, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
