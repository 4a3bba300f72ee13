/* saved_lines.h: rows of saved tables as lines of JSON, so that they come back as they were.
 *
 *   {"table":"orders","columns":[["id","TEXT"],["total","REAL"]]}      begins a table
 *   {"task":"1.2","step":3,"row":["o1",2.5]}                           a row of it
 *
 * A cell is null, a number (with a point or an exponent if SQLite holds it as REAL), a string, or what JSON has no
 * notation for: {"blob": hex}, {"text": hex} where it is no UTF-8, {"real": "inf"} and {"real": "-inf"}. */
#ifndef CLI_KEEP_SAVED_LINES_H
#define CLI_KEEP_SAVED_LINES_H

#include "base/buffer.h"
#include "wal/log/saved.h"

void tfy__saved_lines_write(TfyBuffer *out, const TfySavedRows *saved);

/* *line: the last one that was read. TFY_E_DATA: that one is not as it is written. */
int tfy__saved_lines_read(const char *text, size_t len, TfySavedRows **saved, int64_t *line);

#endif
