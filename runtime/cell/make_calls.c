/* make_calls.c: prints the filters of stage 5 as C, for each architecture. Runs while tfy-cell is built; the cell itself
 * needs no library.
 *
 * Four filters, of which the cell installs those that it needs; the strictest answer counts:
 *   common            with a network, or a namespace of its own for it
 *   without_sockets   else, in its place
 *   beside_others     without namespaces of its own for processes and their memory
 *   no_truncate       where Landlock does not know truncation (before ABI 3)
 * Calls of another architecture end the process. Each looks for a call's number by halves: the kernel runs a filter for
 * every number when it is installed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DENIED  SCMP_ACT_ERRNO(EPERM)
#define UNKNOWN SCMP_ACT_ERRNO(ENOSYS)
#define LOW     UINT64_C(0xffffffff) /* what the kernel reads of an int */

/* Calls that reach into other processes, the kernel, or the tree of mounts. */
static const char *const denied[] = {
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_getfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "keyctl",
    "add_key",
    "request_key",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "unshare",
    "setns",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "swapon",
    "swapoff",
    "reboot",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "open_by_handle_at",
    "personality",
    "quotactl",
    "quotactl_fd",
    "acct",
    "syslog",
    "iopl",
    "ioperm",
    "vhangup",
    "sethostname",
    "setdomainname",
    "lookup_dcookie",
    "nfsservctl",
};

/* Memory, queues and semaphores that all processes of a user share by a number. */
static const char *const shared[] = {
    "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl",
};

__attribute__((noreturn)) static void die(const char *what, int code)
{
    fprintf(stderr, "make_calls: %s: %s\n", what, strerror(-code));
    exit(1);
}

static void rule(scmp_filter_ctx filter, uint32_t action, const char *name, unsigned count,
                 const struct scmp_arg_cmp *tests)
{
    const int call = seccomp_syscall_resolve_name(name);
    if (call == __NR_SCMP_ERROR) die(name, -ENOSYS);
    const int code = seccomp_rule_add_array(filter, action, call, count, tests);
    if (code) die(name, code);
}

static void rule_if(scmp_filter_ctx filter, uint32_t action, const char *name, struct scmp_arg_cmp test)
{
    rule(filter, action, name, 1, &test);
}

/* Namespaces, with which a tool could get capabilities over mounts of its own. The flags of clone3 are in memory, which
 * a filter cannot read: C libraries fall back to clone. */
