/* sent.h: reports what happened to an earlier signal with the same id. A sender that lost its answer sends again,
 * even after the run has ended, and must get a report about its first signal, not about the second. */
#ifndef CLI_PROGRAM_SENT_H
#define CLI_PROGRAM_SENT_H

#include "tfy.h"
#include "wal/history/history.h"

/* Returns false if no signal with this id arrived. text: "sent before; step 2 of task 1.3 took it". */
bool tfy__sent_before(const TfyHistory *history, const char *id, char text[TFY_ERROR_TEXT]);

#endif
