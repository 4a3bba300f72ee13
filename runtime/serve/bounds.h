/* bounds.h: how many connections there may be, and how long a client may take.
 *
 *   - 2,048 at once; for one more, the one that has been idle longest is dropped.
 *   - 64 from one address that is not this machine.
 *   - 30 seconds for a request to arrive whole, however slowly its bytes come.
 *   - 10 failures to name oneself a minute from one address; then it is not heard for the rest of the minute.
 *
 * A thread looks once a second. It ends connections by shutting their sockets down, which the library then notices. */
#ifndef SERVE_BOUNDS_H
#define SERVE_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { TFY_CONNECTIONS_MOST = 2048 };

typedef struct TfyBounds TfyBounds;

/* tick: called once a second in the thread. NULL: no memory. */
TfyBounds *tfy__bounds_open(void (*tick)(void *arg), void *arg);
void tfy__bounds_close(TfyBounds *bounds);

/* One connection. NULL: it is refused, or memory ran out. */
typedef struct TfyLine TfyLine;
bool tfy__bounds_let_in(TfyBounds *bounds, const struct sockaddr *from); /* before it is accepted */
TfyLine *tfy__line_open(TfyBounds *bounds, int fd, const struct sockaddr *from);
void tfy__line_close(TfyLine *line);
/* Its request is whole, or was answered: who has to act now is the server (busy), or the client. */
void tfy__line_busy(TfyLine *line, bool busy);

/* Whether an address has failed too often; and that it has failed again. "" is never refused. */
bool tfy__bounds_refused(TfyBounds *bounds, const char *address);
void tfy__bounds_failed(TfyBounds *bounds, const char *address);

#endif
