/* stream.c: an answer as server-sent events, in the form that is spoken. Texts and arguments come in pieces of any length; lines end in one of the
 * three ways, and comments, names of events and blank lines stand between. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"

/* A stream that is written. */
typedef struct Writer {
    TfyBuffer *out;
    const char *line; /* how its lines end */
} Writer;

static void put_line(const Writer *w, const char *name, const char *text, size_t len)
{
    tfy__buffer_text(w->out, name);
    tfy__buffer_add(w->out, text, len);
    tfy__buffer_text(w->out, w->line);
}

static void put_event(const Writer *w, const char *data)
{
    for (const char *at = data; *at;) {
        const size_t len = strcspn(at, "\n");
        put_line(w, sim_percent(&sim.chance, 20) ? "data:" : "data: ", at, len);
        at += len + (at[len] == '\n');
    }
    tfy__buffer_text(w->out, w->line);
}

/* Takes the event. */
static void put_json(const Writer *w, json_t *event)
{
    char *data = json_dumps(event, sim_percent(&sim.chance, 10) ? JSON_INDENT(1) : JSON_COMPACT);
    const char *type = json_string_value(json_object_get(event, "type"));
    if (sim_percent(&sim.chance, 10)) put_line(w, ": still here", "", 0);
    if (sim_percent(&sim.chance, 5)) put_line(w, "", "", 0);
    if (type) put_line(w, "event: ", type, strlen(type));
    if (sim_percent(&sim.chance, 5)) put_line(w, "id: 7", "", 0);
    put_event(w, data);
    free(data);
    json_decref(event);
}

/* The next piece of a text, which ends between characters. */
static json_t *piece(const char **at)
{
    size_t len = 1 + sim_below(&sim.chance, 60), rest = strlen(*at);
    if (len > rest) len = rest;
    while (len < rest && ((unsigned char)(*at)[len] & 0xc0) == 0x80) len++;
    json_t *text = json_stringn(*at, len);
    *at += len;
    return text;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static bool is_type(const json_t *object, const char *type)
{
    return strcmp(text_of(object, "type"), type) == 0;
}

/* ---- chat completions ---- */

static void put_delta(const Writer *w, json_t *delta, const json_t *reason)
{
    put_json(w, json_pack("{s:s, s:[{s:i, s:o, s:O?}]}", "model", "c", "choices", "index", 0, "delta", delta,
                          "finish_reason", reason));
}

static void put_chat_call(const Writer *w, int index, const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    put_delta(w,
              json_pack("{s:[{s:i, s:O, s:s, s:{s:O, s:s}}]}", "tool_calls", "index", index, "id",
                        json_object_get(call, "id"), "type", "function", "function", "name",
                        json_object_get(function, "name"), "arguments", ""),
              NULL);
    for (const char *at = text_of(function, "arguments"); *at;)
        put_delta(w,
                  json_pack("{s:[{s:i, s:{s:o}}]}", "tool_calls", "index", index, "function", "arguments", piece(&at)),
                  NULL);
}

static void put_chat(const Writer *w, const json_t *answer)
{
    const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0),
                 *message = json_object_get(choice, "message"), *usage = json_object_get(answer, "usage"), *call;
    size_t i;
    put_delta(w, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL);
    for (const char *at = text_of(message, "content"); *at;)
        put_delta(w, json_pack("{s:o}", "content", piece(&at)), NULL);
    for (const char *at = text_of(message, "refusal"); *at;)
        put_delta(w, json_pack("{s:o}", "refusal", piece(&at)), NULL);
    json_array_foreach(json_object_get(message, "tool_calls"), i, call) put_chat_call(w, (int)i, call);
    put_delta(w, json_object(), json_object_get(choice, "finish_reason"));
    if (usage) put_json(w, json_pack("{s:s, s:[], s:O}", "model", "c", "choices", "usage", usage));
    if (sim_percent(&sim.chance, 80)) put_event(w, "[DONE]");
}

/* ---- messages ---- */

