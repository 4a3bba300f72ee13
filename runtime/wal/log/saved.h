/* saved.h: tables of the application, in the same file and the same commits as the log: what `save("orders", order)`
 * writes.
 *
 * A saved table is made by the first row for it: CREATE TABLE "orders"(tfy_run TEXT NOT NULL, tfy_task TEXT NOT NULL,
 * tfy_step INT NOT NULL, …, PRIMARY KEY(…those three)) WITHOUT ROWID, one more column per field. Its rows are keyed
 * by the step that wrote them, so that a row is there exactly when its step's record is: both ride in one
 * transaction. Replay, resume and fork write no rows.
 *
 * A column's declared type is one of the few below, so that a field that changed its type is seen before anything is
 * recorded; new fields are added to the table, fields that are gone stay there and are NULL in new rows. The log
 * remembers what is in a table and on its way there; other programs may read a table and make plain indexes on it
 * while no process of ours writes, and nothing else. */
#ifndef WAL_LOG_SAVED_H
#define WAL_LOG_SAVED_H

#include "wal/log/log.h"
#include "base/buffer.h"

/* Makes room in the table for such a row, when it has none yet, and queues the row; cells are the fields. Goes into
 * the same commit as what is appended next. 0; TFY_E_DATA with a sentence when the table is of another shape, and
 * nothing is queued; another code after a failure. */
int tfy__log_save(TfyLog *log, const char *run_uuid, const TfyLogTask *task, int64_t step, const char *table,
                  const TfyCell *cells, uint32_t count, char *error_text);

/* What the log knows of one saved table. */
typedef struct TfySavedColumn {
    char *name, *decl; /* owned */
} TfySavedColumn;
typedef struct TfySavedTable {
    char *name; /* owned */
    TfySavedColumn *columns;
    uint32_t count, cap;
    bool made; /* it is there, or its CREATE is queued */
    struct TfySavedTable *next;
} TfySavedTable;
void tfy__saved_free(TfySavedTable *tables);

/* ---- rows that go from one database to another with their run ---- */

typedef struct TfySavedRow {
    char *task; /* its path; owned, as is the block of cells with all that they point at */
    int64_t step;
    TfyCell *cells; /* one for each column of the table */
} TfySavedRow;

/* What a run has saved in one table, as it stands there; the columns are those behind the key. */
typedef struct TfySavedRows {
    TfySavedTable table;
    TfySavedRow *rows;
    uint32_t row_count, row_cap;
    struct TfySavedRows *next;
} TfySavedRows;

TfySavedRows *tfy__saved_rows_new(const char *table); /* NULL: no memory */
void tfy__saved_rows_free(TfySavedRows *saved);
int tfy__saved_add_column(TfySavedTable *table, const char *name, const char *decl);
/* Everything is copied; cells are as many as the table has columns. */
int tfy__saved_add_row(TfySavedRows *saved, const char *task, int64_t step, const TfyCell *cells);

struct TfyStore;

/* All rows of a run, by table; *saved NULL: none. Between look and look_away. */
int tfy__saved_take(struct TfyStore *store, const char *run_uuid, TfySavedRows **saved);

/* Whether rows that come from outside can be some that were saved: in tables and columns that save would make.
 * TFY_E_DATA with a sentence if not. */
int tfy__saved_check(const TfySavedRows *saved, char *error_text);

/* Whether they can come into this log: what is there of their tables has their columns as they have them. TFY_E_DATA
 * with a sentence if not. */
int tfy__saved_fits(TfyLog *log, const TfySavedRows *saved, char *error_text);

/* Queues tables and rows that fit; a row that is there already stays as it is. They come with the commit of what is
 * appended next. */
int tfy__saved_queue(TfyLog *log, const char *run_uuid, const TfySavedRows *saved);

#endif
