/* secret_source.c: the files and the variable (secret_source.h). */
#include "effects/secret_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/known.h"

/* Permissions that nobody else may have. systemd lets the service's user in by an access list, whose mask stands where
 * the permissions of the group are. */
enum { OF_OTHERS = 077, OF_STRANGERS = 07 };

static void cannot_read(TfySought *sought, const char *what, const char *path)
{
    sought->no_room = tfy__is_no_room(errno) ? errno : 0;
    snprintf(sought->error, TFY_ERROR_TEXT, "cannot read the %s of secrets %s: %s", what, path, strerror(errno));
}

/* False: sought->error is set. */
static bool is_private(TfySought *sought, const struct stat *info, mode_t others, const char *path)
{
    const bool is_dir = S_ISDIR(info->st_mode);
    if (!(info->st_mode & others) || !(is_dir || S_ISREG(info->st_mode))) return true;
    snprintf(sought->error, TFY_ERROR_TEXT, "the %s of secrets %.300s can be read by others; chmod %s it",
             is_dir ? "directory" : "file", path, is_dir ? "700" : "600");
    return false;
}

/* The value after NAME= in a file of lines. */
static void find_line(TfySought *sought, int fd, const char *path)
{
    const size_t name_len = strlen(sought->name);
    char *line = NULL;
    size_t cap = 0;
    FILE *file = fdopen(fd, "r");
    if (!file) {
        cannot_read(sought, "file", path);
        close(fd);
        return;
    }
    errno = 0;
    for (ssize_t len; !sought->value && (len = getline(&line, &cap, file)) >= 0;) {
        while (len && (line[len - 1] == '\n' || line[len - 1] == '\r')) line[--len] = '\0';
        if (strncmp(line, sought->name, name_len) != 0 || line[name_len] != '=') continue;
        sought->value = tfy__sys_strdup(line + name_len + 1);
        sought->len = sought->value ? strlen(sought->value) : 0;
        if (!sought->value) break;
    }
    if (!sought->value && errno == ENOMEM) tfy__sys_refused();
    if (line) explicit_bzero(line, cap);
    free(line);
    fclose(file);
}

/* The whole of a file, without one line end behind it. */
static void take_file(TfySought *sought, int fd, const char *path)
{
    char *text = tfy__sys_malloc(TFY_SECRET_MAX + 2);
    size_t len = 0;
    ssize_t more = text ? 1 : 0;
    while (more > 0 && len <= TFY_SECRET_MAX)
        if ((more = read(fd, text + len, TFY_SECRET_MAX + 1 - len)) > 0) len += (size_t)more;
    if (more < 0) {
        cannot_read(sought, "file", path);
    } else if (len > TFY_SECRET_MAX) {
        snprintf(sought->error, TFY_ERROR_TEXT, "the file of secrets %s has more than 64 KiB", path);
    } else if (text) {
        if (len && text[len - 1] == '\n') len--;
        if (len && text[len - 1] == '\r') len--;
        text[len] = '\0';
        sought->value = tfy__sys_malloc(len + 1);
        if (sought->value) memcpy(sought->value, text, len + 1);
        sought->len = len;
    }
    if (text) explicit_bzero(text, TFY_SECRET_MAX + 2);
    free(text);
}

static void find_entry(TfySought *sought, int dir, mode_t others, const char *dir_path)
{
    char path[TFY_ERROR_TEXT / 2];
    struct stat info;
    if (strchr(sought->name, '/') || *sought->name == '.') return;
    const int fd = openat(dir, sought->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT) return;
    snprintf(path, sizeof path, "%s/%s", dir_path, sought->name);
    if (fd < 0 || fstat(fd, &info) != 0)
        cannot_read(sought, "file", path);
    else if (!S_ISREG(info.st_mode))
        snprintf(sought->error, TFY_ERROR_TEXT, "%s is not a file; it cannot be a secret", path);
    else if (is_private(sought, &info, others, path))
        take_file(sought, fd, path);
    if (fd >= 0) close(fd);
}

/* In a file of lines, or a directory. */
static void find_in(TfySought *sought, const char *path, mode_t others)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        cannot_read(sought, fd >= 0 || others == OF_OTHERS ? "file" : "directory", path);
    } else if (is_private(sought, &info, others, path)) {
        if (!S_ISDIR(info.st_mode)) {
            find_line(sought, fd, path);
            return;
        }
        find_entry(sought, fd, others, path);
    }
    if (fd >= 0) close(fd);
}

static void find_variable(TfySought *sought)
{
    char variable[96];
    snprintf(variable, sizeof variable, "TFY_SECRET_%s", sought->name);
    const char *plain = tfy__known_variable(variable);
    if (!plain || !*plain) return;
    sought->value = tfy__sys_strdup(plain);
    sought->len = strlen(plain);
}

bool tfy__secret_look(TfySought *sought)
{
    const char *given = sought->given, *credentials = getenv("CREDENTIALS_DIRECTORY");
    sought->value = NULL;
    sought->error[0] = '\0';
    sought->no_room = 0;
    if (given) find_in(sought, given, OF_OTHERS);
    if (!sought->value && !*sought->error && credentials && *credentials) find_in(sought, credentials, OF_STRANGERS);
    if (!sought->value && !*sought->error) find_variable(sought);
    return sought->value || *sought->error;
}
