/* saved.h: tables of the application, in the same file and the same commits as the log, written by `save("orders",
 * order)`.
 *
 * The first row for a saved table creates it: CREATE TABLE "orders"(tfy_run TEXT NOT NULL, tfy_task TEXT NOT NULL,
 * tfy_step INT NOT NULL, …, PRIMARY KEY(…those three)) WITHOUT ROWID, with one more column per field. The key of a
 * row is the step that wrote it, so a row exists exactly if its step's record does: one transaction holds both.
 * Replay, resume and fork write no rows.
 *
 * A column's declared type is one of a few, so that a field that changed its type is noticed before anything is
 * recorded. New fields are added to the table; removed fields stay there and are NULL in new rows. The log keeps
 * track of what is in a table and on its way there. Other programs may only read a table, and create plain indexes on
 * it while no process of ours writes. */
#ifndef WAL_LOG_SAVED_H
#define WAL_LOG_SAVED_H

#include "wal/log/log.h"
#include "base/buffer.h"

/* Creates or widens the table if the row needs it, and queues the row; cells are the fields. The row joins the commit
 * of the next appended record. 0; TFY_E_DATA with a message if the table has another shape, and nothing is queued;
 * any other code is a failure. */
int tfy__log_save(TfyLog *log, const char *run_uuid, const TfyLogTask *task, int64_t step, const char *table,
                  const TfyCell *cells, uint32_t count, char *error_text);

/* What the log knows about one saved table. */
typedef struct TfySavedColumn {
    char *name, *decl; /* owned */
} TfySavedColumn;
typedef struct TfySavedTable {
    char *name; /* owned */
    TfySavedColumn *columns;
    uint32_t count, cap;
    bool made; /* it exists, or its CREATE is queued */
    struct TfySavedTable *next;
} TfySavedTable;
void tfy__saved_free(TfySavedTable *tables);

/* ---- rows that move from one database to another with their run ---- */

typedef struct TfySavedRow {
    char *task; /* its path; owned, as is the block of cells with all that it points to */
    int64_t step;
    TfyCell *cells; /* one per column of the table */
} TfySavedRow;

/* The rows that a run has saved in one table; the columns are those behind the key. */
typedef struct TfySavedRows {
    TfySavedTable table;
    TfySavedRow *rows;
    uint32_t row_count, row_cap;
    struct TfySavedRows *next;
} TfySavedRows;

TfySavedRows *tfy__saved_rows_new(const char *table); /* NULL: out of memory */
void tfy__saved_rows_free(TfySavedRows *saved);
int tfy__saved_add_column(TfySavedTable *table, const char *name, const char *decl);
/* Copies everything; there must be one cell per column of the table. */
int tfy__saved_add_row(TfySavedRows *saved, const char *task, int64_t step, const TfyCell *cells);

struct TfyStore;

/* Reads all rows of a run, by table; *saved NULL: none. Call it between look and look_away. */
int tfy__saved_take(struct TfyStore *store, const char *run_uuid, TfySavedRows **saved);

/* Whether rows from outside may have been written by save: in tables and columns that save would create. TFY_E_DATA
 * with a message if not. */
int tfy__saved_check(const TfySavedRows *saved, char *error_text);

/* Whether this log can take the rows: its existing tables have the columns that the rows have. TFY_E_DATA with a
 * message if not. */
int tfy__saved_fits(TfyLog *log, const TfySavedRows *saved, char *error_text);

/* Queues tables and rows that fit; an existing row stays as it is. They are written with the commit of the next
 * appended record. */
int tfy__saved_queue(TfyLog *log, const char *run_uuid, const TfySavedRows *saved);

#endif
