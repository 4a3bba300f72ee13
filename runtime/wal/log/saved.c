/* saved.c: the log's side of saved tables: their shapes, and how they are created and widened for a row. */
#include "wal/log/saved.h"
#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wal/log/log_state.h"

static void free_shape(TfySavedTable *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        free(table->columns[i].name);
        free(table->columns[i].decl);
    }
    free(table->columns);
    free(table->name);
}

void tfy__saved_free(TfySavedTable *tables)
{
    while (tables) {
        TfySavedTable *next = tables->next;
        free_shape(tables);
        free(tables);
        tables = next;
    }
}

int tfy__saved_add_column(TfySavedTable *table, const char *name, const char *decl)
{
    if (!GROW(table->columns, table->cap, table->count + 1, 4)) return TFY_E_NOMEM;
    TfySavedColumn *column = &table->columns[table->count];
    *column = (TfySavedColumn){strdup(name), strdup(decl)};
    if (column->name && column->decl) {
        table->count++;
        return 0;
    }
    free(column->name);
    free(column->decl);
    return TFY_E_NOMEM;
}

static int see_column(void *state, const char *name, const char *decl)
{
    return tfy__saved_add_column(state, name, decl);
}

/* Reads the shape of this table from the file, once per opening of the log. */
static int load(TfyLog *log, TfySavedTable *table, char *error_text)
{
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, see_columns, table->name, see_column, table);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    table->made = !code;
    if (!code || code == TFY_E_ABSENT) return 0;
    if (code == TFY_E_DATA)
        return tfy__log_refuse(error_text, code, "%s is not a table that save made; give the table another name",
                               table->name);
    return tfy__log_refuse(error_text, code, "table %s cannot be read", table->name);
}

static int known(TfyLog *log, const char *name, TfySavedTable **table, char *error_text)
{
    for (*table = log->saved; *table; *table = (*table)->next) {
        if (strcmp((*table)->name, name) == 0) return 0;
    }
    *table = calloc(1, sizeof **table);
    int code = *table && ((*table)->name = strdup(name)) ? load(log, *table, error_text) : TFY_E_NOMEM;
    if (code) {
        tfy__saved_free(*table);
        return code;
    }
    (*table)->next = log->saved;
    log->saved = *table;
    return 0;
}

static const TfySavedColumn *column_of(const TfySavedTable *table, const char *name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (strcasecmp(table->columns[i].name, name) == 0) return &table->columns[i];
    }
    return NULL;
}

static int check_shape(const TfySavedTable *table, const TfyCell *cells, uint32_t count, char *error_text)
{
    for (uint32_t i = 0; i < count; i++) {
        const TfySavedColumn *column = column_of(table, cells[i].name);
        if (!column || strcmp(column->decl, cells[i].decl) == 0) continue;
        return tfy__log_refuse(
            error_text, TFY_E_DATA,
            "table %s holds %s as %s, and the program now saves it as %s; save it under another name, or "
            "change the table",
            table->name, cells[i].name, column->decl, cells[i].decl);
    }
    return 0;
}

/* ---- queueing ---- */

static int queue_text(TfyLog *log, TfyBuffer *sql)
{
    const int code = sql->failed ? TFY_E_NOMEM : tfy__batch_add_table(log->filling, sql->data);
    tfy__buffer_free(sql);
    return code;
}

static int make_table(TfyLog *log, TfySavedTable *table, const TfyCell *cells, uint32_t count)
{
    TfyBuffer sql = {0};
    int code = 0;
    tfy__buffer_printf(&sql, "CREATE TABLE \"%s\"" SAVED_HEAD, table->name);
    for (uint32_t i = 0; i < count; i++) tfy__buffer_printf(&sql, ",\"%s\" %s", cells[i].name, cells[i].decl);
    tfy__buffer_text(&sql, ",PRIMARY KEY(" SAVED_KEY ")) WITHOUT ROWID");
    for (uint32_t i = 0; !code && i < count; i++) code = tfy__saved_add_column(table, cells[i].name, cells[i].decl);
    table->made = true;
    const int queued = queue_text(log, &sql);
    return code ? code : queued;
}

