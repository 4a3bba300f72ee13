/* asked.h: what a model was sent at an LLMPlan, put together from the Texts that it and the askings before it name
 * (rows/record.h), and which records its answer caused. */
#ifndef WAL_HISTORY_ASKED_H
#define WAL_HISTORY_ASKED_H

#include "wal/history/history.h"

/* The messages in their order: [{"role", "digest", "text"}, …]. A message without `text` has none in the log. *whole:
 * false: there were others before them, whose LLMPlan is gone. The caller owns the list; NULL: the record does not
 * name what was sent, or no memory. */
struct json_t *tfy__asked_messages(const TfyHistory *history, uint32_t record, bool *whole);

/* The LLMPlan whose answer held the call that the record's step carries out, as an index; UINT32_MAX: it carries out none,
 * or that record is gone. Of calls side by side it is in the parent of their tasks. */
uint32_t tfy__asked_by(const TfyHistory *history, uint32_t record);

#endif
