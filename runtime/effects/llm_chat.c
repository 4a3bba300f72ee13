/* llm_chat.c: OpenAI's chat completions, which llama.cpp, Ollama, vLLM and many others speak, too. */
#include <stdlib.h>
#include <string.h>

#include "effects/llm_form.h"

/* Endpoints take only objects at a schema's root; for the other types the line in the system text must suffice. */
static json_t *response_format(const json_t *schema, const char *name)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (!type || strcmp(type, "object") != 0) return NULL;
    return json_pack("{s:s, s:{s:s, s:O}}", "type", "json_schema", "json_schema", "name", name, "schema", schema);
}

/* The text in quotes, behind what is given. */
static void add_text(TfyBuffer *out, const char *before, const json_t *text)
{
    const char *bytes = json_string_value(text);
    tfy__buffer_text(out, before);
    tfy__buffer_json_string(out, bytes ? bytes : "", json_string_length(text));
}

static void add_call(TfyBuffer *out, const json_t *call)
{
    char *args = tfy__llm_args_text(call);
    add_text(out, "{\"id\":", json_object_get(call, "id"));
    tfy__buffer_text(out, ",\"type\":\"function\",\"function\":{\"arguments\":");
    tfy__buffer_json_string(out, args ? args : "{}", args ? strlen(args) : 2);
    add_text(out, ",\"name\":", json_object_get(call, "tool"));
    tfy__buffer_text(out, "}}");
    out->failed |= !args;
    free(args);
}

static json_t *wire_file(const TfyLlmFile *file)
{
    if (strcmp(file->kind, TFY_LLM_PDF) == 0)
        return json_pack("{s:s, s:{s:s, s:o}}", "type", "file", "file", "filename", tfy__llm_file_name(file),
                         "file_data", tfy__llm_data_url(file));
    return json_pack("{s:s, s:{s:o}}", "type", "image_url", "image_url", "url", tfy__llm_data_url(file));
}

static json_t *wire_files(const TfyLlmWire *wire, const json_t *message)
{
    json_t *parts = json_pack("[{s:s, s:O}]", "type", "text", "text", json_object_get(message, "content"));
    const TfyLlmFile *file;
    for (size_t i = 0; (file = tfy__llm_file_at(wire, message, i)); i++) json_array_append_new(parts, wire_file(file));
    return json_pack("{s:s, s:o}", "role", "user", "content", parts);
}

/* Written in place: this is done for every message, and a tree of it would cost more than all else of a request. */
static void add(TfyLlmWire *wire, const json_t *message)
{
    TfyBuffer *out = &wire->text;
    const json_t *calls = json_object_get(message, "calls"), *id = json_object_get(message, "id"), *call;
    size_t i;
    if (json_object_get(message, "files")) {
        tfy__llm_add_item(out, wire_files(wire, message));
        return;
    }
    add_text(out, out->len ? ",{\"content\":" : "{\"content\":", json_object_get(message, "content"));
    add_text(out, ",\"role\":", json_object_get(message, "role"));
    json_array_foreach(calls, i, call)
    {
        tfy__buffer_text(out, i ? "," : ",\"tool_calls\":[");
        add_call(out, call);
    }
    if (json_array_size(calls)) tfy__buffer_char(out, ']');
    if (id) add_text(out, ",\"tool_call_id\":", id);
    tfy__buffer_char(out, '}');
}

static void add_slice(TfyBuffer *out, const char *before, const TfyLlmSlice *value)
{
    tfy__buffer_text(out, before);
    tfy__buffer_add(out, value->at, value->len);
}

/* As add, of what stands in the message. */
static void add_plain(TfyLlmWire *wire, const TfyLlmPlain *message)
{
    TfyBuffer *out = &wire->text;
    TfyLlmSlice calls = message->calls;
    TfyLlmPlainCall call;
    add_slice(out, out->len ? ",{\"content\":" : "{\"content\":", &message->content);
    add_slice(out, ",\"role\":", &message->role);
    for (bool first = true; tfy__llm_plain_call(&calls, &call); first = false) {
        add_slice(out, first ? ",\"tool_calls\":[{\"id\":" : ",{\"id\":", &call.id);
        tfy__buffer_text(out, ",\"type\":\"function\",\"function\":{\"arguments\":");
        tfy__buffer_json_string(out, call.args.at, call.args.len);
        add_slice(out, ",\"name\":", &call.tool);
        tfy__buffer_text(out, "}}");
    }
    if (message->calls.len) tfy__buffer_char(out, ']');
    if (message->id.len) add_slice(out, ",\"tool_call_id\":", &message->id);
    tfy__buffer_char(out, '}');
}

