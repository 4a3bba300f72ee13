/* ask.h: questions to people while a program runs.
 *
 * On a terminal the process asks there, one question after the other, and the loop keeps running: standard input is
 * watched like any descriptor. Without a terminal it prints the command that answers. In both cases the answer may
 * also come through the live-owner socket. */
#ifndef CLI_PROGRAM_ASK_H
#define CLI_PROGRAM_ASK_H

#include "base/buffer.h"
#include "core/loop.h"

/* Adds a question, or its details. One that is too long for anybody to read is cut in the middle, with its length,
 * unless `details`. */
void tfy__ask_text(TfyBuffer *out, const char *text, bool details);

typedef struct TfyAsker TfyAsker;

/* Starts reporting the questions of this loop. terminal: ask on it. details: show long
 * arguments of a call whole. command: what people type to reach the run
 * ("tfy"). Returns NULL when memory runs out. */
TfyAsker *tfy__ask_start(TfyLoop *loop, bool terminal, bool details, const char *command);
/* Returns how many questions were reported by printing the command that answers them. */
uint32_t tfy__ask_told(const TfyAsker *asker);
/* true if a prompt is on the terminal's last line; asker may be NULL */
bool tfy__ask_open(const TfyAsker *asker);
void tfy__ask_stop(TfyAsker *asker); /* call it before closing the loop; asker may be NULL */

#endif
