/* sampling.c: see sampling.h. */
#include "mcp/server/sampling.h"

#include <string.h>

#include "effects/llm_client.h"

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static bool is_type(const json_t *part, const char *type)
{
    return strcmp(text_of(part, "type"), type) == 0;
}

/* ---- the request ---- */

static json_t *text_part(const json_t *text)
{
    return json_pack("{s:s, s:O}", "type", "text", "text", text);
}

/* No part of a message is a document, so its name stands for it. */
static json_t *file_part(const TfyLlmFile *file)
{
    if (strcmp(file->kind, TFY_LLM_PDF) == 0)
        return json_pack("{s:s, s:o}", "type", "text", "text", json_sprintf("[%s %s]", file->kind, file->path));
    return json_pack("{s:s, s:s%, s:s}", "type", "image", "data", file->data.data, file->data.len, "mimeType",
                     file->kind);
}

static json_t *call_part(const json_t *call)
{
    json_t *args = json_object_get(call, "args"),
           *input = json_is_object(args) ? json_incref(args) : json_pack("{s:O?}", "invalid", args);
    return json_pack("{s:s, s:O, s:O, s:o}", "type", "tool_use", "id", json_object_get(call, "id"), "name",
                     json_object_get(call, "tool"), "input", input);
}

static json_t *result_part(const json_t *message)
{
    return json_pack("{s:s, s:O, s:[o]}", "type", "tool_result", "toolUseId", json_object_get(message, "id"), "content",
                     text_part(json_object_get(message, "content")));
}

static json_t *parts_of(const TfyLlmWire *wire, const json_t *message)
{
    const json_t *text = json_object_get(message, "content"), *call;
    const TfyLlmFile *file;
    json_t *parts = json_array();
    size_t i;
    if (json_object_get(message, "id")) json_array_append_new(parts, result_part(message));
    if (!json_object_get(message, "id") && json_string_length(text)) json_array_append_new(parts, text_part(text));
    for (i = 0; (file = tfy__llm_file_at(wire, message, i)); i++) json_array_append_new(parts, file_part(file));
    json_array_foreach(json_object_get(message, "calls"), i, call) json_array_append_new(parts, call_part(call));
    return parts;
}

/* All texts of the system are one. */
static void add(TfyLlmWire *wire, const json_t *message)
{
    const json_t *text = json_object_get(message, "content");
    const char *role = text_of(message, "role");
    if (strcmp(role, "system") == 0) {
        if (wire->system.len) tfy__buffer_text(&wire->system, "\n\n");
        tfy__buffer_add(&wire->system, json_string_value(text), json_string_length(text));
        return;
    }
    role = strcmp(role, "assistant") == 0 ? role : "user";
    json_t *parts = parts_of(wire, message);
    if (json_array_size(parts)) tfy__llm_add_item(&wire->text, json_pack("{s:s, s:O}", "role", role, "content", parts));
    json_decref(parts);
}

static json_t *wire_tool(const json_t *tool)
{
    return json_pack("{s:O, s:O, s:O}", "name", json_object_get(tool, "name"), "description",
                     json_object_get(tool, "description"), "inputSchema", json_object_get(tool, "schema"));
}

/* The client chooses its model; the program's name of one is a hint. */
static void body(TfyBuffer *out, const TfyLlmWire *wire, const TfyLlmAsked *asked)
{
    tfy__buffer_text(out, "{\"messages\":[");
    tfy__buffer_add(out, wire->text.data, wire->text.len);
    tfy__buffer_printf(out, "],\"maxTokens\":%lld", (long long)(asked->most ? asked->most : TFY_LLM_MOST));
    if (wire->system.len) tfy__buffer_text(out, ",\"systemPrompt\":");
    if (wire->system.len) tfy__buffer_json_string(out, wire->system.data, wire->system.len);
    if (strcmp(asked->model, "default") != 0)
        tfy__llm_add_member(out, "modelPreferences", json_pack("{s:[{s:s}]}", "hints", "name", asked->model));
    tfy__llm_add_tools(out, asked->tools);
    tfy__buffer_char(out, '}');
}

static bool is_result(const json_t *message)
{
    return is_type(json_array_get(json_object_get(message, "content"), 0), "tool_result");
}

/* What several calls gave is one message. */
static json_t *joined_results(const json_t *messages)
{
    json_t *joined = json_array(), *message;
    size_t i;
    json_array_foreach((json_t *)messages, i, message)
    {
        json_t *last = json_array_get(joined, json_array_size(joined) - 1);
        if (last && is_result(last) && is_result(message))
            json_array_extend(json_object_get(last, "content"), json_object_get(message, "content"));
        else
            json_array_append(joined, message);
    }
    return joined;
}

json_t *tfy__mcp_sampling_params(const char *text, size_t len)
{
    json_t *params = json_loadb(text, len, JSON_ALLOW_NUL, NULL), *message;
    size_t i;
    if (!params) return NULL;
    json_t *messages = joined_results(json_object_get(params, "messages"));
    json_array_foreach(messages, i, message)
    {
        json_t *parts = json_object_get(message, "content");
        if (json_array_size(parts) == 1) json_object_set(message, "content", json_array_get(parts, 0));
    }
    json_object_set_new(params, "messages", messages);
    return params;
}

bool tfy__mcp_sampling_offers(const json_t *params)
{
    return json_object_get(params, "tools");
}

/* ---- the answer ---- */

static json_t *calls_of(const json_t *parts)
{
    json_t *calls = NULL;
    const json_t *part;
    size_t i;
    json_array_foreach((json_t *)parts, i, part)
    {
        if (!is_type(part, "tool_use")) continue;
        if (!calls) calls = json_array();
        json_array_append_new(calls, tfy__llm_call(json_object_get(part, "id"), json_object_get(part, "name"),
                                                   json_object_get(part, "input")));
    }
    return calls;
}

/* As endpoints say it. */
static const char *reason_of(const json_t *result)
{
    const char *reason = text_of(result, "stopReason");
    return strcmp(reason, "endTurn") == 0 || strcmp(reason, "stopSequence") == 0 ? "stop"
           : strcmp(reason, "maxTokens") == 0                                    ? "length"
           : strcmp(reason, "toolUse") == 0                                      ? "tool_calls"
                                                                                 : reason;
}

/* The parts are all zero before. */
static bool read_result(const json_t *result, TfyLlmParts *parts)
{
    json_t *content = json_object_get(result, "content"),
           *list = json_is_array(content) ? json_incref(content) : json_pack("[O*]", content);
    *parts = (TfyLlmParts){.text = tfy__llm_joined(list, "text", "text"),
                           .calls = calls_of(list),
                           .model = json_object_get(result, "model"),
                           .finish_reason = reason_of(result),
                           .prompt_tokens = -1,
                           .completion_tokens = -1,
                           .cached_tokens = -1};
    json_decref(list);
    return parts->text || parts->calls;
}

bool tfy__mcp_sampled(const json_t *result, TfyLlmReply *reply)
{
    TfyLlmParts parts = {.text = NULL};
    const bool fine = read_result(result, &parts) && tfy__llm_keep_parts(&parts, "", reply);
    json_decref(parts.text);
    json_decref(parts.calls);
    return fine;
}

const TfyLlmForm tfy__mcp_sampling = {
    .api = "sampling", .place = "content", .add = add, .tool = wire_tool, .body = body, .read = read_result};