static json_t *wire_tool(const json_t *tool)
{
    return json_pack("{s:s, s:{s:O, s:O, s:O}}", "type", "function", "function", "name", json_object_get(tool, "name"),
                     "description", json_object_get(tool, "description"), "parameters",
                     json_object_get(tool, "schema"));
}

static void body(TfyBuffer *out, const TfyLlmWire *wire, const TfyLlmAsked *asked)
{
    tfy__buffer_text(out, "{\"model\":");
    tfy__buffer_json_string(out, asked->model, strlen(asked->model));
    tfy__buffer_text(out, ",\"messages\":[");
    tfy__buffer_add(out, wire->text.data, wire->text.len);
    tfy__buffer_text(out, asked->streams ? "],\"stream\":true,\"stream_options\":{\"include_usage\":true}"
                                         : "],\"stream\":false");
    if (asked->most) tfy__buffer_text(out, ",\"max_tokens\":");
    if (asked->most) tfy__buffer_int(out, asked->most);
    if (asked->effort) tfy__llm_add_member(out, "reasoning_effort", json_string(asked->effort));
    tfy__llm_add_tools(out, asked->tools);
    json_t *format = response_format(asked->schema, asked->name);
    if (format) tfy__llm_add_member(out, "response_format", format);
    tfy__buffer_char(out, '}');
}

/* Why the model does not answer: a member of its own, or a part of the content. NULL: it does not say so. */
static const json_t *refusal_of(const json_t *message)
{
    const json_t *refusal = json_object_get(message, "refusal"), *part;
    size_t i;
    json_array_foreach(json_object_get(message, "content"), i, part)
    {
        if (!json_is_string(refusal)) refusal = json_object_get(part, "refusal");
    }
    return json_is_string(refusal) && json_string_length(refusal) ? refusal : NULL;
}

static json_t *calls_of(const json_t *given)
{
    json_t *calls = json_array_size(given) ? json_array() : NULL;
    const json_t *one;
    size_t i;
    json_array_foreach(given, i, one)
    {
        const json_t *function = json_object_get(one, "function");
        json_array_append_new(calls, tfy__llm_call(json_object_get(one, "id"), json_object_get(function, "name"),
                                                   json_object_get(function, "arguments")));
    }
    return calls;
}

static bool read_response(const json_t *response, TfyLlmParts *parts)
{
    const json_t *choice = json_array_get(json_object_get(response, "choices"), 0),
                 *message = json_object_get(choice, "message"), *content = json_object_get(message, "content"),
                 *usage = json_object_get(response, "usage");
    const char *reason = json_string_value(json_object_get(choice, "finish_reason"));
    *parts = (TfyLlmParts){
        .text = json_is_string(content) ? json_incref((json_t *)content) : tfy__llm_joined(content, NULL, "text"),
        .calls = calls_of(json_object_get(message, "tool_calls")),
        .refusal = refusal_of(message),
        .model = json_object_get(response, "model"),
        .finish_reason = reason ? reason : "",
        .prompt_tokens = tfy__llm_count(usage, "prompt_tokens"),
        .completion_tokens = tfy__llm_count(usage, "completion_tokens"),
        .cached_tokens = tfy__llm_count(json_object_get(usage, "prompt_tokens_details"), "cached_tokens")};
    return json_is_object(message);
}

/* ---- a stream ---- */

/* The message itself is the piece with this index; calls are counted from 0. */
enum { MESSAGE = -1 };

static TfyLlmPiece *newest_call(const TfyLlmStream *stream)
{
    for (uint32_t i = stream->count; i-- > 0;)
        if (stream->pieces[i].index != MESSAGE) return &stream->pieces[i];
    return NULL;
}

/* The piece that a part of a call adds to. Some endpoints give no index, or 0 for all: another id is another call. */
static TfyLlmPiece *call_of(TfyLlmStream *stream, const json_t *part)
{
    const json_t *given = json_object_get(part, "index"), *id = json_object_get(part, "id");
    const int64_t index = json_integer_value(given);
    TfyLlmPiece *piece = json_is_integer(given) && index >= 0 ? tfy__llm_piece(stream, index) : newest_call(stream);
    const json_t *known = piece ? json_object_get(piece->item, "id") : NULL;
    const bool is_other = known && json_string_length(id) && !json_equal(known, id);
    if (piece && !is_other) return piece;
    return tfy__llm_piece_new(stream, json_is_integer(given) && index >= 0 ? index : stream->count, NULL);
}

