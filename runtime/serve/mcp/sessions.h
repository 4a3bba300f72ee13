/* sessions.h: sessions of clients of older revisions over HTTP. They are in memory alone: a client whose session is gone
 * gets 404, and greets anew. All of it belongs to the host's thread. */
#ifndef SERVE_MCP_SESSIONS_H
#define SERVE_MCP_SESSIONS_H

#include "serve/mcp/turn.h"

enum { TFY_MCP_SESSION = 33, TFY_MCP_SESSIONS_MOST = 4096 };

/* A session for one who greets; id gets its name. NULL: no memory, or no random numbers. */
TfyMcpPeer *tfy__session_new(TfyMcpHost *host, const TfyCaller *caller, char id[TFY_MCP_SESSION]);
/* Whose session that is; of nobody but its caller. NULL: there is none. */
TfyMcpPeer *tfy__session_peer(TfyMcpHost *host, const TfyCaller *caller, const char *id);
bool tfy__session_end(TfyMcpHost *host, const TfyCaller *caller, const char *id); /* false: there is none */
void tfy__sessions_free(TfyMcpHost *host);

#endif
