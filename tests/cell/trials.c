/* trials.c: what happens to cells when things go wrong.
 *
 *   cell_trials abi                    prints the ABI of Landlock here
 *   cell_trials probe full|partial     prints "yes", or what this machine lacks
 *   cell_trials probe LEVEL ROOT PATH  the same with this root, and a path that is written
 *   cell_trials faults LEVEL ROOT      lets each system call of tfy-cell fail with EIO, one in each trial: the tool must not run, and the answer must
 *                                      name the stage. The last line is how many calls there were. LEVEL layered: partial, with a layer.
 *   cell_trials without CALL COMMAND…  runs a command for which this system call (a number) does not exist
 *   cell_trials kills TFY COUNT        starts so many cells in the current directory and kills one of their processes at a random moment; then as
 *                                      many mounts, namespaces, processes and private directories must be there as before
 *
 * tfy-cell is found beside this program. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own_path.h"
#include "cell/policy.h"

static const char *const stages[] = {"policy", "namespaces", "mounts", "rights", "Landlock", "system calls", "start"};

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "cell_trials: %s: %s\n", what, strerror(errno));
    exit(70);
}

/* ---- a cell ---- */

typedef struct Policy {
    TfyCellHead head;
    char paths[8192];
    size_t len;
} Policy;

static void add(Policy *policy, int kind, const char *path)
{
    policy->len +=
        (size_t)snprintf(policy->paths + policy->len, sizeof policy->paths - policy->len, "%c%s", kind, path) + 1;
    policy->head.paths++;
}

static void describe(Policy *policy, uint32_t level, const char *root)
{
    char path[PATH_MAX];
    *policy = (Policy){.head = {.magic = TFY_CELL_MAGIC,
                                .version = TFY_CELL_VERSION,
                                .level = level,
                                .descriptors = 3,
                                .flags = TFY_CELL_ROOT_WRITABLE,
                                .memory = 1 << 30,
                                .processes = 100,
                                .cpu_s = 10,
                                .file_bytes = 1 << 20}};
    add(policy, TFY_CELL_ROOT, root);
    add(policy, TFY_CELL_CWD, root);
    snprintf(path, sizeof path, "%s/deep/protected", root);
    if (access(path, F_OK) == 0) add(policy, TFY_CELL_PROTECTED, path);
    snprintf(path, sizeof path, "%s/closed", root);
    if (access(path, F_OK) == 0) add(policy, TFY_CELL_CLOSED, path);
}

static const char *cell_path(void)
{
    static char path[PATH_MAX];
    if (!tfy__path_beside("tfy-cell", path)) die("tfy-cell");
    return path;
}

/* With every policy from now on; 0: none. */
static int layer;

/* Starts tfy-cell; tool NULL: a probe. Our end of the socket, with the policy sent. */
static int start(const Policy *policy, const char *tool, const char *argument, bool traced, pid_t *pid)
{
    char datagram[TFY_CELL_POLICY_MAX];
    TfyCellHead head = policy->head;
    int ends[2];
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } rights = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&rights.head), &layer, sizeof layer);
    head.size = (uint32_t)(sizeof head + policy->len);
    if (layer) head.flags |= TFY_CELL_LAYER;
    struct iovec bytes = {.iov_base = datagram, .iov_len = head.size};
    const struct msghdr message = {.msg_iov = &bytes,
                                   .msg_iovlen = 1,
                                   .msg_control = layer ? &rights : NULL,
                                   .msg_controllen = layer ? sizeof rights : 0};
    memcpy(datagram, &head, sizeof head);
    memcpy(datagram + sizeof head, policy->paths, policy->len);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 || sendmsg(ends[0], &message, 0) < 0)
        die("socket");
    *pid = fork();
    if (*pid < 0) die("fork");
    if (*pid == 0) {
        if (ends[1] != 9 && dup2(ends[1], 9) < 0) _exit(70);
        if (traced && (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP))) _exit(70);
        if (tool) execl(cell_path(), "tfy-cell", "9", "1", tool, tool, argument, (char *)NULL);
        if (!tool) execl(cell_path(), "tfy-cell", "9", "0", (char *)NULL);
        _exit(70);
    }
    close(ends[1]);
    return ends[0];
}

