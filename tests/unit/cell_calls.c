/* The filters of tfy-cell for every architecture that they are made for, run by a machine of our own: this one can only try its own. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <errno.h>
#include <sched.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <cmocka.h>

#undef __x86_64__
#undef __aarch64__
#define __x86_64__      1
#define common          x86_64_common
#define without_sockets x86_64_without_sockets
#define beside_others   x86_64_beside_others
#define no_truncate     x86_64_no_truncate
#include "cell_calls.h"
#undef common
#undef without_sockets
#undef beside_others
#undef no_truncate
#undef __x86_64__
#define __aarch64__     1
#define common          aarch64_common
#define without_sockets aarch64_without_sockets
#define beside_others   aarch64_beside_others
#define no_truncate     aarch64_no_truncate
#include "cell_calls.h"

/* ---- the machine ---- */

static uint32_t loaded(const struct seccomp_data *data, uint32_t offset)
{
    assert_true(offset % 4 == 0 && offset + 4 <= sizeof *data);
    return ((const uint32_t *)data)[offset / 4];
}

/* The filter's answer to a call. Loops do not exist: every jump leads forward. */
static uint32_t answer(const struct sock_filter *code, size_t count, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t at = 0; at < count; at++) {
        const struct sock_filter *one = &code[at];
        switch (one->code) {
        case BPF_LD | BPF_W | BPF_ABS: a = loaded(data, one->k); break;
        case BPF_ALU | BPF_AND | BPF_K: a &= one->k; break;
        case BPF_JMP | BPF_JA: at += one->k; break;
        case BPF_JMP | BPF_JEQ | BPF_K: at += a == one->k ? one->jt : one->jf; break;
        case BPF_JMP | BPF_JGE | BPF_K: at += a >= one->k ? one->jt : one->jf; break;
        case BPF_JMP | BPF_JGT | BPF_K: at += a > one->k ? one->jt : one->jf; break;
        case BPF_RET | BPF_K: return one->k;
        default: fail_msg("instruction %zu is 0x%x", at, one->code);
        }
    }
    fail_msg("the filter has no end");
    return 0;
}

/* ---- calls ---- */

enum { COMMON, WITHOUT_SOCKETS, BESIDE_OTHERS, NO_TRUNCATE, FILTERS };
#define ALLOWED SECCOMP_RET_ALLOW
#define DENIED  (SECCOMP_RET_ERRNO | EPERM)
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)
#define NONE    (-1)
#define HIGH    (UINT64_C(1) << 32)

typedef struct Case {
    const char *name;
    int filter;
    int x86_64, aarch64; /* the call's numbers; NONE: it has none there */
    uint64_t args[4];
    uint32_t wanted;
} Case;

