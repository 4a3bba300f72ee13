/* The outlet: order, what it tells of its queue, a reader that comes late or goes away, being closed in the middle of a write, no memory. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop/outlet.h"

#define LONG_MS 60000                /* what does not come in this time never comes */
#define MORE    ((size_t)256 * 1024) /* bytes that no pipe of ours takes without a reader */

/* Descriptors 1 and 2 are where the outlet writes; here they are one pipe each, or one pipe for both, and a test gets its own back at its end. */
typedef struct Ends {
    TfyOutlet *outlet;
    int wake, saved[3], reader[3];
} Ends;

static void catch_descriptor(Ends *ends, int fd)
{
    int pair[2];
    ends->saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    assert_true(ends->saved[fd] >= 0);
    assert_int_equal(pipe(pair), 0);
    assert_int_equal(dup2(pair[1], fd), fd);
    close(pair[1]);
    ends->reader[fd] = pair[0];
}

static int setup(void **state)
{
    Ends *ends = calloc(1, sizeof *ends);
    assert_non_null(ends);
    fflush(stdout);
    fflush(stderr);
    catch_descriptor(ends, STDOUT_FILENO);
    catch_descriptor(ends, STDERR_FILENO);
    ends->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ends->outlet = tfy__outlet_open(ends->wake);
    *state = ends;
    return ends->outlet ? 0 : -1;
}

static int teardown(void **state)
{
    Ends *ends = *state;
    tfy__outlet_close(ends->outlet);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        dup2(ends->saved[fd], fd);
        close(ends->saved[fd]);
        if (ends->reader[fd] >= 0) close(ends->reader[fd]);
    }
    close(ends->wake);
    free(ends);
    return 0;
}

static void put(const Ends *ends, int fd, const char *text)
{
    assert_true(tfy__outlet_put(ends->outlet, fd, text, strlen(text)));
}

