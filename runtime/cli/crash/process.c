/* process.c: runs commands and detects the processes that they leave behind. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/grow.h"
#include "cli/crash/crash.h"

enum { COMMAND_MS = 60000, GONE_MS = 5000, LOOK_MS = 2, READ_ROOM = 4096, CHILDREN_MAX = 256, STATUS_LOST = 70 };

void crash_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tfy: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(70);
}

char *crash_text(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) crash_die("memory ran out");
    va_end(args);
    return text;
}

char *crash_file_text(const char *dir, const char *name)
{
    char path[PATH_BYTES], *text = NULL;
    size_t len = 0, cap = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "re");
    for (size_t n = 1; file && n; len += n) {
        if (!GROW(text, cap, len + READ_ROOM, 2 * READ_ROOM)) crash_die("memory ran out");
        n = fread(text + len, 1, cap - len - 1, file);
    }
    if (file) fclose(file);
    if (!text) return crash_text("%s", "");
    text[len] = '\0';
    return text;
}

void crash_command_add(Command *command, const char *word)
{
    if (command->count == WORDS_MAX - 1) crash_die("a command line is too long");
    command->words[command->count++] = word;
}

void crash_command_add_all(Command *command, const char *const *words)
{
    while (words && *words) crash_command_add(command, *words++);
}

/* Orphans become children of this process, so that it finds every process that outlives a killed one. */
void crash_become_subreaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void redirect(const char *dir, const char *name, int flags, int to)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0 || dup2(fd, to) < 0) _exit(127);
}

static void prepare(const Command *command, const char *dir)
{
    redirect("/dev", "null", O_RDONLY, 0);
    redirect(dir, command->out, O_WRONLY | O_CREAT | O_APPEND, 1);
    if (command->mouth) redirect("/dev", "full", O_WRONLY, 1);
    if (command->mouth && strcmp(command->mouth, "closed") == 0) close(1);
    redirect(dir, command->err, O_WRONLY | O_CREAT | O_APPEND, 2);
    if (chdir(dir) < 0 || (!command->elsewhere && chdir("root") < 0)) _exit(127);
    unsetenv("TFY_TEST_KILL");
    unsetenv("TFY_TEST_INLINE");
    unsetenv("TFY_TEST_REHEARSE");
    setenv("TFY_DB", command->elsewhere ? "runs.db" : "../runs.db", 1);
    if (command->kill) setenv("TFY_TEST_KILL", command->kill, 1);
    if (command->in_line) setenv("TFY_TEST_INLINE", "1", 1);
    if (command->rehearsed) setenv("TFY_TEST_REHEARSE", dir, 1);
    if (command->traced) setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
}

/* Waits for one process through its pidfd, because the wait needs a timeout. */
static int await(pid_t pid, long long kill_us, int signal)
{
    int status, fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    const struct timespec moment = {.tv_sec = kill_us / 1000000, .tv_nsec = kill_us % 1000000 * 1000};
    if (kill_us && fd >= 0 && ppoll(&end, 1, &moment, NULL) == 0) kill(pid, signal ? signal : SIGKILL);
    while (fd >= 0 && poll(&end, 1, COMMAND_MS) < 0 && errno == EINTR) continue;
    const bool late = fd >= 0 && !(end.revents & POLLIN);
    if (late) kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (fd >= 0) close(fd);
    if (late) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Finds the children of a process that have this name, as the kernel lists them, and returns their number. */
static int children_of(pid_t parent, const char *name, pid_t *children)
{
    char path[64], word[32];
    int count = 0, pid;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *list = fopen(path, "re");
    while (list && count < CHILDREN_MAX && fscanf(list, "%d", &pid) == 1) {
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        FILE *comm = fopen(path, "re");
        if (comm && fscanf(comm, "%31s", word) == 1 && strcmp(word, name) == 0) children[count++] = pid;
        if (comm) fclose(comm);
    }
    if (list) fclose(list);
    return count;
}

/* Kills a stopped process, and those of its watchers and stubs that the trial chose. Every chosen process is stopped
 * first, so that none observes another's death. A process without a watcher yet is killed alone. */
static void kill_family(pid_t pid, const char *whom)
{
    pid_t watcher, stubs[CHILDREN_MAX];
    const bool watched = children_of(pid, "tfy-watcher", &watcher) == 1;
    if (watched) kill(watcher, SIGSTOP);
    const int count = watched && strcmp(whom, "all") == 0 ? children_of(watcher, "tfy-stub", stubs) : 0;
    const bool alone = watched && strcmp(whom, "watcher") == 0;
    kill(pid, alone ? SIGCONT : SIGKILL);
    for (int i = 0; i < count; i++) kill(stubs[i], SIGKILL);
    if (watched) kill(watcher, SIGKILL);
}

/* Waits for a process that will stop, and kills the processes that the trial chose. Returns the status like
 * `await`. */
static int await_stopped(pid_t pid, const char *whom)
{
    int status = 0, waited_ms = 0;
    pid_t got;
    bool stopped = false;
    while ((got = waitpid(pid, &status, WUNTRACED | WNOHANG)) == 0 || (got == pid && WIFSTOPPED(status))) {
        if (got == pid) kill_family(pid, whom);
        stopped = stopped || got == pid;
        if (waited_ms >= COMMAND_MS) kill(pid, SIGKILL);
        poll(NULL, 0, LOOK_MS);
        waited_ms += LOOK_MS;
    }
    if (waited_ms > COMMAND_MS) return -1;
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    return stopped && WEXITSTATUS(status) == STATUS_LOST ? 128 + SIGKILL : WEXITSTATUS(status);
}

int crash_command_run(const Command *command, const char *dir)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) crash_die("no process can be started: %s", strerror(errno));
    if (pid == 0) {
        prepare(command, dir);
        execvp(command->words[0], (char *const *)command->words);
        _exit(127);
    }
    if (command->whom) return await_stopped(pid, command->whom);
    return await(pid, command->kill_us, command->signal);
}

/* Ends the children of this process, as the kernel lists them. */
static void end_children(void)
{
    char name[64];
    int pid;
    snprintf(name, sizeof name, "/proc/self/task/%d/children", (int)getpid());
    FILE *list = fopen(name, "re");
    while (list && fscanf(list, "%d", &pid) == 1) kill(pid, SIGKILL);
    if (list) fclose(list);
}

bool crash_processes_gone(void)
{
    for (int waited_ms = 0;; waited_ms += LOOK_MS) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (pid < 0 && errno == ECHILD) return waited_ms <= GONE_MS;
        if (waited_ms > GONE_MS) end_children();
        poll(NULL, 0, LOOK_MS);
    }
}
