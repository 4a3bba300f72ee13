/* thread_short.c: what stays of a conversation that becomes too long for its model, and what its model did last.
 *
 *   first                   the message that started the work, always kept
 *   …                       older messages: long results are cleared; if that is not enough, a summary takes their place
 *   assistant, tool, tool   the newest rounds, always kept
 *
 * A summary is a message of the user that says what is no longer there, with the numbers as a member of its own:
 *
 *   {"content": "…", "left_out": {"calls": {"grep": 12}, "messages": 34}, "role": "user"}
 *
 * All of it follows from the conversation alone. */
#include "base/check.h"
#include "value/heap.h"
#include "value/json.h"
#include "value/thread.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS_KEPT = 3,
    RESULT_LONG = 2 << 10, /* bytes: results above it are cleared */
    CALL_SHOWN = 80,       /* bytes of a call that is named in the place of its result */
    BYTES_OF_TOKEN = 3
};

/* NULL: no memory, and then the process ends with this turn. */
static json_t *message_at(TfyTask *task, const TfyList *list, int64_t at)
{
    const TfyString *message = (const TfyString *)list->items[at].o;
    json_t *json = json_loadb(message->bytes, message->byte_len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    if (!json) tfy__starved(task);
    return json;
}

static bool is_of(const json_t *message, const char *role)
{
    const char *name = json_string_value(json_object_get(message, "role"));
    return name && strcmp(name, role) == 0;
}

static bool is_summary(const json_t *message)
{
    return json_is_object(json_object_get(message, "left_out"));
}

int64_t tfy__thread_cut(TfyTask *task, const TfyObj *thread, int64_t first)
{
    const TfyList *list = (const TfyList *)thread;
    int64_t at = list->len;
    for (int rounds = 0; at > first + 1 && rounds < ROUNDS_KEPT;) {
        json_t *message = message_at(task, list, --at);
        rounds += is_of(message, "assistant");
        json_decref(message);
    }
    return at > first + 1 ? at : first + 1;
}

/* ---- how long it is ---- */

int64_t tfy_thread_size(const TfyObj *thread, int64_t from, int64_t tokens)
{
    const TfyList *list = (const TfyList *)thread;
    int64_t bytes = 0;
    if (tokens < 0) from = 0;
    for (int64_t i = from; i < list->len; i++) bytes += ((const TfyString *)list->items[i].o)->byte_len;
    return (tokens < 0 ? 0 : tokens) + bytes / BYTES_OF_TOKEN;
}

bool tfy_thread_older(TfyTask *task, uint32_t line, const TfyObj *thread, int64_t first, int64_t *out)
{
    const TfyList *list = (const TfyList *)thread;
    const int64_t cut = tfy__thread_cut(task, thread, first);
    *out = 0;
    for (int64_t i = 0; i < cut; i++) {
        json_t *message = i == first ? NULL : message_at(task, list, i);
        *out += message && !is_summary(message);
        json_decref(message);
    }
    tfy_charge(task, (uint64_t)list->len);
    return !task->error;
}

/* ---- clearing ---- */

static const json_t *call_with(const json_t *calls, const json_t *id)
{
    const json_t *call;
    size_t i;
    json_array_foreach(calls, i, call)
    {
        if (json_equal(json_object_get(call, "id"), id)) return call;
    }
    return NULL;
}

/* grep("x"): the tool, and its arguments in their order. */
static void write_call(TfyBuffer *out, const json_t *call)
{
    const char *tool = json_string_value(json_object_get(call, "tool")), *name, *between = "";
    TfyBuffer args = {0};
    json_t *arg;
    json_object_foreach(json_object_get(call, "args"), name, arg)
    {
        tfy__buffer_text(&args, between);
        tfy__encode_json(&args, arg);
        between = ", ";
    }
    size_t shown = args.len < CALL_SHOWN ? args.len : CALL_SHOWN;
    while (shown < args.len && shown && ((unsigned char)args.data[shown] & 0xc0) == 0x80) shown--;
    tfy__buffer_printf(out, "%s(", tool ? tool : "a tool");
    tfy__buffer_add(out, args.data, shown);
    tfy__buffer_text(out, shown < args.len ? "…)" : ")");
    out->failed |= args.failed;
    tfy__buffer_free(&args);
}

/* 8,120 */
static void write_number(TfyBuffer *out, size_t number)
{
    if (number >= 1000) {
        write_number(out, number / 1000);
        tfy__buffer_printf(out, ",%03zu", number % 1000);
    } else {
        tfy__buffer_printf(out, "%zu", number);
    }
}

/* The message in the place of a long result; false: the message is not one. */
static bool write_cleared(TfyBuffer *out, const json_t *message, const json_t *calls)
{
    const json_t *content = json_object_get(message, "content"), *id = json_object_get(message, "id");
    TfyBuffer text = {0};
    if (!is_of(message, "tool") || json_string_length(content) <= RESULT_LONG || !json_is_string(id)) return false;
    tfy__buffer_text(&text, "[cleared: ");
    write_call(&text, call_with(calls, id));
    tfy__buffer_text(&text, ", ");
    write_number(&text, json_string_length(content));
    tfy__buffer_text(&text, " bytes; call it again]");
    tfy__buffer_reset(out);
    tfy__thread_tell(out, json_string_value(id), text.failed ? "" : text.data, text.len);
    out->failed |= text.failed;
    tfy__buffer_free(&text);
    return true;
}

static bool add_message(TfyTask *task, TfyObj *list, const TfyBuffer *message)
{
    if (message->failed) return tfy__buffer_refused(task, message), false;
    TfyObj *json = tfy__string_new(task, &tfy_type_json, message->data, message->len);
    if (json) ((TfyList *)list)->items[((TfyList *)list)->len++].o = json;
    return json;
}

static void keep_message(TfyObj *list, const TfyList *from, int64_t at)
{
    ((TfyList *)list)->items[((TfyList *)list)->len++].o = tfy_keep(from->items[at].o);
}

TfyObj *tfy_thread_cleared(TfyTask *task, uint32_t line, TfyObj *thread, int64_t first)
{
    const TfyList *list = (const TfyList *)thread;
    const int64_t cut = tfy__thread_cut(task, thread, first);
    TfyObj *made = tfy__list_new(task, thread->type, list->len);
    TfyBuffer cleared = {0};
    json_t *newest = NULL; /* what the model said last */
    bool ok = made;
    for (int64_t i = 0; ok && !task->error && i < list->len; i++) {
        json_t *message = i < cut ? message_at(task, list, i) : NULL;
        if (message && write_cleared(&cleared, message, json_object_get(newest, "calls")))
            ok = add_message(task, made, &cleared);
        else
            keep_message(made, list, i);
        if (is_of(message, "assistant")) {
            json_decref(newest);
            newest = json_incref(message);
        }
        json_decref(message);
    }
    json_decref(newest);
    tfy__buffer_free(&cleared);
    tfy_charge(task, list->len);
    if (ok && !task->error) return tfy_temp(task, made);
    if (made) tfy_drop(task, made);
    return NULL;
}

/* ---- summaries ---- */

static void count_call(TfyTask *task, json_t *calls, const char *tool, json_int_t times)
{
    const json_int_t known = json_integer_value(json_object_get(calls, tool));
    if (json_object_set_new(calls, tool, json_integer(known + times)) != 0) tfy__starved(task);
}

/* Adds what a message that is left out was, or what an earlier summary left out. */
static void count_message(TfyTask *task, const json_t *message, json_t *calls, json_int_t *messages)
{
    const json_t *left = json_object_get(message, "left_out"), *call;
    json_t *times;
    const char *tool;
    size_t i;
    if (is_summary(message)) {
        json_object_foreach(json_object_get(left, "calls"), tool, times)
            count_call(task, calls, tool, json_integer_value(times));
        *messages += json_integer_value(json_object_get(left, "messages"));
        return;
    }
    ++*messages;
    json_array_foreach(json_object_get(message, "calls"), i, call)
    {
        if ((tool = json_string_value(json_object_get(call, "tool")))) count_call(task, calls, tool, 1);
    }
}

static void write_calls(TfyBuffer *out, const json_t *calls)
{
    const char *tool, *between = "\n\n[Results that are left out: ";
    json_t *times;
    json_object_foreach((json_t *)calls, tool, times)
    {
        const long long n = json_integer_value(times);
        tfy__buffer_printf(out, n == 1 ? "%s%s once" : "%s%s %lld times", between, tool, n);
        between = ", ";
    }
    if (json_object_size(calls)) tfy__buffer_text(out, ". Call a tool again rather than guess what it gave.]");
}

/* Takes the counts. */
static void write_summary(TfyBuffer *out, const TfyString *text, json_t *calls, json_int_t messages)
{
    TfyBuffer content = {0};
    tfy__buffer_printf(&content, "[A summary of %lld messages, which are left out:]\n\n", (long long)messages);
    tfy__buffer_add(&content, text->bytes, text->byte_len);
    write_calls(&content, calls);
    json_t *message = content.failed ? NULL
                                     : json_pack("{s:s%, s:{s:O, s:I}, s:s}", "content", content.data, content.len,
                                                 "left_out", "calls", calls, "messages", messages, "role", "user");
    if (message)
        tfy__encode_json(out, message);
    else
        out->failed = out->starved = true;
    json_decref(message);
    json_decref(calls);
    tfy__buffer_free(&content);
}

TfyObj *tfy_thread_summarised(TfyTask *task, uint32_t line, TfyObj *thread, int64_t first, TfyObj *text)
{
    const TfyList *list = (const TfyList *)thread;
    const int64_t cut = tfy__thread_cut(task, thread, first);
    json_t *calls = json_object();
    json_int_t messages = 0;
    TfyBuffer summary = {0};
    for (int64_t i = 0; i < cut; i++) {
        json_t *message = i == first ? NULL : message_at(task, list, i);
        if (message) count_message(task, message, calls, &messages);
        json_decref(message);
    }
    write_summary(&summary, (const TfyString *)text, calls, messages);
    TfyObj *made = tfy__list_new(task, thread->type, (uint32_t)(list->len - cut + 2));
    if (made) keep_message(made, list, first);
    if (made && !add_message(task, made, &summary)) {
        tfy_drop(task, made);
        made = NULL;
    }
    for (int64_t i = cut; made && i < list->len; i++) keep_message(made, list, i);
    tfy__buffer_free(&summary);
    tfy_charge(task, list->len);
    return made ? tfy_temp(task, made) : NULL; /* a starved task goes nowhere with it */
}

/* ---- the end of an agent that gives none ---- */

/* it said last: one moment, and called grep("x"), make() */
static void write_last(TfyBuffer *out, const json_t *message)
{
    const json_t *text = json_object_get(message, "content"), *calls = json_object_get(message, "calls"), *call;
    const bool says = json_string_length(text);
    size_t i;
    if (says) {
        tfy__buffer_text(out, "it said last: ");
        tfy__buffer_add(out, json_string_value(text), json_string_length(text));
    }
    json_array_foreach(calls, i, call)
    {
        tfy__buffer_text(out, i ? ", " : says ? ", and called " : "it called last: ");
        write_call(out, call);
    }
    if (!out->len) tfy__buffer_text(out, "its last answer was empty");
}

TfyObj *tfy_thread_last(TfyTask *task, TfyObj *thread)
{
    const TfyList *list = (const TfyList *)thread;
    json_t *message = NULL;
    TfyBuffer text = {0};
    for (int64_t at = list->len; at > 0 && !is_of(message, "assistant") && !task->error;) {
        json_decref(message);
        message = message_at(task, list, --at);
        tfy_charge(task, ((const TfyString *)list->items[at].o)->byte_len);
    }
    write_last(&text, is_of(message, "assistant") ? message : NULL);
    json_decref(message);
    TfyObj *made = NULL;
    if (text.failed)
        tfy__buffer_refused(task, &text);
    else if (!task->error)
        made = tfy_string_of(task, text.data, text.len);
    tfy__buffer_free(&text);
    return made;
}
