/* mcp_file.h: the tools of an MCP server as declarations. `tfy mcp pull` writes NAME.mcp.json beside a program: the
 * server's answer to tools/list as it came. It is read as a module is: each tool is a tool with named parameters, each
 * schema of an object a record, each list of words an enum. Their spans lie in the JSON, so that messages and editors
 * lead there.
 *
 *   string, integer, number, boolean, array     string, int, float, bool, list<T>
 *   object with properties                      a record, "search" with "filter" gives SearchFilter
 *   enum of words that are names                an enum; of other texts: string
 *   "#/$defs/NAME"                              what stands there
 *   T or null                                   T?
 *   what is not required                        T? = null, which is left out when it is null
 *   all else                                    json
 *
 * A tool gives what its outputSchema says, else a string. */
#ifndef DSL_MCP_FILE_H
#define DSL_MCP_FILE_H

#include "ast.h"
#include "diag.h"

#define MCP_TOOLS_MAX 512 /* of one server */
#define MCP_DEPTH_MAX 64  /* of a schema */

bool mcp_file_is(const char *path); /* does its name say that it is one? */

/* Never NULL: what is wrong with the file is reported, and there are no tools then. */
Module *mcp_file_read(SourceSet *sources, Source *source, Arena *arena, DiagList *diags);

/* The server is declared here: its tools get the attributes in the declaration's braces, and know where it is. */
void mcp_file_use(Module *module, Decl *server, Arena *arena, DiagList *diags);

#endif
