/* sent.h: what became of a signal that was sent before under the same id. A sender that lost its answer sends again,
 * also when the run has ended meanwhile, and has to hear of its first signal and not of the second. */
#ifndef CLI_PROGRAM_SENT_H
#define CLI_PROGRAM_SENT_H

#include "tfy.h"
#include "wal/history/history.h"

/* False: no signal with this id came. text: "sent before; step 2 of task 1.3 took it". */
bool tfy__sent_before(const TfyHistory *history, const char *id, char text[TFY_ERROR_TEXT]);

#endif
