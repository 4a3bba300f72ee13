/* desktop.c: see desktop.h. */
#include "base/desktop.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What it prints belongs to nobody here. */
static bool spawn(const char *what, pid_t *pid)
{
    char *const words[] = {"xdg-open", (char *)what, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    if (posix_spawn_file_actions_init(&files) != 0) return false;
    bool fine = posix_spawnattr_init(&how) == 0;
    if (fine) {
        for (int fd = 0; fd < 3; fd++) posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
        fine = posix_spawnp(pid, words[0], &files, &how, words, environ) == 0;
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return fine;
}

/* The process in between ends at once, so that nobody has to wait for the browser. */
bool tfy__desktop_open(const char *what)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(spawn(what, &pid) ? 0 : 1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return false;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
