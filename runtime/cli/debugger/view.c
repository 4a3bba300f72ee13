/* view.c: writes a stop as text. Values are compact JSON, shortened unless the user requested the whole value;
 * control characters are removed. */
#include "cli/debugger/debugger.h"
#include "cli/frame/report.h"

#include <stdlib.h>
#include <string.h>

#include "observe/screen.h"

/* cut 0: the whole value. */
static void add_value(TfyBuffer *out, const json_t *value, size_t cut)
{
    char *text = tfy__json_print(value, 0);
    size_t len = text ? strlen(text) : 0;
    if (cut && len > cut) {
        len = cut;
        while (len && (text[len] & 0xc0) == 0x80) len--;
        text[len] = '\0';
        tfy__screen_clean(out, text);
        tfy__buffer_text(out, "…");
    } else if (text) {
        tfy__screen_clean(out, text);
    }
    free(text);
}

static void add_place(TfyBuffer *out, const json_t *place)
{
    tfy__screen_clean(out, tfy__json_text(place, "workflow"));
    tfy__buffer_text(out, ", ");
    if (json_object_get(place, "file")) {
        tfy__screen_clean(out, tfy__json_text(place, "file"));
        tfy__buffer_char(out, ' ');
    }
    tfy__buffer_printf(out, "line %lld", tfy__json_number(place, "line"));
}

void tfy__view_head(const json_t *stop, TfyBuffer *out)
{
    const long long record = tfy__json_number(stop, "record"), of = tfy__json_number(stop, "of");
    if (json_object_get(stop, "difference"))
        tfy__buffer_printf(out, "record %lld of %lld: the program differs here\n", record, of);
    else if (record > of)
        tfy__buffer_printf(out, "the end of the log, after %lld records\n", of);
    else
        tfy__buffer_printf(out, "record %lld of %lld: %s  task %s, step %lld  %s  lsn %lld\n", record, of,
                           tfy__json_text(stop, "type"), tfy__json_text(stop, "task"), tfy__json_number(stop, "step"),
                           tfy__json_text(stop, "time"), tfy__json_number(stop, "lsn"));
}

/* fetch(url: "…", depth: 3) */
static void add_request(TfyBuffer *out, const json_t *asked)
{
    const char *name, *comma = "";
    json_t *value;
    tfy__screen_clean(out, tfy__json_text(asked, "tool"));
    tfy__buffer_char(out, '(');
    json_object_foreach(json_object_get(asked, "args"), name, value)
    {
        tfy__buffer_text(out, comma);
        tfy__screen_clean(out, name);
        tfy__buffer_text(out, ": ");
        add_value(out, value, TFY_VALUE_CUT);
        comma = ", ";
    }
    tfy__buffer_char(out, ')');
}

static void add_error(TfyBuffer *out, const json_t *error)
{
    tfy__screen_clean(out, tfy__json_text(error, "error"));
    tfy__buffer_text(out, ": ");
    tfy__screen_clean(out, tfy__json_text(error, "message"));
}

/* Lines behind the first are indented. */
static void add_message(TfyBuffer *out, const char *text, size_t len, size_t cut)
{
    while (len && text[len - 1] == '\n') len--;
    size_t end = cut && len > cut ? cut : len;
    while (end < len && end && (text[end] & 0xc0) == 0x80) end--;
    for (size_t at = 0, line; at < end; at += line) {
        line = strcspn(text + at, "\n");
        if (line > end - at) line = end - at;
        tfy__buffer_shown(out, text + at, line);
        if (at + line < end && text[at + line] == '\n') tfy__buffer_text(out, "\n    "), line++;
        if (!line) line = 1; /* a NUL */
    }
    if (end < len) tfy__buffer_text(out, "…");
}

void tfy__view_messages(const json_t *stop, size_t cut, TfyBuffer *out)
{
    const json_t *message;
    size_t i;
    if (json_is_false(json_object_get(stop, "whole")))
        tfy__buffer_text(out, "  (earlier messages are not in the log any more)\n");
    json_array_foreach(json_object_get(stop, "messages"), i, message)
    {
        const json_t *text = json_object_get(message, "text");
        tfy__buffer_text(out, "  ");
        tfy__screen_clean(out, tfy__json_text(message, "role"));
        tfy__buffer_text(out, ": ");
        if (text)
            add_message(out, json_string_value(text), json_string_length(text), cut);
        else
            tfy__buffer_printf(out, "(not in the log; its digest is %.16s)", tfy__json_text(message, "digest"));
        tfy__buffer_char(out, '\n');
    }
}

/* Writes the record's content without the request, which add_request writes and the replay compares. */
static void add_payload(TfyBuffer *out, const json_t *payload, bool sent)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)payload, name, value)
    {
        const bool error = strcmp(name, "error") == 0 && json_is_object(value);
        if (sent && (strcmp(name, "texts") == 0 || strcmp(name, "after") == 0)) continue;
        if (strcmp(name, "digest") == 0 || strcmp(name, "tool") == 0 || strcmp(name, "key") == 0) continue;
        tfy__buffer_printf(out, "  %s: ", name);
        if (error)
            add_error(out, value);
        else
            add_value(out, value, TFY_VALUE_CUT);
        tfy__buffer_char(out, '\n');
    }
}

