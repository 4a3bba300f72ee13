/* index_row.c: see index_row.h. */
#include "serve/index_row.h"

#include <stdlib.h>

static const char add_text[] =
    "INSERT INTO run(id,uuid,root,program,version,workflow,started_by,labels,state,started_ms,"
    "ended_ms,records,lsn,result,error)VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)";

TfyRunRow *tfy__run_row(TfyRunRows *rows, TfyRunRow **holder)
{
    if (rows->count == TFY_FRESH_MOST) return NULL;
    TfyRunRow *row = &rows->rows[rows->count++];
    *row = (TfyRunRow){.holder = holder};
    return *holder = row;
}

void tfy__run_row_leave(TfyRunRow *row)
{
    if (row->holder) *row->holder = NULL;
    row->holder = NULL;
}

static void bind_texts(sqlite3_stmt *stmt, const TfyRunRow *row)
{
    const struct {
        int at;
        const char *text;
    } texts[] = {{2, row->uuid},     {4, row->program},           {5, row->version},
                 {6, row->workflow}, {7, row->by ? row->by : ""}, {8, row->labels},
                 {9, row->state},    {14, row->result},           {15, row->error}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sqlite3_bind_text(stmt, texts[i].at, texts[i].text, -1, SQLITE_STATIC); /* NULL binds NULL */
}

static int write_row(sqlite3_stmt *stmt, const TfyRunRow *row)
{
    bind_texts(stmt, row);
    sqlite3_bind_int64(stmt, 1, row->id);
    sqlite3_bind_int64(stmt, 3, row->root);
    sqlite3_bind_int64(stmt, 10, row->started_ms);
    sqlite3_bind_int64(stmt, 11, row->ended_ms);
    sqlite3_bind_int64(stmt, 12, row->records);
    sqlite3_bind_int64(stmt, 13, row->lsn);
    const int code = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int tfy__run_rows_write(TfyRunRows *rows, sqlite3 *db)
{
    int code = SQLITE_OK;
    if (rows->count && !rows->add)
        code = sqlite3_prepare_v3(db, add_text, -1, SQLITE_PREPARE_PERSISTENT, &rows->add, NULL);
    for (int i = 0; i < rows->count && code == SQLITE_OK; i++) code = write_row(rows->add, &rows->rows[i]);
    tfy__run_rows_drop(rows);
    return code;
}

void tfy__run_rows_drop(TfyRunRows *rows)
{
    for (int i = 0; i < rows->count; i++) {
        TfyRunRow *row = &rows->rows[i];
        tfy__run_row_leave(row);
        free(row->by);
        free(row->labels);
        free(row->result);
        free(row->error);
    }
    rows->count = 0;
}

void tfy__run_rows_close(TfyRunRows *rows)
{
    tfy__run_rows_drop(rows);
    sqlite3_finalize(rows->add);
    rows->add = NULL;
}
