/* servers.h: the MCP servers of a loop's programs. A server is opened with the first call of one of its tools, is shared by
 * all runs of the loop, and stays open until the loop closes. */
#ifndef MCP_SERVERS_H
#define MCP_SERVERS_H

#include "base/list.h"
#include "effects/invocation.h"
#include "mcp/client.h"
#include "mcp/tools.h"

#define TFY_MCP_LAST_MOST ((size_t)300) /* bytes of a server's last words, with a NUL */

struct TfyMcpJob; /* a call under way (perform.c) */

typedef struct TfyMcpOpen {
    struct TfyMcpOpen *next;
    TfyLoop *loop;
    const TfyMcpServer *of;
    TfyMcpSpec spec;
    TfyMcp *client;
    /* What the spec points to; owned, with copies of the words: the values that they come from do not stay. */
    TfyInvocation invocation;
    char **argv, **env, **headers, *url, *login_words;
    json_t *tools;                  /* by name, each as tools/list has it; NULL: they are not known */
    TfyMcpListing *listing;         /* NULL: nobody asks for them */
    LIST(struct TfyMcpJob) waiting; /* for them */
    char last[TFY_MCP_LAST_MOST];   /* what it wrote on stderr last, since it has answered */
} TfyMcpOpen;

/* The server of the call's tool, open. NULL after the call has failed. */
TfyMcpOpen *tfy__mcp_server_of(TfyCall *call);
/* The same, if it is open already; NULL: it is not. */
TfyMcpOpen *tfy__mcp_server_known(const TfyCall *call);
void tfy__mcp_servers_close(TfyLoop *loop);

#endif
