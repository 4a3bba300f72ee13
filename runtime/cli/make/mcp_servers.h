/* mcp_servers.h: the MCP servers that a program declares, before there is a program. */
#ifndef CLI_MAKE_MCP_SERVERS_H
#define CLI_MAKE_MCP_SERVERS_H

#include "cli/frame/cli.h"
#include "mcp/client.h"

/* tfy mcp pull FILE.tfy [NAME]: writes, or checks, NAME.mcp.json beside the file for each server, or for the one of that
 * name. The values of secrets come from where programs have them. Goes on behind a server that fails. Returns an exit
 * status: the first that is not EXIT_DONE. */
int tfy__mcp_pull_program(const TfyArgs *args);

/* What is done with a server that a program declares; the spec is borrowed. Returns an exit status. */
typedef int TfyMcpVisit(const TfyArgs *args, const TfyMcpSpec *spec, const char *cwd, void *arg);
/* Visits the server of that name in the program at that path. */
int tfy__mcp_with_server(const TfyArgs *args, const char *path, const char *name, TfyMcpVisit *visit, void *arg);

#endif
