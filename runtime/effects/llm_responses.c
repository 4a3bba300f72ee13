/* llm_responses.c: OpenAI's responses, without state at the endpoint: each request has the whole conversation. */
#include <stdlib.h>
#include <string.h>

#include "effects/llm_form.h"

/* ---- the request ---- */

static void add_calls(json_t *items, const json_t *calls)
{
    const json_t *call;
    size_t i;
    json_array_foreach(calls, i, call)
    {
        char *args = tfy__llm_args_text(call);
        json_array_append_new(items, json_pack("{s:s, s:O, s:O, s:s}", "type", "function_call", "call_id",
                                               json_object_get(call, "id"), "name", json_object_get(call, "tool"),
                                               "arguments", args ? args : "{}"));
        free(args);
    }
}

static json_t *items_of(const json_t *messages)
{
    json_t *items = json_array();
    const json_t *message;
    size_t i;
    json_array_foreach(messages, i, message)
    {
        const json_t *text = json_object_get(message, "content"), *id = json_object_get(message, "id");
        if (id)
            json_array_append_new(
                items, json_pack("{s:s, s:O, s:O}", "type", "function_call_output", "call_id", id, "output", text));
        else if (json_string_length(text))
            json_array_append_new(items,
                                  json_pack("{s:O, s:O}", "role", json_object_get(message, "role"), "content", text));
        add_calls(items, json_object_get(message, "calls"));
    }
    return items;
}

static json_t *wire_tools(const json_t *tools)
{
    json_t *list = json_array();
    const json_t *tool;
    size_t i;
    json_array_foreach(tools, i, tool) json_array_append_new(
        list,
        json_pack("{s:s, s:O, s:O, s:O, s:b}", "type", "function", "name", json_object_get(tool, "name"), "description",
                  json_object_get(tool, "description"), "parameters", json_object_get(tool, "schema"), "strict", 0));
    return list;
}

static json_t *format_of(const json_t *schema, const char *name)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (!type || strcmp(type, "object") != 0) return NULL;
    return json_pack("{s:{s:s, s:s, s:O, s:b}}", "format", "type", "json_schema", "name", name, "schema", schema,
                     "strict", 0);
}

static json_t *body(const json_t *request, const char *model, const char *name)
{
    const json_t *tools = json_object_get(request, "tools"), *most = json_object_get(request, "most");
    json_t *made = json_pack("{s:s, s:o, s:b, s:b}", "model", model, "input",
                             items_of(json_object_get(request, "messages")), "store", 0, "stream", 0);
    json_t *format = format_of(json_object_get(request, "schema"), name);
    if (made && most) json_object_set(made, "max_output_tokens", (json_t *)most);
    if (made && tools) json_object_set_new(made, "tools", wire_tools(tools));
    if (made && format) json_object_set(made, "text", format);
    json_decref(format);
    return made;
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
    json_array_foreach(output, i, item)
    {
        if (is_type(item, "message")) {
            json_array_extend(content, json_object_get(item, "content"));
            if (!parts->refusal) parts->refusal = refusal_in(json_object_get(item, "content"));
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

const TfyLlmForm tfy__llm_responses = {.api = "responses",
                                       .path = "/responses",
                                       .place = "output",
                                       .key = "Authorization: Bearer ",
                                       .body = body,
                                       .read = read_response};
