/* sqlite_open.c: recognizes whether a file is ours before changing it, creates a new one, and opens the connection.
 *
 * A database is created under another name, closed, and renamed: whenever the machine stops, its path leads either to
 * nothing or to a complete file. A foreign file is recognized by its first hundred bytes. They are read through
 * SQLite's own handle, because closing a descriptor of ours would drop the locks that this process holds on the file;
 * and it is opened as immutable, which takes no lock and creates no file beside it. */
#include "wal/store/store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wal/store/place.h"
#include "wal/store/schema.h"

enum { HEADER_BYTES = 100 };

static uint32_t word_be(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* "file:PATH?immutable=1", with the special characters of a URI escaped. */
static char *immutable_name(const char *path)
{
    char *name = malloc(3 * strlen(path) + 32);
    if (!name) return NULL;
    char *to = stpcpy(name, path[0] == '/' ? "file://" : "file:");
    for (const char *at = path; *at; at++) {
        if (strchr("%?#", *at)) {
            to += sprintf(to, "%%%02X", (unsigned)*at);
        } else {
            *to++ = *at;
        }
    }
    strcpy(to, "?immutable=1");
    return name;
}

/* Reads the first bytes of the file; *got is their number. */
static int read_header(const char *path, uint8_t header[HEADER_BYTES], int *got)
{
    char *name = immutable_name(path);
    if (!name) return TFY_E_NOMEM;
    sqlite3 *db = NULL;
    sqlite3_file *file = NULL;
    int code = sqlite3_open_v2(name, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (!code) code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (!code && (!file || !file->pMethods)) code = SQLITE_CANTOPEN;
    if (!code) {
        sqlite3_int64 size = 0;
        code = file->pMethods->xFileSize(file, &size);
        *got = size < HEADER_BYTES ? (int)size : HEADER_BYTES;
        if (!code) code = file->pMethods->xRead(file, header, *got, 0);
    }
    sqlite3_close(db);
    free(name);
    return code ? TFY_E_IO : 0;
}

/* Whether there is a nonempty -wal file beside it. If so, a crash may have cut off the last page, which is still in
 * there. */
static bool has_wal(const char *path)
{
    char name[4096];
    struct stat status;
    return snprintf(name, sizeof name, "%s-wal", path) < (int)sizeof name && stat(name, &status) == 0 &&
           status.st_size > 0;
}

/* Refuses a file whose pages have no room for sums at their ends: a sum would overwrite data. */
static int check_pages(const char *path, const uint8_t header[HEADER_BYTES], char *error_text)
{
    const int bytes = header[16] << 8 | header[17];
    if (bytes == SCHEMA_PAGE_BYTES && header[20] == SCHEMA_PAGE_SUM_BYTES) return 0;
    return tfy__log_refuse(error_text, TFY_E_DATA,
                           "%s is damaged: its pages are not as tfy makes them; restore it from a copy", path);
}

/* Refuses a file that is not a database of ours and of this version, without changing or creating anything. */
int tfy__store_identify(const char *path, char *error_text)
{
    struct stat status;
    const int misplaced = tfy__place_check(path, error_text);
    if (misplaced) return misplaced;
    if (stat(path, &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return TFY_E_ABSENT;
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be inspected (%s); check its name and permissions",
                               path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return tfy__log_refuse(error_text, TFY_E_DATA, "%s is %s, not a database; give the name of a file with --db",
                               path, S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
    }
    uint8_t header[HEADER_BYTES] = {0};
    int got = 0;
    if (access(path, R_OK) != 0 || read_header(path, header, &got) != 0) {
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be read (%s); check its permissions", path,
                               strerror(errno));
    }
    if (got < HEADER_BYTES) {
        return tfy__log_refuse(error_text, TFY_E_DATA, "%s is %s; move it away or restore it from a copy", path,
                               got ? "too short for a database" : "empty");
    }
    if (memcmp(header, "SQLite format 3", 16) != 0 || word_be(header + 68) != SCHEMA_APPLICATION) {
        return tfy__log_refuse(error_text, TFY_E_DATA, "%s is not a tfy database; give another name with --db", path);
    }
    if (status.st_size % SCHEMA_PAGE_BYTES != 0 && !has_wal(path)) {
        return tfy__log_refuse(error_text, TFY_E_DATA, "%s was cut off; restore it from a copy", path);
    }
    const uint32_t version = word_be(header + 60);
    if (version == SCHEMA_VERSION) return check_pages(path, header, error_text);
    return tfy__log_refuse(error_text, TFY_E_DATA,
                           "%s has format %u and this tfy knows format %d; use the tfy that wrote it", path, version,
                           SCHEMA_VERSION);
}

static int execute(sqlite3 *db, const char *text)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL);
}

static int remember_pages(void *state, sqlite3 *db, const char *name, int pages)
{
    ((SqliteStore *)state)->wal_pages = (uint32_t)pages;
    return SQLITE_OK;
}

/* Opens the connection and configures it. A file of ours may come from anywhere: nothing in its schema is trusted. */
static int connect_store(SqliteStore *store, const char *path, bool writes)
{
    const int flags = (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path, &store->db, flags, tfy__page_vfs());
    if (code) return code;
    int keep = 1;
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, SQLITE_BUSY_MS);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    /* Statements are prepared once, so the memory that SQLite reserves for preparing them gains little. */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 256, 64);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    code = execute(store->db,
                   "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384");
    sqlite3_wal_hook(store->db, remember_pages, store);
    return code;
}