void tfy__view_record(const json_t *stop, TfyBuffer *out)
{
    const json_t *asked = json_object_get(stop, "asked"), *payload = json_object_get(stop, "payload");
    if (json_object_get(stop, "difference")) {
        tfy__screen_clean(out, tfy__json_text(stop, "difference"));
        tfy__buffer_char(out, '\n');
    }
    if (asked) {
        tfy__buffer_text(out, "asked ");
        add_request(out, asked);
        if (tfy__json_number(asked, "attempt") > 1)
            tfy__buffer_printf(out, ", attempt %lld", tfy__json_number(asked, "attempt"));
        tfy__buffer_char(out, '\n');
    }
    const bool sent = json_object_get(stop, "messages");
    if (sent) {
        tfy__buffer_text(out, "sent\n");
        tfy__view_messages(stop, TFY_VALUE_CUT, out);
    }
    if (json_object_size(payload)) {
        tfy__buffer_text(out, asked ? "got\n" : "recorded\n");
        add_payload(out, payload, sent);
    }
    if (json_object_get(stop, "raising")) {
        tfy__buffer_text(out, "raising ");
        add_error(out, json_object_get(stop, "raising"));
        tfy__buffer_char(out, '\n');
    }
}

static void add_local(TfyBuffer *out, const json_t *local, size_t cut)
{
    tfy__buffer_text(out, "  ");
    tfy__screen_clean(out, tfy__json_text(local, "name"));
    tfy__buffer_text(out, ": ");
    tfy__screen_clean(out, tfy__json_text(local, "type"));
    tfy__buffer_text(out, " = ");
    add_value(out, json_object_get(local, "value"), cut);
    tfy__buffer_char(out, '\n');
}

void tfy__view_frames(const json_t *stop, TfyBuffer *out)
{
    const json_t *frame, *local;
    size_t i, n;
    json_array_foreach(json_object_get(stop, "frames"), i, frame)
    {
        const json_t *locals = json_object_get(frame, "locals");
        tfy__buffer_text(out, i ? "called from " : "in ");
        add_place(out, frame);
        tfy__buffer_text(out, ": ");
        tfy__screen_clean(out, tfy__json_text(frame, "source"));
        tfy__buffer_char(out, '\n');
        if (!locals) tfy__buffer_text(out, "  (its variables are not known here)\n");
        json_array_foreach(locals, n, local) add_local(out, local, TFY_VALUE_CUT);
    }
}

void tfy__view_tasks(const json_t *stop, TfyBuffer *out)
{
    const json_t *task;
    size_t i;
    json_array_foreach(json_object_get(stop, "tasks"), i, task)
    {
        tfy__screen_column(out, tfy__json_text(task, "task"), 8);
        tfy__buffer_char(out, ' ');
        tfy__screen_column(out, tfy__json_text(task, "state"), 18);
        tfy__buffer_char(out, ' ');
        if (json_object_get(task, "line"))
            add_place(out, task);
        else
            tfy__screen_clean(out, tfy__json_text(task, "workflow"));
        if (json_object_get(task, "waits")) tfy__buffer_printf(out, ": %s", tfy__json_text(task, "waits"));
        tfy__buffer_char(out, '\n');
    }
}

void tfy__view_stop(const json_t *stop, TfyBuffer *out)
{
    tfy__view_head(stop, out);
    tfy__view_record(stop, out);
    tfy__view_frames(stop, out);
    if (tfy__json_number(stop, "record") > tfy__json_number(stop, "of") && !json_object_get(stop, "difference"))
        tfy__view_tasks(stop, out);
}

bool tfy__view_local(const json_t *stop, const char *name, TfyBuffer *out)
{
    const json_t *frame, *local;
    size_t i, n;
    json_array_foreach(json_object_get(stop, "frames"), i, frame)
    {
        json_array_foreach(json_object_get(frame, "locals"), n, local)
        {
            if (strcmp(tfy__json_text(local, "name"), name) != 0) continue;
            add_local(out, local, 0);
            return true;
        }
    }
    return false;
}

/* ---- source ---- */

/* Finds the part of the program's text that is the file of a frame, and its length. */
static const char *file_text(const TfyProgram *program, const char *file, size_t *len)
{
    const char *at = program->source;
    uint32_t line = 1;
    *len = strlen(at);
    for (uint32_t i = 0; i < program->module_count; i++) {
        const TfyModule *module = &program->modules[i];
        const bool ours = file ? i > 0 && strcmp(module->file, file) == 0 : i == 0;
        for (; *at && line < module->first_line; at++) line += *at == '\n';
        if (!ours) continue;
        const char *end = at;
        uint32_t next = i + 1 < program->module_count ? program->modules[i + 1].first_line : UINT32_MAX;
        for (uint32_t n = line; *end && n < next; end++) n += *end == '\n';
        *len = (size_t)(end - at);
        return at;
    }
    return at;
}

void tfy__view_source(const json_t *stop, const TfyProgram *program, int count, TfyBuffer *out)
{
    const json_t *frame = json_array_get(json_object_get(stop, "frames"), 0);
    size_t len;
    const char *at = file_text(program, json_string_value(json_object_get(frame, "file")), &len), *end = at + len;
    const long long here = tfy__json_number(frame, "line"), first = here > count / 2 ? here - count / 2 : 1;
    if (!here) return;
    for (long long line = 1; at < end && line < first + count; line++) {
        const char *stops = memchr(at, '\n', (size_t)(end - at));
        if (!stops) stops = end;
        if (line >= first) {
            TfyBuffer text = {0};
            tfy__buffer_add(&text, at, (size_t)(stops - at));
            tfy__buffer_printf(out, "%c%5lld  ", line == here ? '>' : ' ', line);
            tfy__screen_clean(out, text.data ? text.data : "");
            tfy__buffer_char(out, '\n');
            tfy__buffer_free(&text);
        }
        at = stops + 1;
    }
}
