/* llm_responses.c: OpenAI's responses, without state at the endpoint: each request has the whole conversation. */
#include <stdlib.h>
#include <string.h>

#include "effects/llm_form.h"

/* ---- the request ---- */

static void add_calls(TfyBuffer *items, const json_t *calls)
{
    const json_t *call;
    size_t i;
    json_array_foreach(calls, i, call)
    {
        char *args = tfy__llm_args_text(call);
        tfy__llm_add_item(items, json_pack("{s:s, s:O, s:O, s:s}", "type", "function_call", "call_id",
                                           json_object_get(call, "id"), "name", json_object_get(call, "tool"),
                                           "arguments", args ? args : "{}"));
        free(args);
    }
}

static json_t *wire_file(const TfyLlmFile *file)
{
    if (strcmp(file->kind, TFY_LLM_PDF) == 0)
        return json_pack("{s:s, s:s, s:o}", "type", "input_file", "filename", tfy__llm_file_name(file), "file_data",
                         tfy__llm_data_url(file));
    return json_pack("{s:s, s:o}", "type", "input_image", "image_url", tfy__llm_data_url(file));
}

static json_t *wire_files(const TfyLlmWire *wire, const json_t *message)
{
    json_t *parts = json_pack("[{s:s, s:O}]", "type", "input_text", "text", json_object_get(message, "content"));
    const TfyLlmFile *file;
    for (size_t i = 0; (file = tfy__llm_file_at(wire, message, i)); i++) json_array_append_new(parts, wire_file(file));
    return json_pack("{s:s, s:o}", "role", "user", "content", parts);
}

static void add(TfyLlmWire *wire, const json_t *message)
{
    TfyBuffer *items = &wire->text;
    const json_t *text = json_object_get(message, "content"), *id = json_object_get(message, "id"), *item;
    size_t i;
    json_array_foreach(tfy__llm_opaque(wire, message), i, item) tfy__llm_add_item(items, json_incref((json_t *)item));
    if (json_object_get(message, "files"))
        tfy__llm_add_item(items, wire_files(wire, message));
    else if (id)
        tfy__llm_add_item(items,
                          json_pack("{s:s, s:O, s:O}", "type", "function_call_output", "call_id", id, "output", text));
    else if (json_string_length(text))
        tfy__llm_add_item(items, json_pack("{s:O, s:O}", "role", json_object_get(message, "role"), "content", text));
    add_calls(items, json_object_get(message, "calls"));
}

static json_t *wire_tool(const json_t *tool)
{
    return json_pack("{s:s, s:O, s:O, s:O, s:b}", "type", "function", "name", json_object_get(tool, "name"),
                     "description", json_object_get(tool, "description"), "parameters", json_object_get(tool, "schema"),
                     "strict", 0);
}

static json_t *format_of(const json_t *schema, const char *name)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (!type || strcmp(type, "object") != 0) return NULL;
    return json_pack("{s:{s:s, s:s, s:O, s:b}}", "format", "type", "json_schema", "name", name, "schema", schema,
                     "strict", 0);
}

static void body(TfyBuffer *out, const TfyLlmWire *wire, const TfyLlmAsked *asked)
{
    tfy__buffer_text(out, "{\"model\":");
    tfy__buffer_json_string(out, asked->model, strlen(asked->model));
    tfy__buffer_text(out, ",\"input\":[");
    tfy__buffer_add(out, wire->text.data, wire->text.len);
    tfy__buffer_printf(out, "],\"store\":false,\"stream\":%s", asked->streams ? "true" : "false");
    if (asked->most) tfy__buffer_printf(out, ",\"max_output_tokens\":%lld", (long long)asked->most);
    if (asked->effort) tfy__buffer_text(out, ",\"include\":[\"reasoning.encrypted_content\"]");
    tfy__llm_add_effort(out, "reasoning", asked);
    tfy__llm_add_tools(out, asked->tools);
    json_t *format = format_of(asked->schema, asked->name);
    if (format) tfy__llm_add_member(out, "text", format);
    tfy__buffer_char(out, '}');
}

/* ---- the response ---- */

static bool is_type(const json_t *item, const char *type)
{
    const char *given = json_string_value(json_object_get(item, "type"));
    return given && strcmp(given, type) == 0;
}

static const char *reason_of(const json_t *response)
{
    const char *status = json_string_value(json_object_get(response, "status"));
    const char *why = json_string_value(json_object_get(json_object_get(response, "incomplete_details"), "reason"));
    if (status && strcmp(status, "completed") == 0) return "stop";
    return why ? why : status ? status : "";
}

