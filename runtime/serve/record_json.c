/* record_json.c: see record_json.h. */
#include "serve/record_json.h"

#include <string.h>

#include "value/json.h"

static void add(TfyBuffer *out, const char *name, const char *text)
{
    tfy__buffer_printf(out, ",\"%s\":", name);
    if (text)
        tfy__buffer_json_string(out, text, strlen(text));
    else
        tfy__buffer_text(out, "null");
}

static void add_place(TfyBuffer *out, const TfySourceMap *map, uint32_t point)
{
    const char *file = NULL;
    const int64_t line = map && point ? tfy__source_line(map, point, &file) : 0;
    add(out, "point", map && point ? tfy__source_point(map, point) : NULL);
    if (file) add(out, "file", file);
    if (line)
        tfy__buffer_printf(out, ",\"line\":%lld", (long long)line);
    else
        tfy__buffer_text(out, ",\"line\":null");
}

void tfy__record_json(const TfyLogRecord *record, const TfyRecordOf *of, bool whole, TfyBuffer *out)
{
    tfy__buffer_printf(out, "{\"lsn\":%lld,\"ts\":\"", (long long)record->lsn);
    tfy__write_time(out, record->ts_ms);
    tfy__buffer_char(out, '"');
    add(out, "run", of->run);
    add(out, "task", of->task);
    add(out, "program", of->program);
    add(out, "workflow", of->workflow);
    add(out, "type", tfy__record_type_name(record->type));
    tfy__buffer_printf(out, ",\"step\":%lld", (long long)record->step);
    add_place(out, of->map, record->point);
    if (whole || record->payload_len <= TFY_RECORD_CUT) {
        tfy__buffer_text(out, ",\"payload\":");
        tfy__buffer_add(out, record->payload, record->payload_len);
    } else {
        tfy__buffer_printf(out, ",\"cut\":true,\"href\":\"/v1/records/%lld\"", (long long)record->lsn);
    }
    tfy__buffer_char(out, '}');
}
