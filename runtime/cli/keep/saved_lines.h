/* saved_lines.h: rows of saved tables as lines of JSON, so that an import restores them exactly.
 *
 *   {"table":"orders","columns":[["id","TEXT"],["total","REAL"]]}      starts a table
 *   {"task":"1.2","step":3,"row":["o1",2.5]}                           one of its rows
 *
 * A cell is null, a number (with a point or an exponent if SQLite holds it as REAL), a string, or a value that JSON
 * cannot express: {"blob": hex}, {"text": hex} where it is not UTF-8, {"real": "inf"} and {"real": "-inf"}. */
#ifndef CLI_KEEP_SAVED_LINES_H
#define CLI_KEEP_SAVED_LINES_H

#include "base/buffer.h"
#include "wal/log/saved.h"

void tfy__saved_lines_write(TfyBuffer *out, const TfySavedRows *saved);

/* *line: the last line that was read. On TFY_E_DATA this line is malformed. */
int tfy__saved_lines_read(const char *text, size_t len, TfySavedRows **saved, int64_t *line);

#endif
