/* message.h: JSON-RPC 2.0, as the Model Context Protocol uses it: one text is one message.
 *
 * Everything that is read is hostile. A text that is not a message is none, with a reason for the log, and harms nobody
 * but its sender. A text above TFY_MCP_MESSAGE_MOST, or one that nests deeper than TFY_MCP_DEPTH, ends the connection
 * that it came over: what it was for is not looked for. A batch is not a message; the protocol has none. */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include <jansson.h>

#include "base/buffer.h"

#define TFY_MCP_MESSAGE_MOST ((size_t)8 << 20) /* bytes */
/* Levels of a message. A schema may have half of them (tools.h). */
#define TFY_MCP_DEPTH 128
/* In "_meta", and an extension of servers: calls with the same one are one call. */
#define TFY_MCP_CALL_KEY "tfy/key"

/* Codes of errors that have a meaning here. */
enum {
    TFY_MCP_PARSE_ERROR = -32700,
    TFY_MCP_INVALID_REQUEST = -32600,
    TFY_MCP_NO_METHOD = -32601,
    TFY_MCP_INVALID_PARAMS = -32602,
    TFY_MCP_INTERNAL = -32603,
    TFY_MCP_HEADER_MISMATCH = -32020,
    TFY_MCP_NO_CAPABILITY = -32021,
    TFY_MCP_NO_VERSION = -32022,
};

typedef enum TfyMcpKind {
    TFY_MCP_NONE,     /* not a message: `why` says so */
    TFY_MCP_TOO_DEEP, /* it nests too deeply: `why` says so */
    TFY_MCP_REQUEST,
    TFY_MCP_NOTIFICATION,
    TFY_MCP_RESULT,
    TFY_MCP_ERROR,
} TfyMcpKind;

/* A message that was read. All but `json` is part of it. */
typedef struct TfyMcpMessage {
    TfyMcpKind kind;
    json_t *json;         /* owned; NULL: none */
    const json_t *id;     /* a text or a number; NULL: a notification, or an error that names no request */
    const char *method;   /* of a request or a notification */
    const json_t *params; /* of these: an object; NULL: there are none */
    const json_t *result; /* an object */
    int64_t code;         /* of an error */
    const char *message;  /* of an error */
    const json_t *data;   /* of an error; NULL: none */
    const char *why;
} TfyMcpMessage;

void tfy__mcp_read(const char *text, size_t len, TfyMcpMessage *out);
void tfy__mcp_message_free(TfyMcpMessage *message);

/* Whether an id of an answer is the number of a request of ours. */
bool tfy__mcp_is_id(const json_t *id, int64_t number);

/* Each appends one message, without a line feed, to a buffer, which fails without memory. */
/* params and meta may be NULL; meta: the object "_meta" as text, for params that have none. */
void tfy__mcp_write_request(TfyBuffer *out, int64_t id, const char *method, const json_t *params,
                            const TfyBuffer *meta);
void tfy__mcp_write_notification(TfyBuffer *out, const char *method, const json_t *params); /* params may be NULL */
void tfy__mcp_write_result(TfyBuffer *out, const json_t *id, const json_t *result);
void tfy__mcp_write_error(TfyBuffer *out, const json_t *id, int64_t code, const char *message);

/* Opens the object that a buffer ends with again: more members may follow, and then its '}'. */
void tfy__mcp_reopen(TfyBuffer *out);

#endif
