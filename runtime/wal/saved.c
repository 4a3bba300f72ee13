/* saved.c: the log's side of saved tables: what they look like, and what makes room for a row. */
#include "saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_state.h"

bool tfy__saved_table_text(const char *name, const char *sql)
{
    char head[SAVED_NAME + 160];
    const int len = snprintf(head, sizeof head, "CREATE TABLE \"%s\"" SAVED_HEAD, name);
    return len < (int)sizeof head && strncmp(sql, head, (size_t)len) == 0;
}

void tfy__saved_free(TfySavedTable *tables)
{
    while (tables) {
        TfySavedTable *next = tables->next;
        for (uint32_t i = 0; i < tables->count; i++) {
            free(tables->columns[i].name);
            free(tables->columns[i].decl);
        }
        free(tables->columns);
        free(tables->name);
        free(tables);
        tables = next;
    }
}

static int add_column(TfySavedTable *table, const char *name, const char *decl)
{
    TfySavedColumn *columns = realloc(table->columns, (table->count + 1) * sizeof *columns);
    if (!columns) return TFY_E_NOMEM;
    table->columns = columns;
    columns[table->count] = (TfySavedColumn){strdup(name), strdup(decl)};
    if (columns[table->count].name && columns[table->count].decl) {
        table->count++;
        return 0;
    }
    free(columns[table->count].name);
    free(columns[table->count].decl);
    return TFY_E_NOMEM;
}

static int see_column(void *state, const char *name, const char *decl)
{
    return add_column(state, name, decl);
}

/* What is in the file of this table. Its columns are read once for each opening of the log. */
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
        return tfy__log_refuse(error_text, code, "%s is no table that save made; give the table another name",
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

/* ---- what is queued ---- */

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
    for (uint32_t i = 0; !code && i < count; i++) code = add_column(table, cells[i].name, cells[i].decl);
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
        if (!code) code = add_column(table, cells[i].name, cells[i].decl);
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
    /* Half of it may be queued: a log without the rest would tell something else than the program. */
    if (code) tfy__writer_fail(log, code, "memory ran out");
    return code;
}
