/* llm_messages.c: Anthropic's messages.
 *
 * The system text stands apart. Messages alternate between user and assistant, so neighbours of one role are one
 * message; results of tools are parts of the user's. Marks tell the endpoint to keep what it has read: to the end of the
 * tools, of the system text, and of the newest message. */
#include <string.h>

#include "effects/llm_form.h"
#include "value/json.h"

static const char MARK[] = ",\"cache_control\":{\"type\":\"ephemeral\"}}";

/* Appends items, with a mark in the last. */
static void add_marked(TfyBuffer *out, const TfyBuffer *items)
{
    if (!items->len) return;
    tfy__buffer_add(out, items->data, items->len - 1);
    tfy__buffer_text(out, MARK);
}

/* ---- the request ---- */

/* Adds a part to the newest message, or to a new one if that is of another role. The list of its parts stays open. */
static void add_part(TfyLlmWire *wire, const char *role, json_t *part)
{
    TfyBuffer *text = &wire->text;
    if (wire->open == role) {
        tfy__llm_add_item(text, part);
        return;
    }
    if (wire->open) tfy__buffer_text(text, "]},");
    tfy__buffer_printf(text, "{\"role\":\"%s\",\"content\":[", role);
    TfyBuffer first = {0};
    tfy__llm_add_item(&first, part);
    tfy__buffer_add(text, first.data, first.len);
    text->failed |= first.failed;
    tfy__buffer_free(&first);
    wire->open = role;
}

static json_t *text_part(const json_t *text)
{
    return json_pack("{s:s, s:O}", "type", "text", "text", text);
}

/* Who was called before must be named, even where nothing is offered any more. */
static void note_called(TfyLlmWire *wire, const json_t *call)
{
    const char *name = json_string_value(json_object_get(call, "tool"));
    const json_t *tool;
    size_t i;
    if (!name || !*name) return;
    json_array_foreach(wire->called, i, tool)
    {
        if (strcmp(json_string_value(json_object_get(tool, "name")), name) == 0) return;
    }
    if (!wire->called) wire->called = json_array();
    json_array_append_new(wire->called, json_pack("{s:s, s:{s:s}}", "name", name, "input_schema", "type", "object"));
}

static void add_call(TfyLlmWire *wire, const char *role, const json_t *call)
{
    json_t *args = json_object_get(call, "args");
    json_t *input = json_is_object(args) ? json_incref(args) : json_pack("{s:O?}", "invalid", args);
    add_part(wire, role,
             json_pack("{s:s, s:O, s:O, s:o}", "type", "tool_use", "id", json_object_get(call, "id"), "name",
                       json_object_get(call, "tool"), "input", input));
    note_called(wire, call);
}

static json_t *wire_file(const TfyLlmFile *file)
{
    return json_pack("{s:s, s:{s:s, s:s, s:s%}}", "type", strcmp(file->kind, TFY_LLM_PDF) == 0 ? "document" : "image",
                     "source", "type", "base64", "media_type", file->kind, "data", file->data.data, file->data.len);
}

/* Texts of no length are refused. Reasoning stands before what it led to. */
static void add(TfyLlmWire *wire, const json_t *message)
{
    static const char user[] = "user", assistant[] = "assistant";
    const char *name = json_string_value(json_object_get(message, "role")),
               *role = strcmp(name, assistant) == 0 ? assistant : user;
    const json_t *text = json_object_get(message, "content"), *call, *item;
    const TfyLlmFile *file;
    size_t i;
    if (strcmp(name, "tool") == 0) {
        add_part(wire, user,
                 json_pack("{s:s, s:O, s:O}", "type", "tool_result", "tool_use_id", json_object_get(message, "id"),
                           "content", text));
        return;
    }
    if (strcmp(name, "system") == 0) {
        if (json_string_length(text)) tfy__llm_add_item(&wire->system, text_part(text));
        return;
    }
    json_array_foreach(tfy__llm_opaque(wire, message), i, item) add_part(wire, role, json_incref((json_t *)item));
    if (json_string_length(text)) add_part(wire, role, text_part(text));
    for (i = 0; (file = tfy__llm_file_at(wire, message, i)); i++) add_part(wire, role, wire_file(file));
    json_array_foreach(json_object_get(message, "calls"), i, call) add_call(wire, role, call);
}

