/* logins.c: see logins.h. */
#include "mcp/login/logins.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys_memory.h"
#include "base/whole_file.h"

#define FILE_MOST ((off_t)4 << 20) /* bytes; a login has a few kilobytes */

/* False: why says which variable is missing. */
static bool name_file(char path[PATH_MAX], char *why)
{
    const char *given = getenv("TFY_LOGINS"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int len = -1;
    if (given && *given)
        len = snprintf(path, PATH_MAX, "%s", given);
    else if (config && *config == '/')
        len = snprintf(path, PATH_MAX, "%s/tfy/logins.json", config);
    else if (home && *home == '/')
        len = snprintf(path, PATH_MAX, "%s/.config/tfy/logins.json", home);
    if (len > 0 && len < PATH_MAX - 8) return true;
    snprintf(why, TFY_ERROR_TEXT, "there is no place for logins; set TFY_LOGINS to a file, or HOME");
    return false;
}

/* ---- reading ---- */

static bool is_private(int fd, const char *path, char *why)
{
    struct stat info;
    if (fstat(fd, &info) < 0) {
        snprintf(why, TFY_ERROR_TEXT, "%.200s cannot be read: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISREG(info.st_mode) || info.st_size > FILE_MOST)
        snprintf(why, TFY_ERROR_TEXT, "%.200s is not a file of logins", path);
    else if (info.st_mode & 077)
        snprintf(why, TFY_ERROR_TEXT, "others can read %.200s, which has logins; run: chmod 600 %.200s", path, path);
    else
        return true;
    return false;
}

static json_t *read_tree(int fd, const char *path, char *why)
{
    json_error_t error;
    json_t *tree = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(json_object_get(tree, "issuers"))) return tree;
    snprintf(why, TFY_ERROR_TEXT, "%.200s is not a file of logins; move it away, and log in again", path);
    json_decref(tree);
    return NULL;
}

json_t *tfy__logins_read(char *why)
{
    char path[PATH_MAX];
    if (!name_file(path, why)) return NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        json_t *nothing = json_pack("{s:{}}", "issuers");
        if (!nothing) snprintf(why, TFY_ERROR_TEXT, "memory ran out");
        return nothing;
    }
    if (fd < 0) {
        snprintf(why, TFY_ERROR_TEXT, "%.200s cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    json_t *tree = is_private(fd, path, why) ? read_tree(fd, path, why) : NULL;
    close(fd);
    return tree;
}

/* ---- writing ---- */

/* The directory of the file and the one above it, which often is not there yet either. */
static void make_directories(const char *path)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s", path);
    char *last = strrchr(dir, '/');
    if (!last || last == dir) return;
    *last = '\0';
    char *above = strrchr(dir, '/');
    if (above && above != dir) {
        *above = '\0';
        (void)mkdir(dir, 0700);
        *above = '/';
    }
    (void)mkdir(dir, 0700);
}

int tfy__logins_lock(char *why)
{
    char path[PATH_MAX], lock[PATH_MAX + 8];
    *why = '\0';
    if (!name_file(path, why)) return -1;
    make_directories(path);
    snprintf(lock, sizeof lock, "%s-lock", path);
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    if (fd < 0 || errno != EWOULDBLOCK)
        snprintf(why, TFY_ERROR_TEXT, "%.200s cannot be locked: %s", lock, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

bool tfy__logins_write(const json_t *logins, char *why)
{
    char path[PATH_MAX];
    TfyWhole whole;
    if (!name_file(path, why)) return false;
    char *text = json_dumps(logins, JSON_INDENT(2) | JSON_SORT_KEYS);
    const int fd = text ? tfy__whole_open(&whole, path, 0600) : -1;
    bool ok = fd >= 0 && tfy__write_all(fd, text, strlen(text));
    if (!text) errno = ENOMEM;
    if (fd >= 0) ok = close(fd) == 0 && ok;
    if (text) {
        const int reason = errno;
        explicit_bzero(text, strlen(text));
        free(text);
        errno = reason;
    }
    if (ok && tfy__whole_commit(&whole, TFY_WHOLE_OVER)) return true;
    snprintf(why, TFY_ERROR_TEXT, "%.200s cannot be written: %s", path, strerror(errno));
    if (fd >= 0) tfy__whole_abandon(&whole);
    return false;
}

/* ---- what it holds ---- */

json_t *tfy__logins_issuer(json_t *logins, const char *issuer)
{
    json_t *issuers = json_object_get(logins, "issuers"), *entry = json_object_get(issuers, issuer);
    if (!json_is_object(entry)) {
        entry = json_object();
        if (json_object_set_new(issuers, issuer, entry) != 0) return NULL;
    }
    if (!json_is_object(json_object_get(entry, "servers")) && json_object_set_new(entry, "servers", json_object()) != 0)
        return NULL;
    return entry;
}

json_t *tfy__logins_find(const json_t *logins, const char *url, const char **issuer)
{
    const char *name;
    json_t *entry;
    json_object_foreach(json_object_get(logins, "issuers"), name, entry)
    {
        json_t *server = json_object_get(json_object_get(entry, "servers"), url);
        if (!json_is_object(server)) continue;
        *issuer = name;
        return server;
    }
    return NULL;
}

void tfy__logins_forget(json_t *logins, const char *url)
{
    const char *name;
    json_t *entry;
    json_object_foreach(json_object_get(logins, "issuers"), name, entry)
    {
        json_object_del(json_object_get(entry, "servers"), url);
    }
}
