/* canvas_lock.c: when git's lock files block a commit or a landing: waits for the git that holds one, and removes one that a
 * killed git left behind. */
#include "effects/canvas.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES    20
#define RETRY_MS 250

/* The path in git's "Unable to create 'PATH.lock': File exists". */
static bool lock_path(const TfyProcessEnd *end, char path[PATH_MAX])
{
    static const char before[] = "Unable to create '", after[] = ".lock': File exists";
    const char *words;
    size_t len = (size_t)tfy__git_words(end, &words);
    const char *from = memmem(words, len, before, sizeof before - 1);
    if (!from) return false;
    from += sizeof before - 1;
    const char *to = memmem(from, (size_t)(words + len - from), after, sizeof after - 1);
    if (!to || to - from + sizeof ".lock" > PATH_MAX) return false;
    snprintf(path, PATH_MAX, "%.*s.lock", (int)(to - from), from);
    return true;
}

/* Counts a try. A lock that has disappeared meanwhile was held by a live process. */
static void look_at(TfyGitLock *lock, const char *path)
{
    struct stat info = {0};
    lstat(path, &info);
    bool same = info.st_ino && info.st_dev == lock->dev && info.st_ino == lock->ino &&
                info.st_ctim.tv_sec == lock->changed.tv_sec && info.st_ctim.tv_nsec == lock->changed.tv_nsec;
    *lock = (TfyGitLock){info.st_dev, info.st_ino, info.st_ctim, same ? lock->seen + 1 : 1, lock->tries + 1};
}

static bool is_below(const char *path, const char *dir, size_t dir_len)
{
    return strncmp(path, dir, dir_len) == 0 && (path[dir_len] == '/' || !path[dir_len]);
}

/* Is this process a git at work in the repository? A git whose directory cannot be read counts. */
static bool is_git_of(const char *pid, const char *root, const char *lock)
{
    char path[64], name[16], cwd[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    FILE *file = fopen(path, "re");
    bool is_git = file && fgets(name, sizeof name, file) && strncmp(name, "git", 3) == 0;
    if (file) fclose(file);
    if (!is_git) return false;
    snprintf(path, sizeof path, "/proc/%.20s/cwd", pid);
    ssize_t len = readlink(path, cwd, sizeof cwd - 1);
    if (len < 0) return errno == EACCES;
    cwd[len] = 0;
    const char *git_dir = strstr(lock, "/.git/");
    return is_below(cwd, root, strlen(root)) || (git_dir && is_below(cwd, lock, (size_t)(git_dir - lock)));
}

/* Also true if that cannot be determined. */
static bool git_at_work(const char *root, const char *lock)
{
    DIR *processes = opendir("/proc");
    bool found = !processes;
    for (struct dirent *entry; !found && (entry = readdir(processes));) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') found = is_git_of(entry->d_name, root, lock);
    }
    if (processes) closedir(processes);
    return found;
}

bool tfy__git_lock_later(TfyCanvasJob *job, const char *path)
{
    TfyLoop *loop = job->call->loop;
    TfyGitLock *lock = &job->lock;
    char root[PATH_MAX];
    look_at(lock, path);
    if (lock->tries > TRIES) {
        if (lock->seen <= TRIES || !realpath(tfy__root(job->call->task), root) || git_at_work(root, path)) return false;
        if (unlink(path) != 0 && errno != ENOENT) return false;
        tfy__report_text(loop, "removed '%s', which a git that was killed left behind\n", path);
        *lock = (TfyGitLock){0};
    }
    tfy__canvas_again(job, RETRY_MS);
    return true;
}

bool tfy__git_try_later(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char path[PATH_MAX];
    return lock_path(end, path) && tfy__git_lock_later(job, path);
}
