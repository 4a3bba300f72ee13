/* mcp_servers.h: the MCP servers that a program declares, asked before there is a program. */
#ifndef CLI_MAKE_MCP_SERVERS_H
#define CLI_MAKE_MCP_SERVERS_H

#include "cli/frame/cli.h"

/* tfy mcp pull FILE.tfy [NAME]: writes, or checks, NAME.mcp.json beside the file for each server, or for the one of that
 * name. The values of secrets come from where programs have them. Goes on behind a server that fails. Returns an exit
 * status: the first that is not EXIT_DONE. */
int tfy__mcp_pull_program(const TfyArgs *args);

#endif