static const json_t *refusal_in(const json_t *content)
{
    const json_t *part;
    size_t i;
    json_array_foreach(content, i, part)
    {
        const json_t *words = json_object_get(part, "refusal");
        if (is_type(part, "refusal") && json_string_length(words)) return words;
    }
    return NULL;
}

/* What a response that failed has so far is not an answer. */
static bool is_failed(const char *reason)
{
    return strcmp(reason, "failed") == 0 || strcmp(reason, "cancelled") == 0;
}

/* Since the endpoint keeps nothing, reasoning can only be sent back where it is encrypted. */
static void keep_reasoning(TfyLlmParts *parts, const json_t *item)
{
    if (!json_is_string(json_object_get(item, "encrypted_content"))) return;
    if (!parts->opaque) parts->opaque = json_array();
    json_array_append(parts->opaque, (json_t *)item);
}

/* The texts of all messages are one text. */
static bool read_response(const json_t *response, TfyLlmParts *parts)
{
    const json_t *output = json_object_get(response, "output"), *usage = json_object_get(response, "usage"), *item;
    json_t *content = json_array();
    size_t i;
    *parts =
        (TfyLlmParts){.model = json_object_get(response, "model"),
                      .finish_reason = reason_of(response),
                      .prompt_tokens = tfy__llm_count(usage, "input_tokens"),
                      .completion_tokens = tfy__llm_count(usage, "output_tokens"),
                      .cached_tokens = tfy__llm_count(json_object_get(usage, "input_tokens_details"), "cached_tokens")};
    if (is_failed(parts->finish_reason)) output = NULL;
    json_array_foreach(output, i, item)
    {
        if (is_type(item, "message")) {
            json_array_extend(content, json_object_get(item, "content"));
            if (!parts->refusal) parts->refusal = refusal_in(json_object_get(item, "content"));
        } else if (is_type(item, "reasoning")) {
            keep_reasoning(parts, item);
        } else if (is_type(item, "function_call")) {
            if (!parts->calls) parts->calls = json_array();
            json_array_append_new(parts->calls,
                                  tfy__llm_call(json_object_get(item, "call_id"), json_object_get(item, "name"),
                                                json_object_get(item, "arguments")));
        }
    }
    parts->text = tfy__llm_joined(content, "output_text", "text");
    json_decref(content);
    return json_is_array(output);
}

/* ---- a stream ---- */

/* The last event has the whole response, or why there is none. */
static void take_end(TfyLlmStream *stream, const json_t *response)
{
    const json_t *error = json_object_get(response, "error");
    if (json_is_object(error)) tfy__llm_stream_fail(stream, error);
    tfy__llm_stream_keep(stream, "response", response);
    stream->complete = stream->ended = true;
}

static void take(TfyLlmStream *stream, const json_t *event)
{
    const json_t *delta = json_object_get(event, "delta"), *response = json_object_get(event, "response"),
                 *item = json_object_get(event, "item");
    if (is_type(event, "response.output_text.delta") || is_type(event, "response.refusal.delta"))
        tfy__llm_piece_say(stream, NULL, delta);
    else if (is_type(event, "response.output_item.done"))
        tfy__llm_piece_new(stream, json_integer_value(json_object_get(event, "output_index")), item);
    else if (is_type(event, "response.completed") || is_type(event, "response.incomplete") ||
             is_type(event, "response.failed"))
        take_end(stream, response);
    else if (is_type(event, "error"))
        tfy__llm_stream_fail(stream, event);
}

/* Some endpoints leave out of the last event what they have sent before. */
static json_t *whole(const TfyLlmStream *stream)
{
    json_t *response = json_object_get(stream->whole, "response");
    json_t *made = response ? json_copy(response) : json_object();
    if (!stream->count || json_array_size(json_object_get(made, "output"))) return made;
    json_t *items = json_array();
    for (uint32_t i = 0; i < stream->count; i++) json_array_append(items, stream->pieces[i].item);
    json_object_set_new(made, "output", items);
    return made;
}

const TfyLlmForm tfy__llm_responses = {.api = "responses",
                                       .path = "/responses",
                                       .place = "output",
                                       .key = "Authorization: Bearer ",
                                       .add = add,
                                       .tool = wire_tool,
                                       .body = body,
                                       .read = read_response,
                                       .take = take,
                                       .whole = whole};