static void add_clone(scmp_filter_ctx filter)
{
    static const uint64_t flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                     CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        rule_if(filter, DENIED, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
    rule(filter, UNKNOWN, "clone3", 0, NULL);
}

/* Sockets of the internet and for questions about links and routes. The upper half of an argument counts here and not
 * in the kernel: what has one is above all numbers, or unequal, and so refused. */
static void add_sockets(scmp_filter_ctx filter)
{
    for (uint64_t family = 0; family < AF_NETLINK; family++)
        if (family != AF_INET && family != AF_INET6) rule_if(filter, DENIED, "socket", SCMP_A0(SCMP_CMP_EQ, family));
    rule_if(filter, DENIED, "socket", SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
    const struct scmp_arg_cmp other_netlink[] = {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_NE, 0)};
    rule(filter, DENIED, "socket", 2, other_netlink);
    rule_if(filter, DENIED, "socketpair", SCMP_A0(SCMP_CMP_NE, AF_UNIX));
}

/* Such a file would give its rights to whoever executes it outside, long after the tool. Where a mode counts only if a
 * file is made, it is else whatever the register held. The mode of openat2 is in memory, which a filter cannot read:
 * programs fall back to openat. */
static void add_set_user_id(scmp_filter_ctx filter)
{
    static const uint64_t making[] = {O_CREAT, O_TMPFILE & ~O_DIRECTORY};
    rule_if(filter, DENIED, "chmod", SCMP_A1(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID));
    rule_if(filter, DENIED, "fchmod", SCMP_A1(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID));
    rule_if(filter, DENIED, "fchmodat", SCMP_A2(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID));
    rule_if(filter, DENIED, "creat", SCMP_A1(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID));
    rule_if(filter, DENIED, "mknod", SCMP_A1(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID));
    rule_if(filter, DENIED, "mknodat", SCMP_A2(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID));
    for (size_t i = 0; i < sizeof making / sizeof *making; i++) {
        const struct scmp_arg_cmp open[] = {SCMP_A1(SCMP_CMP_MASKED_EQ, making[i], making[i]),
                                            SCMP_A2(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID)};
        const struct scmp_arg_cmp openat[] = {SCMP_A2(SCMP_CMP_MASKED_EQ, making[i], making[i]),
                                              SCMP_A3(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID)};
        rule(filter, DENIED, "open", 2, open);
        rule(filter, DENIED, "openat", 2, openat);
    }
    rule(filter, UNKNOWN, "openat2", 0, NULL);
}

/* Newer than libseccomp's table of names; the same number everywhere. */
static void add_fchmodat2(scmp_filter_ctx filter)
{
    enum { FCHMODAT2 = 452 };
    const struct scmp_arg_cmp mode = SCMP_A2(SCMP_CMP_MASKED_EQ, S_ISUID, S_ISUID);
    const int code = seccomp_rule_add_array(filter, DENIED, FCHMODAT2, 1, &mode);
    if (code) die("fchmodat2", code);
}

static void add_common(scmp_filter_ctx filter)
{
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) rule(filter, DENIED, denied[i], 0, NULL);
    add_set_user_id(filter);
    add_fchmodat2(filter);
    add_clone(filter);
    add_sockets(filter);
    rule_if(filter, DENIED, "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, LOW, TIOCSTI));
    rule_if(filter, DENIED, "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, LOW, TIOCLINUX));
}

static void add_without_sockets(scmp_filter_ctx filter)
{
    add_common(filter);
    rule_if(filter, DENIED, "socket", SCMP_A0(SCMP_CMP_EQ, AF_INET));
    rule_if(filter, DENIED, "socket", SCMP_A0(SCMP_CMP_EQ, AF_INET6));
}

/* No other process is looked into; and none is ended by a limit that a tool sets on it. */
static void add_beside_others(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp limit_of_other[] = {SCMP_A0(SCMP_CMP_NE, 0), SCMP_A2(SCMP_CMP_NE, 0)};
    rule(filter, DENIED, "prlimit64", 2, limit_of_other);
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) rule(filter, DENIED, shared[i], 0, NULL);
}

static void add_no_truncate(scmp_filter_ctx filter)
{
    const uint64_t mask = O_TRUNC | O_ACCMODE;
    rule(filter, DENIED, "truncate", 0, NULL);
    rule_if(filter, DENIED, "open", SCMP_A1(SCMP_CMP_MASKED_EQ, mask, O_TRUNC | O_RDONLY));
    rule_if(filter, DENIED, "openat", SCMP_A2(SCMP_CMP_MASKED_EQ, mask, O_TRUNC | O_RDONLY));
}

static void print_filter(uint32_t arch, const char *name, void (*add)(scmp_filter_ctx filter))
{
    struct sock_filter code[4096];
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    const int file = memfd_create("filter", 0);
    if (!filter || file < 0) die(name, -ENOMEM);
    int error = arch == seccomp_arch_native() ? 0 : seccomp_arch_add(filter, arch);
    if (!error && arch != seccomp_arch_native()) error = seccomp_arch_remove(filter, SCMP_ARCH_NATIVE);
    if (!error) error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (!error) error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (error) die(name, error);
    add(filter);
    error = seccomp_export_bpf(filter, file);
    if (error) die(name, error);
    const ssize_t len = pread(file, code, sizeof code, 0);
    if (len <= 0 || (size_t)len == sizeof code) die(name, -EFBIG);
    printf("static const struct sock_filter %s[] = {", name);
    for (size_t i = 0; i < (size_t)len / sizeof *code; i++)
        printf("%s{0x%02x, %u, %u, 0x%08x},", i % 4 ? " " : "\n    ", code[i].code, code[i].jt, code[i].jf, code[i].k);
    printf("\n};\n");
    seccomp_release(filter);
    close(file);
}

static void print_filters(uint32_t arch, const char *macro)
{
    printf("#ifdef %s\n", macro);
    print_filter(arch, "common", add_common);
    print_filter(arch, "without_sockets", add_without_sockets);
    print_filter(arch, "beside_others", add_beside_others);
    print_filter(arch, "no_truncate", add_no_truncate);
    printf("#endif\n");
}

int main(void)
{
    printf("/* Made by make_calls.c. */\n");
    print_filters(SCMP_ARCH_X86_64, "__x86_64__");
    print_filters(SCMP_ARCH_AARCH64, "__aarch64__");
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
