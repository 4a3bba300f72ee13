/* schema.h: what this client looks at in the schema of a tool's arguments: how deep it nests, where its references
 * lead, and which headers it asks for.
 *
 * A property with "x-mcp-header": "Region" is sent in a header Mcp-Param-Region as well, so that what stands between
 * client and server can see it. */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include <jansson.h>

#include "base/buffer.h"

#define TFY_MCP_SCHEMA_DEPTH 64 /* levels of objects and arrays */
#define TFY_MCP_WHY          256

/* What keeps a tool with this schema from being used, a sentence of up to TFY_MCP_WHY bytes; "": nothing. */
void tfy__mcp_schema_wrong(const json_t *schema, char *why);

/* What is wrong with the headers that a schema asks for: the tool is left out then. "": nothing. */
void tfy__mcp_headers_wrong(const json_t *schema, char *why);

/* Calls put for each header, "Mcp-Param-Region: eu", of a call with these arguments. False: no memory. */
bool tfy__mcp_param_headers(const json_t *schema, const json_t *arguments, bool (*put)(void *arg, const char *line),
                            void *arg);

/* Appends a text as the value of a header: as it is, or "=?base64?…?=" where that would not arrive as it is. */
void tfy__mcp_header_value(TfyBuffer *out, const char *text, size_t len);

#endif
