/* content.h: the result of a tool as a text: the texts of its parts, and a line about each other part. */
#ifndef MCP_CONTENT_H
#define MCP_CONTENT_H

#include <jansson.h>

#include "base/buffer.h"

/* Appends the parts of a result, joined by line feeds: texts as they are, others as "[image image/png, 4,120 bytes]" */
void tfy__mcp_text(TfyBuffer *out, const json_t *result);

#endif
