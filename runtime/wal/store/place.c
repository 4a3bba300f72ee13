/* place.c: see place.h. */
#include "wal/store/place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wal/store/store.h"

enum { LINKS_MAX = 40 }; /* as many as the kernel follows */

static int refuse_length(char *error_text)
{
    return tfy__log_refuse(error_text, TFY_E_INVALID, "the name of the database is too long");
}

/* Replaces the link at `path` by its target: a relative target starts from the link's directory. */
static bool replace_by_target(char path[TFY_PLACE_BYTES], const char *target)
{
    const char *slash = strrchr(path, '/');
    const size_t kept = target[0] != '/' && slash ? (size_t)(slash + 1 - path) : 0, len = strlen(target);
    if (kept + len >= TFY_PLACE_BYTES) return false;
    memcpy(path + kept, target, len + 1);
    return true;
}

/* Some links of /proc lead to a different place than their text says. */
static int check_same(const char *name, const char *path, char *error_text)
{
    struct stat meant, found;
    if (stat(name, &meant) != 0) return 0;
    if (stat(path, &found) == 0 && found.st_dev == meant.st_dev && found.st_ino == meant.st_ino) return 0;
    return tfy__log_refuse(error_text, TFY_E_INVALID, "%s cannot be followed to a file; name that file with --db",
                           name);
}

int tfy__place_resolve(const char *name, char path[TFY_PLACE_BYTES], char *error_text)
{
    char target[TFY_PLACE_BYTES];
    if (!*name) return tfy__log_refuse(error_text, TFY_E_INVALID, "an empty name is not the name of a database");
    if (strcmp(name, ":memory:") == 0)
        return tfy__log_refuse(error_text, TFY_E_INVALID,
                               "':memory:' is not the name of a file, and runs are recorded in one");
    if (strlen(name) >= TFY_PLACE_BYTES) return refuse_length(error_text);
    strcpy(path, name);
    for (int links = 0; links < LINKS_MAX; links++) {
        const ssize_t len = readlink(path, target, sizeof target);
        if (len < 0) return links ? check_same(name, path, error_text) : 0;
        if (len == sizeof target) return refuse_length(error_text);
        target[len] = '\0';
        if (!replace_by_target(path, target)) return refuse_length(error_text);
    }
    return tfy__log_refuse(error_text, TFY_E_INVALID, "%s is a symbolic link that leads back to itself", name);
}

static int refuse_companion(const char *name, const char *what, char *error_text)
{
    return tfy__log_refuse(error_text, TFY_E_DATA,
                           "%s %s, so a write to it could destroy another file; move it away, and put back the file "
                           "that was there, if there was one",
                           name, what);
}

/* `owner` is the database's; root may do anything. */
static int check_companion(const char *name, uid_t owner, char *error_text)
{
    struct stat status;
    if (lstat(name, &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return 0;
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be inspected (%s); check the directory", name,
                               strerror(errno));
    }
    if (S_ISLNK(status.st_mode)) return refuse_companion(name, "is a symbolic link", error_text);
    if (!S_ISREG(status.st_mode)) return refuse_companion(name, "is not a regular file", error_text);
    if (status.st_nlink > 1) return refuse_companion(name, "has a second name (a hard link)", error_text);
    if (status.st_uid != owner && status.st_uid != geteuid() && status.st_uid != 0)
        return refuse_companion(name, "belongs to another user than the database", error_text);
    return 0;
}

int tfy__place_check(const char *path, char *error_text)
{
    static const char *const endings[] = {"-tfy", "-wal", "-shm", "-journal"};
    char name[TFY_PLACE_BYTES];
    struct stat status;
    const bool there = lstat(path, &status) == 0;
    if (there && S_ISREG(status.st_mode) && status.st_nlink > 1)
        return tfy__log_refuse(error_text, TFY_E_DATA,
                               "%s has %lu names (hard links), and each would have a -wal file and a lock of its own; "
                               "remove the other names, or make a copy with 'tfy backup' instead of a link",
                               path, (unsigned long)status.st_nlink);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (snprintf(name, sizeof name, "%s%s", path, endings[i]) >= (int)sizeof name) return refuse_length(error_text);
        const int code = check_companion(name, there ? status.st_uid : geteuid(), error_text);
        if (code) return code;
    }
    return 0;
}

int tfy__place_is_free(const char *path, char *error_text)
{
    static const char *const endings[] = {"", "-wal", "-journal"};
    char name[TFY_PLACE_BYTES];
    struct stat status;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (snprintf(name, sizeof name, "%s%s", path, endings[i]) >= (int)sizeof name) return refuse_length(error_text);
        if (lstat(name, &status) != 0) continue;
        return tfy__log_refuse(error_text, TFY_E_INVALID, "%s already exists; give another name", name);
    }
    return 0;
}
