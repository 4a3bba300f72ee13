/* offered.h: workflows that strangers call: an MCP server offers them to its clients. Their parameters are untrusted,
 * declared so or not, so that what strangers say goes nowhere that the program did not mean for it. */
#ifndef DSL_OFFERED_H
#define DSL_OFFERED_H

#include "ast.h"

/* list: names of workflows of the main file, with commas between them; "-" among them: all that have a doc comment. */
void offered_take(Module *main, const char *list);

#endif