static bool is_of_the_log(const char *table)
{
    char head[SAVED_NAME + 32];
    const int len = snprintf(head, sizeof head, "CREATE TABLE %s(", table);
    for (int i = 0; len < (int)sizeof head && i < SCHEMA_COUNT; i++) {
        if (strncmp(schema[i], head, (size_t)len) == 0) return true;
    }
    return len >= (int)sizeof head;
}

/* Besides our own, only tables that save created are allowed, and plain indexes on them. */
static bool may_stand_there(const char *name, const char *table, const char *sql)
{
    if (!name || !table || !sql) return false;
    return tfy__saved_table_text(name, sql) || (strncmp(sql, "CREATE INDEX ", 13) == 0 && !is_of_the_log(table));
}

/* Whether it is this text of the schema, or the one that an older version wrote. */
static bool is_text(const char *ours, const char *text)
{
    const char *newer = strstr(ours, SCHEMA_NEWER_TYPES);
    if (strcmp(ours, text) == 0 || !newer) return strcmp(ours, text) == 0;
    const char *rest = newer + sizeof SCHEMA_NEWER_TYPES - 1;
    const size_t before = (size_t)(newer - ours), len = strlen(text);
    if (len < before + strlen(rest) || strncmp(ours, text, before) != 0) return false;
    const size_t some = len - before - strlen(rest); /* bytes of the newer types */
    return some < sizeof SCHEMA_NEWER_TYPES && strncmp(newer, text + before, some) == 0 &&
           (!some || newer[some - 1] == '\'') && strcmp(rest, text + before + some) == 0;
}

/* Tables, indexes and triggers must be exactly those of schema.h: a foreign trigger could change what we write. */
static int check_schema(SqliteStore *store)
{
    sqlite3_stmt *rows;
    int code = sqlite3_prepare_v2(
        store->db, "SELECT sql,name,tbl_name FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_stat_'",
        -1, &rows, NULL);
    int known = 0, unknown = 0;
    while (!code && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(rows, 0);
        int i = 0;
        while (i < SCHEMA_COUNT && text && !is_text(schema[i], text)) i++;
        if (text && i < SCHEMA_COUNT)
            known++;
        else if (!may_stand_there((const char *)sqlite3_column_text(rows, 1),
                                  (const char *)sqlite3_column_text(rows, 2), text))
            unknown++;
        code = SQLITE_OK;
    }
    sqlite3_finalize(rows);
    if (code != SQLITE_DONE) return code;
    return known == SCHEMA_COUNT && !unknown ? SQLITE_OK : SQLITE_MISMATCH;
}

static SqliteStore *new_store(const char *path)
{
    SqliteStore *store = calloc(1, sizeof *store);
    if (store) store->path = strdup(path);
    if (store && !store->path) {
        free(store);
        store = NULL;
    }
    if (!store) return NULL;
    store->base.ops = &tfy__store_sqlite_ops;
    store->epoch = store->next_epoch = -1;
    store->base.wal_limit = UINT32_MAX;
    return store;
}

/* ---- creating ---- */

static int fill_new(SqliteStore *store)
{
    char text[128];
    int reserved = SCHEMA_PAGE_SUM_BYTES;
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    snprintf(text, sizeof text,
             "PRAGMA page_size=%d; PRAGMA journal_mode=WAL; PRAGMA application_id=%d; PRAGMA user_version=%d",
             SCHEMA_PAGE_BYTES, SCHEMA_APPLICATION, SCHEMA_VERSION);
    int code = execute(store->db, text);
    if (!code) code = execute(store->db, "BEGIN IMMEDIATE");
    for (int i = 0; !code && i < SCHEMA_COUNT; i++) code = execute(store->db, schema[i]);
    if (!code && tfy__store_found(&store->base) != 0) code = SQLITE_IOERR;
    if (!code) code = execute(store->db, "COMMIT");
    /* Move everything to the main file: only that is renamed. */
    if (!code) code = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return code;
}

