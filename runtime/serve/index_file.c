/* index_file.c: see index_file.h. */
#include "serve/index_file.h"

#include <stdio.h>
#include <string.h>

enum { BUSY_MS = 5000 };

int tfy__index_file_open(const char *path, bool reads, sqlite3 **db)
{
    const int flags = reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(path, db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(*db, BUSY_MS);
    if (code == SQLITE_OK && !reads)
        code = sqlite3_exec(*db,
                            "PRAGMA journal_mode=WAL;PRAGMA synchronous=OFF;"
                            "CREATE TABLE IF NOT EXISTS meta(db BLOB,version INT,made INT,cursor INT,boot TEXT)",
                            NULL, NULL, NULL);
    return code;
}

int tfy__index_file_meta(sqlite3 *db, TfyIndexMeta *meta)
{
    sqlite3_stmt *stmt = NULL;
    *meta = (TfyIndexMeta){.version = 0};
    int code = sqlite3_prepare_v2(db, "SELECT db,version,made,cursor,boot FROM meta", -1, &stmt, NULL);
    if (code == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 0) == 16) {
        memcpy(meta->db, sqlite3_column_blob(stmt, 0), 16);
        meta->version = sqlite3_column_int64(stmt, 1);
        meta->made = sqlite3_column_int64(stmt, 2);
        meta->cursor = sqlite3_column_int64(stmt, 3);
        const char *boot = (const char *)sqlite3_column_text(stmt, 4);
        snprintf(meta->boot, sizeof meta->boot, "%s", boot ? boot : "");
    }
    sqlite3_finalize(stmt);
    return code;
}

void tfy__index_file_boot(char boot[40])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    *boot = '\0';
    if (file && fscanf(file, "%39s", boot) != 1) *boot = '\0';
    if (file) fclose(file);
}

static bool check(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    const bool whole = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
                       sqlite3_step(stmt) == SQLITE_ROW &&
                       strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0;
    sqlite3_finalize(stmt);
    return whole;
}

static bool note_boot(sqlite3 *db, const char *boot)
{
    sqlite3_stmt *stmt = NULL;
    const bool noted = sqlite3_prepare_v2(db, "UPDATE meta SET boot=?1", -1, &stmt, NULL) == SQLITE_OK &&
                       sqlite3_bind_text(stmt, 1, boot, -1, SQLITE_STATIC) == SQLITE_OK &&
                       sqlite3_step(stmt) == SQLITE_DONE;
    sqlite3_finalize(stmt);
    return noted;
}

bool tfy__index_file_is_whole(sqlite3 *db, const TfyIndexMeta *meta)
{
    char boot[40];
    tfy__index_file_boot(boot);
    return (*boot && strcmp(boot, meta->boot) == 0) || (check(db) && note_boot(db, boot));
}