/* The ruleset that a cell hands out. */
static void make_layer(const char *root)
{
    Policy policy;
    TfyCellHandout said;
    pid_t pid;
    int status;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } rights;
    struct iovec bytes = {.iov_base = &said, .iov_len = sizeof said};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
    describe(&policy, TFY_CELL_PARTIAL, root);
    policy.head.flags = TFY_CELL_MAKE_LAYER;
    const int end = start(&policy, NULL, NULL, false, &pid);
    if (recvmsg(end, &message, MSG_CMSG_CLOEXEC) != sizeof said || said.magic != TFY_CELL_LAYER_MAGIC ||
        !CMSG_FIRSTHDR(&message) || waitpid(pid, &status, 0) < 0 || status)
        die("no layer was handed out");
    memcpy(&layer, CMSG_DATA(&rights.head), sizeof layer);
    close(end);
}

static int probe(const char *level, const char *root, const char *writes)
{
    Policy policy;
    TfyCellAnswer answer;
    pid_t pid;
    int status;
    describe(&policy, strcmp(level, "full") == 0 ? TFY_CELL_FULL : TFY_CELL_PARTIAL, root);
    policy.head.flags = 0;
    if (writes) add(&policy, TFY_CELL_WRITES, writes);
    const int end = start(&policy, NULL, NULL, false, &pid);
    const ssize_t len = recv(end, &answer, sizeof answer, 0);
    if (waitpid(pid, &status, 0) < 0) die("waitpid");
    if (len == sizeof answer && answer.stage < sizeof stages / sizeof *stages)
        printf("%s: %s\n", stages[answer.stage], strerror(answer.error));
    else
        printf(status ? "status %d\n" : "yes\n", status);
    return 0;
}

/* ---- failing calls ---- */

#if defined(__x86_64__)

/* Processes of a cell, in the order of their birth: tfy-cell, then in a full cell the first process inside and the
 * tool's. The first two work at the same time. */
enum { ROLES = 3 };

typedef struct Trial {
    int role; /* … of the process whose call fails */
    long fail;
    long count[ROLES];         /* calls of each so far, while they could keep the tool from starting */
    bool counting[ROLES];      /* tfy-cell: from the one behind the policy's arrival */
    int said;                  /* how often tfy-cell told the first process that a part of its work is done */
    bool failing;              /* … which is made to fail */
    bool failed;               /* … and that is over */
    bool tool;                 /* the tool runs */
    pid_t known[ROLES], early; /* the processes so far; one that is not known yet */
    int known_count;
    long number; /* of the call that failed */
} Trial;

/* What changes nothing and cannot fail. */
static bool is_harmless(long number)
{
    return number == SYS_getpid || number == SYS_getuid || number == SYS_getgid || number == SYS_exit_group;
}

/* The process outside has done its part when it has said so twice: it made the network, and raised what is in it. */
static void see_end_of_call(Trial *trial, int role, const struct user_regs_struct *regs)
{
    if (role == 0 && regs->orig_rax == SYS_recvmsg) trial->counting[0] = true;
    if (role == 0 && regs->orig_rax == SYS_sendto && ++trial->said == 2) trial->counting[0] = false;
}

static void see_call(Trial *trial, int role)
{
    const pid_t pid = trial->known[role];
    struct user_regs_struct regs;
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0 || ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) < 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        if (!trial->counting[role] || is_harmless((long)regs.orig_rax)) return;
        if (++trial->count[role] != trial->fail || role != trial->role) return;
        trial->failing = true;
        trial->number = (long)regs.orig_rax;
        regs.orig_rax = (unsigned long long)-1;
        ptrace(PTRACE_SETREGS, pid, NULL, &regs);
    } else if (trial->failing && role == trial->role) {
        trial->failing = false;
        trial->failed = true;
        regs.rax = (unsigned long long)-EIO;
        ptrace(PTRACE_SETREGS, pid, NULL, &regs);
    } else {
        see_end_of_call(trial, role, &regs);
    }
}

static int role_of(const Trial *trial, pid_t pid)
{
    for (int i = 0; i < trial->known_count; i++)
        if (trial->known[i] == pid) return i;
    return -1;
}

/* A process that starts the tool has nothing more to build. */
static void take_child(Trial *trial, pid_t parent)
{
    unsigned long child;
    if (ptrace(PTRACE_GETEVENTMSG, parent, NULL, &child) < 0 || trial->known_count == ROLES) return;
    if (trial->known_count == 2) trial->counting[1] = false;
    trial->counting[trial->known_count] = true;
    trial->known[trial->known_count++] = (pid_t)child;
    if (trial->early == (pid_t)child) ptrace(PTRACE_SYSCALL, trial->early, NULL, 0);
}

