/* index_row.h: the rows of runs that started in the page of records that is being followed. Most runs are short: they start and
 * end within a page. So their rows are kept in memory, and written once, as they are at the end of the page. Whatever else
 * changes a row has them written first. */
#ifndef SERVE_INDEX_ROW_H
#define SERVE_INDEX_ROW_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TFY_FRESH_MOST = 2000 }; /* rows; a page has no more records */

typedef struct TfyRunRow {
    int64_t id, root, started_ms;
    char uuid[37];
    const char *program, *version, *workflow; /* kept by the indexer */
    char *by, *labels;                        /* owned; NULL: none */
    const char *state;                        /* static */
    int64_t ended_ms;                         /* 0: it has not ended */
    char *result, *error;                     /* owned; NULL: none */
    int64_t records, lsn;
    struct TfyRunRow **holder; /* the pointer to this row, which becomes NULL with it; NULL: there is none */
} TfyRunRow;

/* A zeroed struct has none. */
typedef struct TfyRunRows {
    sqlite3_stmt *add;
    TfyRunRow rows[TFY_FRESH_MOST];
    int count;
} TfyRunRows;

/* A row of its own, all zero but for its holder, which points to it from here on. NULL: there is no room. */
TfyRunRow *tfy__run_row(TfyRunRows *rows, TfyRunRow **holder);
void tfy__run_row_leave(TfyRunRow *row); /* its holder points to it no more */
/* Writes all of them, and forgets them. A code of SQLite's. */
int tfy__run_rows_write(TfyRunRows *rows, sqlite3 *db);
void tfy__run_rows_drop(TfyRunRows *rows);  /* forgets them */
void tfy__run_rows_close(TfyRunRows *rows); /* also what writing them needs */

#endif
