/* list_servers.h: where the MCP servers of a file are, before there is a program: `tfy mcp pull` asks them for their
 * tools, without which the file does not compile. */
#ifndef CODEGEN_LIST_SERVERS_H
#define CODEGEN_LIST_SERVERS_H

#include "../dsl/ast.h"
#include "../dsl/diag.h"

/* A JSON array: [{"name": "docs", "line": 3, "exec": [WORD, …], "env": {"NAME": WORD}, "cwd": WORD}], or of a server
 * with an address "http": WORD and "headers": {"NAME": WORD}. A word is a list of texts and of {"secret": "NAME"}.
 * What is computed in another way is reported. Never NULL. */
const char *list_servers(const Module *module, Arena *arena, DiagList *diags);

#endif
