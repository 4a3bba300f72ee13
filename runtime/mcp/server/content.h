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
/* The list of content blocks of a list of Part. */
json_t *tfy__mcp_blocks(const json_t *parts);

#endif