static void remove_beside(const char *path, const char *const *endings)
{
    char name[4096];
    for (; *endings; endings++) {
        if (snprintf(name, sizeof name, "%s%s", path, *endings) < (int)sizeof name) unlink(name);
    }
}

static int sync_directory(const char *path)
{
    char *directory = strdup(path);
    if (!directory) return -1;
    char *slash = strrchr(directory, '/');
    if (slash) slash[slash == directory] = '\0';
    const int fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int code = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0) close(fd);
    free(directory);
    return code;
}

/* The writer lock is held, so leftovers of an interrupted creation belong to nobody. */
static int create(const char *path, char *error_text)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", NULL};
    char name[4096];
    if (snprintf(name, sizeof name, "%s-wal", path) >= (int)sizeof name - 8) {
        return tfy__log_refuse(error_text, TFY_E_INVALID, "the name of the database is too long");
    }
    if (access(name, F_OK) == 0) {
        return tfy__log_refuse(error_text, TFY_E_DATA,
                               "%s is missing but %s exists; restore the first, or delete the second", path, name);
    }
    snprintf(name, sizeof name, "%s-new", path);
    remove_beside(name, endings);
    /* SQLite would make it readable for all. */
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be created (%s); check the directory", path,
                               strerror(errno));
    }
    close(fd);
    SqliteStore *store = new_store(name);
    int code = store ? connect_store(store, name, true) : SQLITE_NOMEM;
    if (!code) code = fill_new(store);
    if (code) {
        tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be created (%s)", path,
                        store ? sqlite3_errmsg(store->db) : "no memory");
    }
    if (store) store->base.ops->close(&store->base, !code);
    if (!code && (rename(name, path) != 0 || sync_directory(path) != 0)) {
        tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be created (%s)", path, strerror(errno));
        code = SQLITE_IOERR;
    }
    remove_beside(name, endings);
    return code ? TFY_E_IO : 0;
}

/* ---- opening ---- */

static int refuse_page(SqliteStore *store, char *error_text)
{
    return tfy__log_refuse(
        error_text, TFY_E_DATA,
        "%s is damaged: page %lld was changed since it was written; restore it from a copy, or recover "
        "what is left with 'tfy salvage'",
        store->path, (long long)tfy__page_vfs_damaged(store->db));
}

static int explain(SqliteStore *store, int code, char *error_text)
{
    const char *path = store->path,
               *why = code == SQLITE_MISMATCH ? "its tables are not the ones tfy makes" : sqlite3_errmsg(store->db);
    switch (code & 255) {
    case SQLITE_NOMEM: return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to open %s", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return tfy__log_refuse(error_text, TFY_E_HELD, "%s is busy in another program; close that and try again", path);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_FULL:
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_DATA) return refuse_page(store, error_text);
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be opened (%s); check the disk and permissions", path,
                               why);
    default: return tfy__log_refuse(error_text, TFY_E_DATA, "%s is damaged (%s); restore it from a copy", path, why);
    }
}

/* A log is always in WAL mode, so a rollback journal beside it is not its own. SQLite would write its pages into the log
 * all the same. */
static int refuse_journal(const char *path, char *error_text)
{
    char name[4096];
    struct stat info;
    if (snprintf(name, sizeof name, "%s-journal", path) >= (int)sizeof name || lstat(name, &info) != 0) return 0;
    return tfy__log_refuse(
        error_text, TFY_E_DATA,
        "%s is not a part of the log, and what is in it would be written into the log; find out what "
        "made it, and delete it",
        name);
}

int tfy__store_open_sqlite(TfyStore **result, const char *path, TfyStoreMode mode, char *error_text)
{
    *result = NULL;
    int code = tfy__store_identify(path, error_text);
    if (code == TFY_E_ABSENT) {
        if (mode != TFY_STORE_CREATE) {
            return tfy__log_refuse(error_text, TFY_E_ABSENT,
                                   "there is no database %s; name one with --db, or start a run first", path);
        }
        code = create(path, error_text);
    }
    if (!code) code = refuse_journal(path, error_text);
    if (code) return code;
    SqliteStore *store = new_store(path);
    if (!store) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to open %s", path);
    code = connect_store(store, path, mode != TFY_STORE_READ);
    if (!code) code = check_schema(store);
    if (code) {
        code = explain(store, code, error_text);
        store->base.ops->close(&store->base, false);
        return code;
    }
    *result = &store->base;
    return 0;
}