static void put_block_delta(const Writer *w, int index, const char *type, const char *name, json_t *text)
{
    put_json(w, json_pack("{s:s, s:i, s:{s:s, s:o}}", "type", "content_block_delta", "index", index, "delta", "type",
                          type, name, text));
}

static void put_block(const Writer *w, int index, const json_t *block)
{
    const bool text = is_type(block, "text");
    json_t *begin = json_copy((json_t *)block);
    const json_t *input = json_object_get(block, "input");
    char *args = text                    ? NULL
                 : json_is_string(input) ? strdup(json_string_value(input))
                                         : json_dumps(input, JSON_COMPACT);
    if (text)
        json_object_set_new(begin, "text", json_string(""));
    else
        json_object_set_new(begin, "input", json_object());
    put_json(w, json_pack("{s:s, s:i, s:o}", "type", "content_block_start", "index", index, "content_block", begin));
    for (const char *at = text ? text_of(block, "text") : args; *at;)
        put_block_delta(w, index, text ? "text_delta" : "input_json_delta", text ? "text" : "partial_json", piece(&at));
    if (sim_percent(&sim.chance, 10)) put_json(w, json_pack("{s:s}", "type", "ping"));
    put_json(w, json_pack("{s:s, s:i}", "type", "content_block_stop", "index", index));
    free(args);
}

static void put_messages(const Writer *w, const json_t *answer)
{
    const json_t *usage = json_object_get(answer, "usage"), *block;
    size_t i;
    put_json(w, json_pack("{s:s, s:{s:s, s:o*}}", "type", "message_start", "message", "model", "m", "usage",
                          usage ? json_pack("{s:O, s:i}", "input_tokens", json_object_get(usage, "input_tokens"),
                                            "output_tokens", 1)
                                : NULL));
    json_array_foreach(json_object_get(answer, "content"), i, block) put_block(w, (int)i, block);
    put_json(w, json_pack("{s:s, s:{s:O}, s:o*}", "type", "message_delta", "delta", "stop_reason",
                          json_object_get(answer, "stop_reason"), "usage",
                          usage ? json_pack("{s:O}", "output_tokens", json_object_get(usage, "output_tokens")) : NULL));
    put_json(w, json_pack("{s:s}", "type", "message_stop"));
}

/* ---- responses ---- */

static void put_item(const Writer *w, int index, const json_t *item)
{
    const json_t *part;
    size_t i;
    json_array_foreach(json_object_get(item, "content"), i, part)
    {
        const bool text = is_type(part, "output_text");
        for (const char *at = text_of(part, text ? "text" : "refusal"); *at;)
            put_json(w, json_pack("{s:s, s:i, s:o}", "type",
                                  text ? "response.output_text.delta" : "response.refusal.delta", "output_index", index,
                                  "delta", piece(&at)));
    }
    put_json(w, json_pack("{s:s, s:i, s:O}", "type", "response.output_item.done", "output_index", index, "item", item));
}

static void put_responses(const Writer *w, const json_t *answer)
{
    const bool whole = strcmp(text_of(answer, "status"), "completed") == 0;
    const json_t *item;
    size_t i;
    put_json(w, json_pack("{s:s, s:{s:s}}", "type", "response.created", "response", "status", "in_progress"));
    json_array_foreach(json_object_get(answer, "output"), i, item) put_item(w, (int)i, item);
    json_t *last = json_copy((json_t *)answer);
    if (sim_percent(&sim.chance, 30)) json_object_set_new(last, "output", json_array()); /* it was sent before */
    put_json(w,
             json_pack("{s:s, s:o}", "type", whole ? "response.completed" : "response.incomplete", "response", last));
}

void sim_stream_write(const SimQuestion *q, const json_t *answer, TfyBuffer *out)
{
    static const char *const lines[] = {"\n", "\r\n", "\r"};
    const Writer w = {.out = out, .line = lines[sim_below(&sim.chance, 3)]};
    if (*q->form == 'm')
        put_messages(&w, answer);
    else if (*q->form == 'r')
        put_responses(&w, answer);
    else
        put_chat(&w, answer);
}
