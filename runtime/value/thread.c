/* thread.c: conversations with a model. A thread is a list of messages, each of them canonical JSON in one neutral
 * form that is made once:
 *
 *   {"content": "…", "role": "user"}
 *   {"calls": [{"args": {…}, "id": "…", "tool": "grep"}, …], "content": "…", "role": "assistant"}
 *   {"content": "…", "id": "…", "role": "tool"}
 *
 * A summary (thread_short.c) has one member more. What a provider wants is made of it when a request is sent. */
#include "base/check.h"
#include "value/heap.h"
#include "value/json.h"
#include "value/thread.h"

#include <string.h>

/* What a model is told of one result: more is cut in the middle. The record has it whole. */
enum { TOLD_MOST = 32 << 10, TOLD_FIRST = 24 << 10, TOLD_LAST = 8 << 10 };

TfyObj *tfy__thread_add(TfyTask *task, uint32_t line, TfyObj *thread, const TfyBuffer *message)
{
    if (message->failed) return tfy__buffer_refused(task, message), NULL;
    TfyObj *json = tfy__string_new(task, &tfy_type_json, message->data, message->len);
    TfyObj *longer = json ? tfy_list_pushed(task, line, thread, tfy_of_obj(json)) : NULL;
    if (json) tfy_drop(task, json);
    return longer;
}

/* Not in the middle of a character. */
static size_t begin_of_character(const char *text, size_t at)
{
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) at--;
    return at;
}

void tfy__thread_tell(TfyBuffer *out, const char *id, const char *text, size_t len)
{
    TfyBuffer part = {0};
    if (len > TOLD_MOST) {
        const size_t first = begin_of_character(text, TOLD_FIRST), last = begin_of_character(text, len - TOLD_LAST);
        tfy__buffer_add(&part, text, first);
        tfy__buffer_printf(&part, "\n[… %zu of %zu bytes are left out …]\n", last - first, len);
        tfy__buffer_add(&part, text + last, len - last);
        text = part.failed ? "" : part.data;
        len = part.failed ? 0 : part.len;
    }
    tfy__buffer_text(out, "{\"content\":");
    tfy__buffer_json_string(out, text, len);
    tfy__buffer_text(out, ",\"id\":");
    tfy__buffer_json_string(out, id, strlen(id));
    tfy__buffer_text(out, ",\"role\":\"tool\"}");
    out->failed |= part.failed;
    tfy__buffer_free(&part);
}

void tfy__thread_message(TfyBuffer *out, const char *role, const char *text, size_t len)
{
    tfy__buffer_text(out, "{\"content\":");
    tfy__buffer_json_string(out, text, len);
    tfy__buffer_printf(out, ",\"role\":\"%s\"}", role);
}

void tfy__thread_user(TfyBuffer *out, const char *text, size_t len)
{
    tfy__thread_message(out, "user", text, len);
}

TfyObj *tfy_thread_say(TfyTask *task, uint32_t line, TfyObj *thread, TfyObj *text)
{
    const TfyString *words = (const TfyString *)text;
    TfyBuffer message = {0};
    tfy__thread_user(&message, words->bytes, words->byte_len);
    tfy_charge(task, words->byte_len);
    TfyObj *longer = tfy__thread_add(task, line, thread, &message);
    tfy__buffer_free(&message);
    return longer;
}

TfyObj *tfy_thread_told(TfyTask *task, uint32_t line, TfyObj *thread, TfyObj *ids, TfyObj *texts)
{
    const TfyList *of = (const TfyList *)ids, *told = (const TfyList *)texts;
    TfyBuffer message = {0};
    CHECK(of->len == told->len);
    for (uint32_t i = 0; thread && i < of->len; i++) {
        const TfyString *id = (const TfyString *)of->items[i].o, *text = (const TfyString *)told->items[i].o;
        tfy__buffer_reset(&message);
        tfy__thread_tell(&message, id->bytes, text->bytes, text->byte_len);
        tfy_charge(task, message.len);
        thread = tfy__thread_add(task, line, thread, &message);
    }
    tfy__buffer_free(&message);
    return thread;
}

/* What the model said last; nobody has to know how a message is written. */
TfyObj *tfy_thread_text(TfyTask *task, TfyObj *thread)
{
    const TfyList *list = (const TfyList *)thread;
    TfyObj *text = NULL;
    for (uint32_t i = list->len; i-- > 0 && !text && !task->error;) {
        const TfyString *message = (const TfyString *)list->items[i].o;
        json_t *json = json_loadb(message->bytes, message->byte_len, JSON_ALLOW_NUL, NULL);
        const char *role = json_string_value(json_object_get(json, "role"));
        const json_t *content = json_object_get(json, "content");
        if (!json) tfy__starved(task);
        tfy_charge(task, message->byte_len);
        if (role && strcmp(role, "assistant") == 0)
            text = tfy_string_of(task, json_is_string(content) ? json_string_value(content) : "",
                                 json_string_length(content));
        json_decref(json);
    }
    return text || task->error ? text : tfy_string_of(task, "", 0);
}

TfyObj *tfy_thread_messages(TfyTask *task, const TfyType *type, TfyObj *thread)
{
    const TfyList *list = (const TfyList *)thread;
    return tfy_list_of(task, type, list->len, list->items);
}
