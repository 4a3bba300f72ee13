/* login.h: the login at an MCP server over HTTP, as its client uses it: a token goes with each request, is renewed when
 * it has expired or is refused, and where that does not help, a sentence says what a person types.
 *
 *   READY ──expired, or HTTP 401──▶ LOCKING the file of logins
 *   LOCKING ──another process has renewed it, or there is nothing to renew──▶ READY
 *   LOCKING ──locked──▶ ASKING the issuer
 *   ASKING ──answered──▶ READY; if the issuer refuses, there is no login any more
 *
 * Requests wait while it is not READY. A login is made by `tfy mcp login` alone (cli/make/mcp_login.c); this only uses
 * and renews what the file holds (logins.h), which is read when the server is opened, and again when a token is
 * refused: so a person may log in while a program runs. A server gets the token that its own address was given.
 *
 * The token is known (effects/known.h), so it is masked in whatever comes back.
 *
 * A client reaches all of this through TfyMcpSpec.logins, so that one whose servers need none does not carry it. */
#ifndef MCP_LOGIN_LOGIN_H
#define MCP_LOGIN_LOGIN_H

#include "mcp/client.h"
#include "tfy_program.h" /* tfy__mcp_logins, which programs with such servers name */

typedef struct TfyMcpLogin TfyMcpLogin; /* the login at one server */

typedef enum TfyLoginNow {
    TFY_LOGIN_SEND, /* a request can leave: with the token, if there is one */
    TFY_LOGIN_WAIT, /* it waits until `changed` is called */
    TFY_LOGIN_NONE, /* nothing helps but a person */
} TfyLoginNow;

typedef struct TfyMcpLogins {
    /* changed is called from the loop, never inside these functions. NULL: no memory. */
    TfyMcpLogin *(*open)(TfyLoop *loop, const TfyMcpSpec *spec, void (*changed)(void *arg), void *arg);
    void (*close)(TfyMcpLogin *login); /* NULL is allowed */
    /* SEND or WAIT. *token is borrowed until the next call; NULL: there is none. *number: of that token. */
    TfyLoginNow (*token)(TfyMcpLogin *login, const char **token, uint32_t *number);
    /* The server refuses the token of that number with HTTP 401. */
    TfyLoginNow (*refused)(TfyMcpLogin *login, uint32_t number);
    /* Why a request ended with 401 or 403, in TFY_ERROR_TEXT bytes, which are left alone if there is nothing to say;
     * challenge: its WWW-Authenticate, or NULL. True: what a person types helps, and why is "needs a login: tfy mcp
     * login …". */
    bool (*explain)(const TfyMcpLogin *login, long status, const char *challenge, char *why);
} TfyMcpLogins;

#endif
