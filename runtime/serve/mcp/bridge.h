/* bridge.h: `tfy mcp serve` where another process serves the database already: it is a client of that process, and hands
 * the messages of the client at standard input to its route /mcp, each as a request of its own. */
#ifndef SERVE_MCP_BRIDGE_H
#define SERVE_MCP_BRIDGE_H

#include <stdbool.h>

/* Whether a server of the database takes requests at its socket. */
bool tfy__mcp_bridge_has(const char *db);
/* Hands messages over from in to out until in ends. Returns the exit status. */
int tfy__mcp_bridge_run(const char *db, int in, int out);

#endif
