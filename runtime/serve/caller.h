/* caller.h: finds out who asks, in the thread of HTTP.
 *
 *   - The server's own Unix socket: the kernel says who; its owner and root may do everything.
 *   - A certificate: its name; the roles are those of the token of that name.
 *   - A proxy of ours: the header that it sets.
 *   - Authorization: Bearer TOKEN.
 *   - The cookie of a session. A browser sends it by itself, so a change also needs the header Tfy-Request, which no page of
 *     somebody else's can send.
 */
#ifndef SERVE_CALLER_H
#define SERVE_CALLER_H

#include "serve/serve.h"
#include "serve/tls.h"

/* Where a request came from. */
typedef struct TfyCame {
    const TfyListen *listen; /* NULL: the server's own Unix socket */
    const TfyTls *tls;       /* NULL: without */
    int fd;
    const struct sockaddr *from; /* NULL: a Unix socket */
} TfyCame;

/* Fills in request->caller. False: the problem says why nobody is believed. Who names nobody at all is nobody, and passes. */
bool tfy__caller_find(TfyRequest *request, const TfyRequestHead *asked, const TfyCame *came);

/* The name of the cookie, "tfy_session_1f0c2a9b" (of this database; cookies do not know ports). */
void tfy__cookie_name(const TfyServer *server, bool tls, char name[48]);

#endif
