/* tools.c: the extern tools of generated programs. Each leaves a line "WHO TOOL ARGUMENTS" in diff_calls. */
#include "diff.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DiffState *diff_state;

static const char *text_of(const TfyObj *s)
{
    return ((const TfyString *)s)->bytes;
}

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    va_list args;
    size_t room = sizeof diff_state->calls - diff_state->calls_len;
    va_start(args, format);
    int len = vsnprintf(diff_state->calls + diff_state->calls_len, room, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= room) {
        fprintf(stderr, "runner: too many tool calls in one program\n");
        exit(70);
    }
    diff_state->calls_len += (size_t)len;
}

static bool numbered_text(TfyTask *task, int64_t n, TfyObj **out)
{
    char text[40];
    snprintf(text, sizeof text, "t%lld", (long long)n);
    *out = tfy_string_of(task, text, strlen(text));
    return *out != NULL;
}

bool tool_add(TfyTask *task, TfyObj *who, int64_t a, int64_t b, int64_t *out)
{
    note("%s t_add %lld %lld\n", text_of(who), (long long)a, (long long)b);
    *out = (int64_t)((uint64_t)a + (uint64_t)b);
    return true;
}

bool tool_text(TfyTask *task, TfyObj *who, int64_t n, TfyObj **out)
{
    note("%s t_text %lld\n", text_of(who), (long long)n);
    return numbered_text(task, n, out);
}

bool tool_maybe(TfyTask *task, TfyObj *who, int64_t n, TfyObj **out)
{
    note("%s t_maybe %lld\n", text_of(who), (long long)n);
    *out = NULL;
    return n % 2 != 0 || numbered_text(task, n, out);
}

bool tool_item(TfyTask *task, TfyObj *who, TfyObj *item, TfyObj **out)
{
    note("%s t_item\n", text_of(who));
    *out = item;
    return true;
}

bool tool_ints(TfyTask *task, TfyObj *who, TfyObj *xs, TfyObj **out)
{
    note("%s t_ints\n", text_of(who));
    *out = xs;
    return true;
}

bool tool_shape(TfyTask *task, TfyObj *who, TfyObj *shape, TfyObj **out)
{
    note("%s t_shape\n", text_of(who));
    *out = shape;
    return true;
}

bool tool_half(TfyTask *task, TfyObj *who, double x, double *out)
{
    note("%s t_half\n", text_of(who));
    *out = x / 2;
    return true;
}

bool tool_note(TfyTask *task, TfyObj *who, TfyObj *said)
{
    note("%s t_note\n", text_of(who));
    return true;
}

/* The first calls with an id fail, each task counting for itself. */
bool tool_flaky(TfyTask *task, TfyObj *who, int64_t id, int64_t fails, int64_t *out)
{
    FlakyCount *count = diff_state->flaky;
    note("%s t_flaky %lld %lld\n", text_of(who), (long long)id, (long long)fails);
    if (fails >= 90) return tfy_tool_fail(task, 90, "call of %lld fails", (long long)id);
    *out = 1;
    if (!fails) return true;
    while (count->calls && (count->id != id || strcmp(count->who, text_of(who)) != 0)) count++;
    if (count == diff_state->flaky + DIFF_FLAKY_MAX - 1) {
        fprintf(stderr, "runner: too many flaky tools in one program\n");
        exit(70);
    }
    count->id = id;
    snprintf(count->who, sizeof count->who, "%s", text_of(who));
    count->calls++;
    if (count->calls <= fails)
        return tfy_tool_fail(task, count->calls, "call %d of %lld fails", count->calls, (long long)id);
    *out = count->calls;
    return true;
}
