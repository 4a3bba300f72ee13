/* mcp_pull.h: NAME.mcp.json beside a program, from the tools of a live server. */
#ifndef CLI_MAKE_MCP_PULL_H
#define CLI_MAKE_MCP_PULL_H

#include "cli/make/mcp_talk.h"

/* Asks the open server of a talk for its tools, and writes them to the file; or, to check, names each tool that differs
 * from the file. Returns an exit status: EXIT_RUN_FAILED where they differ. */
int tfy__mcp_pull(TfyMcpTalk *talk, const char *file, bool check);

#endif
