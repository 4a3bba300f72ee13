/* What a failed check says: in a child process, because it ends it. */
#include "base/check.h"

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

static char said[2000];

/* Runs it in a child, keeps what that says on stderr, and answers its exit status. */
static int status_of(void (*child)(void))
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        child();
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(ends[0], said + len, sizeof said - 1 - len)) > 0;) len += (size_t)n;
    said[len] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void holds(void)
{
    CHECK(sizeof said > 1);
}

static void breaks(void)
{
    const int apples = 2;
    CHECK(apples == 3);
}

static void tell_run(const void *arg, char *text, size_t size)
{
    snprintf(text, size, "run %s", (const char *)arg);
    CHECK(!"asked twice"); /* one that fails while the place is asked for still ends the process */
}

static void breaks_in_a_run(void)
{
    tfy__check_place(tell_run, "7");
    breaks();
}

static void a_fact_that_holds_changes_nothing(void **state)
{
    assert_int_equal(status_of(holds), 0);
    assert_string_equal(said, "");
}

static void a_broken_one_ends_the_process_with_the_fact_and_its_place(void **state)
{
    assert_int_equal(status_of(breaks), 70);
    assert_non_null(strstr(said, "apples == 3 does not hold (tests/unit/base_check.c:"));
    assert_non_null(strstr(said, "`tfy resume`"));
    assert_int_equal(said[strlen(said) - 1], '\n');
}

static void a_check_that_fails_in_between_still_ends_it(void **state)
{
    assert_int_equal(status_of(breaks_in_a_run), 70);
    assert_non_null(strstr(said, "asked twice"));
}

static void says_much(void)
{
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tfy__stop("%s", text);
}

static void a_long_sentence_is_cut_at_its_end(void **state)
{
    assert_int_equal(status_of(says_much), 70);
    assert_int_equal(strlen(said), 999);
    assert_int_equal(said[998], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fact_that_holds_changes_nothing),
        cmocka_unit_test(a_broken_one_ends_the_process_with_the_fact_and_its_place),
        cmocka_unit_test(a_check_that_fails_in_between_still_ends_it),
        cmocka_unit_test(a_long_sentence_is_cut_at_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