static int widen_table(TfyLog *log, TfySavedTable *table, const TfyCell *cells, uint32_t count)
{
    int code = 0;
    for (uint32_t i = 0; !code && i < count; i++) {
        if (column_of(table, cells[i].name)) continue;
        TfyBuffer sql = {0};
        tfy__buffer_printf(&sql, "ALTER TABLE \"%s\" ADD COLUMN \"%s\" %s", table->name, cells[i].name, cells[i].decl);
        code = queue_text(log, &sql);
        if (!code) code = tfy__saved_add_column(table, cells[i].name, cells[i].decl);
    }
    return code;
}

static int queue_row(TfyLog *log, const TfySavedTable *table, const TfyCell *cells, uint32_t count)
{
    TfyBuffer sql = {0};
    tfy__buffer_printf(&sql, "INSERT INTO \"%s\"(" SAVED_KEY, table->name);
    for (uint32_t i = SAVED_KEYS; i < count; i++) tfy__buffer_printf(&sql, ",\"%s\"", cells[i].name);
    tfy__buffer_text(&sql, ") VALUES(?");
    for (uint32_t i = 1; i < count; i++) tfy__buffer_text(&sql, ",?");
    tfy__buffer_text(&sql, ") ON CONFLICT(" SAVED_KEY ") DO NOTHING");
    const int code = sql.failed ? TFY_E_NOMEM : tfy__batch_add_row(log->filling, sql.data, cells, count);
    tfy__buffer_free(&sql);
    return code;
}

static TfyCell text_cell(const char *text)
{
    return (TfyCell){.kind = TFY_CELL_TEXT, .bytes = text, .len = strlen(text)};
}

int tfy__log_save(TfyLog *log, const char *run_uuid, const TfyLogTask *task, int64_t step, const char *table_name,
                  const TfyCell *cells, uint32_t count, char *error_text)
{
    TfySavedTable *table = NULL;
    TfyCell row[SAVED_CELLS];
    int code = log->read_only ? TFY_E_STATE : tfy__log_error(log);
    if (!code && count + SAVED_KEYS > SAVED_CELLS)
        code = tfy__log_refuse(error_text, TFY_E_DATA, "a row of %s has more than %d fields", table_name,
                               SAVED_CELLS - SAVED_KEYS);
    if (!code) code = known(log, table_name, &table, error_text);
    if (!code) code = check_shape(table, cells, count, error_text);
    if (code) return code;
    row[0] = text_cell(run_uuid);
    row[1] = text_cell(task->path);
    row[2] = (TfyCell){.kind = TFY_CELL_INT, .i = step};
    if (count) memcpy(row + SAVED_KEYS, cells, count * sizeof *cells);
    code = table->made ? widen_table(log, table, cells, count) : make_table(log, table, cells, count);
    if (!code) code = queue_row(log, table, row, count + SAVED_KEYS);
    /* Half of it may be queued: a log without the rest would contradict the program. */
    if (code) tfy__writer_fail(log, code, "memory ran out");
    return code;
}

/* ---- rows that move from one database to another ---- */

TfySavedRows *tfy__saved_rows_new(const char *table)
{
    TfySavedRows *saved = calloc(1, sizeof *saved);
    if (saved && !(saved->table.name = strdup(table))) {
        free(saved);
        saved = NULL;
    }
    return saved;
}

void tfy__saved_rows_free(TfySavedRows *saved)
{
    while (saved) {
        TfySavedRows *next = saved->next;
        for (uint32_t i = 0; i < saved->row_count; i++) {
            free(saved->rows[i].task);
            free(saved->rows[i].cells);
        }
        free(saved->rows);
        free_shape(&saved->table);
        free(saved);
        saved = next;
    }
}

