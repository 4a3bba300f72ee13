/* record_json.h: a record as answers and events have it:
 *
 *   {"lsn":58,"ts":"…","run":"01a2…","task":"1.2","program":"shop","workflow":"order","type":"ToolResult","step":2,
 *    "point":"order/tool/price/1","file"?:"lib.tfy","line":10,"payload":{…}}
 *
 * A payload of more than 16 KiB is left out of lists: {…,"cut":true,"href":"/v1/records/58"}. */
#ifndef SERVE_RECORD_JSON_H
#define SERVE_RECORD_JSON_H

#include "cli/look/db.h"
#include "wal/rows/record.h"

enum { TFY_RECORD_CUT = 16 << 10 }; /* bytes of a payload in a list */

/* What the record itself does not say. A member that is NULL is null. */
typedef struct TfyRecordOf {
    const char *run, *task, *program, *workflow;
    const TfySourceMap *map; /* of its points; NULL: unknown */
} TfyRecordOf;

/* Appends it. whole: the payload is never cut. */
void tfy__record_json(const TfyLogRecord *record, const TfyRecordOf *of, bool whole, TfyBuffer *out);

#endif
