/* yolo.c: --yolo answers every approval with yes, so it is refused where that can cost more than the run. Only programs
 * that ask for approvals carry this (tfy_program.h). */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "effects/git.h"
#include "tfy_program.h"

extern char **environ;

static bool is_same(const struct stat *root, const char *path)
{
    struct stat other;
    return path && stat(path, &other) == 0 && other.st_dev == root->st_dev && other.st_ino == root->st_ino;
}

/* Is there a ".git" in the directory or above it? */
static bool is_in_repository(const char *root)
{
    TfyBuffer path = {0};
    struct stat here, above, git;
    bool found = false, more = true;
    tfy__buffer_text(&path, root);
    while (more && !found && !path.failed) {
        const size_t len = path.len;
        tfy__buffer_text(&path, "/.git");
        if (path.failed) break;
        found = lstat(path.data, &git) == 0;
        path.data[path.len = len] = '\0';
        more = stat(path.data, &here) == 0;
        tfy__buffer_text(&path, "/..");
        more = more && !path.failed && stat(path.data, &above) == 0 &&
               (here.st_dev != above.st_dev || here.st_ino != above.st_ino);
    }
    found |= path.failed;
    tfy__buffer_free(&path);
    return found;
}

static pid_t start_status(const char *root, int out)
{
    static const char *const settings[] = {TFY_GIT_SETTINGS};
    const char *args[2 * sizeof settings / sizeof *settings + 7] = {"git", "--no-optional-locks", "-C", root};
    int at = 4;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        args[at++] = "-c";
        args[at++] = settings[i];
    }
    args[at++] = "status";
    args[at++] = "--porcelain";
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error = posix_spawnp(&pid, "git", &actions, NULL, (char *const *)args, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error ? -1 : pid;
}

/* Are there changes, or files that git does not know? A repository that git does not answer for counts as changed. */
static bool has_changes(const char *root)
{
    int ends[2], status = 0;
    char first;
    if (!is_in_repository(root)) return false;
    if (pipe2(ends, O_CLOEXEC) < 0) return true;
    const pid_t pid = start_status(root, ends[1]);
    close(ends[1]);
    const ssize_t some = pid < 0 ? 1 : read(ends[0], &first, 1);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return true;
    return some != 0 || status != 0;
}

const char *tfy__yolo_refused(const char *root, const char *sandbox)
{
    struct stat here;
    const bool found = stat(root, &here) == 0;
    if (geteuid() == 0) return "as root: run it as another user";
    if (found && is_same(&here, "/")) return "in /: give --root a directory of its own";
    if (found && is_same(&here, getenv("HOME"))) return "in your home directory: give --root a directory of its own";
    if (sandbox && strcmp(sandbox, "open") == 0) return "with --sandbox open: leave out one of the two";
    if (has_changes(root)) return "in a git work tree with uncommitted changes: commit them first";
    return NULL;
}