/* Copies the cells and all that they point to into one block. */
static TfyCell *copy_cells(const TfyCell *cells, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) bytes += cells[i].bytes ? cells[i].len : 0;
    TfyCell *copy = malloc((size_t)count * sizeof *copy + bytes + 1);
    char *to = copy ? (char *)(copy + count) : NULL;
    for (uint32_t i = 0; copy && i < count; i++) {
        copy[i] = cells[i];
        if (!cells[i].bytes) continue;
        copy[i].bytes = to;
        if (cells[i].len) memcpy(to, cells[i].bytes, cells[i].len);
        to += cells[i].len;
    }
    return copy;
}

int tfy__saved_add_row(TfySavedRows *saved, const char *task, int64_t step, const TfyCell *cells)
{
    if (!GROW(saved->rows, saved->row_cap, saved->row_count + 1, 4)) return TFY_E_NOMEM;
    TfySavedRow *row = &saved->rows[saved->row_count];
    *row = (TfySavedRow){.task = strdup(task), .step = step, .cells = copy_cells(cells, saved->table.count)};
    if (row->task && row->cells) {
        saved->row_count++;
        return 0;
    }
    free(row->task);
    free(row->cells);
    return TFY_E_NOMEM;
}

typedef struct Taking {
    TfyStore *store;
    const char *run_uuid;
    TfySavedRows **end; /* of the list */
    TfySavedRows *now;  /* the table that is being read */
    uint32_t keys;      /* columns of the key that are still to come */
} Taking;

static int take_column(void *state, const char *name, const char *decl)
{
    Taking *taking = state;
    if (taking->keys) return taking->keys--, 0;
    return tfy__saved_add_column(&taking->now->table, name, decl);
}

static int take_row(void *state, const char *task, int64_t step, const TfyCell *cells)
{
    return tfy__saved_add_row(((Taking *)state)->now, task, step, cells);
}

static int take_table(void *state, const char *name)
{
    Taking *taking = state;
    TfySavedRows *saved = taking->now = tfy__saved_rows_new(name);
    if (!saved) return TFY_E_NOMEM;
    taking->keys = SAVED_KEYS;
    int code = TFY_STORE(taking->store, TFY_CALL_READ, see_columns, name, take_column, taking);
    if (!code) code = TFY_STORE(taking->store, TFY_CALL_READ, see_saved, name, taking->run_uuid, take_row, taking);
    if (code || !saved->row_count) {
        tfy__saved_rows_free(saved);
        return code;
    }
    *taking->end = saved;
    taking->end = &saved->next;
    return 0;
}

int tfy__saved_take(TfyStore *store, const char *run_uuid, TfySavedRows **saved)
{
    Taking taking = {.store = store, .run_uuid = run_uuid, .end = saved};
    *saved = NULL;
    return TFY_STORE(store, TFY_CALL_READ, see_tables, take_table, &taking);
}

/* Whether save may have used this name for a table or column; any other name cannot come from save, and would become
 * part of a statement's text. */
static bool is_name(const char *name, size_t max)
{
    const size_t len = strlen(name);
    return len && len <= max && !(*name >= '0' && *name <= '9') && strncasecmp(name, "tfy_", 4) != 0 &&
           strncasecmp(name, "sqlite_", 7) != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len;
}

static bool is_decl(const char *decl)
{
    static const char *const decls[] = {"INT",  "BOOL INT", "TIME INT", "DURATION INT",
                                        "REAL", "TEXT",     "BLOB",     "JSON TEXT"};
    for (size_t i = 0; i < sizeof decls / sizeof *decls; i++)
        if (strcmp(decl, decls[i]) == 0) return true;
    return false;
}

static uint32_t filled(const TfySavedRow *row, uint32_t columns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < columns; i++) count += row->cells[i].kind != TFY_CELL_NULL;
    return count;
}

