/* root.c: see root.h. */
#include "wal/log/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/utf8.h"
#include "wal/log/log_state.h"
#include "wal/rows/payload.h"

/* ---- identity of a directory ---- */

/* Overlay file systems create a directory anew, with a new time, at the first write inside it. */
static bool keeps_birth(int fd)
{
    struct statfs system;
    return fstatfs(fd, &system) == 0 && system.f_type != OVERLAYFS_SUPER_MAGIC;
}

bool tfy__root_look(int fd, TfyRoot *root)
{
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) return false;
    root->dev = (int64_t)makedev(status.stx_dev_major, status.stx_dev_minor);
    root->ino = (int64_t)status.stx_ino;
    root->born_ns = status.stx_mask & STATX_BTIME && keeps_birth(fd)
                        ? status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec
                        : 0;
    return true;
}

bool tfy__root_look_at(const char *path, TfyRoot *root)
{
    const int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const bool ok = fd >= 0 && tfy__root_look(fd, root);
    const int reason = errno;
    if (fd >= 0) close(fd);
    errno = reason;
    return ok;
}

bool tfy__root_is(const TfyRoot *a, const TfyRoot *b)
{
    if (!a->path || !b->path || a->ino != b->ino) return false;
    return !a->born_ns || !b->born_ns || a->born_ns == b->born_ns;
}

bool tfy__root_leads(const TfyRoot *recorded, const TfyRoot *here)
{
    if (!tfy__root_is(recorded, here)) return false;
    TfyRoot now = {.path = recorded->path};
    return strcmp(recorded->path, here->path) == 0 ||
           (tfy__root_look_at(recorded->path, &now) && tfy__root_is(&now, here));
}

void tfy__root_free(TfyRoot *root)
{
    free(root->path);
    *root = (TfyRoot){0};
}

/* ---- as JSON ---- */

static bool is_utf8(const char *text)
{
    for (size_t left = strlen(text), step; left; text += step, left -= step) {
        const int len = tfy__utf8_step((const unsigned char *)text, left);
        if (len < 0) return false;
        step = (size_t)len;
    }
    return true;
}

static void write_hex(TfyBuffer *out, const char *bytes)
{
    tfy__buffer_char(out, '"');
    for (; *bytes; bytes++) tfy__buffer_printf(out, "%02x", (unsigned char)*bytes);
    tfy__buffer_char(out, '"');
}

/* A path consists of bytes: if they are not UTF-8, "bytes" has them exactly. */
void tfy__root_write(TfyBuffer *out, const TfyRoot *root)
{
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_PATH, root->path);
    if (!is_utf8(root->path)) {
        tfy__put(out, TFY_P_BYTES);
        write_hex(out, root->path);
    }
    tfy__put_int(out, TFY_P_DEV, (int64_t)root->dev);
    tfy__put_int(out, TFY_P_INO, (int64_t)root->ino);
    if (root->born_ns) tfy__put_int(out, TFY_P_BORN, root->born_ns);
    tfy__put_end(out);
}

static char *read_hex(const char *digits)
{
    const size_t len = strlen(digits) / 2;
    char *bytes = calloc(len + 1, 1);
    for (size_t i = 0; bytes && i < len; i++)
        bytes[i] = (char)strtol((const char[]){digits[2 * i], digits[2 * i + 1], '\0'}, NULL, 16);
    return bytes;
}

int tfy__root_of_json(const json_t *json, TfyRoot *root)
{
    const char *path = tfy__member_text(json, TFY_P_PATH), *bytes = tfy__member_text(json, TFY_P_BYTES);
    *root = (TfyRoot){.dev = tfy__member_int(json, TFY_P_DEV),
                      .ino = tfy__member_int(json, TFY_P_INO),
                      .born_ns = tfy__member_int(json, TFY_P_BORN)};
    if (path) root->path = bytes ? read_hex(bytes) : strdup(path);
    return path && !root->path ? TFY_E_NOMEM : 0;
}

int tfy__root_of_record(const TfyLogRecord *record, TfyRoot *root)
{
    size_t len;
    json_error_t error;
    const char *raw = tfy__record_raw(record, TFY_P_ROOT, &len);
    json_t *json = raw ? json_loadb(raw, len, 0, &error) : NULL;
    if (raw && !json) return json_error_code(&error) == json_error_out_of_memory ? TFY_E_NOMEM : TFY_E_DATA;
    const int code = tfy__root_of_json(json, root);
    json_decref(json);
    return code;
}

/* ---- the root of a run that is not in memory ---- */

/* Walks down from the newest record of its first task: the snapshot with which a run leaves memory is the first one
 * on the way. */
int tfy__log_root_locked(TfyLog *log, const TfyLogRun *run, TfyRoot *root)
{
    TfyStoreTask task;
    *root = (TfyRoot){0};
    int code = TFY_STORE(log->store, TFY_CALL_READ, get_task, run->id, run->root, &task);
    if (code) return code == TFY_E_ABSENT ? TFY_E_DATA : code;
    const TfyHead *head = tfy__heads_find(&log->heads, run->root);
    for (int64_t lsn = head && head->lsn > task.head ? head->lsn : task.head; lsn > 0;) {
        TfyLogRecord record;
        if ((code = TFY_STORE(log->store, TFY_CALL_READ, get_record, run->id, lsn, &record))) break;
        const bool tells = record.type == TFY_R_SNAPSHOT || record.type == TFY_R_MOVED || lsn == task.born;
        if (tells) code = tfy__root_of_record(&record, root);
        if (code || root->path || lsn == task.born) break;
        lsn = record.prev < lsn ? record.prev : 0;
    }
    if (code != TFY_E_ABSENT) return code;
    /* Of a compacted run the records in between are gone. */
    TfyLogRecord birth;
    code = TFY_STORE(log->store, TFY_CALL_READ, get_record, run->id, task.born, &birth);
    if (!code) code = tfy__root_of_record(&birth, root);
    return code == TFY_E_ABSENT ? TFY_E_DATA : code;
}
