/* mcp_redirect.h: where the browser brings the answer of an issuer: a port of 127.0.0.1 that waits for one request.
 *
 *   GET /callback?code=…&state=… HTTP/1.1   is the answer, whatever it says; the browser is shown a fixed page
 *   anything else                           is refused, and does not count
 *
 * Browsers open connections in advance and ask for icons, so several connections are read at once, each for a few
 * seconds. Nothing that comes in is shown or repeated. */
#ifndef CLI_MAKE_MCP_REDIRECT_H
#define CLI_MAKE_MCP_REDIRECT_H

#include "mcp/login/answer.h"

#define TFY_REDIRECT_PATH "/callback"

typedef struct TfyRedirect {
    int listener;     /* -1: closed */
    char address[64]; /* "http://127.0.0.1:40321/callback" */
} TfyRedirect;

/* Opens the port of an address that was registered earlier; or any port, if that is taken or address is NULL. False: errno
 * says why not. */
bool tfy__redirect_open(TfyRedirect *redirect, const char *address);
/* Waits at most so long. 1: there is an answer; 0: the time is over; -1: there was one that cannot be read. */
int tfy__redirect_wait(TfyRedirect *redirect, int64_t most_ms, TfyLoginAnswer *answer);
void tfy__redirect_close(TfyRedirect *redirect);

#endif
