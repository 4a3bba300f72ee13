/* attack.c: what a hostile tool tries. Each attempt is a process of its own and prints a line: NAME and "refused", "OPEN" (it
 * succeeded), or "skipped"; what a tool has to be able to do prints "works" or "fails". run.sh knows what each must be.
 *
 *   cell_attack host WORLD             waits as what is to be attacked: prints "PORT PID", listens, has shared memory, and a secret in its environment
 *   cell_attack try WORLD PORT PID     from inside, in the root
 *   cell_attack try … few              the same, without those that pass a limit of all processes together
 *   cell_attack left SECONDS FILE      leaves a process behind, in a session of its own, that writes the file later
 *
 * A world: root/ (the current directory; a repository with .git, .tfy, .envrc, deep/er/settings, sub/, a link `out` to ../shared), shared/ (which
 * may be read), outside/, home/. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <arpa/inet.h>
#include <unistd.h>

#define ABSTRACT "tfy-cell-attack"

static const char *world;
static int port;
static pid_t runtime;
static char room[PATH_MAX];

/* A path of the world. */
static const char *in(const char *path)
{
    snprintf(room, sizeof room, "%s/%s", world, path);
    return room;
}

/* Attacks return 0 when they succeeded, else an errno value. */
static int done(long result)
{
    return result < 0 ? errno : 0;
}

/* A filter answers EPERM; any other answer comes from the kernel's own code behind it. */
static int filtered(long result)
{
    return result < 0 && errno == EPERM ? EPERM : 0;
}

static int opened(const char *path, int flags)
{
    return done(open(path, flags | O_CLOEXEC, 0644));
}

static int read_some(const char *path)
{
    char byte;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    return file < 0 ? errno : read(file, &byte, 1) == 1 ? 0 : EACCES; /* an empty one has no secret */
}

/* ---- files outside ---- */

static int read_home(void)
{
    return read_some(in("home/.ssh/id"));
}
static int read_project(void)
{
    return read_some(in("outside/secret"));
}
static int list_project(void)
{
    return opened(in("outside"), O_RDONLY | O_DIRECTORY);
}
static int read_shadow(void)
{
    return read_some("/etc/shadow");
}
static int read_var(void)
{
    return opened("/var", O_RDONLY | O_DIRECTORY);
}
static int write_outside(void)
{
    return opened(in("shared/file"), O_WRONLY);
}
static int append_outside(void)
{
    return opened(in("shared/file"), O_WRONLY | O_APPEND);
}
static int truncate_outside(void)
{
    return done(truncate(in("shared/file"), 0));
}
static int open_truncate_outside(void)
{
    return opened(in("shared/file"), O_RDONLY | O_TRUNC);
}
static int create_outside(void)
{
    return opened(in("shared/new"), O_WRONLY | O_CREAT);
}
static int mkdir_outside(void)
{
    return done(mkdir(in("shared/newdir"), 0755));
}
static int unlink_outside(void)
{
    return done(unlink(in("shared/file")));
}
static int rename_outside(void)
{
    return done(rename(in("shared/file"), "sub/stolen"));
}
static int rename_out(void)
{
    close(open("sub/mine", O_WRONLY | O_CREAT, 0644));
    return done(rename("sub/mine", in("shared/mine")));
}
static int link_outside(void)
{
    return done(link(in("shared/file"), "sub/linked"));
}
static int through_link(void)
{
    return opened("out/file", O_WRONLY);
}
static int create_through_link(void)
{
    return opened("out/new", O_WRONLY | O_CREAT);
}
static int beside_root(void)
{
    return opened("../new", O_WRONLY | O_CREAT);
}
/* A program that gives the tool's user to whoever starts it outside. */
static int set_user_id(void)
{
    struct stat info;
    const int file = open("sub/set_user_id", O_WRONLY | O_CREAT, S_ISUID | 0755);
    const int error = errno;
    if (file >= 0 && fstat(file, &info) == 0 && info.st_mode & S_ISUID) return 0;
    if (file >= 0) close(file);
    opened("sub/set_user_id", O_WRONLY | O_CREAT);
    return chmod("sub/set_user_id", S_ISUID | 0755) == 0 ? 0 : error ? error : errno;
}
static int chmod_outside(void)
{
    return done(chmod(in("shared/file"), 0600));
}
static int write_usr(void)
{
    return opened("/usr/tfy-cell-attack", O_WRONLY | O_CREAT);
}
static int write_etc(void)
{
    return opened("/etc/tfy-cell-attack", O_WRONLY | O_CREAT);
}

