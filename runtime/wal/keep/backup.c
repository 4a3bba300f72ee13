/* backup.c: SQLite's backup inside one read transaction: copies the pages of one moment, even if others write
 * meanwhile. It works in pieces, so that it can report progress. */
#include "wal/keep/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "wal/keep/import.h"
#include "wal/store/place.h"
#include "wal/store/store_sqlite.h"
#include "wal/history/history.h"

enum { STEP_PAGES = 512 };

/* Creates an empty file ourselves: SQLite would make it readable for all. */
static int make_file(const char *path, char *error_text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be created (%s); check the directory", path,
                               strerror(errno));
    close(fd);
    return 0;
}

static int copy_pages(sqlite3 *from, sqlite3 *to, TfyVerifyProgress *progress, void *state)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (!backup) return sqlite3_errcode(to);
    int code;
    while ((code = sqlite3_backup_step(backup, STEP_PAGES)) == SQLITE_OK) {
        const int of = sqlite3_backup_pagecount(backup);
        if (progress) progress(state, "pages copied", of - sqlite3_backup_remaining(backup), of);
    }
    const int finished = sqlite3_backup_finish(backup);
    return code == SQLITE_DONE ? finished : code;
}

/* Opens the copy through our VFS, so that its pages have their sums. */
static int copy_to(TfyStore *store, const char *to, TfyVerifyProgress *progress, void *state, char *error_text)
{
    sqlite3 *from = ((SqliteStore *)store)->db, *copy = NULL;
    int code = sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, tfy__page_vfs());
    if (!code) code = copy_pages(from, copy, progress, state);
    if (code)
        tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be written (%s); check the disk", to,
                        code == SQLITE_FULL ? "no room is left" : sqlite3_errmsg(copy));
    sqlite3_close(copy);
    return code ? TFY_E_IO : 0;
}

/* All reads of a transaction see the moment of the first one. */
static int copy_moment(const char *path, const char *to, TfyVerifyProgress *progress, void *state, char *error_text)
{
    TfyStore *store;
    TfyStoreMeta meta;
    int code = tfy__store_open_sqlite(&store, path, TFY_STORE_READ, error_text);
    if (code) return code;
    code = TFY_STORE(store, TFY_CALL_READ, look);
    if (!code) code = TFY_STORE(store, TFY_CALL_READ, get_meta, &meta);
    if (code)
        tfy__log_refuse(error_text, code, "%s cannot be read (%s)", path, store->error);
    else
        code = copy_to(store, to, progress, state, error_text);
    store->ops->look_away(store);
    store->ops->close(store, false);
    return code;
}

int tfy__backup(const char *path, const char *to, TfyVerifyProgress *progress, void *state, TfyVerified *verified,
                char *error_text)
{
    char name[TFY_PLACE_BYTES];
    TfyWhole whole;
    int code = tfy__store_identify(path, error_text);
    if (code == TFY_E_ABSENT) return tfy__log_refuse(error_text, code, "there is no database %s", path);
    if (!code) code = tfy__place_resolve(to, name, error_text);
    if (!code) code = tfy__place_is_free(name, error_text);
    if (code) return code;
    if (!tfy__whole_open_database(&whole, name))
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be created (%s); check the directory", to,
                               strerror(errno));
    code = make_file(whole.aside, error_text);
    if (!code) code = copy_moment(path, whole.aside, progress, state, error_text);
    if (!code) code = tfy__verify(whole.aside, progress, state, verified, error_text);
    /* Never overwrite a file that another process has created meanwhile. */
    if (!code && !tfy__whole_commit(&whole, TFY_WHOLE_NEW))
        code = tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be completed (%s)", to, strerror(errno));
    tfy__whole_abandon(&whole);
    return code;
}

/* ---- adopting ---- */

/* Whether the file is the one that was last opened for writing. */
static bool is_own_file(const char *path)
{
    TfyStore *store;
    TfyStoreMeta meta;
    struct stat status;
    if (tfy__store_open_sqlite(&store, path, TFY_STORE_READ, NULL) != 0) return false;
    const bool own =
        store->ops->get_meta(store, &meta) == 0 && stat(path, &status) == 0 && meta.ino == (int64_t)status.st_ino;
    store->ops->close(store, false);
    return own;
}

/* 0: it opens as it is, and is closed again; TFY_E_DATA: it does not. */
static int open_as_it_is(const char *path, char *error_text)
{
    TfyLog *log;
    const TfyLogOptions options = {.path = path, .existing = true, .no_thread = true};
    const int code = tfy__log_open(&log, &options, error_text);
    return code ? code : tfy__log_close_saying(log, true, error_text);
}

static int doubt_runs(TfyLog *log, TfyAdopted *adopted, char *error_text)
{
    int64_t *ids;
    uint32_t count;
    int code = tfy__log_unfinished(log, &ids, &count);
    if (code) return tfy__log_refuse(error_text, code, "the unfinished runs cannot be read");
    for (uint32_t i = 0; !code && i < count; i++) {
        TfyHistory *history;
        char id[24];
        snprintf(id, sizeof id, "%" PRId64, ids[i]);
        code = tfy__history_read(log, id, &history, error_text);
        if (code) break;
        if ((code = tfy__import_doubt(log, history, &adopted->doubts)))
            tfy__log_refuse(error_text, code, "the log could not be written");
        tfy__history_free(history);
        adopted->runs++;
    }
    free(ids);
    return code;
}

int tfy__adopt(const char *path, const char *version, bool force, TfyAdopted *adopted, char *error_text)
{
    TfyLog *log;
    *adopted = (TfyAdopted){0};
    if (!force && is_own_file(path)) {
        const int code = open_as_it_is(path, error_text);
        adopted->own = !code;
        if (code != TFY_E_DATA) return code;
    }
    const TfyLogOptions options = {.path = path, .existing = true, .no_thread = true, .adopt = true};
    int code = tfy__log_open(&log, &options, error_text);
    if (code) return code;
    adopted->epoch = tfy__log_epoch(log);
    /* One commit for all: a copy is adopted completely or not at all. */
    const TfyTicket ticket = tfy__log_opened(log, version, "adopted");
    code = ticket < 0 ? (int)ticket : doubt_runs(log, adopted, error_text);
    const int closed = tfy__log_close_saying(log, !code, error_text);
    return code ? code : closed;
}
