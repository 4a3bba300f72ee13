/* json_line.h: the line of a JSON text in which a value of a path stands, for messages: the parser does not keep lines. */
#ifndef SERVE_JSON_LINE_H
#define SERVE_JSON_LINE_H

#include <stddef.h>

/* path: "$.listen[0].address"; a name in it has no '.' or '['. The line, from 1; of the last part of the path that is
 * there. The text is well-formed JSON. */
int tfy__json_line(const char *text, size_t len, const char *path);

#endif