/* ---- what is protected ---- */

static int git_config(void)
{
    return opened(".git/config", O_WRONLY | O_APPEND);
}
static int git_hook(void)
{
    return opened(".git/hooks/pre-commit", O_WRONLY | O_CREAT);
}
static int git_hooks_dir(void)
{
    return done(rename(".git/hooks", "sub/hooks"));
}
static int git_rename(void)
{
    return done(rename(".git", "sub/git"));
}
static int git_exchange(void)
{
    mkdir("sub/other", 0755);
    return done(syscall(SYS_renameat2, AT_FDCWD, "sub/other", AT_FDCWD, ".git", 2));
}
static int git_commondir(void)
{
    return opened(".git/commondir", O_WRONLY | O_CREAT);
}
static int git_index(void)
{
    return opened(".git/index", O_WRONLY | O_CREAT);
}
static int git_chmod(void)
{
    return done(chmod(".git/config", 0666));
}
static int envrc_write(void)
{
    return opened(".envrc", O_WRONLY);
}
static int envrc_unlink(void)
{
    return done(unlink(".envrc"));
}
static int envrc_over(void)
{
    close(open("sub/envrc", O_WRONLY | O_CREAT, 0644));
    return done(rename("sub/envrc", ".envrc"));
}
static int deep_write(void)
{
    return opened("deep/er/settings/tasks.json", O_WRONLY | O_CREAT);
}
static int deep_rename(void)
{
    return done(rename("deep/er/settings", "deep/er/x"));
}
static int way_rename(void)
{
    return done(rename("deep/er", "deep/x"));
}
static int way_start_rename(void)
{
    return done(rename("deep", "sub/deep"));
}
static int log_read(void)
{
    return read_some(".tfy/runs.db");
}
static int log_write(void)
{
    return opened(".tfy/runs.db", O_WRONLY);
}
static int log_create(void)
{
    return opened(".tfy/runs.db-wal", O_WRONLY | O_CREAT);
}
static int log_rename(void)
{
    return done(rename(".tfy", "sub/tfy"));
}

/* ---- network ---- */

static int connects(int type, const char *address, int to)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)to)};
    inet_pton(AF_INET, address, &name.sin_addr);
    const int link = socket(AF_INET, type | SOCK_NONBLOCK, 0);
    if (link < 0) return errno;
    if (connect(link, (struct sockaddr *)&name, sizeof name) < 0 && errno != EINPROGRESS) return errno;
    if (type == SOCK_DGRAM) return done(send(link, "x", 1, 0));
    int error = 0;
    socklen_t len = sizeof error;
    usleep(20000);
    return getsockopt(link, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

static int connect_unix(bool abstract)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path + abstract, sizeof name.sun_path - 1, "%s", abstract ? ABSTRACT : "sub/socket");
    const int link = socket(AF_UNIX, SOCK_STREAM, 0);
    const socklen_t len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name.sun_path + abstract));
    return link < 0 ? errno : done(connect(link, (struct sockaddr *)&name, len));
}

