/* notify.h: tells systemd, or whoever started the server as systemd does, how it is: that it serves, that its loop turns, that it
 * ends. $NOTIFY_SOCKET names where to; without it nothing is told. */
#ifndef SERVE_NOTIFY_H
#define SERVE_NOTIFY_H

#include <stdint.h>

/* Takes the variables out of the environment, before there are other threads. */
void tfy__notify_open(void);
/* "READY=1"; from anywhere, a signal handler too. */
void tfy__notify(const char *state);
/* How often somebody wants to hear that the loop turns; 0: nobody does. */
int64_t tfy__notify_every_ms(void);

#endif
