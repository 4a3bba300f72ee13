/* The tools of tools.tfy. What outlives a call is kept in files, as real tools would. */
#include <stdio.h>
#include <string.h>

#include "tfy.h"

/* How often this name was counted before, and counts. */
static int64_t count(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s.calls", name);
    FILE *file = fopen(path, "a+");
    if (!file) return -1;
    fputc('x', file);
    fseek(file, 0, SEEK_END);
    long calls = ftell(file);
    fclose(file);
    return calls;
}

static const char *text(const TfyObj *s)
{
    return ((const TfyString *)s)->bytes;
}

bool tool_flaky(TfyTask *task, TfyObj *name, int64_t fails, TfyObj **out);
bool tool_flaky(TfyTask *task, TfyObj *name, int64_t fails, TfyObj **out)
{
    int64_t calls = count(text(name));
    char answer[64];
    if (calls <= fails) return tfy_tool_fail(task, calls, "call %d of %s fails", (int)calls, text(name));
    snprintf(answer, sizeof answer, "%s at %d", text(name), (int)calls);
    *out = tfy_string_of(task, answer, strlen(answer));
    return *out != NULL;
}

bool tool_add(TfyTask *task, int64_t a, double b, bool c, int64_t *out);
bool tool_add(TfyTask *task, int64_t a, double b, bool c, int64_t *out)
{
    (void)task;
    *out = a + (int64_t)b + c;
    return true;
}

bool tool_half(TfyTask *task, double x, double *out);
bool tool_half(TfyTask *task, double x, double *out)
{
    (void)task;
    *out = x / 2;
    return true;
}

bool tool_is_even(TfyTask *task, int64_t n, bool *out);
bool tool_is_even(TfyTask *task, int64_t n, bool *out)
{
    (void)task;
    *out = n % 2 == 0;
    return true;
}

bool tool_note(TfyTask *task, TfyObj *line);
bool tool_note(TfyTask *task, TfyObj *line)
{
    FILE *file = fopen("notes", "a");
    if (!file) return tfy_tool_fail(task, 1, "cannot write");
    fprintf(file, "%s\n", text(line));
    fclose(file);
    return true;
}

bool tool_same(TfyTask *task, TfyObj *value, TfyObj **out);
bool tool_same(TfyTask *task, TfyObj *value, TfyObj **out)
{
    (void)task;
    *out = value;
    return true;
}

bool tool_maybe(TfyTask *task, TfyObj *value, TfyObj **out);
bool tool_maybe(TfyTask *task, TfyObj *value, TfyObj **out)
{
    (void)task;
    *out = value && ((TfyString *)value)->len > 3 ? value : NULL;
    return true;
}