static void keep_first(json_t *item, const char *name, const json_t *value)
{
    if (json_string_length(value) && !json_object_get(item, name)) json_object_set(item, name, (json_t *)value);
}

static void take_call(TfyLlmStream *stream, const json_t *part)
{
    const json_t *function = json_object_get(part, "function"), *args = json_object_get(function, "arguments");
    TfyLlmPiece *piece = call_of(stream, part);
    if (!piece) return;
    keep_first(piece->item, "id", json_object_get(part, "id"));
    keep_first(piece->item, "name", json_object_get(function, "name"));
    char *text = json_is_object(args) ? json_dumps(args, JSON_COMPACT) : NULL;
    json_t *dumped = text ? json_string(text) : NULL;
    tfy__llm_piece_add(stream, &piece->text, dumped ? dumped : args);
    json_decref(dumped);
    free(text);
}

static void take_delta(TfyLlmStream *stream, const json_t *delta)
{
    const json_t *content = json_object_get(delta, "content"), *refusal = json_object_get(delta, "refusal"), *part;
    json_t *joined = json_is_array(content) ? tfy__llm_joined(content, NULL, "text") : NULL;
    if (joined) content = joined;
    TfyLlmPiece *message = tfy__llm_piece(stream, MESSAGE);
    if (!message && (json_is_string(content) || json_is_string(refusal)))
        message = tfy__llm_piece_new(stream, MESSAGE, NULL);
    if (message) tfy__llm_piece_say(stream, &message->text, content);
    if (message) tfy__llm_piece_say(stream, &message->other, refusal);
    json_decref(joined);
    size_t i;
    json_array_foreach(json_object_get(delta, "tool_calls"), i, part) take_call(stream, part);
}

static void take(TfyLlmStream *stream, const json_t *event)
{
    const json_t *choice = json_array_get(json_object_get(event, "choices"), 0),
                 *reason = json_object_get(choice, "finish_reason");
    if (!json_object_get(stream->whole, "model"))
        tfy__llm_stream_keep(stream, "model", json_object_get(event, "model"));
    tfy__llm_stream_keep(stream, "usage", json_object_get(event, "usage"));
    if (json_string_length(reason)) tfy__llm_stream_keep(stream, "finish_reason", reason);
    take_delta(stream, json_object_get(choice, "delta"));
    stream->complete |= json_string_length(reason) > 0;
}

static json_t *whole_calls(const TfyLlmStream *stream)
{
    json_t *calls = json_array();
    for (uint32_t i = 0; i < stream->count; i++) {
        const TfyLlmPiece *piece = &stream->pieces[i];
        if (piece->index == MESSAGE) continue;
        json_array_append_new(calls,
                              json_pack("{s:O*, s:s, s:{s:O*, s:o}}", "id", json_object_get(piece->item, "id"), "type",
                                        "function", "function", "name", json_object_get(piece->item, "name"),
                                        "arguments", tfy__llm_piece_text(&piece->text)));
    }
    return calls;
}

/* Beside calls or a refusal an empty text is none, as in a response in one piece. */
static json_t *whole(const TfyLlmStream *stream)
{
    const TfyLlmPiece *message = tfy__llm_piece(stream, MESSAGE);
    json_t *calls = whole_calls(stream);
    const bool refused = message && message->other.len, alone = !json_array_size(calls) && !refused;
    json_t *text = message && (message->text.len || alone) ? tfy__llm_piece_text(&message->text) : json_null();
    json_t *made = json_pack("{s:o?, s:o?, s:o*}", "content", text, "tool_calls", calls, "refusal",
                             refused ? tfy__llm_piece_text(&message->other) : NULL);
    return json_pack("{s:O*, s:[{s:O*, s:o}], s:O*}", "model", json_object_get(stream->whole, "model"), "choices",
                     "finish_reason", json_object_get(stream->whole, "finish_reason"), "message", made, "usage",
                     json_object_get(stream->whole, "usage"));
}

const TfyLlmForm tfy__llm_chat = {.api = "chat",
                                  .path = "/chat/completions",
                                  .place = "choices[0].message.content",
                                  .key = "Authorization: Bearer ",
                                  .add = add,
                                  .add_plain = add_plain,
                                  .tool = wire_tool,
                                  .body = body,
                                  .read = read_response,
                                  .take = take,
                                  .whole = whole};
