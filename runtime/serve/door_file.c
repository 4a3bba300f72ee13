/* door_file.c: see door_file.h. */
#include "serve/door_file.h"

#include <stdio.h>
#include <string.h>

#include "tfy.h"

#define COLUMNS "hash,session,person,name,roles,created_ms,used_ms,expires_ms,rate,only_"

static bool read_row(sqlite3_stmt *stmt, TfyDoorRow *row)
{
    *row = (TfyDoorRow){.session = sqlite3_column_int(stmt, 1)};
    if (sqlite3_column_bytes(stmt, 0) != TFY_SHA256_SIZE) return false;
    memcpy(row->hash, sqlite3_column_blob(stmt, 0), TFY_SHA256_SIZE);
    tfy__serve_file_text(stmt, 2, row->person, sizeof row->person);
    tfy__serve_file_text(stmt, 3, row->token.name, sizeof row->token.name);
    row->token.roles = (unsigned)sqlite3_column_int(stmt, 4);
    row->token.created_ms = sqlite3_column_int64(stmt, 5);
    row->token.used_ms = sqlite3_column_int64(stmt, 6);
    row->token.expires_ms = sqlite3_column_int64(stmt, 7);
    row->token.rate = sqlite3_column_int64(stmt, 8);
    tfy__serve_file_text(stmt, 9, row->token.only, sizeof row->token.only);
    return true;
}

bool tfy__door_file_read(TfyServeFile *file, bool (*take)(void *arg, const TfyDoorRow *row), void *arg, char *error)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(file->db, "SELECT " COLUMNS " FROM entry", -1, &stmt, NULL);
    bool fine = code == SQLITE_OK;
    while (fine && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        TfyDoorRow row;
        if (read_row(stmt, &row)) fine = take(arg, &row);
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        snprintf(error, TFY_ERROR_TEXT, "%.300s, which has the tokens, cannot be read: %s", file->path,
                 sqlite3_errmsg(file->db));
    sqlite3_finalize(stmt);
    return fine && code == SQLITE_DONE;
}

int tfy__door_file_put(TfyServeFile *file, const TfyDoorRow *row)
{
    sqlite3_stmt *stmt = NULL;
    const TfyToken *token = &row->token;
    int code = sqlite3_prepare_v2(file->db, "INSERT INTO entry(" COLUMNS ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)", -1,
                                  &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_blob(stmt, 1, row->hash, TFY_SHA256_SIZE, SQLITE_STATIC);
        sqlite3_bind_int(stmt, 2, row->session);
        sqlite3_bind_text(stmt, 3, row->person, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 4, token->name, -1, SQLITE_STATIC);
        sqlite3_bind_int(stmt, 5, (int)token->roles);
        sqlite3_bind_int64(stmt, 6, token->created_ms);
        sqlite3_bind_int64(stmt, 7, token->used_ms);
        sqlite3_bind_int64(stmt, 8, token->expires_ms);
        sqlite3_bind_int64(stmt, 9, token->rate);
        sqlite3_bind_text(stmt, 10, token->only, -1, SQLITE_STATIC);
        code = sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? TFY_OK : code == SQLITE_CONSTRAINT ? TFY_E_STATE : TFY_E_IO;
}

int tfy__door_file_drop(TfyServeFile *file, const char *token)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(file->db, "DELETE FROM entry WHERE name=?1", -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, token, -1, SQLITE_STATIC);
        code = sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    if (code != SQLITE_DONE) return TFY_E_IO;
    return sqlite3_changes(file->db) ? TFY_OK : TFY_E_ABSENT;
}

int tfy__door_file_end(TfyServeFile *file, const uint8_t *session)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(file->db, "DELETE FROM entry WHERE hash=?1 AND session=1", -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_blob(stmt, 1, session, TFY_SHA256_SIZE, SQLITE_STATIC);
        code = sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
}

static void note_used(TfyServeFile *file, const TfyDoorRow *rows, size_t count)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(file->db, "UPDATE entry SET used_ms=?2 WHERE hash=?1", -1, &stmt, NULL) != SQLITE_OK) return;
    for (size_t i = 0; i < count; i++) {
        sqlite3_bind_blob(stmt, 1, rows[i].hash, TFY_SHA256_SIZE, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, rows[i].token.used_ms);
        (void)sqlite3_step(stmt);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
}

/* A time that is lost is looked up by people only, so a failure is not reported. */
void tfy__door_file_used(TfyServeFile *file, const TfyDoorRow *rows, size_t count, int64_t before_ms)
{
    char drop[96];
    snprintf(drop, sizeof drop, "DELETE FROM entry WHERE session=1 AND created_ms<%lld", (long long)before_ms);
    if (sqlite3_exec(file->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) return;
    note_used(file, rows, count);
    sqlite3_exec(file->db, drop, NULL, NULL, NULL);
    if (sqlite3_exec(file->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
}