/* Follows tfy-cell to its end, or until the tool runs; then ends it. */
static void follow(Trial *trial, pid_t pid)
{
    int status;
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) die("the cell did not stop");
    ptrace(PTRACE_SETOPTIONS, pid, NULL, options);
    trial->known[trial->known_count++] = pid;
    ptrace(PTRACE_SYSCALL, pid, NULL, 0);
    for (int execs = 0;;) {
        const pid_t thread = waitpid(-1, &status, __WALL);
        const int role = role_of(trial, thread);
        if (thread < 0) return;
        if (!WIFSTOPPED(status)) continue;
        if (role < 0) { /* stopped before the news of its birth: nothing of it is to be missed */
            trial->early = thread;
            continue;
        }
        int signal = WSTOPSIG(status);
        const int event = status >> 16;
        if (signal == (SIGTRAP | 0x80)) see_call(trial, role);
        if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
            take_child(trial, thread);
        if (event == PTRACE_EVENT_EXEC && ++execs == 2) {
            trial->tool = true;
            for (int i = 0; i < trial->known_count; i++) kill(trial->known[i], SIGKILL);
        }
        if (event || signal == (SIGTRAP | 0x80) || signal == SIGSTOP) signal = 0;
        ptrace(PTRACE_SYSCALL, thread, NULL, signal);
    }
}

/* False: something is wrong, and was said. *trial holds how many calls there were. */
static bool try_fault(const Policy *policy, int role, long fail, Trial *trial)
{
    TfyCellAnswer answer = {0};
    pid_t pid;
    *trial = (Trial){.role = role, .fail = fail};
    const int end = start(policy, "/bin/true", NULL, true, &pid);
    follow(trial, pid);
    ssize_t len; /* the listener comes before, or not at all */
    while ((len = recv(end, &answer, sizeof answer, MSG_DONTWAIT)) == sizeof(TfyCellHandout)) continue;
    const bool done = trial->failed, answered = len == sizeof answer && answer.error == EIO;
    close(end);
    if (!done && !trial->tool) fprintf(stderr, "call %ld did not come, and yet the tool did not run\n", fail);
    if (done && trial->tool)
        fprintf(stderr, "call %ld (number %ld) failed, and yet the tool ran\n", fail, trial->number);
    if (done && !trial->tool && !answered)
        fprintf(stderr,
                "call %ld (number %ld) of process %d failed, and the answer was: %zd bytes, stage %u, error %d\n", fail,
                trial->number, role, len, answer.stage, answer.error);
    return done ? !trial->tool && answered : trial->tool;
}

/* Each call of one process; in a long list of calls, every one at both ends and some between: entries of /etc, one like the other. */
static bool fail_each(const Policy *policy, int role, long count, long *tried)
{
    Trial trial;
    bool right = true;
    for (long fail = 1; fail <= count; fail += fail > 150 && fail < count - 100 ? 11 : 1, ++*tried)
        right = try_fault(policy, role, fail, &trial) && trial.failed && right;
    return right;
}

static int faults(const char *level, const char *root)
{
    const bool full = strcmp(level, "full") == 0;
    Policy policy;
    Trial trial;
    if (strcmp(level, "layered") == 0) make_layer("/usr");
    char path[PATH_MAX];
    long count = 0, tried = 0;
    snprintf(path, sizeof path, "mkdir -p '%s/deep/protected' '%s/closed'", root, root);
    if (system(path) != 0) die("mkdir");
    describe(&policy, full ? TFY_CELL_FULL : TFY_CELL_PARTIAL, root);
    if (full) policy.head.flags |= TFY_CELL_LISTENER;
    bool right = try_fault(&policy, 0, LONG_MAX, &trial);
    if (trial.known_count != (full ? ROLES : 1))
        fprintf(stderr, "there were %d processes\n", trial.known_count), right = false;
    for (int role = 0; role < trial.known_count; role++) {
        right = fail_each(&policy, role, trial.count[role], &tried) && right;
        count += trial.count[role];
    }
    printf("%ld calls, %ld of them failed\n", count, tried);
    return right && count > 60 ? 0 : 1;
}

#else

static int faults(const char *level, const char *root)
{
    (void)level, (void)root;
    printf("not tried on this architecture\n");
    return 0;
}

#endif

/* ---- kills ---- */

typedef struct Count {
    long mounts, namespaces, processes, directories;
} Count;

static long count_lines(const char *command)
{
    long count = -1;
    FILE *pipe = popen(command, "re");
    if (!pipe || fscanf(pipe, "%ld", &count) != 1) die(command);
    pclose(pipe);
    return count;
}

