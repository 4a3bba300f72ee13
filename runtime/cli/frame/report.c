#include "cli/frame/report.h"

#include <stdio.h>
#include <stdlib.h>

const char *tfy__json_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

long long tfy__json_number(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

void tfy__report_print(json_t *report, size_t format)
{
    json_dumpf(report, stdout, format);
    putchar('\n');
    json_decref(report);
}

void tfy__report_line(json_t *report)
{
    char *text = json_dumps(report, JSON_COMPACT);
    puts(text ? text : "{}");
    free(text);
    json_decref(report);
}
