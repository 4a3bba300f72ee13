/* arguments.h: the arguments of a call as a server gets them. */
#ifndef MCP_ARGUMENTS_H
#define MCP_ARGUMENTS_H

#include <jansson.h>

#include "tfy_program.h"

/* {"wire-name": value}; what is not required is left out when it is null. NULL: no memory. */
json_t *tfy__mcp_arguments(const TfyTool *tool, const TfyValue *args);

#endif
