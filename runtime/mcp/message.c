/* message.c: see message.h. */
#include "mcp/message.h"

#include <string.h>

#include "value/json.h"

/* ---- reading ---- */

static void none(TfyMcpMessage *out, const char *why)
{
    out->kind = TFY_MCP_NONE;
    out->why = why;
}

/* Whether a text nests no deeper than allowed: so that neither a parser nor a walk of its tree needs a deep stack.
 * Where it is not JSON the answer does not matter. */
static bool is_shallow(const char *text, size_t len)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        const char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[') && ++depth > TFY_MCP_DEPTH)
            return false;
        else if (!quoted && (c == '}' || c == ']') && depth)
            depth--;
    }
    return true;
}

/* An integer that is none for us makes all numbers of the message floats: better than no message. */
static json_t *parse(const char *text, size_t len)
{
    json_error_t error;
    json_t *json = tfy__json_read(text, len, JSON_ALLOW_NUL, &error);
    if (!json && json_error_code(&error) == json_error_numeric_overflow)
        json = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    return json;
}

/* A text without a NUL in it; NULL: it is none. */
static const char *plain_text(const json_t *json)
{
    const char *text = json_string_value(json);
    return text && strlen(text) == json_string_length(json) ? text : NULL;
}

static void read_call(TfyMcpMessage *out)
{
    out->method = plain_text(json_object_get(out->json, "method"));
    out->params = json_object_get(out->json, "params");
    if (!out->method)
        none(out, "its method is not a text");
    else if (out->params && !json_is_object(out->params))
        none(out, "its params are not an object");
    else
        out->kind = out->id ? TFY_MCP_REQUEST : TFY_MCP_NOTIFICATION;
}

static void read_error(TfyMcpMessage *out, const json_t *error)
{
    const json_t *code = json_object_get(error, "code");
    out->message = plain_text(json_object_get(error, "message"));
    out->data = json_object_get(error, "data");
    out->code = json_is_integer(code) ? json_integer_value(code) : TFY_MCP_INTERNAL;
    if (!json_is_object(error))
        none(out, "its error is not an object");
    else
        out->kind = TFY_MCP_ERROR;
    if (!out->message) out->message = "";
}

static void read_answer(TfyMcpMessage *out)
{
    const json_t *error = json_object_get(out->json, "error");
    out->result = json_object_get(out->json, "result");
    if (error && out->result)
        none(out, "it has both a result and an error");
    else if (error)
        read_error(out, error);
    else if (!out->result)
        none(out, "it has neither a method nor a result nor an error");
    else if (!out->id)
        none(out, "its result is for no request");
    else if (!json_is_object(out->result))
        none(out, "its result is not an object");
    else
        out->kind = TFY_MCP_RESULT;
}

static void read_object(TfyMcpMessage *out)
{
    const char *version = plain_text(json_object_get(out->json, "jsonrpc"));
    out->id = json_object_get(out->json, "id");
    if (json_is_null(out->id)) out->id = NULL;
    if (!version || strcmp(version, "2.0") != 0)
        none(out, "it is not JSON-RPC 2.0");
    else if (out->id && !json_is_string(out->id) && !json_is_number(out->id))
        none(out, "its id is neither a text nor a number");
    else if (json_object_get(out->json, "method"))
        read_call(out);
    else
        read_answer(out);
}

void tfy__mcp_read(const char *text, size_t len, TfyMcpMessage *out)
{
    *out = (TfyMcpMessage){.kind = TFY_MCP_NONE};
    if (!is_shallow(text, len)) {
        out->kind = TFY_MCP_TOO_DEEP;
        out->why = "it nests more than 128 levels";
        return;
    }
    out->json = parse(text, len);
    if (!json_is_object(out->json))
        none(out, out->json ? "it is not an object" : "it is not JSON");
    else
        read_object(out);
}

void tfy__mcp_message_free(TfyMcpMessage *message)
{
    json_decref(message->json);
    *message = (TfyMcpMessage){.kind = TFY_MCP_NONE};
}

bool tfy__mcp_is_id(const json_t *id, int64_t number)
{
    return json_is_integer(id) ? json_integer_value(id) == number
                               : json_is_real(id) && json_real_value(id) == (double)number;
}

/* ---- writing ---- */

static void put_text(TfyBuffer *out, const char *text)
{
    tfy__buffer_json_string(out, text, strlen(text));
}

void tfy__mcp_reopen(TfyBuffer *out)
{
    if (out->failed) return;
    out->len--;
    if (out->data[out->len - 1] != '{') tfy__buffer_char(out, ',');
}

static void put_params(TfyBuffer *out, const json_t *params, const TfyBuffer *meta)
{
    if (!params && !meta) return;
    tfy__buffer_text(out, ",\"params\":");
    if (params)
        tfy__encode_json(out, params);
    else
        tfy__buffer_text(out, "{}");
    if (!meta) return;
    tfy__mcp_reopen(out);
    tfy__buffer_text(out, "\"_meta\":");
    tfy__buffer_add(out, meta->data, meta->len);
    tfy__buffer_char(out, '}');
}

static void put_call(TfyBuffer *out, const char *method, const json_t *params, const TfyBuffer *meta)
{
    tfy__buffer_text(out, "\"method\":");
    put_text(out, method);
    put_params(out, params, meta);
    tfy__buffer_char(out, '}');
}

void tfy__mcp_write_request(TfyBuffer *out, int64_t id, const char *method, const json_t *params, const TfyBuffer *meta)
{
    tfy__buffer_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    tfy__buffer_int(out, id);
    tfy__buffer_char(out, ',');
    put_call(out, method, params, meta);
}

void tfy__mcp_write_notification(TfyBuffer *out, const char *method, const json_t *params)
{
    tfy__buffer_text(out, "{\"jsonrpc\":\"2.0\",");
    put_call(out, method, params, NULL);
}

static void put_answer(TfyBuffer *out, const json_t *id)
{
    tfy__buffer_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    tfy__encode_json(out, id);
}

void tfy__mcp_write_result(TfyBuffer *out, const json_t *id, const json_t *result)
{
    put_answer(out, id);
    tfy__buffer_text(out, ",\"result\":");
    tfy__encode_json(out, result);
    tfy__buffer_char(out, '}');
}

void tfy__mcp_write_error(TfyBuffer *out, const json_t *id, int64_t code, const char *message)
{
    put_answer(out, id);
    tfy__buffer_printf(out, ",\"error\":{\"code\":%lld,\"message\":", (long long)code);
    put_text(out, message);
    tfy__buffer_text(out, "}}");
}
