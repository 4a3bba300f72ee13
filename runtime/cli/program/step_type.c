#include "cli/program/step_type.h"

#include <stdio.h>
#include <string.h>

#include "tfy.h"
#include "value/type_book.h"
#include "wal/history/move.h"
#include "wal/history/history.h"

/* Returns the type that the place in the source returns; NULL: the layout does not have it. */
static const char *type_at(const json_t *layout, uint32_t point)
{
    const json_t *found = point ? json_array_get(json_object_get(layout, "points"), point - 1) : NULL;
    return json_string_value(json_object_get(found, "result"));
}

/* An Answer<T> is made of a person's T when the record is read. */
static int check(const json_t *layout, const char *name, const TfyLogRecord *record, const json_t *value,
                 char *error_text)
{
    TfyTypeBook *book = tfy__type_book_new(layout);
    const TfyType *type = book ? tfy__type_book_find(book, name) : NULL;
    char why[TFY_ERROR_TEXT] = "$: expected a value, but none was given";
    if (type && record->type == TFY_R_APPROVAL && type->kind == TFY_RECORD) type = type->fields[0].type;
    const bool fits = !type || (value && tfy__type_book_fits(type, value, why));
    if (!fits) tfy__misfit_text(record->step, type->name, why, error_text);
    tfy__type_book_free(book);
    return fits ? TFY_OK : TFY_E_DATA;
}

int tfy__step_type_check(const TfyHistory *history, uint32_t index, const json_t *value, char *error_text)
{
    const TfyLogRecord *record = &history->records[index];
    json_t *layout = json_loads(tfy__history_layout(history, index), 0, NULL);
    const char *name = type_at(layout, record->point);
    int code = TFY_OK;
    if (name && strcmp(name, "nothing") == 0) {
        code = !value || json_is_null(value) ? TFY_OK : TFY_E_DATA;
        if (code) tfy__misfit_nothing(record->step, error_text);
    } else if (name) {
        code = check(layout, name, record, value, error_text);
    }
    json_decref(layout);
    return code;
}
