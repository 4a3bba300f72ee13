/* dsl_bug.c: what the compiler says when a check of its own fails: in a child process, because it ends it. And the
 * table that names and paths are found in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bug.h"
#include "table.h"

/* ---- checks ---- */

typedef struct World {
    Arena arena;
    SourceSet sources;
    BugPlace place;
    char said[2000];
} World;

static int open_world(void **state)
{
    World *w = calloc(1, sizeof *w);
    arena_init(&w->arena, 0);
    source_set_init(&w->sources, &w->arena);
    *state = w;
    return 0;
}

static int close_world(void **state)
{
    World *w = *state;
    arena_deinit(&w->arena);
    free(w);
    return 0;
}

/* Runs it in a child, keeps what that says on stderr, and answers its exit status. */
static int status_of(World *w, void (*child)(World *w))
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        child(w);
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(ends[0], w->said + len, sizeof w->said - 1 - len)) > 0;) len += (size_t)n;
    w->said[len] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_said(const World *w, const char *place)
{
    char begin[200];
    snprintf(begin, sizeof begin, "tfyc: %sa bug in the compiler: apples == 3 does not hold (", place);
    const char *file = strstr(w->said, "tests/unit/dsl_bug.c:");
    assert_ptr_equal(strstr(w->said, begin), w->said);
    assert_ptr_equal(file, w->said + strlen(begin));
    assert_string_equal(strchr(file, ')'), "); please report it, with the program if you can\n");
}

static void holds(World *w)
{
    CHECK(w->place.off == 0);
}

static void breaks(World *w)
{
    const int apples = 2;
    CHECK(apples == 3);
}

static void breaks_in_a_program(World *w)
{
    bug_compiles(&w->place);
    breaks(w);
}

static void breaks_behind_it(World *w)
{
    bug_compiles(&w->place);
    bug_compiles(NULL);
    breaks(w);
}

static void a_broken_fact_ends_the_compiler(void **state)
{
    World *w = *state;
    assert_int_equal(status_of(w, holds), 0);
    assert_string_equal(w->said, "");
    assert_int_equal(status_of(w, breaks), 70);
    assert_said(w, "");
}

static void the_place_in_the_program_is_named(void **state)
{
    World *w = *state;
    const Source *source = source_add(&w->sources, "lib/a.tfy", "\n  x", 4);
    w->place = (BugPlace){&w->sources, source->base + 3};
    assert_int_equal(status_of(w, breaks_in_a_program), 70);
    assert_said(w, "lib/a.tfy:2:3: ");
    assert_int_equal(status_of(w, breaks_behind_it), 70);
    assert_said(w, "");
}

/* A place that is in no file is not looked for. */
static void a_place_that_is_nowhere_is_left_out(void **state)
{
    World *w = *state;
    w->place = (BugPlace){&w->sources, 100};
    assert_int_equal(status_of(w, breaks_in_a_program), 70);
    assert_said(w, "");
}

/* ---- the table ---- */

static void a_table_finds_what_was_added(void **state)
{
    World *w = *state;
    Table table = {0};
    assert_null(table_find(&table, "a", 1));
    for (uint64_t i = 0; i < 3000; i++) {
        const char *key = arena_printf(&w->arena, "key%d", (int)i);
        table_add(&w->arena, &table, key, strlen(key))->number = i + 1;
    }
    assert_int_equal(table.count, 3000);
    for (uint64_t i = 0; i < 3000; i++) {
        const char *key = arena_printf(&w->arena, "key%d", (int)i);
        assert_int_equal(table_find(&table, key, strlen(key))->number, i + 1);
        assert_int_equal(table_add(&w->arena, &table, key, strlen(key))->number, i + 1);
    }
    assert_int_equal(table.count, 3000);
    assert_null(table_find(&table, "key3000", 7));
}

static void keys_are_bytes(void **state)
{
    World *w = *state;
    Table table = {0};
    TableItem *whole = table_add(&w->arena, &table, "a\0b", 3), *begin = table_add(&w->arena, &table, "a\0c", 2);
    TableItem *empty = table_add(&w->arena, &table, "", 0);
    assert_null(whole->value);
    assert_ptr_not_equal(whole, begin);
    assert_ptr_equal(table_find(&table, "a\0bx", 3), whole);
    assert_ptr_equal(table_find(&table, "a\0b", 2), begin);
    assert_ptr_equal(table_find(&table, "x", 0), empty);
    assert_null(table_find(&table, "a", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_broken_fact_ends_the_compiler, open_world, close_world),
        cmocka_unit_test_setup_teardown(the_place_in_the_program_is_named, open_world, close_world),
        cmocka_unit_test_setup_teardown(a_place_that_is_nowhere_is_left_out, open_world, close_world),
        cmocka_unit_test_setup_teardown(a_table_finds_what_was_added, open_world, close_world),
        cmocka_unit_test_setup_teardown(keys_are_bytes, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
