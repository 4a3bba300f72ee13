/* bare_loop.h: a loop of a command that runs no program: it has a log that keeps nothing, and does what performers do
 * on their own. */
#ifndef CLI_MAKE_BARE_LOOP_H
#define CLI_MAKE_BARE_LOOP_H

#include "tfy.h"

/* error_text as in tfy_open. Returns 0 or a negative code. */
int tfy__bare_open(TfyLoop **loop, char *error_text);
/* One turn; or a wait, at most for so long, if there was nothing to do. False: the loop cannot go on. */
bool tfy__bare_turn(TfyLoop *loop, int most_ms);

#endif
