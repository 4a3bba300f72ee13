/* content.c: see content.h. */
#include "mcp/content.h"

#include <stdio.h>
#include <string.h>

#include "effects/known.h"
#include "value/json.h"

static const char *text_of(const json_t *object, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : otherwise;
}

/* 4120 as "4,120". */
static void put_count(TfyBuffer *out, size_t count)
{
    char digits[32];
    const int len = snprintf(digits, sizeof digits, "%zu", count);
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) tfy__buffer_char(out, ',');
        tfy__buffer_char(out, digits[i]);
    }
}

/* How many bytes a text in base64 stands for. */
static size_t decoded_len(const json_t *base64)
{
    const char *text = json_string_value(base64);
    size_t len = json_string_length(base64);
    while (len && text[len - 1] == '=') len--;
    return len / 4 * 3 + len % 4 * 3 / 4;
}

static void put_bytes(TfyBuffer *out, const char *kind, const char *mime, size_t len)
{
    tfy__buffer_printf(out, "[%s%s%s, ", kind, *mime ? " " : "", mime);
    put_count(out, len);
    tfy__buffer_text(out, " bytes]");
}

static void put_part(TfyBuffer *out, const json_t *part)
{
    const char *type = text_of(part, "type", "part");
    const json_t *text = json_object_get(part, "text"), *data = json_object_get(part, "data");
    const json_t *resource = json_object_get(part, "resource");
    const json_t *content = json_object_get(resource, "text"), *blob = json_object_get(resource, "blob");
    if (json_is_string(text))
        tfy__buffer_add(out, json_string_value(text), json_string_length(text));
    else if (json_is_string(data))
        put_bytes(out, type, text_of(part, "mimeType", ""), decoded_len(data));
    else if (json_is_object(resource))
        put_bytes(out, type, text_of(resource, "mimeType", ""),
                  content ? json_string_length(content) : decoded_len(blob));
    else
        tfy__buffer_printf(out, "[%s %s]", type, text_of(part, "uri", ""));
}

void tfy__mcp_text(TfyBuffer *out, const json_t *result)
{
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(result, "content"), i, part)
    {
        if (i) tfy__buffer_char(out, '\n');
        put_part(out, part);
    }
}

/* ---- as a McpResult ---- */

static json_t *text_part(const char *text, size_t len)
{
    return json_pack("{s:s, s:s%}", "case", "text", "text", text, len);
}

/* What stands for the part in the text. */
static json_t *described(const json_t *part)
{
    TfyBuffer text = {0};
    put_part(&text, part);
    json_t *one = text.failed ? NULL : text_part(text.data ? text.data : "", text.len);
    tfy__buffer_free(&text);
    return one;
}

static json_t *resource_part(const json_t *part)
{
    const json_t *resource = json_object_get(part, "resource"), *text = json_object_get(resource, "text");
    if (!json_is_string(text)) return described(part);
    return json_pack("{s:s, s:s, s:s, s:O}", "case", "resource", "uri", text_of(resource, "uri", ""), "mime",
                     text_of(resource, "mimeType", ""), "text", text);
}

static json_t *value_of(const json_t *part)
{
    const char *type = text_of(part, "type", "");
    const json_t *data = json_object_get(part, "data");
    if ((strcmp(type, "image") == 0 || strcmp(type, "audio") == 0) && json_is_string(data))
        return json_pack("{s:s, s:O, s:s}", "case", type, "data", data, "mime", text_of(part, "mimeType", ""));
    if (strcmp(type, "resource_link") == 0)
        return json_pack("{s:s, s:s, s:s}", "case", "link", "uri", text_of(part, "uri", ""), "name",
                         text_of(part, "name", ""));
    return strcmp(type, "resource") == 0 ? resource_part(part) : described(part);
}

json_t *tfy__mcp_whole(const json_t *result)
{
    TfyBuffer text = {0};
    size_t i;
    json_t *part, *parts = json_array();
    bool ok = parts != NULL;
    json_array_foreach(json_object_get(result, "content"), i, part) ok &=
        json_array_append_new(parts, value_of(part)) == 0;
    tfy__mcp_text(&text, result);
    json_t *whole = ok && !text.failed
                        ? json_pack("{s:s%, s:O*, s:O}", "text", text.data ? text.data : "", text.len, "structured",
                                    json_object_get(result, "structuredContent"), "parts", parts)
                        : NULL;
    json_decref(parts);
    tfy__buffer_free(&text);
    return whole;
}

/* ---- secrets ---- */

json_t *tfy__mcp_masked(const json_t *json)
{
    TfyBuffer text = {0}, masked = {0};
    json_t *copy = NULL;
    tfy__encode_json(&text, json);
    if (!text.failed && !tfy__known_mask(text.data, text.len, false, &masked))
        copy = json_incref((json_t *)(uintptr_t)json);
    else if (!masked.failed && masked.len)
        copy = json_loadb(masked.data, masked.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    tfy__buffer_free(&text);
    tfy__buffer_free(&masked);
    return copy;
}
