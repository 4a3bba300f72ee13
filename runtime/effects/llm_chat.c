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

/* Written in place: this is done for every message, and a tree of it would cost more than all else of a request. */
static void add(TfyLlmWire *wire, const json_t *message)
{
    TfyBuffer *out = &wire->text;
    const json_t *calls = json_object_get(message, "calls"), *id = json_object_get(message, "id"), *call;
    size_t i;
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
    tfy__buffer_text(out, "],\"stream\":false");
    if (asked->most) tfy__buffer_printf(out, ",\"max_tokens\":%lld", (long long)asked->most);
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

const TfyLlmForm tfy__llm_chat = {.api = "chat",
                                  .path = "/chat/completions",
                                  .place = "choices[0].message.content",
                                  .key = "Authorization: Bearer ",
                                  .add = add,
                                  .tool = wire_tool,
                                  .body = body,
                                  .read = read_response};
