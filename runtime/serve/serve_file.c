/* serve_file.c: see serve_file.h. */
#include "serve/serve_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tfy.h"

enum { VERSION = 2, BUSY_MS = 5000 };

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS entry(hash BLOB PRIMARY KEY,session INT NOT NULL,person TEXT NOT NULL,name TEXT NOT "
    "NULL,"
    "roles INT NOT NULL,created_ms INT NOT NULL,used_ms INT NOT NULL,expires_ms INT NOT NULL,rate INT NOT NULL,"
    "only_ TEXT NOT NULL)WITHOUT ROWID;"
    "CREATE UNIQUE INDEX IF NOT EXISTS entry_name ON entry(name)WHERE session=0;"
    "CREATE TABLE IF NOT EXISTS schedule(name TEXT PRIMARY KEY,times TEXT NOT NULL,paused INT NOT NULL,done_s INT NOT "
    "NULL,"
    "last_s INT NOT NULL,run TEXT NOT NULL,why TEXT NOT NULL)WITHOUT ROWID;"
    "PRAGMA user_version=2;"
    "COMMIT";

static int64_t version_of(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    int64_t version = -1;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
        version = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return version;
}

static bool prepare_file(sqlite3 *db)
{
    sqlite3_busy_timeout(db, BUSY_MS);
    if (sqlite3_exec(db, "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL", NULL, NULL, NULL) != SQLITE_OK)
        return false;
    const int64_t version = version_of(db);
    if (version > 1) return version == VERSION;
    return version >= 0 && sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK;
}

/* SQLite makes the files beside it with the rights of this one. */
static bool make_private(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    close(fd);
    return true;
}

TfyServeFile *tfy__serve_file_open(const char *db_path, char *error)
{
    TfyServeFile *file = calloc(1, sizeof *file);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!file) return NULL;
    snprintf(file->path, sizeof file->path, "%s-serve", db_path);
    if (make_private(file->path) &&
        sqlite3_open_v2(file->path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL) == SQLITE_OK &&
        prepare_file(file->db))
        return file;
    snprintf(error, TFY_ERROR_TEXT, "%.300s, which has the tokens, cannot be read (%s): remove it and make them anew",
             file->path, file->db ? sqlite3_errmsg(file->db) : "it cannot be opened");
    tfy__serve_file_close(file);
    return NULL;
}

void tfy__serve_file_close(TfyServeFile *file)
{
    if (!file) return;
    sqlite3_close(file->db);
    free(file);
}

void tfy__serve_file_text(sqlite3_stmt *stmt, int at, char *out, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(stmt, at);
    snprintf(out, size, "%s", text ? text : "");
}