static const Case cases[] = {
    {"read", COMMON, 0, 63, {0}, ALLOWED},
    {"execve", COMMON, 59, 221, {0}, ALLOWED},
    {"openat", COMMON, 257, 56, {0, 0, O_TRUNC}, ALLOWED},
    {"ptrace", COMMON, 101, 117, {0}, DENIED},
    {"process_vm_writev", COMMON, 311, 271, {0}, DENIED},
    {"mount", COMMON, 165, 40, {0}, DENIED},
    {"move_mount", COMMON, 429, 429, {0}, DENIED},
    {"unshare", COMMON, 272, 97, {0}, DENIED},
    {"setns", COMMON, 308, 268, {0}, DENIED},
    {"io_uring_setup", COMMON, 425, 425, {0}, DENIED},
    {"bpf", COMMON, 321, 280, {0}, DENIED},
    {"keyctl", COMMON, 250, 219, {0}, DENIED},
    {"personality", COMMON, 135, 92, {0}, DENIED},
    {"init_module", COMMON, 175, 105, {0}, DENIED},
    {"open_by_handle_at", COMMON, 304, 265, {0}, DENIED},
    {"clone of a process", COMMON, 56, 220, {CLONE_VM | CLONE_VFORK | 17}, ALLOWED},
    {"clone of a user namespace", COMMON, 56, 220, {CLONE_NEWUSER | 17}, DENIED},
    {"clone of a mount namespace", COMMON, 56, 220, {CLONE_NEWNS | CLONE_VM}, DENIED},
    {"clone of a net namespace", COMMON, 56, 220, {CLONE_NEWNET}, DENIED},
    {"clone3", COMMON, 435, 435, {0}, UNKNOWN},
    {"ioctl TCGETS", COMMON, 16, 29, {0, TCGETS}, ALLOWED},
    {"ioctl TIOCSTI", COMMON, 16, 29, {0, TIOCSTI}, DENIED},
    {"ioctl TIOCSTI with an upper half", COMMON, 16, 29, {0, HIGH | TIOCSTI}, DENIED},
    {"ioctl TIOCLINUX", COMMON, 16, 29, {0, TIOCLINUX}, DENIED},
    {"socket of INET", COMMON, 41, 198, {2, 1, 0}, ALLOWED},
    {"socket of INET6", COMMON, 41, 198, {10, 1, 0}, ALLOWED},
    {"socket of routes", COMMON, 41, 198, {16, 3, 0}, ALLOWED},
    {"socket of other netlink", COMMON, 41, 198, {16, 3, 15}, DENIED},
    {"socket of UNIX", COMMON, 41, 198, {1, 1, 0}, DENIED},
    {"socket of UNIX with an upper half", COMMON, 41, 198, {HIGH | 1, 1, 0}, DENIED},
    {"socket of PACKET", COMMON, 41, 198, {17, 3, 0}, DENIED},
    {"socket of ALG", COMMON, 41, 198, {38, 5, 0}, DENIED},
    {"socket of VSOCK", COMMON, 41, 198, {40, 1, 0}, DENIED},
    {"socketpair of UNIX", COMMON, 53, 199, {1, 1, 0}, ALLOWED},
    {"socketpair of another", COMMON, 53, 199, {30, 1, 0}, DENIED},
    {"socket of INET without network", WITHOUT_SOCKETS, 41, 198, {2, 1, 0}, DENIED},
    {"socket of INET6 without network", WITHOUT_SOCKETS, 41, 198, {10, 1, 0}, DENIED},
    {"a limit of its own", BESIDE_OTHERS, 302, 261, {0, 7, 1}, ALLOWED},
    {"the limits of another", BESIDE_OTHERS, 302, 261, {1, 7, 0}, ALLOWED},
    {"a limit of another", BESIDE_OTHERS, 302, 261, {1, 7, 1}, DENIED},
    {"a limit of another, given with an upper half", BESIDE_OTHERS, 302, 261, {HIGH | 1, 7, HIGH}, DENIED},
    {"shmget", BESIDE_OTHERS, 29, 194, {0}, DENIED},
    {"shmat", BESIDE_OTHERS, 30, 196, {0}, DENIED},
    {"msgrcv", BESIDE_OTHERS, 70, 188, {0}, DENIED},
    {"semop", BESIDE_OTHERS, 65, 193, {0}, DENIED},
    {"semtimedop", BESIDE_OTHERS, 220, 192, {0}, DENIED},
    {"truncate", NO_TRUNCATE, 76, 45, {0}, DENIED},
    {"openat for reading", NO_TRUNCATE, 257, 56, {0, 0, O_RDONLY}, ALLOWED},
    {"openat for writing", NO_TRUNCATE, 257, 56, {0, 0, O_WRONLY | O_TRUNC}, ALLOWED},
    {"openat that truncates what it reads", NO_TRUNCATE, 257, 56, {0, 0, O_RDONLY | O_TRUNC | O_CLOEXEC}, DENIED},
    {"open that truncates what it reads", NO_TRUNCATE, 2, NONE, {0, O_RDONLY | O_TRUNC}, DENIED},
    {"openat2", COMMON, 437, 437, {0}, UNKNOWN},
    {"chmod", COMMON, 90, NONE, {0, 0777}, ALLOWED},
    {"chmod u+s", COMMON, 90, NONE, {0, S_ISUID | 0755}, DENIED},
    {"fchmod u+s", COMMON, 91, 52, {0, S_ISUID | 0755}, DENIED},
    {"fchmodat", COMMON, 268, 53, {0, 0, S_ISGID | 0755}, ALLOWED},
    {"fchmodat u+s", COMMON, 268, 53, {0, 0, S_ISUID | 0755}, DENIED},
    {"fchmodat2", COMMON, 452, 452, {0, 0, 0755}, ALLOWED},
    {"fchmodat2 u+s", COMMON, 452, 452, {0, 0, S_ISUID}, DENIED},
    {"mknodat u+s", COMMON, 259, 33, {0, 0, S_IFREG | S_ISUID}, DENIED},
    {"creat u+s", COMMON, 85, NONE, {0, S_ISUID | 0755}, DENIED},
    {"open that makes u+s", COMMON, 2, NONE, {0, O_WRONLY | O_CREAT, S_ISUID | 0755}, DENIED},
    {"openat that makes a file", COMMON, 257, 56, {0, 0, O_WRONLY | O_CREAT, 0755}, ALLOWED},
    {"openat that makes u+s", COMMON, 257, 56, {0, 0, O_WRONLY | O_CREAT | O_CLOEXEC, S_ISUID | 0755}, DENIED},
    {"openat of a nameless file u+s", COMMON, 257, 56, {0, 0, O_WRONLY | __O_TMPFILE | O_DIRECTORY, S_ISUID}, DENIED},
    {"openat that makes nothing, with anything in the register", COMMON, 257, 56, {0, 0, O_RDONLY, ~0ULL}, ALLOWED},
};