static int tcp_host(void)
{
    return connects(SOCK_STREAM, "127.0.0.1", port);
}
static int tcp_metadata(void)
{
    return connects(SOCK_STREAM, "169.254.169.254", 80);
}
static int dns(void)
{
    return connects(SOCK_DGRAM, "192.0.2.53", 53);
}
static int unix_path(void)
{
    return connect_unix(false);
}
static int unix_abstract(void)
{
    return connect_unix(true);
}
static int raw_socket(void)
{
    return done(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}
static int packet_socket(void)
{
    return filtered(socket(AF_PACKET, SOCK_RAW, 0));
}
static int vsock(void)
{
    return filtered(socket(AF_VSOCK, SOCK_STREAM, 0));
}
static int other_netlink(void)
{
    return filtered(socket(AF_NETLINK, SOCK_RAW, 15));
}
static int high_family(void)
{
    return filtered(syscall(SYS_socket, UINT64_C(1) << 32 | AF_UNIX, SOCK_STREAM, 0));
}

/* ---- processes ---- */

static int has_secret(const char *path)
{
    static char text[65536];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t len = file < 0 ? -1 : read(file, text, sizeof text);
    return len < 0 ? errno : memmem(text, (size_t)len, "CELL_SECRET=", 12) ? 0 : ENOENT;
}

/* Of any process, since the numbers are others inside. */
static int read_environ(void)
{
    char path[64];
    int error = ENOENT, last = 1 << 16;
    FILE *most = fopen("/proc/sys/kernel/pid_max", "re");
    if (!most || fscanf(most, "%d", &last) != 1 || last > 1 << 16) last = 1 << 16;
    if (most) fclose(most);
    for (int pid = 1; pid < last && error; pid++) {
        snprintf(path, sizeof path, "/proc/%d/environ", pid);
        if (access(path, F_OK) == 0 && has_secret(path) == 0) error = 0;
    }
    return error;
}

static int read_mem(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", runtime);
    return opened(path, O_RDONLY);
}

static int first_mem(void)
{
    return getppid() == 1 || kill(1, 0) == 0 ? opened("/proc/1/mem", O_RDWR) : EPERM;
}
static int kill_runtime(void)
{
    return done(kill(runtime, 0));
}
static int ptrace_runtime(void)
{
    return filtered(ptrace(PTRACE_SEIZE, runtime, NULL, NULL));
}
static int trace_me(void)
{
    return filtered(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}
static int vm_read(void)
{
    char byte;
    struct iovec own = {&byte, 1}, other = {(void *)0x400000, 1};
    return filtered(process_vm_readv(runtime, &own, 1, &other, 1, 0));
}

/* The limit that it has already: a success must not harm what is attacked. */
static int limit_runtime(void)
{
    struct rlimit limit = {0, 0};
    prlimit(runtime, RLIMIT_CORE, NULL, &limit);
    return done(prlimit(runtime, RLIMIT_CORE, &limit, NULL));
}

static int shared_memory(void)
{
    return done(shmget(runtime, 0, 0));
}

/* ---- the kernel ---- */

static int mount_tmpfs(void)
{
    return filtered(mount("tmpfs", "sub", "tmpfs", 0, NULL));
}
static int remount(void)
{
    return filtered(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
}
static int unmount(void)
{
    return filtered(umount2(".git", MNT_DETACH));
}
static int unshare_user(void)
{
    return filtered(unshare(CLONE_NEWUSER));
}
static int clone_user(void)
{
    return filtered(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
}
static int clone3_known(void)
{
    return syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS ? ENOSYS : 0;
}
static int device(void)
{
    return done(mknod("sub/disk", S_IFBLK | 0600, 8 << 8));
}
static int tty_device(void)
{
    return done(mknod("sub/tty", S_IFCHR | 0600, 5 << 8));
}
static int kernel_memory(void)
{
    return opened("/dev/mem", O_RDONLY);
}
static int kernel_log(void)
{
    return opened("/dev/kmsg", O_RDWR);
}
static int sysctl_write(void)
{
    return opened("/proc/sys/kernel/core_pattern", O_WRONLY);
}
static int chroot_new(void)
{
    return filtered(chroot("sub"));
}
static int io_uring(void)
{
    return filtered(syscall(SYS_io_uring_setup, 1, NULL));
}
static int bpf_map(void)
{
    return filtered(syscall(SYS_bpf, 0, NULL, 0));
}
static int keyctl(void)
{
    return filtered(syscall(SYS_keyctl, 0, -3, 0));
}
static int userfault(void)
{
    return filtered(syscall(SYS_userfaultfd, 1));
}
static int personality_of(void)
{
    return filtered(syscall(SYS_personality, 0xffffffff));
}
static int tiocsti(void)
{
    return filtered(ioctl(0, TIOCSTI, "x"));
}
static int tiocsti_high(void)
{
    return filtered(syscall(SYS_ioctl, 0, UINT64_C(1) << 32 | TIOCSTI, "x"));
}
static int handle(void)
{
    return filtered(syscall(SYS_open_by_handle_at, -1, NULL, 0));
}
static int new_privileges(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0;
}
static int core_dump(void)
{
    return done(system("ulimit -c 1024 2>/dev/null") == 0 ? 0 : (errno = EPERM, -1));
}

static int capabilities(void)
{
    char line[128];
    unsigned long long set;
    int error = EPERM;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "CapPrm: %llx", &set) == 1 || sscanf(line, "CapInh: %llx", &set) == 1 ||
            sscanf(line, "CapAmb: %llx", &set) == 1)
            if (set) error = 0;
    return error;
}

/* A call of the 32-bit architecture ends the process. */
static int int80(void)
{
#if defined(__x86_64__)
    long result = 20; /* getpid */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return 0;
#else
    return EPERM;
#endif
}

/* ---- limits ---- */

static int much_memory(void)
{
    return mmap(NULL, (size_t)5 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
                   MAP_FAILED
               ? errno
               : 0;
}

static int much_file(void)
{
    signal(SIGXFSZ, SIG_IGN);
    const int file = open("sub/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return file < 0 ? errno : done(ftruncate(file, (off_t)10 << 30));
}

static int many_processes(void)
{
    for (int i = 0; i < 600; i++) {
        const pid_t pid = fork();
        if (pid < 0) return errno;
        if (pid == 0) {
            pause();
            _exit(0);
        }
    }
    return 0;
}

/* ---- what works ---- */

static int write_sub(void)
{
    return opened("sub/file", O_WRONLY | O_CREAT | O_TRUNC);
}
static int move_sub(void)
{
    mkdir("sub/a", 0755);
    mkdir("sub/b", 0755);
    close(open("sub/a/f", O_WRONLY | O_CREAT, 0644));
    return done(rename("sub/a/f", "sub/b/f"));
}
static int read_shared(void)
{
    return read_some(in("shared/file"));
}
static int read_git(void)
{
    return read_some(".git/config");
}
static int new_in_root(void)
{
    return opened("new", O_WRONLY | O_CREAT);
}
static int rename_in_root(void)
{
    return done(rename("known", "known2"));
}
static int write_known(void)
{
    return opened("known", O_WRONLY | O_APPEND);
}
static int in_variable(const char *variable)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/tfy-cell-attack", getenv(variable));
    return opened(path, O_WRONLY | O_CREAT | O_EXCL);
}
static int write_home(void)
{
    const int error = in_variable("HOME");
    return error == EEXIST ? 0 : error;
}
static int write_temp(void)
{
    const int error = in_variable("TMPDIR");
    return error == EEXIST ? 0 : error;
}
static int write_shm(void)
{
    return opened("/dev/shm/tfy-cell-attack", O_WRONLY | O_CREAT | O_EXCL);
}
static int write_null(void)
{
    return opened("/dev/null", O_WRONLY | O_TRUNC);
}
static int pairs(void)
{
    int ends[2];
    return done(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

static int serve(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof name;
    const int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || bind(server, (struct sockaddr *)&name, len) < 0 || listen(server, 1) < 0) return errno;
    if (getsockname(server, (struct sockaddr *)&name, &len) < 0) return errno;
    return done(connect(client, (struct sockaddr *)&name, len));
}

/* ---- all of them ---- */

typedef struct Attempt {
    const char *name;
    int (*run)(void);
    bool useful; /* a tool has to be able to do it */
} Attempt;

#define A(name) {#name, name, false},
#define W(name) {#name, name, true},
static const Attempt attempts[] = {
    W(write_sub) W(move_sub) W(read_shared) W(read_git) W(write_known) W(write_home) W(write_temp) W(write_shm)
        W(write_null) W(pairs) W(serve) A(read_home) A(read_project) A(list_project) A(read_shadow) A(read_var)
            A(write_outside) A(append_outside) A(truncate_outside) A(open_truncate_outside) A(create_outside)
                A(mkdir_outside) A(unlink_outside) A(rename_outside) A(rename_out) A(link_outside) A(through_link)
                    A(create_through_link) A(beside_root) A(write_usr) A(write_etc) A(git_config) A(git_hook)
                        A(git_hooks_dir) A(git_rename) A(git_exchange) A(git_commondir) A(git_index) A(envrc_write) A(
                            envrc_unlink) A(envrc_over) A(deep_write) A(deep_rename) A(way_rename) A(way_start_rename)
                            A(log_read) A(log_write) A(log_create) A(log_rename) A(tcp_host) A(tcp_metadata) A(dns)
                                A(unix_path) A(unix_abstract) A(raw_socket) A(packet_socket) A(vsock) A(other_netlink)
                                    A(high_family) A(read_environ) A(read_mem) A(first_mem) A(kill_runtime)
                                        A(ptrace_runtime) A(limit_runtime) A(shared_memory) A(trace_me) A(vm_read)
                                            A(mount_tmpfs) A(remount) A(unmount) A(unshare_user) A(clone_user)
                                                A(clone3_known) A(device) A(tty_device) A(kernel_memory) A(kernel_log)
                                                    A(sysctl_write) A(chroot_new) A(io_uring) A(bpf_map) A(keyctl)
                                                        A(userfault) A(personality_of) A(tiocsti) A(tiocsti_high)
                                                            A(handle) A(new_privileges) A(core_dump) A(capabilities)
                                                                A(int80) A(much_memory) A(much_file) A(many_processes)
                                                                    A(chmod_outside) A(set_user_id) A(git_chmod)
                                                                        W(rename_in_root) W(new_in_root)};

/* A process of its own that ends with all that it started. */
static int attempt(const Attempt *one)
{
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        alarm(10);
        _exit(one->run());
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    kill(-pid, SIGKILL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static int try_all(bool few)
{
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        if (few && attempts[i].run == many_processes) continue;
        const int error = attempt(&attempts[i]);
        const char *state = attempts[i].useful ? (error ? "fails" : "works") : error ? "refused" : "OPEN";
        printf("%s %s %s\n", attempts[i].name, state, error ? strerror(error) : "-");
        fflush(stdout);
    }
    return 0;
}

static int listener(int family, const void *name, socklen_t len)
{
    const int link = socket(family, SOCK_STREAM, 0);
    if (link < 0 || bind(link, name, len) < 0 || listen(link, 8) < 0) {
        perror("cell_attack host");
        exit(1);
    }
    return link;
}

static int segment;

static void end_host(int signal)
{
    shmctl(segment, IPC_RMID, NULL);
    _exit(128 + signal);
}

/* What is to be attacked. It lives until it is killed. */
static int host(void)
{
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un path = {.sun_family = AF_UNIX}, abstract = {.sun_family = AF_UNIX, .sun_path = "\0" ABSTRACT};
    socklen_t len = sizeof inet;
    const int server = listener(AF_INET, &inet, len);
    if (chdir(in("root/sub")) < 0) return 1;
    snprintf(path.sun_path, sizeof path.sun_path, "socket");
    listener(AF_UNIX, &path, sizeof path);
    listener(AF_UNIX, &abstract, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof ABSTRACT));
    getsockname(server, (struct sockaddr *)&inet, &len);
    segment = shmget(getpid(), 4096, IPC_CREAT | 0600);
    if (segment < 0 || signal(SIGTERM, end_host) == SIG_ERR) return 1;
    printf("%d %d\n", ntohs(inet.sin_port), (int)getpid());
    fflush(stdout);
    for (;;) pause();
}

/* ---- the way to a list of hosts ---- */

/* A web server at every address, port 80. It says of each connection by which address it came and all that was asked. */
static int web(void)
{
    static char asked[65536];
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(80)}, own;
    socklen_t len = sizeof own;
    const int server = listener(AF_INET, &any, sizeof any);
    puts("ready");
    for (int link; fflush(stdout), (link = accept(server, NULL, NULL)) >= 0; close(link)) {
        const struct timeval patience = {.tv_usec = 100000};
        ssize_t some;
        size_t all = 0;
        setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        while (all < sizeof asked && (some = recv(link, asked + all, sizeof asked - all, 0)) > 0) all += (size_t)some;
        getsockname(link, (struct sockaddr *)&own, &len);
        printf("%s:", inet_ntoa(own.sin_addr));
        for (size_t i = 0; i < all; i++) putchar(asked[i] == '\n' ? '|' : asked[i] == '\r' ? ' ' : asked[i]);
        putchar('\n');
        dprintf(link, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nweb");
    }
    return 1;
}

/* How often the proxy's answers to this, which is all that is said, say 200. */
static int answers(const char *asked, size_t size)
{
    static char said[65536];
    const char *way = getenv("http_proxy");
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)atoi(way ? strrchr(way, ':') + 1 : "0"))};
    const int link = socket(AF_INET, SOCK_STREAM, 0);
    size_t all = 0;
    ssize_t some;
    int count = 0;
    inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
    signal(SIGPIPE, SIG_IGN);
    if (connect(link, (struct sockaddr *)&name, sizeof name) < 0) return -1;
    for (size_t sent = 0; sent < size; sent += (size_t)some)
        if ((some = send(link, asked + sent, size - sent, 0)) <= 0) break;
    while (all < sizeof said - 1 && (some = recv(link, said + all, sizeof said - 1 - all, 0)) > 0) all += (size_t)some;
    said[all] = 0;
    for (const char *at = said; (at = strstr(at, "HTTP/1.1 200")); at++) count++;
    close(link);
    return count;
}

static int try_proxy(void)
{
    static const struct {
        const char *name, *asked;
        int wanted; /* answers that say 200 */
    } asks[] = {
        {"listed", "GET http://ok.example/listed HTTP/1.1\r\n\r\n", 1},
        {"below", "HEAD http://a.b.below.example/below HTTP/1.0\r\n\r\n", 1},
        {"posted", "POST http://ok.example/posted HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", 1},
        {"unlisted", "GET http://evil.example/evil HTTP/1.1\r\n\r\n", 0},
        {"unlisted_tunnel", "CONNECT evil.example:80 HTTP/1.1\r\n\r\n", 0},
        {"unlisted_port", "CONNECT ok.example:22 HTTP/1.1\r\n\r\n", 0},
        {"other_host", "GET http://evil.example/evil HTTP/1.1\r\nHost: ok.example\r\n\r\n", 0},
        {"user", "GET http://ok.example@evil.example/evil HTTP/1.1\r\n\r\n", 0},
        {"user_tunnel", "CONNECT ok.example@evil.example:80 HTTP/1.1\r\n\r\n", 0},
        {"literal", "GET http://198.41.0.4/evil HTTP/1.1\r\n\r\n", 0},
        {"literal_tunnel", "CONNECT 198.41.0.5:80 HTTP/1.1\r\n\r\n", 0},
        {"number", "GET http://3324575748/evil HTTP/1.1\r\n\r\n", 0},
        {"inside", "GET http://inside.example/evil HTTP/1.1\r\n\r\n", 0},
        {"inside_tunnel", "CONNECT inside.example:80 HTTP/1.1\r\n\r\n", 0},
        {"second", "GET http://ok.example/first HTTP/1.1\r\n\r\nGET http://ok.example/evil HTTP/1.1\r\n\r\n", 1},
        {"tunnel_behind", "GET http://ok.example/first HTTP/1.1\r\n\r\nCONNECT evil.example:80 HTTP/1.1\r\n\r\n", 1},
        {"itself", "CONNECT 127.0.0.1:880 HTTP/1.1\r\n\r\nGET http://ok.example/evil HTTP/1.1\r\n\r\n", 0},
        {"folded", "GET http://ok.example/evil HTTP/1.1\r\nX: y\r\n z\r\n\r\n", 0},
        {"split", "GET http://ok.example/evil HTTP/1.1\r\nX: y\nGET /evil HTTP/1.1\r\n\r\n", 0},
        {"chunked", "POST http://ok.example/evil HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0},
    };
    static char much[1 << 20];
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        const int count = answers(asks[i].asked, strlen(asks[i].asked));
        printf("%s %s\n", asks[i].name, count == asks[i].wanted ? "right" : "WRONG");
    }
    memset(much, 'x', sizeof much);
    memcpy(much, "GET http://ok.example/evil HTTP/1.1\r\nX: ", 40);
    memcpy(much + sizeof much - 4, "\r\n\r\n", 4);
    printf("long_head %s\n", answers(much, sizeof much) == 0 ? "right" : "WRONG");
    return 0;
}

static int leave(int seconds, const char *file)
{
    if (fork()) return 0;
    setsid();
    if (fork()) return 0;
    signal(SIGTERM, SIG_IGN);
    sleep((unsigned)seconds);
    close(open(file, O_WRONLY | O_CREAT, 0644));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "left") == 0) return leave(atoi(argv[2]), argv[3]);
    if (argc == 2 && strcmp(argv[1], "web") == 0) return web();
    if (argc == 2 && strcmp(argv[1], "proxy") == 0) return try_proxy();
    if (argc < 3) return 64;
    world = argv[2];
    if (strcmp(argv[1], "host") == 0) return host();
    if (argc < 5) return 64;
    port = atoi(argv[3]);
    runtime = atoi(argv[4]);
    return try_all(argc > 5 && strcmp(argv[5], "few") == 0);
}