static Count count_all(void)
{
    return (Count){
        .mounts = count_lines("wc -l </proc/self/mountinfo"),
        .namespaces = count_lines(
            "readlink /proc/[0-9]*/ns/mnt /proc/[0-9]*/ns/net /proc/[0-9]*/ns/pid 2>/dev/null | sort -u | wc -l"),
        .processes = count_lines("cat /proc/[0-9]*/comm 2>/dev/null | grep -cxE 'tfy|tfy-cell|cell_sleep'; true"),
        .directories = count_lines("ls -d ${TMPDIR:-/tmp}/tfy-cell-* 2>/dev/null | wc -l"),
    };
}

static bool same(const Count *a, const Count *b)
{
    return a->mounts <= b->mounts && a->namespaces <= b->namespaces && a->processes <= b->processes &&
           a->directories <= b->directories;
}

/* The processes below one, itself included; not the caretaker of a private directory, whose end is not killed but comes. */
static int family(pid_t top, pid_t list[16])
{
    int count = 1;
    list[0] = top;
    for (int i = 0; i < count && count < 12; i++) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", list[i], list[i]);
        FILE *file = fopen(path, "re");
        if (file && fgets(text, sizeof text, file))
            for (char *at = strtok(text, " "); at && count < 12; at = strtok(NULL, " "))
                if (getsid(atoi(at)) == getsid(0)) list[count++] = atoi(at);
        if (file) fclose(file);
    }
    return count;
}

static int kills(const char *tfy, int count)
{
    const Count before = count_all();
    Count after = before;
    srandom((unsigned)time(NULL));
    for (int i = 0; i < count; i++) {
        pid_t list[16];
        const pid_t pid = fork();
        if (pid == 0) {
            if (!freopen("/dev/null", "w", stderr)) _exit(70);
            execl(tfy, "tfy", "sandbox", "--sandbox-level", i % 2 ? "partial" : "full", "--", "sh", "-c",
                  "sleep 60 & sleep 60", (char *)NULL);
            _exit(70);
        }
        usleep((useconds_t)(random() % 15000));
        const int many = family(pid, list);
        kill(list[random() % many], SIGKILL);
        usleep(2000);
        kill(pid, random() % 2 ? SIGKILL : SIGTERM); /* whichever it was: tfy ends now */
        if (waitpid(pid, NULL, 0) < 0) die("waitpid");
    }
    for (int waited = 0; waited < 100; waited++) { /* namespaces are taken down behind the last process */
        after = count_all();
        if (same(&after, &before)) break;
        usleep(50000);
    }
    printf("%ld mounts, %ld namespaces, %ld processes, %ld directories; before: %ld, %ld, %ld, %ld\n", after.mounts,
           after.namespaces, after.processes, after.directories, before.mounts, before.namespaces, before.processes,
           before.directories);
    return same(&after, &before) ? 0 : 1;
}

static int without(long call, char **command)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        die("seccomp");
    execvp(command[0], command);
    die(command[0]);
}

/* Runs a command in a network of its own, where some public addresses are this machine's, with a file of names. */
static int in_network(char *file, char **command)
{
    static const char *const addresses[] = {"127.0.0.1", "198.41.0.4", "198.41.0.5"};
    struct ifreq request = {.ifr_name = "lo"};
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)&request.ifr_addr;
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(file, "/etc/hosts", NULL, MS_BIND, NULL) < 0)
        die("network");
    const int link = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    request.ifr_flags = IFF_UP;
    if (ioctl(link, SIOCSIFFLAGS, &request) < 0) die("lo");
    for (int i = 0; i < 3; i++) {
        *address = (struct sockaddr_in){.sin_family = AF_INET};
        snprintf(request.ifr_name, sizeof request.ifr_name, i ? "lo:%d" : "lo", i);
        inet_pton(AF_INET, addresses[i], &address->sin_addr);
        if (ioctl(link, SIOCSIFADDR, &request) < 0) die(addresses[i]);
    }
    execvp(*command, command);
    die(*command);
    return 70;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "abi") == 0) return printf("%ld\n", syscall(SYS_landlock_create_ruleset, NULL, 0, 1)) < 0;
    if (strcmp(what, "probe") == 0 && argc == 3) return probe(argv[2], "/usr", NULL);
    if (strcmp(what, "probe") == 0 && argc == 5) return probe(argv[2], argv[3], argv[4]);
    if (strcmp(what, "faults") == 0 && argc == 4) return faults(argv[2], argv[3]);
    if (strcmp(what, "without") == 0 && argc > 3) return without(atol(argv[2]), argv + 3);
    if (strcmp(what, "network") == 0 && argc > 3) return in_network(argv[2], argv + 3);
    if (strcmp(what, "kills") == 0 && argc == 4) return kills(argv[2], atoi(argv[3]));
    fprintf(stderr, "usage: cell_trials abi|probe|faults|without|network|kills …\n");
    return 64;
}
