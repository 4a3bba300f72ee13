/* saved_lines.c: rows of saved tables as lines of JSON and back. */
#include "cli/keep/saved_lines.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "value/json.h"
#include "base/utf8.h"

static const char digits[] = "0123456789abcdef";

/* ---- writing ---- */

static void write_hex(TfyBuffer *out, const char *kind, const TfyCell *cell)
{
    tfy__buffer_printf(out, "{\"%s\":\"", kind);
    for (size_t i = 0; i < cell->len; i++) {
        const unsigned char byte = (unsigned char)cell->bytes[i];
        tfy__buffer_char(out, digits[byte >> 4]);
        tfy__buffer_char(out, digits[byte & 15]);
    }
    tfy__buffer_text(out, "\"}");
}

static bool is_utf8(const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        const int step = tfy__utf8_step((const unsigned char *)bytes + at, len - at);
        if (step < 0) return false;
        at += (size_t)step;
    }
    return true;
}

static void write_cell(TfyBuffer *out, const TfyCell *cell)
{
    switch (cell->kind) {
    case TFY_CELL_INT: tfy__buffer_int(out, cell->i); break;
    case TFY_CELL_FLOAT:
        if (isfinite(cell->f))
            tfy__write_float(out, cell->f);
        else
            tfy__buffer_printf(out, "{\"real\":\"%sinf\"}", cell->f < 0 ? "-" : "");
        break;
    case TFY_CELL_TEXT:
        if (is_utf8(cell->bytes, cell->len))
            tfy__buffer_json_string(out, cell->bytes, cell->len);
        else
            write_hex(out, "text", cell);
        break;
    case TFY_CELL_BLOB: write_hex(out, "blob", cell); break;
    default: tfy__buffer_text(out, "null"); break;
    }
}

static void write_name(TfyBuffer *out, const char *name)
{
    tfy__buffer_json_string(out, name, strlen(name));
}

static void write_shape(TfyBuffer *out, const TfySavedTable *table)
{
    tfy__buffer_text(out, "{\"table\":");
    write_name(out, table->name);
    tfy__buffer_text(out, ",\"columns\":[");
    for (uint32_t i = 0; i < table->count; i++) {
        tfy__buffer_text(out, i ? ",[" : "[");
        write_name(out, table->columns[i].name);
        tfy__buffer_char(out, ',');
        write_name(out, table->columns[i].decl);
        tfy__buffer_char(out, ']');
    }
    tfy__buffer_text(out, "]}\n");
}

void tfy__saved_lines_write(TfyBuffer *out, const TfySavedRows *saved)
{
    for (; saved; saved = saved->next) {
        write_shape(out, &saved->table);
        for (uint32_t i = 0; i < saved->row_count; i++) {
            const TfySavedRow *row = &saved->rows[i];
            tfy__buffer_text(out, "{\"task\":");
            write_name(out, row->task);
            tfy__buffer_printf(out, ",\"step\":%lld,\"row\":[", (long long)row->step);
            for (uint32_t j = 0; j < saved->table.count; j++) {
                if (j) tfy__buffer_char(out, ',');
                write_cell(out, &row->cells[j]);
            }
            tfy__buffer_text(out, "]}\n");
        }
    }
}

/* ---- reading ---- */

static int hex_digit(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes the hexadecimal text in place; nothing reads the line's text after that. */
static bool read_hex(const json_t *json, TfyCellKind kind, TfyCell *cell)
{
    char *text = (char *)json_string_value(json);
    const size_t len = text ? json_string_length(json) : 1;
    if (len % 2) return false;
    for (size_t i = 0; i < len; i += 2) {
        const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0) return false;
        text[i / 2] = (char)(high << 4 | low);
    }
    *cell = (TfyCell){.kind = (uint8_t)kind, .bytes = text, .len = len / 2};
    return true;
}

static bool read_real(const json_t *json, TfyCell *cell)
{
    const char *text = json_string_value(json);
    if (!text || (strcmp(text, "inf") != 0 && strcmp(text, "-inf") != 0)) return false;
    *cell = (TfyCell){.kind = TFY_CELL_FLOAT, .f = *text == '-' ? -INFINITY : INFINITY};
    return true;
}

static bool read_cell(const json_t *json, TfyCell *cell)
{
    *cell = (TfyCell){.kind = TFY_CELL_NULL};
    switch (json_typeof(json)) {
    case JSON_NULL: return true;
    case JSON_INTEGER: *cell = (TfyCell){.kind = TFY_CELL_INT, .i = json_integer_value(json)}; return true;
    case JSON_REAL: *cell = (TfyCell){.kind = TFY_CELL_FLOAT, .f = json_real_value(json)}; return true;
    case JSON_STRING:
        *cell = (TfyCell){.kind = TFY_CELL_TEXT, .bytes = json_string_value(json), .len = json_string_length(json)};
        return true;
    case JSON_OBJECT:
        if (json_object_size(json) != 1) return false;
        return read_hex(json_object_get(json, "blob"), TFY_CELL_BLOB, cell) ||
               read_hex(json_object_get(json, "text"), TFY_CELL_TEXT, cell) ||
               read_real(json_object_get(json, "real"), cell);
    default: return false;
    }
}

static int begin_table(const json_t *line, const char *name, TfySavedRows **end)
{
    const json_t *columns = json_object_get(line, "columns"), *column;
    size_t i;
    TfySavedRows *saved = *end = tfy__saved_rows_new(name);
    int code = !saved ? TFY_E_NOMEM : json_is_array(columns) ? 0 : TFY_E_DATA;
    json_array_foreach(columns, i, column)
    {
        const char *of = json_string_value(json_array_get(column, 0)),
                   *decl = json_string_value(json_array_get(column, 1));
        if (!code) code = of && decl ? tfy__saved_add_column(&saved->table, of, decl) : TFY_E_DATA;
    }
    return code;
}

static int add_row(const json_t *line, TfySavedRows *saved)
{
    const char *task = json_string_value(json_object_get(line, "task"));
    const json_t *step = json_object_get(line, "step"), *row = json_object_get(line, "row"), *one;
    size_t i;
    if (!saved || !task || !json_is_integer(step) || !json_is_array(row) || json_array_size(row) != saved->table.count)
        return TFY_E_DATA;
    TfyCell *cells = malloc((json_array_size(row) + 1) * sizeof *cells);
    int code = cells ? 0 : TFY_E_NOMEM;
    json_array_foreach(row, i, one) if (!code && !read_cell(one, &cells[i])) code = TFY_E_DATA;
    if (!code) code = tfy__saved_add_row(saved, task, json_integer_value(step), cells);
    free(cells);
    return code;
}

int tfy__saved_lines_read(const char *text, size_t len, TfySavedRows **saved, int64_t *line)
{
    TfySavedRows *last = NULL;
    int code = 0;
    *saved = NULL;
    *line = 0;
    for (size_t at = 0; at < len && !code; ++*line) {
        const char *stop = memchr(text + at, '\n', len - at);
        const size_t size = stop ? (size_t)(stop - text) - at : 0;
        json_t *json = stop ? json_loadb(text + at, size, JSON_ALLOW_NUL, NULL) : NULL;
        const char *table = json_string_value(json_object_get(json, "table"));
        TfySavedRows **end = last ? &last->next : saved;
        code = !json ? TFY_E_DATA : table ? begin_table(json, table, end) : add_row(json, last);
        if (*end) last = *end;
        json_decref(json);
        at += size + 1;
    }
    return code;
}
