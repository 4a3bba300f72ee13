/* challenge.h: what a server says in WWW-Authenticate when it wants a login (RFC 9110, RFC 6750, RFC 9728).
 *
 *   Bearer scope="read write", resource_metadata="https://hub.example/.well-known/…", error="invalid_token"
 *
 * The header may name several schemes; only what belongs to the first Bearer counts. A value that is too long, or has
 * characters that it cannot have, is left out as if it had not been said. */
#ifndef MCP_LOGIN_CHALLENGE_H
#define MCP_LOGIN_CHALLENGE_H

#include <stdbool.h>

#define TFY_ADDRESS_MOST 2048 /* bytes of an address that a server names, with a NUL */
#define TFY_SCOPE_MOST   1024 /* bytes of a scope, with a NUL */

typedef struct TfyChallenge {
    bool bearer;                     /* it asks for a token */
    char metadata[TFY_ADDRESS_MOST]; /* where the server says who lets people in; "": it does not say */
    char scope[TFY_SCOPE_MOST];      /* names with a space between them; "": it does not say */
    char error[64];                  /* "invalid_token", "insufficient_scope", …; "": none */
} TfyChallenge;

/* text: one header, or several with commas between them; NULL: there is none. */
void tfy__challenge_read(const char *text, TfyChallenge *challenge);

/* Whether a text is a scope: names of visible characters without quotes and backslashes, and spaces. */
bool tfy__is_scope(const char *text);

/* Appends the names of `more` that are not in `scope` yet. False: there is no room for one. */
bool tfy__scope_add(char scope[TFY_SCOPE_MOST], const char *more);

/* The names of `wanted` that `had` lacks. */
void tfy__scope_lacks(const char *had, const char *wanted, char out[TFY_SCOPE_MOST]);

#endif