static int check_made(const TfySavedRows *saved, char *error_text)
{
    enum { COLUMN_NAME = 1000, COLUMNS = 1000 };
    const TfySavedTable *table = &saved->table;
    if (!is_name(table->name, SAVED_NAME))
        return tfy__log_refuse(error_text, TFY_E_DATA, "save does not give a table the name '%.80s'", table->name);
    if (table->count > COLUMNS)
        return tfy__log_refuse(error_text, TFY_E_DATA, "table %s has more than %d columns", table->name, COLUMNS);
    for (uint32_t i = 0; i < table->count; i++) {
        const TfySavedColumn *column = &table->columns[i];
        if (!is_name(column->name, COLUMN_NAME) || !is_decl(column->decl) || column_of(table, column->name) != column)
            return tfy__log_refuse(error_text, TFY_E_DATA, "table %s has a column %.80s %.40s, which save did not make",
                                   table->name, column->name, column->decl);
    }
    for (uint32_t i = 0; i < saved->row_count; i++)
        if (filled(&saved->rows[i], table->count) > SAVED_CELLS - SAVED_KEYS)
            return tfy__log_refuse(error_text, TFY_E_DATA, "a row of table %s has more than %d fields", table->name,
                                   SAVED_CELLS - SAVED_KEYS);
    return 0;
}

int tfy__saved_check(const TfySavedRows *saved, char *error_text)
{
    int code = 0;
    for (; saved && !code; saved = saved->next) code = check_made(saved, error_text);
    return code;
}

int tfy__saved_fits(TfyLog *log, const TfySavedRows *saved, char *error_text)
{
    for (; saved; saved = saved->next) {
        TfySavedTable *here;
        const TfySavedTable *table = &saved->table;
        const int code = known(log, table->name, &here, error_text);
        if (code) return code;
        for (uint32_t i = 0; i < table->count; i++) {
            const TfySavedColumn *column = &table->columns[i], *other = column_of(here, column->name);
            if (other && strcmp(other->decl, column->decl) != 0)
                return tfy__log_refuse(
                    error_text, TFY_E_DATA,
                    "its rows of table %s hold %.80s as %s, and table %s of %.200s has it as %s; import "
                    "the run into another database, or change the table",
                    table->name, column->name, column->decl, table->name, log->path ? log->path : "the log",
                    other->decl);
        }
    }
    return 0;
}

/* Queues cells that describe all columns of a table, so that it is created with all of them. */
static int queue_shape(TfyLog *log, TfySavedTable *here, const TfySavedTable *table)
{
    TfyCell *cells = calloc(table->count + 1, sizeof *cells);
    if (!cells) return TFY_E_NOMEM;
    for (uint32_t i = 0; i < table->count; i++)
        cells[i] = (TfyCell){.name = table->columns[i].name, .decl = table->columns[i].decl};
    const int code =
        here->made ? widen_table(log, here, cells, table->count) : make_table(log, here, cells, table->count);
    free(cells);
    return code;
}

/* A row of a wide table fills only some columns; SQLite fills in the others. */
static int queue_moved_row(TfyLog *log, const char *run_uuid, const TfySavedTable *table, const TfySavedRow *row)
{
    TfyCell cells[SAVED_CELLS] = {text_cell(run_uuid), text_cell(row->task), {.kind = TFY_CELL_INT, .i = row->step}};
    const bool wide = table->count > SAVED_CELLS - SAVED_KEYS;
    uint32_t count = SAVED_KEYS;
    for (uint32_t i = 0; i < table->count; i++) {
        if (wide && row->cells[i].kind == TFY_CELL_NULL) continue;
        cells[count] = row->cells[i];
        cells[count++].name = table->columns[i].name;
    }
    return queue_row(log, table, cells, count);
}

int tfy__saved_queue(TfyLog *log, const char *run_uuid, const TfySavedRows *saved)
{
    int code = 0;
    for (; saved && !code; saved = saved->next) {
        TfySavedTable *here;
        code = known(log, saved->table.name, &here, NULL);
        if (!code) code = queue_shape(log, here, &saved->table);
        for (uint32_t i = 0; i < saved->row_count && !code; i++)
            code = queue_moved_row(log, run_uuid, &saved->table, &saved->rows[i]);
    }
    return code;
}
