/* save.c: rows of the application's tables, written in the same commit as their record. */
#include "core/loop/state.h"
#include "wal/log/saved.h"
#include "wal/store/store.h"

/* The texts that a row's cells refer to: fields that become JSON. */
typedef struct Row {
    TfyCell cells[SAVED_CELLS];
    TfyBuffer texts[SAVED_CELLS];
    uint32_t count;
} Row;

static void text_of(TfyCell *cell, const TfyString *text, TfyCellKind kind)
{
    cell->kind = (uint8_t)kind;
    cell->bytes = text->bytes;
    cell->len = text->byte_len;
}

/* A field's column, and its content. SQLite has fewer types than the language: the declared type decides which
 * value it was. */
static void fill(TfyCell *cell, TfyBuffer *json, const TfyType *type, TfyValue value)
{
    const bool absent = type->kind == TFY_OPTIONAL && !value.o,
               boxed = type->kind == TFY_OPTIONAL && type->elem->scalar;
    if (type->kind == TFY_OPTIONAL) type = type->elem;
    if (boxed && !absent) value = tfy_unbox(value.o);
    cell->kind = TFY_CELL_INT;
    cell->i = absent ? 0 : value.i;
    switch (type->kind) {
    case TFY_INT: cell->decl = "INT"; break;
    case TFY_TIME: cell->decl = "TIME INT"; break;
    case TFY_DURATION: cell->decl = "DURATION INT"; break;
    case TFY_BOOL:
        cell->decl = "BOOL INT";
        cell->i = !absent && value.b;
        break;
    case TFY_FLOAT:
        cell->decl = "REAL";
        cell->kind = TFY_CELL_FLOAT;
        cell->f = absent ? 0 : value.f;
        break;
    case TFY_STRING:
        cell->decl = "TEXT";
        if (!absent) text_of(cell, (const TfyString *)value.o, TFY_CELL_TEXT);
        break;
    case TFY_BYTES:
        cell->decl = "BLOB";
        if (!absent) text_of(cell, (const TfyString *)value.o, TFY_CELL_BLOB);
        break;
    default:
        cell->decl = "JSON TEXT";
        if (absent) break;
        tfy__encode(json, type, value);
        cell->kind = TFY_CELL_TEXT;
        cell->bytes = json->data;
        cell->len = json->len;
        break;
    }
    if (absent) cell->kind = TFY_CELL_NULL;
}

static bool make_row(Row *row, const TfyType *type, const TfyObj *record)
{
    bool ok = type->field_count + SAVED_KEYS <= SAVED_CELLS;
    memset(row, 0, sizeof *row);
    for (; ok && row->count < type->field_count; row->count++) {
        const TfyField *field = &type->fields[row->count];
        row->cells[row->count].name = field->name;
        fill(&row->cells[row->count], &row->texts[row->count], field->type, tfy_field(record, row->count));
        ok = !row->texts[row->count].failed;
    }
    return ok;
}

static void free_row(Row *row)
{
    for (uint32_t i = 0; i < row->count; i++) tfy__buffer_free(&row->texts[i]);
}

/* Queues the row and appends its record: one commit for both. */
static bool save_live(TfyTask *task, const TfyPoint *point, const TfyString *table, const TfyType *type,
                      const TfyObj *record, const TfyBuffer *payload)
{
    TaskRest *rest = rest_of(task);
    TfyLoop *loop = task->loop;
    char error[TFY_ERROR_TEXT] = "the log cannot be written any more";
    Row row;
    int code = make_row(&row, type, record) ? 0 : TFY_E_NOMEM;
    if (!code)
        code = tfy__log_save(loop->log, rest->run->uuid, &rest->log, rest->log.step, table->bytes, row.cells, row.count,
                             error);
    free_row(&row);
    if (!code && tfy__record_append(rest, TFY_R_VALUE, rest->log.step, point->number, payload) > 0) return true;
    /* People must repair a table of another shape, and a shared database may not answer: nothing is recorded, and the run can
     * be resumed. A task that only halted would wait for ever. */
    if (code == TFY_E_DATA || code <= TFY_STORE_FULL) tfy__loop_fail(loop, code, "%s", error);
    tfy__sched_halt(task);
    return false;
}

bool tfy_save(TfyTask *task, const TfyPoint *point, TfyObj *table_text, const TfyType *type, TfyObj *record)
{
    if (task->state & T_HALTED) return false;
    const TfyString *table = (const TfyString *)table_text;
    TaskRest *rest = rest_of(task);
    rest->log.step++;
    const TfyLogRecord *recorded;
    if (!tfy__history_expect(rest, TFY_R_VALUE, point->number, &recorded)) return false;
    TfyBuffer payload = {0};
    tfy__put_begin(&payload);
    tfy__put_string(&payload, TFY_P_SAVE, table_text);
    tfy__put_value(&payload, TFY_P_ROW, type, tfy_of_obj(record));
    tfy__put_end(&payload);
    bool ok = !payload.failed;
    if (!ok) {
        tfy__buffer_refused(task, &payload);
    } else if (recorded && strcmp(recorded->payload, payload.data) != 0) {
        tfy__history_diverge(rest, recorded, "it saves %s", payload.data);
        ok = false;
    } else if (recorded) {
        tfy__history_take(rest); /* the row came with the record */
    } else {
        ok = save_live(task, point, table, type, record, &payload);
    }
    tfy__buffer_free(&payload);
    return ok;
}
