/* cursor.c: see cursor.h. */
#include "publish/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "cli/frame/cli.h"
#include "tfy.h"

enum { SUM_AT = TFY_CURSOR_PLACE - 17 }; /* 16 digits and a line end */

bool tfy__follower_name_fits(const char *name)
{
    return *name >= 'a' && *name <= 'z' && strlen(name) <= TFY_FOLLOWER_NAME_MOST &&
           !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
}

/* ---- a place ---- */

static void add_text(TfyBuffer *out, const char *name, const char *text)
{
    tfy__buffer_printf(out, ",\"%s\":", name);
    tfy__buffer_json_string(out, text, strlen(text));
}

static void sum_of(const char place[TFY_CURSOR_PLACE], char sum[18])
{
    snprintf(sum, 18, "%016" PRIx64 "\n", XXH3_64bits(place, SUM_AT));
}

void tfy__follow_cursor_seal(char place[TFY_CURSOR_PLACE])
{
    char sum[18];
    sum_of(place, sum);
    memcpy(place + SUM_AT, sum, 17);
}

/* False: no memory. */
static bool write_place(const TfyCursorState *state, uint64_t seq, char place[TFY_CURSOR_PLACE])
{
    TfyBuffer text = {0};
    tfy__buffer_printf(&text, "{\"seq\":%" PRIu64 ",\"lsn\":%" PRId64 ",\"missed\":%" PRId64 ",\"dropped\":%" PRId64,
                       seq, state->lsn, state->missed, state->dropped);
    tfy__buffer_printf(&text, ",\"since\":%" PRId64 ",\"error_ms\":%" PRId64, state->since_ms, state->error_ms);
    add_text(&text, "db", state->db);
    add_text(&text, "to", state->to);
    add_text(&text, "error", state->error);
    tfy__buffer_char(&text, '}');
    const bool fits = !text.failed && text.len < SUM_AT;
    if (fits) {
        memset(place, ' ', SUM_AT);
        memcpy(place, text.data, text.len);
        tfy__follow_cursor_seal(place);
    }
    tfy__buffer_free(&text);
    return fits;
}

static int64_t number(const json_t *json, const char *name)
{
    return json_integer_value(json_object_get(json, name));
}

static void take_text(const json_t *json, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(json, name));
    snprintf(out, size, "%s", text ? text : "");
}

uint64_t tfy__follow_cursor_read(const char place[TFY_CURSOR_PLACE], TfyCursorState *state)
{
    char sum[18];
    sum_of(place, sum);
    if (memcmp(place + SUM_AT, sum, 17) != 0) return 0;
    json_t *json = json_loadb(place, SUM_AT, 0, NULL);
    if (!json) return 0;
    *state = (TfyCursorState){.lsn = number(json, "lsn"),
                              .missed = number(json, "missed"),
                              .dropped = number(json, "dropped"),
                              .since_ms = number(json, "since"),
                              .error_ms = number(json, "error_ms")};
    take_text(json, "db", state->db, sizeof state->db);
    take_text(json, "to", state->to, sizeof state->to);
    take_text(json, "error", state->error, sizeof state->error);
    const uint64_t seq = (uint64_t)number(json, "seq");
    json_decref(json);
    return state->lsn >= 0 ? seq : 0;
}

/* The newer of two places. 0: neither says anything. */
static uint64_t read_both(int fd, TfyCursorState *state)
{
    uint64_t newest = 0;
    for (int i = 0; i < 2; i++) {
        char place[TFY_CURSOR_PLACE];
        TfyCursorState one;
        if (pread(fd, place, sizeof place, i * (off_t)sizeof place) != sizeof place) continue;
        const uint64_t seq = tfy__follow_cursor_read(place, &one);
        if (seq <= newest) continue;
        newest = seq;
        *state = one;
    }
    return newest;
}

/* ---- the file ---- */

static bool refuse(char *error, const char *db_path, const char *name, const char *why)
{
    snprintf(error, TFY_ERROR_TEXT, "%.200s-follow/%.64s %s", db_path, name, why);
    return false;
}

static int open_dir(const char *db_path, bool creates)
{
    char *path = NULL;
    if (asprintf(&path, "%s-follow", db_path) < 0) return -1;
    if (creates && mkdir(path, 0700) != 0 && errno != EEXIST) {
        free(path);
        return -1;
    }
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    free(path);
    return fd;
}

/* A first save that a crash tore has the first place alone: nothing was ever acknowledged by it. */
static bool take_file(TfyCursor *cursor, const char *db_path, const char *name, char *error)
{
    struct stat st;
    cursor->seq = read_both(cursor->fd, &cursor->state);
    if (cursor->seq || (fstat(cursor->fd, &st) == 0 && st.st_size <= TFY_CURSOR_PLACE)) return true;
    return refuse(error, db_path, name,
                  "is damaged: remove it, and everything is published again from the first record");
}

/* A lock of the open file. Whether there is one can be asked without taking it. */
static bool lock(int fd, int how, struct flock *lock)
{
    *lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, how, lock) == 0;
}

int tfy__follow_cursor_open(TfyCursor *cursor, const char *db_path, const char *name, char *error)
{
    *cursor = (TfyCursor){.fd = -1, .dir_fd = open_dir(db_path, true)};
    if (cursor->dir_fd >= 0) cursor->fd = openat(cursor->dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (cursor->fd < 0) {
        char why[80];
        snprintf(why, sizeof why, "cannot be opened: %.60s", strerror(errno));
        refuse(error, db_path, name, why);
        return EXIT_LOG;
    }
    struct flock held;
    if (!lock(cursor->fd, F_OFD_SETLK, &held)) {
        refuse(error, db_path, name, "is in use by another process: end that one, or choose another --name");
        return EXIT_WAITING;
    }
    return take_file(cursor, db_path, name, error) ? EXIT_DONE : EXIT_DATA;
}

bool tfy__follow_cursor_save(TfyCursor *cursor)
{
    char place[TFY_CURSOR_PLACE];
    const uint64_t seq = cursor->seq + 1;
    errno = ENOMEM;
    if (!write_place(&cursor->state, seq, place)) return false;
    const off_t at = (off_t)((seq + 1) % 2) * TFY_CURSOR_PLACE; /* the first save fills the first place */
    if (pwrite(cursor->fd, place, sizeof place, at) != sizeof place || fdatasync(cursor->fd) != 0) return false;
    if (seq <= 2 && fsync(cursor->dir_fd) != 0) return false;
    cursor->seq = seq;
    return true;
}

void tfy__follow_cursor_close(TfyCursor *cursor)
{
    if (cursor->fd >= 0) close(cursor->fd);
    if (cursor->dir_fd >= 0) close(cursor->dir_fd);
    cursor->fd = cursor->dir_fd = -1;
}

bool tfy__follow_cursor_look(const char *db_path, const char *name, TfyCursorState *state, bool *works)
{
    const int dir_fd = open_dir(db_path, false);
    const int fd = dir_fd >= 0 ? openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (dir_fd >= 0) close(dir_fd);
    if (fd < 0) return false;
    struct flock held;
    *works = lock(fd, F_OFD_GETLK, &held) && held.l_type != F_UNLCK;
    const bool found = read_both(fd, state);
    close(fd);
    return found;
}
