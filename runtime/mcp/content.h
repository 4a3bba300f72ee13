/* content.h: what a server gives: the result of a tool as a text and as the value McpResult of the language, and trees
 * without the values of secrets. */
#ifndef MCP_CONTENT_H
#define MCP_CONTENT_H

#include <jansson.h>

#include "base/buffer.h"

/* Appends the parts of a result, joined by line feeds: texts as they are, others as "[image image/png, 4,120 bytes]" */
void tfy__mcp_text(TfyBuffer *out, const json_t *result);
/* The result as JSON of a McpResult: that text, the structured content, and the parts. A part of a kind that Part does not
 * have is one of its texts. Owned; NULL: no memory. */
json_t *tfy__mcp_whole(const json_t *result);

/* The same tree, or a copy in which the values of secrets are masked, if it has any. Owned; NULL: no memory. */
json_t *tfy__mcp_masked(const json_t *json);

#endif
