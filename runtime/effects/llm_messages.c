/* llm_messages.c: Anthropic's messages.
 *
 * The system text stands apart. Messages alternate between user and assistant, so neighbours of one role are one
 * message; results of tools are parts of the user's. Marks tell the endpoint to keep what it has read: to the end of the
 * tools, of the system text, and of the newest message. */
#include <string.h>

#include "effects/llm_form.h"

static void mark(json_t *part)
{
    json_object_set_new(part, "cache_control", json_pack("{s:s}", "type", "ephemeral"));
}

/* ---- the request ---- */

/* The list that parts of this role belong to: that of the newest message, or of a new one. */
static json_t *parts_for(json_t *messages, const char *role)
{
    json_t *newest = json_array_get(messages, json_array_size(messages) - 1);
    const char *before = json_string_value(json_object_get(newest, "role"));
    if (!before || strcmp(before, role) != 0) {
        newest = json_pack("{s:s, s:[]}", "role", role, "content");
        json_array_append_new(messages, newest);
    }
    return json_object_get(newest, "content");
}

/* Texts of no length are refused. */
static void add_text(json_t *parts, const json_t *text)
{
    if (json_string_length(text)) json_array_append_new(parts, json_pack("{s:s, s:O}", "type", "text", "text", text));
}

static void add_call(json_t *parts, const json_t *call)
{
    json_t *args = json_object_get(call, "args");
    json_t *input = json_is_object(args) ? json_incref(args) : json_pack("{s:O?}", "invalid", args);
    json_array_append_new(parts,
                          json_pack("{s:s, s:O, s:O, s:o}", "type", "tool_use", "id", json_object_get(call, "id"),
                                    "name", json_object_get(call, "tool"), "input", input));
}

static void add_message(json_t *messages, json_t *system, const json_t *message)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    const json_t *text = json_object_get(message, "content"), *calls = json_object_get(message, "calls"), *call;
    size_t i;
    if (strcmp(role, "system") == 0) {
        add_text(system, text);
    } else if (strcmp(role, "tool") == 0) {
        json_array_append_new(parts_for(messages, "user"),
                              json_pack("{s:s, s:O, s:O}", "type", "tool_result", "tool_use_id",
                                        json_object_get(message, "id"), "content", text));
    } else if (json_string_length(text) || json_array_size(calls)) {
        json_t *parts = parts_for(messages, role);
        add_text(parts, text);
        json_array_foreach(calls, i, call) add_call(parts, call);
    }
}

static json_t *wire_tools(const json_t *tools)
{
    json_t *list = json_array();
    const json_t *tool;
    size_t i;
    json_array_foreach(tools, i, tool) json_array_append_new(
        list, json_pack("{s:O, s:O, s:O}", "name", json_object_get(tool, "name"), "description",
                        json_object_get(tool, "description"), "input_schema", json_object_get(tool, "schema")));
    return list;
}

static bool is_listed(const json_t *tools, const char *name)
{
    const json_t *tool;
    size_t i;
    json_array_foreach(tools, i, tool)
    {
        if (strcmp(json_string_value(json_object_get(tool, "name")), name) == 0) return true;
    }
    return false;
}

/* Who was called before must be named, even where nothing is offered any more. */
static json_t *tools_called(const json_t *messages)
{
    json_t *list = json_array();
    const json_t *message, *call;
    size_t i, k;
    json_array_foreach(messages, i, message)
    {
        json_array_foreach(json_object_get(message, "calls"), k, call)
        {
            const char *name = json_string_value(json_object_get(call, "tool"));
            if (name && *name && !is_listed(list, name))
                json_array_append_new(list,
                                      json_pack("{s:s, s:{s:s}}", "name", name, "input_schema", "type", "object"));
        }
    }
    return list;
}

static json_t *newest_part(json_t *messages)
{
    json_t *parts = json_object_get(json_array_get(messages, json_array_size(messages) - 1), "content");
    return json_array_get(parts, json_array_size(parts) - 1);
}

static json_t *body(const json_t *request, const char *model, const char *name)
{
    const json_t *given = json_object_get(request, "messages"), *offered = json_object_get(request, "tools"),
                 *most = json_object_get(request, "most"), *message;
    json_t *messages = json_array(), *system = json_array();
    json_t *tools = offered ? wire_tools(offered) : tools_called(given);
    size_t i;
    json_array_foreach(given, i, message) add_message(messages, system, message);
    mark(json_array_get(tools, json_array_size(tools) - 1));
    mark(json_array_get(system, json_array_size(system) - 1));
    mark(newest_part(messages));
    json_t *made =
        json_pack("{s:s, s:I}", "model", model, "max_tokens", most ? json_integer_value(most) : TFY_LLM_MOST);
    if (json_array_size(tools)) json_object_set(made, "tools", tools);
    if (json_array_size(tools) && !offered)
        json_object_set_new(made, "tool_choice", json_pack("{s:s}", "type", "none"));
    if (json_array_size(system)) json_object_set(made, "system", system);
    json_object_set(made, "messages", messages);
    json_decref(tools);
    json_decref(system);
    json_decref(messages);
    return made;
}

/* ---- the response ---- */

static json_t *calls_of(const json_t *content)
{
    json_t *calls = NULL;
    const json_t *part;
    size_t i;
    json_array_foreach(content, i, part)
    {
        const char *type = json_string_value(json_object_get(part, "type"));
        if (!type || strcmp(type, "tool_use") != 0) continue;
        if (!calls) calls = json_array();
        json_array_append_new(calls, tfy__llm_call(json_object_get(part, "id"), json_object_get(part, "name"),
                                                   json_object_get(part, "input")));
    }
    return calls;
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
                           .refusal = reason && strcmp(reason, "refusal") == 0 ? stop : NULL,
                           .model = json_object_get(response, "model"),
                           .finish_reason = reason ? reason : "",
                           .prompt_tokens = tokens_read(usage),
                           .completion_tokens = tfy__llm_count(usage, "output_tokens"),
                           .cached_tokens = tfy__llm_count(usage, "cache_read_input_tokens")};
    return json_is_array(content);
}

const TfyLlmForm tfy__llm_messages = {.api = "messages",
                                      .path = "/messages",
                                      .place = "content",
                                      .key = "x-api-key: ",
                                      .fixed = "anthropic-version: 2023-06-01",
                                      .body = body,
                                      .read = read_response};
