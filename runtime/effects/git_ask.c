/* git_ask.c: asks git about a repository before a run goes on there: in a cell in which nothing can be written, without a
 * loop and without a watcher. */
#include "effects/canvas.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "effects/git.h"
#include "effects/git_dirs.h"

extern char **environ;

#define CELL_FD 3

/* How git is held: it reads the root and its repository, and writes nothing. */
typedef struct Held {
    const char *root;
    TfyCellPlan plan;
    int program;     /* tfy-cell */
    uint32_t before; /* paths of the plan without what the level adds, and their bytes */
    size_t len;
} Held;

static bool hold(Held *held)
{
    char root[PATH_MAX], log[PATH_MAX + 8];
    struct stat info;
    TfyGitDirs dirs;
    if (!realpath(held->root, root) || strcmp(root, "/") == 0) return false;
    tfy__cell_add(&held->plan, TFY_CELL_ROOT, root);
    tfy__cell_add(&held->plan, TFY_CELL_CWD, root);
    snprintf(log, sizeof log, "%s/.tfy", root);
    if (lstat(log, &info) == 0 && !S_ISLNK(info.st_mode)) tfy__cell_add(&held->plan, TFY_CELL_CLOSED, log);
    if (tfy__git_dirs_above(root, &dirs)) {
        tfy__cell_add(&held->plan, TFY_CELL_READS, dirs.common);
        tfy__cell_add(&held->plan, TFY_CELL_READS, dirs.own);
        tfy__git_dirs_read(&dirs, root, &held->plan);
    }
    held->before = held->plan.head.paths;
    held->len = held->plan.paths.len;
    return true;
}

static void set_level(Held *held, uint32_t level)
{
    char root[PATH_MAX], home[PATH_MAX];
    held->plan.head.level = level;
    held->plan.head.paths = held->before;
    held->plan.paths.len = held->len;
    if (level == TFY_CELL_FULL && realpath(held->root, root) && tfy__cell_home(root, home))
        tfy__cell_add(&held->plan, TFY_CELL_HOME, home);
}

/* The settings for git, and what tools get of this process's environment. Nobody's own settings: they are not needed.
 * NULL: memory ran out. */
static char **git_environment(void)
{
    static const char *const given[] = {TFY_GIT_ENVIRONMENT, "HOME=/dev/null", "GIT_DISCOVERY_ACROSS_FILESYSTEM=1"};
    enum { GIVEN = sizeof given / sizeof *given };
    size_t count = 0;
    while (environ[count]) count++;
    char **all = calloc(count + GIVEN + 1, sizeof *all), **at = all + GIVEN;
    if (!all) return NULL;
    memcpy(all, given, sizeof given);
    for (char **entry = environ; *entry; entry++)
        if (tfy__process_passes_on(*entry) && strncmp(*entry, "HOME=", 5) != 0 &&
            strncmp(*entry, "XDG_CONFIG_HOME=", 16) != 0)
            *at++ = *entry;
    return all;
}

__attribute__((noreturn)) static void become_cell(const Held *held, int socket, int in, int out, char **words,
                                                  char **environment)
{
    const int number = fcntl(socket, F_DUPFD_CLOEXEC, CELL_FD + 1); /* dup2 to itself would keep close-on-exec */
    const int program = fcntl(held->program, F_DUPFD_CLOEXEC, CELL_FD + 1), nowhere = open("/dev/null", O_WRONLY);
    if (dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(nowhere, 2) == 2 && dup2(number, CELL_FD) == CELL_FD)
        execveat(program, "", words, environment, AT_EMPTY_PATH);
    _exit(TFY_CELL_FAILED);
}

/* 0: git runs; 1: *answer says why it does not; or -errno. */
static int start_in(Held *held, uint32_t level, char **words, int in, int out, pid_t *pid, TfyCellAnswer *answer)
{
    char **environment = git_environment();
    int ends[2];
    set_level(held, level);
    if (!environment || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        free(environment);
        return -ENOMEM;
    }
    *pid = fork();
    if (*pid == 0) become_cell(held, ends[1], in, out, words, environment);
    const int failed = *pid < 0 ? errno : 0;
    close(ends[1]);
    free(environment);
    const int sent = failed ? failed : tfy__cell_send(&held->plan, ends[0]);
    const int result = sent ? -sent : tfy__cell_answer(ends[0], answer);
    close(ends[0]);
    if (result < 0 && !failed) kill(*pid, SIGKILL);
    if (result && !failed) waitpid(*pid, NULL, 0);
    return result;
}

/* In a full cell, or in a partial one where there are no others. 0, or another number: git does not run. */
static int start_git(Held *held, const char *const *args, int count, int in, int out, pid_t *pid)
{
    TfyCellAnswer answer = {.stage = TFY_CELL_POLICY};
    if (!hold(held)) return -1;
    char **words = tfy__cell_words(CELL_FD, args, count);
    int result = words ? start_in(held, TFY_CELL_FULL, words, in, out, pid, &answer) : -1;
    if (result == 1 && (answer.stage == TFY_CELL_NAMESPACES || answer.stage == TFY_CELL_MOUNTS))
        result = start_in(held, TFY_CELL_PARTIAL, words, in, out, pid, &answer);
    tfy__cell_free_words(words);
    return result;
}

/* The input goes through an unlinked file: a pipe could fill while git writes. */
static int input_file(const char *text)
{
    FILE *file = text ? tmpfile() : fopen("/dev/null", "re");
    if (!file) return -1;
    if (text) fputs(text, file);
    bool ok = fflush(file) == 0;
    if (ok && text) rewind(file);
    int fd = ok ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
    fclose(file);
    return fd;
}

static int exit_status(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns git's exit status, or -1. */
static int ask(Held *held, const char *const *args, int count, const char *input, TfyBuffer *out)
{
    int ends[2], in = input_file(input);
    if (in < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        if (in >= 0) close(in);
        return -1;
    }
    pid_t pid;
    const int error = start_git(held, args, count, in, ends[1], &pid);
    close(in);
    close(ends[1]);
    char chunk[4096];
    ssize_t n;
    while (!error && (n = read(ends[0], chunk, sizeof chunk)) > 0)
        if (out) tfy__buffer_add(out, chunk, (size_t)n);
    close(ends[0]);
    if (error) return -1;
    if (out && out->len && out->data[out->len - 1] == '\n') out->data[--out->len] = '\0';
    return exit_status(pid);
}

int tfy__git_ask(const char *root, const char *const *words, const char *input, TfyBuffer *out)
{
    /* Whose the repository is does not matter where nothing can be written. */
    static const char *const settings[] = {TFY_GIT_SETTINGS, "safe.directory=*"};
    const char *args[2 * sizeof settings / sizeof *settings + 12] = {"git"};
    Held held = {.root = root, .program = tfy__cell_open()};
    int at = 1;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        args[at++] = "-c";
        args[at++] = settings[i];
    }
    for (int i = 0; words[i] && i < 8; i++) args[at++] = words[i];
    const int status = held.program < 0 ? -1 : ask(&held, args, at, input, out);
    if (held.program >= 0) close(held.program);
    tfy__cell_plan_free(&held.plan);
    return status;
}
