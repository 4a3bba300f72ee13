/* content.h: what a run has come to, as the result of a tool.
 *
 * A string is a text; other values are structured content, and a text with their JSON for clients that look at nothing
 * else. A list of Part is content of several kinds:
 *
 *   enum Part { text(text: string), image(data: bytes, mime: string), audio(data: bytes, mime: string),
 *               link(uri: string, name: string), resource(uri: string, mime: string, text: string) }
 *
 * of which a program declares the cases that it uses. An error that a workflow raises is a result with isError. */
#ifndef MCP_SERVER_CONTENT_H
#define MCP_SERVER_CONTENT_H

#include "mcp/server/offer.h"

/* The result of a workflow. value may be NULL, for null. NULL: no memory. */
json_t *tfy__mcp_result(TfyMcpGives gives, const json_t *value);
/* The same of an error of the log: {"error": "StepFailed", "message": …}. */
json_t *tfy__mcp_failed(const json_t *error);
/* A result that is one text. */
json_t *tfy__mcp_said(const char *text, bool is_error);
/* The result of a prompt: each message of a conversation; or each part, or the text, as a message of the user. */
json_t *tfy__mcp_messages(TfyMcpGives gives, const json_t *value, const char *description);
/* The contents of a resource at that address: each part, or the value as a text. */
json_t *tfy__mcp_contents(TfyMcpGives gives, const json_t *value, const char *address);

#endif
