/* sqlite_saved.c: saved tables in SQLite. There is one statement per table and shape, so they are kept in a list. */
#include "wal/store/store_sqlite.h"

#include <stdlib.h>
#include <string.h>

int tfy__sqlite_put_table(TfyStore *store, const char *sql)
{
    SqliteStore *self = (SqliteStore *)store;
    return tfy__sqlite_answer(self, sqlite3_exec(self->db, sql, NULL, NULL, NULL));
}

static int statement_for(SqliteStore *store, const char *sql, sqlite3_stmt **statement)
{
    for (SavedStatement *kept = store->saved; kept; kept = kept->next) {
        *statement = kept->statement;
        if (strcmp(sqlite3_sql(kept->statement), sql) == 0) return 0;
    }
    SavedStatement *kept = calloc(1, sizeof *kept);
    if (!kept) return TFY_E_NOMEM;
    const int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &kept->statement, NULL);
    if (code) {
        free(kept);
        return tfy__sqlite_answer(store, code);
    }
    kept->next = store->saved;
    store->saved = kept;
    *statement = kept->statement;
    return 0;
}

static void bind(sqlite3_stmt *to, int place, const TfyCell *cell)
{
    switch (cell->kind) {
    case TFY_CELL_INT: sqlite3_bind_int64(to, place, cell->i); break;
    case TFY_CELL_FLOAT: sqlite3_bind_double(to, place, cell->f); break;
    case TFY_CELL_TEXT: sqlite3_bind_text64(to, place, cell->bytes, cell->len, SQLITE_STATIC, SQLITE_UTF8); break;
    case TFY_CELL_BLOB: sqlite3_bind_blob64(to, place, cell->bytes, cell->len, SQLITE_STATIC); break;
    default: sqlite3_bind_null(to, place); break;
    }
}

int tfy__sqlite_put_row(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count)
{
    SqliteStore *self = (SqliteStore *)store;
    sqlite3_stmt *to = NULL;
    int code = statement_for(self, sql, &to);
    if (code) return code;
    for (uint32_t i = 0; i < count; i++) bind(to, (int)i + 1, &cells[i]);
    code = tfy__sqlite_answer(self, sqlite3_step(to));
    sqlite3_reset(to);
    sqlite3_clear_bindings(to);
    return code;
}

/* 0: a saved table of this name exists; TFY_E_ABSENT: nothing of this name does; TFY_E_DATA: something else does. */
static int find_table(SqliteStore *store, const char *table)
{
    sqlite3_stmt *row;
    int code = sqlite3_prepare_v2(store->db, "SELECT name,sql FROM sqlite_schema WHERE name=?1 COLLATE NOCASE", -1,
                                  &row, NULL);
    if (code) return tfy__sqlite_answer(store, code);
    sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    code = sqlite3_step(row);
    int found = code == SQLITE_DONE ? TFY_E_ABSENT : tfy__sqlite_answer(store, code);
    if (code == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0), *sql = (const char *)sqlite3_column_text(row, 1);
        found = name && sql && strcmp(name, table) == 0 && tfy__saved_table_text(table, sql) ? 0 : TFY_E_DATA;
    }
    sqlite3_finalize(row);
    return found;
}

int tfy__sqlite_see_columns(TfyStore *store, const char *table, TfyStoreSeeColumn *see, void *state)
{
    SqliteStore *self = (SqliteStore *)store;
    sqlite3_stmt *row;
    int code = find_table(self, table), stepped = SQLITE_DONE;
    if (!code)
        code = tfy__sqlite_answer(
            self,
            sqlite3_prepare_v2(self->db, "SELECT name,type FROM pragma_table_info(?1) ORDER BY cid", -1, &row, NULL));
    if (code) return code;
    sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    while (!code && (stepped = sqlite3_step(row)) == SQLITE_ROW)
        code = see(state, (const char *)sqlite3_column_text(row, 0), (const char *)sqlite3_column_text(row, 1));
    if (!code) code = tfy__sqlite_answer(self, stepped);
    sqlite3_finalize(row);
    return code;
}

int tfy__sqlite_see_tables(TfyStore *store, TfyStoreSeeTable *see, void *state)
{
    SqliteStore *self = (SqliteStore *)store;
    sqlite3_stmt *row;
    int stepped = SQLITE_DONE;
    int code = tfy__sqlite_answer(
        self, sqlite3_prepare_v2(self->db, "SELECT name,sql FROM sqlite_schema WHERE type='table' ORDER BY name", -1,
                                 &row, NULL));
    if (code) return code;
    while (!code && (stepped = sqlite3_step(row)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0), *sql = (const char *)sqlite3_column_text(row, 1);
        if (name && sql && tfy__saved_table_text(name, sql)) code = see(state, name);
    }
    if (!code) code = tfy__sqlite_answer(self, stepped);
    sqlite3_finalize(row);
    return code;
}

/* A cell is valid until the next step of the row's statement. */
static TfyCell cell_at(sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: return (TfyCell){.kind = TFY_CELL_INT, .i = sqlite3_column_int64(row, column)};
    case SQLITE_FLOAT: return (TfyCell){.kind = TFY_CELL_FLOAT, .f = sqlite3_column_double(row, column)};
    case SQLITE_TEXT:
        return (TfyCell){.kind = TFY_CELL_TEXT,
                         .bytes = (const char *)sqlite3_column_text(row, column),
                         .len = (size_t)sqlite3_column_bytes(row, column)};
    case SQLITE_BLOB:
        return (TfyCell){.kind = TFY_CELL_BLOB,
                         .bytes = sqlite3_column_bytes(row, column) ? sqlite3_column_blob(row, column) : "",
                         .len = (size_t)sqlite3_column_bytes(row, column)};
    default: return (TfyCell){.kind = TFY_CELL_NULL};
    }
}

int tfy__sqlite_see_saved(TfyStore *store, const char *table, const char *run_uuid, TfyStoreSeeSaved *see, void *state)
{
    SqliteStore *self = (SqliteStore *)store;
    char *text = sqlite3_mprintf("SELECT * FROM \"%w\" WHERE tfy_run=?1 ORDER BY tfy_task,tfy_step", table);
    sqlite3_stmt *row = NULL;
    int stepped = SQLITE_DONE;
    int code = text ? tfy__sqlite_answer(self, sqlite3_prepare_v2(self->db, text, -1, &row, NULL)) : TFY_E_NOMEM;
    const int columns = code ? 0 : sqlite3_column_count(row) - SAVED_KEYS;
    TfyCell *cells = code ? NULL : calloc((size_t)columns + 1, sizeof *cells);
    if (!code && !cells) code = TFY_E_NOMEM;
    if (!code) sqlite3_bind_text(row, 1, run_uuid, -1, SQLITE_STATIC);
    while (!code && (stepped = sqlite3_step(row)) == SQLITE_ROW) {
        const char *task = (const char *)sqlite3_column_text(row, 1);
        for (int i = 0; i < columns; i++) cells[i] = cell_at(row, SAVED_KEYS + i);
        code = task ? see(state, task, sqlite3_column_int64(row, 2), cells) : TFY_E_NOMEM;
    }
    if (!code) code = tfy__sqlite_answer(self, stepped);
    sqlite3_finalize(row);
    sqlite3_free(text);
    free(cells);
    return code;
}

void tfy__sqlite_free_saved(SqliteStore *store)
{
    while (store->saved) {
        SavedStatement *next = store->saved->next;
        sqlite3_finalize(store->saved->statement);
        free(store->saved);
        store->saved = next;
    }
}