static json_t *wire_tool(const json_t *tool)
{
    return json_pack("{s:O, s:O, s:O}", "name", json_object_get(tool, "name"), "description",
                     json_object_get(tool, "description"), "input_schema", json_object_get(tool, "schema"));
}

static void add_tools(TfyBuffer *out, const TfyLlmWire *wire, const TfyLlmAsked *asked)
{
    TfyBuffer called = {0};
    const json_t *tool;
    size_t i;
    json_array_foreach(wire->called, i, tool) tfy__llm_add_item(&called, json_incref((json_t *)tool));
    const TfyBuffer *items = asked->tools ? asked->tools : &called;
    if (items->len) {
        tfy__buffer_text(out, ",\"tools\":[");
        add_marked(out, items);
        tfy__buffer_char(out, ']');
        if (!asked->tools) tfy__buffer_text(out, ",\"tool_choice\":{\"type\":\"none\"}");
    }
    out->failed |= called.failed;
    tfy__buffer_free(&called);
}

static void body(TfyBuffer *out, const TfyLlmWire *wire, const TfyLlmAsked *asked)
{
    tfy__buffer_text(out, "{\"model\":");
    tfy__buffer_json_string(out, asked->model, strlen(asked->model));
    tfy__buffer_printf(out, ",\"max_tokens\":%lld", (long long)(asked->most ? asked->most : TFY_LLM_MOST));
    if (asked->streams) tfy__buffer_text(out, ",\"stream\":true");
    if (asked->effort) tfy__buffer_text(out, ",\"thinking\":{\"type\":\"adaptive\"}");
    tfy__llm_add_effort(out, "output_config", asked);
    add_tools(out, wire, asked);
    if (wire->system.len) {
        tfy__buffer_text(out, ",\"system\":[");
        add_marked(out, &wire->system);
        tfy__buffer_char(out, ']');
    }
    tfy__buffer_text(out, ",\"messages\":[");
    add_marked(out, &wire->text);
    if (wire->open) tfy__buffer_text(out, "]}");
    tfy__buffer_text(out, "]}");
}

/* ---- the response ---- */

static bool is_type(const json_t *block, const char *type)
{
    const char *given = json_string_value(json_object_get(block, "type"));
    return given && strcmp(given, type) == 0;
}

static json_t *calls_of(const json_t *content)
{
    json_t *calls = NULL;
    const json_t *part;
    size_t i;
    json_array_foreach(content, i, part)
    {
        if (!is_type(part, "tool_use")) continue;
        if (!calls) calls = json_array();
        json_array_append_new(calls, tfy__llm_call(json_object_get(part, "id"), json_object_get(part, "name"),
                                                   json_object_get(part, "input")));
    }
    return calls;
}

/* Thoughts are signed, and may be encrypted; both come back as they are. */
static json_t *thoughts_of(const json_t *content)
{
    json_t *thoughts = NULL;
    const json_t *part;
    size_t i;
    json_array_foreach(content, i, part)
    {
        if (!is_type(part, "thinking") && !is_type(part, "redacted_thinking")) continue;
        if (!thoughts) thoughts = json_array();
        json_array_append(thoughts, (json_t *)part);
    }
    return thoughts;
}

/* Tokens that were read from the endpoint's cache, or written to it, are counted apart from the others. */
static int64_t tokens_read(const json_t *usage)
{
    const int64_t new = tfy__llm_count(usage, "input_tokens"),
                  cached = tfy__llm_count(usage, "cache_read_input_tokens"),
                  kept = tfy__llm_count(usage, "cache_creation_input_tokens");
    return new < 0 ? -1 : new + (cached > 0 ? cached : 0) + (kept > 0 ? kept : 0);
}

static bool read_response(const json_t *response, TfyLlmParts *parts)
{
    const json_t *content = json_object_get(response, "content"), *stop = json_object_get(response, "stop_reason"),
                 *usage = json_object_get(response, "usage");
    const char *reason = json_string_value(stop);
    *parts = (TfyLlmParts){.text = tfy__llm_joined(content, "text", "text"),
                           .calls = calls_of(content),
                           .opaque = thoughts_of(content),
                           .refusal = reason && strcmp(reason, "refusal") == 0 ? stop : NULL,
                           .model = json_object_get(response, "model"),
                           .finish_reason = reason ? reason : "",
                           .prompt_tokens = tokens_read(usage),
                           .completion_tokens = tfy__llm_count(usage, "output_tokens"),
                           .cached_tokens = tfy__llm_count(usage, "cache_read_input_tokens")};
    return json_is_array(content);
}

