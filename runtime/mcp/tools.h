/* tools.h: the tools of an MCP server: listed, checked, and kept in a file beside a program.
 *
 * NAME.mcp.json: {"server": {"name", "version"}, "revision", "keyed"?, "time", "tools": [ … ]}. The tools are as the
 * server gave them, sorted by name. What a model is told of a tool comes from there and never from the live server.
 * keyed, which is true: the server has the extension "tfy/key". */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "mcp/client.h"

#define TFY_MCP_TOOLS_MOST 512
#define TFY_MCP_NAME_MOST  128 /* bytes of a tool's name */

typedef struct TfyMcpListing TfyMcpListing; /* under way */

/* The tools, an array sorted by name, which the receiver may keep by reference; or NULL with a sentence, and how the
 * request failed (NULL: it did not, but the tools are refused). */
typedef void TfyMcpListed(void *arg, json_t *tools, const char *why, const TfyMcpEnd *failed);

/* Asks for all pages. Tools whose headers over HTTP cannot be made are left out, and the log is told. NULL: no memory.
 * */
TfyMcpListing *tfy__mcp_list(TfyMcp *client, TfyMcpListed *listed, void *arg);
void tfy__mcp_list_stop(TfyMcpListing *listing); /* `listed` is not called any more */

/* Why a list of tools cannot be kept in a file: the first tool whose schema is refused. "": nothing is wrong. */
void tfy__mcp_tools_wrong(const json_t *tools, char why[TFY_ERROR_TEXT]);

/* The content of NAME.mcp.json, owned; time_ms: by the calendar. NULL: no memory. */
json_t *tfy__mcp_tools_file(const TfyMcp *client, const json_t *tools, int64_t time_ms);
/* Whether this is the content of such a file. */
bool tfy__mcp_is_tools_file(const json_t *file);

typedef enum TfyMcpChange { TFY_MCP_NEW, TFY_MCP_GONE, TFY_MCP_OTHER_SCHEMA, TFY_MCP_OTHER_TEXT } TfyMcpChange;

/* Calls differs for each difference between the tools of a file and those of a server, both sorted, by name. */
void tfy__mcp_tools_compare(const json_t *kept, const json_t *live,
                            void (*differs)(void *arg, const char *name, TfyMcpChange change), void *arg);

#endif
