/* ask.h: questions to people while a program runs.
 *
 * With a terminal they are asked there, one after the other, and the loop goes on meanwhile: standard input is
 * watched like any descriptor. Without one, the command that answers is printed. Either way the answer may also come
 * through the live-owner socket. */
#ifndef CLI_PROGRAM_ASK_H
#define CLI_PROGRAM_ASK_H

#include "core/loop.h"

typedef struct TfyAsker TfyAsker;

/* Starts telling questions of this loop. terminal: ask on it. command: what people type to reach the run ("tfy").
 * NULL: no memory. */
TfyAsker *tfy__ask_start(TfyLoop *loop, bool terminal, const char *command);
/* How many questions were told by printing the command that answers them. */
uint32_t tfy__ask_told(const TfyAsker *asker);
bool tfy__ask_open(const TfyAsker *asker); /* a prompt stands on the terminal's last line; asker may be NULL */
void tfy__ask_stop(TfyAsker *asker);       /* before the loop is closed; NULL is fine */

#endif
