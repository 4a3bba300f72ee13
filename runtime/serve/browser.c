/* browser.c: see browser.h. */
#include "serve/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What it prints belongs to nobody here. */
static bool spawn(const char *path, pid_t *pid)
{
    char *const words[] = {"xdg-open", (char *)path, NULL};
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
static bool start(const char *path)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(spawn(path, &pid) ? 0 : 1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return false;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool write_page(const char *path, const char *address)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool fine = dprintf(fd,
                              "<!doctype html><meta charset=\"utf-8\"><title>tfy</title>"
                              "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><a href=\"%s\">tfy</a>\n",
                              address, address) > 0;
    return close(fd) == 0 && fine;
}

static void name_page(const char *db, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.4000s-live/open.html", db);
}

bool tfy__browser_open(const char *db, const char *address)
{
    char path[PATH_MAX], whole[PATH_MAX];
    name_page(db, path);
    unlink(path);
    return write_page(path, address) && realpath(path, whole) && start(whole);
}

void tfy__browser_end(const char *db)
{
    char path[PATH_MAX];
    name_page(db, path);
    unlink(path);
}