typedef struct Filter {
    const struct sock_filter *code;
    size_t count;
} Filter;

#define FILTER(array)                                                                                                  \
    {                                                                                                                  \
        array, sizeof(array) / sizeof *(array)                                                                         \
    }

static void check_answer(const Case *one, const Filter *filter, const struct seccomp_data *data)
{
    const uint32_t was = answer(filter->code, filter->count, data);
    if (was != one->wanted) fail_msg("%s, arch 0x%x: 0x%x, not 0x%x", one->name, data->arch, was, one->wanted);
}

static void try_cases(const Filter filters[FILTERS], uint32_t arch, bool x86_64)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *one = &cases[i];
        struct seccomp_data data = {.nr = x86_64 ? one->x86_64 : one->aarch64, .arch = arch};
        if (data.nr == NONE) continue;
        for (int arg = 0; arg < 4; arg++) data.args[arg] = one->args[arg];
        check_answer(one, &filters[one->filter], &data);
        /* Without a network, the second filter stands in the place of the first. */
        const bool inet = strncmp(one->name, "socket of INET", 14) == 0;
        if (one->filter == COMMON && !inet) check_answer(one, &filters[WITHOUT_SOCKETS], &data);
    }
    for (int i = 0; i < FILTERS; i++) { /* calls of 32 bits */
        const struct seccomp_data other = {.nr = 20, .arch = x86_64 ? AUDIT_ARCH_I386 : AUDIT_ARCH_ARM};
        assert_int_equal(answer(filters[i].code, filters[i].count, &other), SECCOMP_RET_KILL_PROCESS);
    }
}

static void on_x86_64(void **state)
{
    (void)state;
    const Filter filters[] = {FILTER(x86_64_common), FILTER(x86_64_without_sockets), FILTER(x86_64_beside_others),
                              FILTER(x86_64_no_truncate)};
    try_cases(filters, AUDIT_ARCH_X86_64, true);
    const struct seccomp_data x32 = {.nr = 0x40000000 | 520, .arch = AUDIT_ARCH_X86_64};
    assert_int_equal(answer(filters[0].code, filters[0].count, &x32), SECCOMP_RET_KILL_PROCESS);
}

static void on_aarch64(void **state)
{
    (void)state;
    const Filter filters[] = {FILTER(aarch64_common), FILTER(aarch64_without_sockets), FILTER(aarch64_beside_others),
                              FILTER(aarch64_no_truncate)};
    try_cases(filters, AUDIT_ARCH_AARCH64, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_x86_64), cmocka_unit_test(on_aarch64)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
