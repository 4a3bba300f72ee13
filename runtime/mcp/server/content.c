/* content.c: see content.h. */
#include "mcp/server/content.h"

#include <stdlib.h>
#include <string.h>

#include "value/json.h"

static json_t *text_block(const char *text)
{
    return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

/* The text of a value, as the log has it. */
static json_t *json_block(const json_t *value)
{
    TfyBuffer text = {0};
    json_t *block = tfy__encode_json(&text, value) ? text_block(text.data) : NULL;
    tfy__buffer_free(&text);
    return block;
}

static const char *text_of(const json_t *part, const char *name)
{
    const char *text = json_string_value(json_object_get(part, name));
    return text ? text : "";
}

static json_t *media_block(const char *type, const json_t *part)
{
    return json_pack("{s:s, s:s, s:s}", "type", type, "data", text_of(part, "data"), "mimeType", text_of(part, "mime"));
}

/* A case that content.h does not name is told as JSON. */
static json_t *block_of(const json_t *part)
{
    const char *name = text_of(part, "case");
    if (strcmp(name, "text") == 0) return text_block(text_of(part, "text"));
    if (strcmp(name, "image") == 0 || strcmp(name, "audio") == 0) return media_block(name, part);
    if (strcmp(name, "link") == 0)
        return json_pack("{s:s, s:s, s:s}", "type", "resource_link", "uri", text_of(part, "uri"), "name",
                         text_of(part, "name"));
    if (strcmp(name, "resource") == 0)
        return json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "resource", "resource", "uri", text_of(part, "uri"),
                         "mimeType", text_of(part, "mime"), "text", text_of(part, "text"));
    return json_block(part);
}

/* The list of content blocks of a list of Part. */
static json_t *blocks_of(const json_t *parts)
{
    json_t *blocks = json_array(), *part;
    size_t i;
    json_array_foreach((json_t *)parts, i, part) json_array_append_new(blocks, block_of(part));
    return blocks;
}

json_t *tfy__mcp_said(const char *text, bool is_error)
{
    json_t *result = json_pack("{s:[o]}", "content", text_block(text));
    if (is_error) json_object_set_new(result, "isError", json_true());
    return result;
}

json_t *tfy__mcp_result(TfyMcpGives gives, const json_t *value)
{
    json_t *none = json_null(), *result = NULL;
    if (!value) value = none;
    if (gives == TFY_MCP_GIVES_NOTHING) return json_pack("{s:[]}", "content");
    if (gives == TFY_MCP_GIVES_PARTS) return json_pack("{s:o}", "content", blocks_of(value));
    if (json_is_string(value))
        result = json_pack("{s:[{s:s, s:O}]}", "content", "type", "text", "text", value);
    else
        result = json_pack("{s:[o]}", "content", json_block(value));
    if (gives == TFY_MCP_GIVES_OTHER)
        json_object_set_new(result, "structuredContent", json_pack("{s:O}", "result", value));
    else if (gives != TFY_MCP_GIVES_TEXT && json_is_object(value))
        json_object_set(result, "structuredContent", (json_t *)value);
    return result;
}

json_t *tfy__mcp_failed(const json_t *error)
{
    TfyBuffer text = {0};
    const char *name = text_of(error, "error"), *message = text_of(error, "message");
    tfy__buffer_printf(&text, "%s%s%s", *name ? name : "the run failed", *message ? ": " : "", message);
    json_t *result = text.failed ? NULL : tfy__mcp_said(text.data, true);
    tfy__buffer_free(&text);
    return result;
}

/* ---- prompts ---- */

static void add_message(json_t *messages, const char *role, json_t *content)
{
    json_array_append_new(messages, json_pack("{s:s, s:o}", "role", role, "content", content));
}

/* What the model called, and what it was told, is no part of what a client can be given. */
static void add_said(json_t *messages, const json_t *message)
{
    const char *role = text_of(message, "role"), *content = text_of(message, "content");
    if (*content && (strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0))
        add_message(messages, role, text_block(content));
}

json_t *tfy__mcp_messages(TfyMcpGives gives, const json_t *value, const char *description)
{
    json_t *messages = json_array(), *one;
    size_t i;
    if (gives == TFY_MCP_GIVES_THREAD)
        json_array_foreach((json_t *)value, i, one) add_said(messages, one);
    else if (gives == TFY_MCP_GIVES_PARTS)
        json_array_foreach((json_t *)value, i, one) add_message(messages, "user", block_of(one));
    else
        add_message(messages, "user", json_is_string(value) ? text_block(json_string_value(value)) : json_block(value));
    return json_pack("{s:s*, s:o}", "description", description, "messages", messages);
}

/* ---- resources ---- */

static json_t *content_of(const json_t *part, const char *address)
{
    const char *name = text_of(part, "case"), *mime = text_of(part, "mime");
    if (strcmp(name, "image") == 0 || strcmp(name, "audio") == 0)
        return json_pack("{s:s, s:s, s:s}", "uri", address, "mimeType", mime, "blob", text_of(part, "data"));
    if (strcmp(name, "resource") == 0)
        return json_pack("{s:s, s:s, s:s}", "uri", text_of(part, "uri"), "mimeType", mime, "text",
                         text_of(part, "text"));
    return json_pack("{s:s, s:s, s:s}", "uri", address, "mimeType", "text/plain", "text", text_of(part, "text"));
}

json_t *tfy__mcp_contents(TfyMcpGives gives, const json_t *value, const char *address)
{
    json_t *contents = json_array(), *one;
    size_t i;
    const bool parts = gives == TFY_MCP_GIVES_PARTS, text = gives == TFY_MCP_GIVES_TEXT;
    if (parts) json_array_foreach((json_t *)value, i, one) json_array_append_new(contents, content_of(one, address));
    json_t *block = parts ? NULL : text ? text_block(json_string_value(value)) : json_block(value);
    if (!parts)
        json_array_append_new(contents, json_pack("{s:s, s:s, s:O}", "uri", address, "mimeType",
                                                  text ? "text/plain" : "application/json", "text",
                                                  json_object_get(block, "text")));
    json_decref(block);
    return json_pack("{s:o}", "contents", contents);
}
