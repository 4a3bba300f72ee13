/* caretaker.c: see caretaker.h. */
#include "effects/caretaker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void tfy__remove_tree(int above, const char *name)
{
    fchmodat(above, name, 0700, 0);
    const int dir = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = dir < 0 ? NULL : fdopendir(dir);
    struct dirent *entry;
    while (list && (entry = readdir(list))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(dir, entry->d_name, 0) == 0) continue;
        if (errno == EISDIR || errno == EPERM) tfy__remove_tree(dir, entry->d_name);
    }
    if (list) closedir(list);
    unlinkat(above, name, AT_REMOVEDIR);
}

__attribute__((noreturn)) static void take_care(const char *pattern, int end)
{
    char path[PATH_MAX], real[PATH_MAX], byte;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    setsid();
    if (dup2(end, 0) != 0) _exit(1);
    close_range(1, ~0U, 0); /* nothing that the owner has open stays open for us */
    snprintf(path, sizeof path, "%s", pattern);
    if (!mkdtemp(path)) _exit(1);
    if (realpath(path, real) && send(0, real, strlen(real) + 1, MSG_NOSIGNAL) > 0)
        while (recv(0, &byte, 1, 0) < 0 && errno == EINTR) continue;
    tfy__remove_tree(AT_FDCWD, path);
    _exit(0);
}

int tfy__caretaker_start(TfyCaretaker *caretaker)
{
    const char *above = getenv("TMPDIR");
    char pattern[PATH_MAX];
    int ends[2];
    ssize_t len;
    if (!above || *above != '/') above = "/tmp";
    if (snprintf(pattern, sizeof pattern, "%s/tfy-cell-XXXXXX", above) >= (int)sizeof pattern) return ENAMETOOLONG;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return errno;
    const pid_t pid = fork();
    const int error = pid < 0 ? errno : 0;
    if (pid == 0) take_care(pattern, ends[1]);
    close(ends[1]);
    *caretaker = (TfyCaretaker){.pid = error ? 0 : pid, .held = ends[0]};
    if (error) {
        close(ends[0]);
        return error;
    }
    while ((len = recv(ends[0], caretaker->path, sizeof caretaker->path, 0)) < 0 && errno == EINTR) continue;
    if (len > 0) return 0;
    tfy__caretaker_end(caretaker);
    return access(above, W_OK) < 0 ? errno : ENOSPC;
}

void tfy__caretaker_end(TfyCaretaker *caretaker)
{
    if (!caretaker->pid) return;
    close(caretaker->held);
    while (waitpid(caretaker->pid, NULL, 0) < 0 && errno == EINTR) continue;
    *caretaker = (TfyCaretaker){.pid = 0};
}
