#include "observe/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "tfy.h"
#include "value/json.h"

static const char *const LEVELS[TFY_LEVEL_COUNT] = {"off", "error", "warn", "info", "debug", "trace"};
static const char *const LEVELS_JSON[TFY_LEVEL_COUNT] = {"OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"};
static const char *const TARGETS[TFY_TARGET_COUNT] = {"program", "run", "task", "step", "effect"};

/* ---- levels ---- */

static int find(const char *const *names, int count, const char *name, size_t len)
{
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == len && strncasecmp(names[i], name, len) == 0) return i;
    return count;
}

TfyLevel tfy__line_level(const char *name, size_t len)
{
    return find(LEVELS, TFY_LEVEL_COUNT, name, len);
}

bool tfy__line_wanted(const TfyLineFilter *filter, TfyLevel level, TfyTarget target)
{
    return level <= filter->level[target];
}

/* Applies one part of the list. */
static bool filter_part(TfyLineFilter *filter, const char *part, size_t len, char *error_text)
{
    const char *equals = memchr(part, '=', len);
    const char *name = equals ? equals + 1 : part;
    size_t name_len = len - (size_t)(name - part);
    TfyLevel level = tfy__line_level(name, name_len);
    int target = equals ? find(TARGETS, TFY_TARGET_COUNT, part, (size_t)(equals - part)) : 0;
    if (level == TFY_LEVEL_COUNT) {
        snprintf(error_text, TFY_ERROR_TEXT, "'%.*s' is not a level; use off, error, warn, info, debug or trace",
                 name_len < 60 ? (int)name_len : 60, name);
        return false;
    }
    if (target == TFY_TARGET_COUNT) {
        snprintf(error_text, TFY_ERROR_TEXT, "'%.*s' is not a log target; use program, run, task, step or effect",
                 equals - part < 60 ? (int)(equals - part) : 60, part);
        return false;
    }
    if (equals) filter->level[target] = (uint8_t)level;
    if (!equals) memset(filter->level, (int)level, sizeof filter->level);
    return true;
}

bool tfy__line_filter(TfyLineFilter *filter, const char *text, char *error_text)
{
    /* The level for all targets comes first, wherever it is in the list. */
    for (int general = 1; general >= 0; general--) {
        for (const char *part = text; *part; part += strspn(part, ", ")) {
            size_t len = strcspn(part, ", ");
            if ((memchr(part, '=', len) == NULL) == general && !filter_part(filter, part, len, error_text))
                return false;
            part += len;
        }
    }
    return true;
}

/* ---- spans ---- */

void tfy__trace_id(const char *run, char out[33])
{
    size_t len = 0;
    for (; *run && len < 32; run++)
        if (*run != '-') out[len++] = *run;
    out[len] = '\0';
}

uint64_t tfy__span_id(const char *run, const char *task, int64_t step, uint32_t attempt)
{
    char text[1024];
    int len = snprintf(text, sizeof text, "%s/%s/%lld/%u", run, task ? task : "", (long long)step, attempt);
    uint64_t id = XXH3_64bits(text, len < (int)sizeof text ? (size_t)len : sizeof text - 1);
    return id ? id : 1;
}

/* The parent of a task is the one that spawned it: 1.2 for 1.2.3, and the run for 1. */
static uint64_t parent_of_task(const char *run, const char *task)
{
    const char *dot = strrchr(task, '.');
    char parent[512];
    if (!dot) return tfy__span_id(run, NULL, 0, 0);
    snprintf(parent, sizeof parent, "%.*s", (int)(dot - task), task);
    return tfy__span_id(run, parent, 0, 0);
}

uint64_t tfy__span_parent(const char *run, const char *task, int64_t step, uint32_t attempt)
{
    if (!task) return 0;
    if (!step) return parent_of_task(run, task);
    return tfy__span_id(run, task, attempt ? step : 0, 0);
}

bool tfy__trace_parent(const char *text, TfyTraceParent *parent)
{
    enum { VERSION = 2, TRACE = 32, SPAN = 16, FLAGS = 2 };
    static const size_t digits[] = {VERSION, TRACE, SPAN, FLAGS};
    const char *at = text;
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
        if (i && *at++ != '-') return false;
        if (strspn(at, "0123456789abcdef") != digits[i]) return false;
        at += digits[i];
    }
    const bool first = strncmp(text, "00", VERSION) == 0, none = strncmp(text, "ff", VERSION) == 0;
    if (none || (*at && (first || *at != '-'))) return false;
    snprintf(parent->trace, sizeof parent->trace, "%.*s", TRACE, text + VERSION + 1);
    parent->span = strtoull(text + VERSION + 1 + TRACE + 1, NULL, 16);
    return parent->span && strspn(parent->trace, "0") < TRACE;
}

/* ---- writing ---- */

static void add_text(TfyBuffer *out, const char *name, const char *text)
{
    if (!text) return;
    if (out->data[out->len - 1] != '{') tfy__buffer_char(out, ',');
    tfy__buffer_printf(out, "\"%s\":", name);
    tfy__buffer_json_string(out, text, strlen(text));
}

static void add_number(TfyBuffer *out, const char *name, int64_t number)
{
    if (number) tfy__buffer_printf(out, ",\"%s\":%lld", name, (long long)number);
}

static void write_spans(TfyBuffer *out, const TfyLine *line)
{
    char trace[33];
    uint64_t parent = tfy__span_parent(line->run, line->task, line->step, line->attempt);
    tfy__trace_id(line->run, trace);
    tfy__buffer_printf(out, ",\"trace_id\":\"%s\",\"span_id\":\"%016llx\"", trace,
                       (unsigned long long)tfy__span_id(line->run, line->task, line->step, line->attempt));
    if (parent) tfy__buffer_printf(out, ",\"parent_span_id\":\"%016llx\"", (unsigned long long)parent);
}

void tfy__line_json(TfyBuffer *out, const TfyLine *line)
{
    tfy__buffer_text(out, "{\"ts\":\"");
    tfy__write_time(out, line->ts_ms);
    tfy__buffer_printf(out, "\",\"level\":\"%s\",\"target\":\"%s\",\"message\":", LEVELS_JSON[line->level],
                       TARGETS[line->target]);
    tfy__buffer_json_string(out, line->message, line->message_len);
    if (line->run && !out->failed) {
        write_spans(out, line);
        tfy__buffer_text(out, ",\"fields\":{");
        if (!out->failed) add_text(out, "run", line->run);
        if (!out->failed) add_text(out, "task", line->task);
        if (!out->failed) add_text(out, "workflow", line->workflow);
        if (!out->failed) add_text(out, "stage", line->stage);
        if (!out->failed) add_text(out, "file", line->file);
        add_number(out, "line", line->line);
        add_number(out, "step", line->step);
        add_number(out, "attempt", line->attempt);
        tfy__buffer_char(out, '}');
    }
    tfy__buffer_text(out, "}\n");
}

void tfy__line_text(TfyBuffer *out, const TfyLine *line)
{
    tfy__buffer_printf(out, "%s: ", line->level_name ? line->level_name : LEVELS[line->level]);
    tfy__buffer_add(out, line->message, line->message_len);
    if (line->target != TFY_TARGET_PROGRAM && line->task) {
        tfy__buffer_printf(out, " (task %s", line->task);
        if (line->workflow) tfy__buffer_printf(out, ", %s", line->workflow);
        if (line->line)
            tfy__buffer_printf(out, ", %s%sline %u", line->file ? line->file : "", line->file ? " " : "", line->line);
        tfy__buffer_char(out, ')');
    }
    tfy__buffer_char(out, '\n');
}
