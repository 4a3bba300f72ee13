#include "cli/frame/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "value/json.h"

const char *tfy__json_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

long long tfy__json_number(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

static void new_line(TfyBuffer *out, int indent, int depth)
{
    if (!indent) return;
    tfy__buffer_char(out, '\n');
    for (int i = 0; i < indent * depth; i++) tfy__buffer_char(out, ' ');
}

static void add_json(TfyBuffer *out, const json_t *json, int indent, int depth)
{
    const bool object = json_is_object(json);
    const char *key;
    json_t *one;
    size_t i;
    if (!(object ? json_object_size(json) : json_array_size(json))) {
        tfy__encode_json(out, json);
        return;
    }
    tfy__buffer_char(out, object ? '{' : '[');
    bool first = true;
    json_object_foreach((json_t *)(uintptr_t)json, key, one)
    {
        if (!first) tfy__buffer_char(out, ',');
        first = false;
        new_line(out, indent, depth + 1);
        tfy__buffer_json_string(out, key, strlen(key));
        tfy__buffer_text(out, indent ? ": " : ":");
        add_json(out, one, indent, depth + 1);
    }
    json_array_foreach(json, i, one)
    {
        if (i) tfy__buffer_char(out, ',');
        new_line(out, indent, depth + 1);
        add_json(out, one, indent, depth + 1);
    }
    new_line(out, indent, depth);
    tfy__buffer_char(out, object ? '}' : ']');
}

char *tfy__json_print(const json_t *json, int indent)
{
    TfyBuffer out = {0};
    add_json(&out, json, indent, 0);
    tfy__buffer_char(&out, '\0');
    char *text = out.failed ? NULL : strdup(out.data);
    tfy__buffer_free(&out);
    return text;
}

void tfy__report_print(json_t *report, int indent)
{
    char *text = tfy__json_print(report, indent);
    puts(text ? text : "{}");
    free(text);
    json_decref(report);
}

void tfy__report_line(json_t *report)
{
    tfy__report_print(report, 0);
}
