/* ceiling_text.c: see ceiling_text.h. */
#include "cli/look/ceiling_text.h"

#include <string.h>

/* One option for each line of the text, which is NULL if the option was not given. */
static void add_option(TfyBuffer *out, const char *option, const char *text)
{
    for (; text && *text; text += strcspn(text, "\n"), text += *text == '\n')
        tfy__buffer_printf(out, " --%s %.*s", option, (int)strcspn(text, "\n"), text);
}

void tfy__ceiling_text(TfyBuffer *out, const json_t *ceiling)
{
    add_option(out, "sandbox", json_string_value(json_object_get(ceiling, "sandbox")));
    add_option(out, "network", json_string_value(json_object_get(ceiling, "network")));
    add_option(out, "grant", json_string_value(json_object_get(ceiling, "grants")));
    if (json_is_true(json_object_get(ceiling, "runners"))) tfy__buffer_text(out, " --runners");
}
