/* http.h: the route /mcp: the MCP server over HTTP ("streamable HTTP"), behind the gate, with the tokens and roles of the
 * server. A message is the body of a POST; its answer is JSON, or a stream of events once there is something to say before
 * the answer. */
#ifndef SERVE_MCP_HTTP_H
#define SERVE_MCP_HTTP_H

#include <sys/types.h>

#include "serve/mcp/mcp.h"

enum { TFY_MCP_BODY = 8 << 20 };

void tfy__serve_mcp(TfyRequest *request);     /* POST; the request is the host's from here on */
void tfy__serve_mcp_end(TfyRequest *request); /* DELETE: the end of a session */
/* GET: what is not part of an answer, for clients of older revisions. */
void tfy__serve_mcp_standing(TfyRequest *request);

/* On HTTP's thread, of a request whose answer is a stream: as tfy__stream_take and tfy__stream_free (serve/stream.h). */
ssize_t tfy__mcp_stream_take(TfyRequest *request, char *bytes, size_t most);
void tfy__mcp_stream_free(struct TfyMcpStream *stream); /* NULL: it is none */

#endif
