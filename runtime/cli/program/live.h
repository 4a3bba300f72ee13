/* live.h: while a run is going on, the last line of the terminal says what it waits for, for how long, and how far it
 * says to be. The line disappears before other text is printed, and at the end.
 *
 * It exists only if standard error is a terminal that obeys codes. It costs a look at the tasks a few times in a
 * second, and no task waits for it. */
#ifndef CLI_PROGRAM_LIVE_H
#define CLI_PROGRAM_LIVE_H

#include "core/loop.h"

typedef struct TfyLiveLine TfyLiveLine;

/* command: what people type to reach the run ("tfy"). Returns NULL if there is no such terminal. */
TfyLiveLine *tfy__live_start(TfyLoop *loop, const char *command);
void tfy__live_stop(TfyLiveLine *live); /* call it before closing the loop; NULL is allowed */

#endif