/* Exactly so many bytes come there. */
static void take(const Ends *ends, int fd, char *bytes, size_t len)
{
    size_t got = 0;
    while (got < len) {
        struct pollfd ready = {.fd = ends->reader[fd], .events = POLLIN};
        assert_int_equal(poll(&ready, 1, LONG_MS), 1);
        const ssize_t n = read(ends->reader[fd], bytes + got, len - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
}

static bool is_woken(const Ends *ends, int ms)
{
    struct pollfd woken = {.fd = ends->wake, .events = POLLIN};
    uint64_t count;
    return poll(&woken, 1, ms) == 1 && read(ends->wake, &count, sizeof count) == sizeof count;
}

static void await_left(const Ends *ends, size_t most)
{
    while (!tfy__outlet_want(ends->outlet, most)) assert_true(is_woken(ends, LONG_MS));
}

/* Lines with their number, more than a pipe holds. */
static size_t put_lines(const Ends *ends, int fd, size_t bytes)
{
    size_t sum = 0;
    char line[64];
    for (int i = 0; sum < bytes; i++) {
        snprintf(line, sizeof line, "line %d of many, each with its number\n", i);
        put(ends, fd, line);
        sum += strlen(line);
    }
    return sum;
}

static void check_lines(const char *bytes, size_t len)
{
    char line[64];
    size_t at = 0;
    for (int i = 0; at < len; i++) {
        const int size = snprintf(line, sizeof line, "line %d of many, each with its number\n", i);
        assert_true(at + (size_t)size <= len);
        assert_memory_equal(bytes + at, line, (size_t)size);
        at += (size_t)size;
    }
}

static void what_is_queued_comes_in_order(void **state)
{
    const Ends *ends = *state;
    char bytes[16];
    put(ends, STDOUT_FILENO, "one\n");
    put(ends, STDOUT_FILENO, "");
    put(ends, STDERR_FILENO, "aside\n");
    put(ends, STDOUT_FILENO, "two\n");
    take(ends, STDOUT_FILENO, bytes, 8);
    assert_memory_equal(bytes, "one\ntwo\n", 8);
    take(ends, STDERR_FILENO, bytes, 6);
    assert_memory_equal(bytes, "aside\n", 6);
    await_left(ends, 0);
    assert_int_equal(tfy__outlet_held(ends->outlet), 0);
}

static void two_descriptors_of_one_file_keep_the_order_between_them(void **state)
{
    const Ends *ends = *state;
    char bytes[16];
    assert_int_equal(dup2(STDOUT_FILENO, STDERR_FILENO), STDERR_FILENO);
    put(ends, STDOUT_FILENO, "a");
    put(ends, STDERR_FILENO, "b");
    put(ends, STDOUT_FILENO, "c");
    put(ends, STDERR_FILENO, "d");
    take(ends, STDOUT_FILENO, bytes, 4);
    assert_memory_equal(bytes, "abcd", 4);
}

static void a_reader_that_comes_late_gets_all_of_it(void **state)
{
    const Ends *ends = *state;
    const size_t len = put_lines(ends, STDOUT_FILENO, MORE);
    char *bytes = malloc(len);
    assert_non_null(bytes);
    assert_false(tfy__outlet_want(ends->outlet, 0));
    assert_true(tfy__outlet_held(ends->outlet) > 0);
    assert_false(is_woken(ends, 0));
    take(ends, STDOUT_FILENO, bytes, len);
    check_lines(bytes, len);
    free(bytes);
    assert_true(is_woken(ends, LONG_MS));
    assert_int_equal(tfy__outlet_held(ends->outlet), 0);
}

static void the_loop_is_woken_when_so_much_is_left(void **state)
{
    const Ends *ends = *state;
    const size_t len = put_lines(ends, STDOUT_FILENO, MORE);
    char *bytes = malloc(len);
    assert_non_null(bytes);
    assert_false(tfy__outlet_want(ends->outlet, len / 4));
    size_t got = 0;
    while (!is_woken(ends, 0)) {
        assert_true(got < len);
        take(ends, STDOUT_FILENO, bytes + got, len - got < 64 ? len - got : 64);
        got += len - got < 64 ? len - got : 64;
    }
    assert_true(got < len);
    assert_true(tfy__outlet_held(ends->outlet) <= len / 4);
    assert_true(tfy__outlet_want(ends->outlet, len / 4));
    free(bytes);
}

static void a_reader_that_goes_away_ends_one_descriptor_only(void **state)
{
    Ends *ends = *state;
    char bytes[4];
    close(ends->reader[STDOUT_FILENO]);
    ends->reader[STDOUT_FILENO] = -1;
    put(ends, STDOUT_FILENO, "lost\n");
    assert_true(is_woken(ends, LONG_MS));
    assert_int_equal(tfy__outlet_error(ends->outlet, STDOUT_FILENO), EPIPE);
    assert_int_equal(tfy__outlet_error(ends->outlet, STDERR_FILENO), 0);
    put(ends, STDOUT_FILENO, "lost\n");
    put(ends, STDERR_FILENO, "here");
    take(ends, STDERR_FILENO, bytes, 4);
    assert_memory_equal(bytes, "here", 4);
    await_left(ends, 0);
}

static void a_write_that_is_stuck_ends_when_the_outlet_is_closed(void **state)
{
    Ends *ends = *state;
    put_lines(ends, STDOUT_FILENO, MORE);
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
    while (poll(&ready, 1, 0) == 1) poll(NULL, 0, 1); /* until the pipe is full */
    tfy__outlet_close(ends->outlet);
    ends->outlet = tfy__outlet_open(ends->wake); /* and it works again */
    assert_non_null(ends->outlet);
    put(ends, STDERR_FILENO, "here");
    char bytes[4];
    take(ends, STDERR_FILENO, bytes, 4);
    assert_memory_equal(bytes, "here", 4);
}

static void outlets_close_at_every_moment_of_a_write(void **state)
{
    Ends *ends = *state;
    for (int i = 0; i < 200; i++) {
        put_lines(ends, STDOUT_FILENO, (size_t)(i % 8) * 100 * (size_t)(i % 8));
        tfy__outlet_close(ends->outlet);
        ends->outlet = tfy__outlet_open(ends->wake);
        assert_non_null(ends->outlet);
    }
}

/* What malloc still has to give is taken. The system gives no more under a limit, which a sanitizer's own memory does not bear. */
#if defined(__has_feature)
#define LIMITED (!__has_feature(address_sanitizer))
#elif defined(__SANITIZE_ADDRESS__)
#define LIMITED false
#else
#define LIMITED true
#endif

static void *take_memory(void)
{
    void **all = NULL;
    for (size_t size = (size_t)1 << 20; size >= 16; size = size > 16384 ? size / 2 : size - 16) {
        for (void **piece; (piece = malloc(size));) {
            *piece = all;
            all = piece;
        }
    }
    return all;
}

static void give_back(void *all)
{
    while (all) {
        void *next = *(void **)all;
        free(all);
        all = next;
    }
}

static void without_memory_the_reserve_queues_one_text(void **state)
{
    const Ends *ends = *state;
    static char text[TFY_OUTLET_RESERVE + 1], bytes[TFY_OUTLET_RESERVE];
    struct rlimit before, none = {.rlim_cur = 1};
    bool fine[4];
    if (!LIMITED) skip();
    memset(text, 'x', sizeof text);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    void *all = take_memory();
    fine[0] = tfy__outlet_put(ends->outlet, STDOUT_FILENO, text, sizeof text); /* too long */
    fine[1] = tfy__outlet_put(ends->outlet, STDOUT_FILENO, text, TFY_OUTLET_RESERVE);
    while (!tfy__outlet_want(ends->outlet, 0)) is_woken(ends, LONG_MS);
    fine[2] = tfy__outlet_put(ends->outlet, STDERR_FILENO, text, 4); /* it is free again */
    fine[3] = tfy__outlet_open(ends->wake) == NULL;
    give_back(all);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_false(fine[0]);
    assert_true(fine[1] && fine[2] && fine[3]);
    take(ends, STDOUT_FILENO, bytes, TFY_OUTLET_RESERVE);
    assert_memory_equal(bytes, text, TFY_OUTLET_RESERVE);
    take(ends, STDERR_FILENO, bytes, 4);
    put(ends, STDOUT_FILENO, "and on");
    take(ends, STDOUT_FILENO, bytes, 6);
    assert_memory_equal(bytes, "and on", 6);
}

/* Signals that the embedding program handles are not taken by the thread, and its own real-time signals stay its own. */
static void on_signal(int number)
{
    (void)number;
}

static void handlers_of_others_stay(void **state)
{
    (void)state;
    int free_ones = 0;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        struct sigaction old;
        assert_int_equal(sigaction(number, NULL, &old), 0);
        if (number == SIGRTMIN + 1) assert_ptr_equal(old.sa_handler, on_signal);
        free_ones += old.sa_handler == SIG_DFL;
    }
    assert_int_equal(free_ones, SIGRTMAX - SIGRTMIN + 1 - 2);
}

static int take_signal(void **state)
{
    (void)state;
    return sigaction(SIGRTMIN + 1, &(struct sigaction){.sa_handler = on_signal}, NULL);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_queued_comes_in_order),
        TEST(two_descriptors_of_one_file_keep_the_order_between_them),
        TEST(a_reader_that_comes_late_gets_all_of_it),
        TEST(the_loop_is_woken_when_so_much_is_left),
        TEST(a_reader_that_goes_away_ends_one_descriptor_only),
        TEST(a_write_that_is_stuck_ends_when_the_outlet_is_closed),
        TEST(outlets_close_at_every_moment_of_a_write),
        TEST(without_memory_the_reserve_queues_one_text),
        TEST(handlers_of_others_stay),
    };
    return cmocka_run_group_tests(tests, take_signal, NULL);
}