/* ---- a stream ---- */

/* The first counts come with the beginning, and newer ones of some with the end. */
static void keep_counts(TfyLlmStream *stream, const json_t *more)
{
    json_t *usage = json_object_get(stream->whole, "usage"), *count;
    const char *name;
    if (!usage && json_is_object(more)) {
        json_object_set_new(stream->whole, "usage", json_copy((json_t *)more));
        return;
    }
    json_object_foreach((json_t *)more, name, count)
    {
        if (!json_is_null(count)) json_object_set(usage, name, count);
    }
}

static void add_to(TfyLlmStream *stream, TfyLlmPiece *piece, const json_t *more)
{
    tfy__llm_piece_say(stream, &piece->text, json_object_get(more, "text"));
    tfy__llm_piece_add(stream, &piece->text, json_object_get(more, "thinking"));
    tfy__llm_piece_add(stream, &piece->text, json_object_get(more, "partial_json"));
    tfy__llm_piece_add(stream, &piece->other, json_object_get(more, "signature"));
}

static void take(TfyLlmStream *stream, const json_t *event)
{
    const json_t *message = json_object_get(event, "message"), *block = json_object_get(event, "content_block"),
                 *delta = json_object_get(event, "delta");
    const int64_t index = json_integer_value(json_object_get(event, "index"));
    if (is_type(event, "message_start")) {
        tfy__llm_stream_keep(stream, "model", json_object_get(message, "model"));
        keep_counts(stream, json_object_get(message, "usage"));
    } else if (is_type(event, "content_block_start")) {
        TfyLlmPiece *piece = tfy__llm_piece_new(stream, index, block);
        if (piece) add_to(stream, piece, block);
    } else if (is_type(event, "content_block_delta")) {
        TfyLlmPiece *piece = tfy__llm_piece(stream, index);
        if (piece) add_to(stream, piece, delta);
    } else if (is_type(event, "message_delta")) {
        tfy__llm_stream_keep(stream, "stop_reason", json_object_get(delta, "stop_reason"));
        keep_counts(stream, json_object_get(event, "usage"));
    } else if (is_type(event, "message_stop")) {
        stream->complete = stream->ended = true;
    }
}

/* Arguments that were cut off stay a text. */
static json_t *input_of(const TfyLlmPiece *piece)
{
    json_t *input = tfy__json_read(piece->text.data, piece->text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    return input ? input : tfy__llm_piece_text(&piece->text);
}

static json_t *whole_block(const TfyLlmPiece *piece)
{
    json_t *block = json_copy(piece->item);
    if (is_type(block, "text")) {
        json_object_set_new(block, "text", tfy__llm_piece_text(&piece->text));
    } else if (is_type(block, "thinking")) {
        json_object_set_new(block, "thinking", tfy__llm_piece_text(&piece->text));
        json_object_set_new(block, "signature", tfy__llm_piece_text(&piece->other));
    } else if (piece->text.len) {
        json_object_set_new(block, "input", input_of(piece));
    }
    return block;
}

static json_t *whole(const TfyLlmStream *stream)
{
    json_t *content = json_array();
    for (uint32_t i = 0; i < stream->count; i++) json_array_append_new(content, whole_block(&stream->pieces[i]));
    return json_pack("{s:O*, s:o, s:O*, s:O*}", "model", json_object_get(stream->whole, "model"), "content", content,
                     "stop_reason", json_object_get(stream->whole, "stop_reason"), "usage",
                     json_object_get(stream->whole, "usage"));
}

const TfyLlmForm tfy__llm_messages = {.api = "messages",
                                      .path = "/messages",
                                      .place = "content",
                                      .key = "x-api-key: ",
                                      .fixed = "anthropic-version: 2023-06-01",
                                      .add = add,
                                      .tool = wire_tool,
                                      .body = body,
                                      .read = read_response,
                                      .take = take,
                                      .whole = whole};
