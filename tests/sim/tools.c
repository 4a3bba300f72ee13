/* tools.c: what the extern tools of the programs do: tests/diff's, and those of work.tfy. Each follows from its arguments alone, so that it
 * comes to the same however often, and whenever, it is called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "diff/diff.h"

bool sim_pay(TfyTask *task, TfyObj *who, int64_t amount, int64_t *out);
bool sim_book(TfyTask *task, TfyObj *who, int64_t amount, int64_t *out);
bool sim_paid(TfyTask *task, TfyObj *who, int64_t amount, TfyObj *key, TfyObj **out);
bool sim_look(TfyTask *task, int64_t n, int64_t *out);
bool sim_note(TfyTask *task, TfyObj *text, TfyObj **out);
bool sim_page(TfyTask *task, int64_t n, TfyObj **out);
bool sim_frail(TfyTask *task, int64_t n, int64_t *out);
bool sim_stamp(TfyTask *task, TfyObj *at, int64_t *out);
bool sim_alone(TfyTask *task, TfyObj *who, int64_t *out);

static const char *text_of(const TfyObj *s)
{
    return ((const TfyString *)s)->bytes;
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
    *out = (int64_t)((uint64_t)a + (uint64_t)b);
    return true;
}

bool tool_text(TfyTask *task, TfyObj *who, int64_t n, TfyObj **out)
{
    return numbered_text(task, n, out);
}

bool tool_maybe(TfyTask *task, TfyObj *who, int64_t n, TfyObj **out)
{
    *out = NULL;
    return n % 2 != 0 || numbered_text(task, n, out);
}

bool tool_item(TfyTask *task, TfyObj *who, TfyObj *item, TfyObj **out)
{
    *out = item;
    return true;
}

bool tool_ints(TfyTask *task, TfyObj *who, TfyObj *xs, TfyObj **out)
{
    *out = xs;
    return true;
}

bool tool_shape(TfyTask *task, TfyObj *who, TfyObj *shape, TfyObj **out)
{
    *out = shape;
    return true;
}

bool tool_half(TfyTask *task, TfyObj *who, double x, double *out)
{
    *out = x / 2;
    return true;
}

bool tool_note(TfyTask *task, TfyObj *who, TfyObj *said)
{
    return true;
}

bool tool_flaky(TfyTask *task, TfyObj *who, int64_t id, int64_t fails, int64_t *out)
{
    *out = 1;
    return fails < 90 || tfy_tool_fail(task, 90, "call of %lld fails", (long long)id);
}

bool sim_pay(TfyTask *task, TfyObj *who, int64_t amount, int64_t *out)
{
    *out = amount;
    return true;
}

bool sim_book(TfyTask *task, TfyObj *who, int64_t amount, int64_t *out)
{
    *out = amount * 10 + (int64_t)strlen(text_of(who)) % 10;
    return true;
}

/* The probe of sim_pay: null when it has not happened, and then it may begin once more. */
bool sim_paid(TfyTask *task, TfyObj *who, int64_t amount, TfyObj *key, TfyObj **out)
{
    *out = NULL;
    for (uint32_t i = 0; i < sim.entry_count; i++) {
        SimEntry *entry = &sim.entries[i];
        if (strcmp(entry->key, text_of(key)) != 0) continue;
        if (!entry->happened) {
            entry->allowed = entry->begun + 1;
            return true;
        }
        *out = tfy_box(task, rest_of(task)->step->call.result, tfy_of_int(amount));
        return *out != NULL;
    }
    return true;
}

bool sim_look(TfyTask *task, int64_t n, int64_t *out)
{
    *out = n * 3 + 1;
    return true;
}

bool sim_note(TfyTask *task, TfyObj *text, TfyObj **out)
{
    *out = text;
    return true;
}

/* A long text, which is cleared when it is old. */
bool sim_page(TfyTask *task, int64_t n, TfyObj **out)
{
    enum { SHORTEST = 1600, STEP = 400, LONGEST = 4000 };
    char text[LONGEST];
    const size_t len = SHORTEST + STEP * (size_t)((uint64_t)n % ((LONGEST - SHORTEST) / STEP));
    for (size_t i = 0; i < len; i++) text[i] = (char)('a' + (i + (size_t)n) % 26);
    *out = tfy_string_of(task, text, len);
    return *out != NULL;
}

bool sim_frail(TfyTask *task, int64_t n, int64_t *out)
{
    *out = n;
    return n % 3 != 0 || tfy_tool_fail(task, 7, "%lld is divided by three", (long long)n);
}

bool sim_alone(TfyTask *task, TfyObj *who, int64_t *out)
{
    *out = 1;
    return true;
}

/* What it comes to says nothing of the time; that it got it does. */
bool sim_stamp(TfyTask *task, TfyObj *at, int64_t *out)
{
    *out = ((const TfyString *)at)->byte_len > 0;
    return true;
}
