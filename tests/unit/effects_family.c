/* What the descendants of a process use together. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdbool.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "effects/family.h"

#define MIB (UINT64_C(1) << 20)

/* A child with so many children of its own, each with so much memory, in sessions of their own. */
static pid_t start_family(int children, size_t bytes)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t top = fork();
    assert_true(top >= 0);
    for (int i = 0; top == 0 && i < children; i++) {
        if (fork()) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setsid();
        char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) _exit(1);
        memset(memory, 1, bytes);
        if (write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    while (top == 0) pause();
    for (int i = 0; i < children; i++) assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return top;
}

static void end_family(pid_t top)
{
    kill(top, SIGKILL);
    assert_int_equal(waitpid(top, NULL, 0), top);
}

static void nobody(void **state)
{
    (void)state;
    const TfyFamilyUse family = tfy__family_of(getpid());
    assert_int_equal(family.processes, 0);
    assert_int_equal(family.memory, 0);
}

static void sums(void **state)
{
    (void)state;
    const pid_t top = start_family(4, 16 * MIB);
    const TfyFamilyUse all = tfy__family_of(getpid()), below = tfy__family_of(top);
    end_family(top);
    assert_int_equal(all.processes, 5);
    assert_int_equal(below.processes, 4);
    /* each has some of this program's own, too */
    assert_in_range(below.memory, 63 * MIB, 64 * MIB + 4 * 64 * MIB);
    assert_true(all.memory > below.memory);
}

static void limits(void **state)
{
    (void)state;
    const pid_t top = start_family(4, 16 * MIB);
    const TfyLimit none = tfy__family_passed(getpid(), &(TfyLimits){0});
    const TfyLimit just = tfy__family_passed(getpid(), &(TfyLimits){.processes = 5});
    const TfyLimit count = tfy__family_passed(getpid(), &(TfyLimits){.processes = 4});
    const TfyLimit memory = tfy__family_passed(getpid(), &(TfyLimits){.memory = 60 * MIB, .processes = 100});
    end_family(top);
    assert_int_equal(none, TFY_LIMIT_NONE);
    assert_int_equal(just, TFY_LIMIT_NONE);
    assert_int_equal(count, TFY_LIMIT_PROCESSES);
    assert_int_equal(memory, TFY_LIMIT_MEMORY);
}

static void signals(void **state)
{
    (void)state;
    const TfyLimits both = {.cpu_s = 1, .file_bytes = 1}, none = {0};
    assert_int_equal(tfy__family_signal(SIGXCPU, &both), TFY_LIMIT_CPU);
    assert_int_equal(tfy__family_signal(SIGXFSZ, &both), TFY_LIMIT_FILE);
    assert_int_equal(tfy__family_signal(SIGKILL, &both), TFY_LIMIT_NONE);
    assert_int_equal(tfy__family_signal(SIGXCPU, &none), TFY_LIMIT_NONE);
    assert_int_equal(tfy__family_signal(SIGXFSZ, &none), TFY_LIMIT_NONE);
}

static void said(TfyLimit limit, const TfyLimits *held, const char *wanted)
{
    char text[80];
    tfy__family_say(limit, held, text, sizeof text);
    assert_string_equal(text, wanted);
}

static void words(void **state)
{
    (void)state;
    said(TFY_LIMIT_MEMORY, &(TfyLimits){.memory = 2048 * MIB}, "used more than 2 GiB of memory");
    said(TFY_LIMIT_MEMORY, &(TfyLimits){.memory = 1536 * MIB}, "used more than 1536 MiB of memory");
    said(TFY_LIMIT_FILE, &(TfyLimits){.file_bytes = 1000}, "wrote a file larger than 1000 bytes");
    said(TFY_LIMIT_PROCESSES, &(TfyLimits){.processes = 512}, "ran more than 512 processes");
    said(TFY_LIMIT_CPU, &(TfyLimits){.cpu_s = 10}, "used more than 10s of processor time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody), cmocka_unit_test(sums), cmocka_unit_test(limits),
                                       cmocka_unit_test(signals), cmocka_unit_test(words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
