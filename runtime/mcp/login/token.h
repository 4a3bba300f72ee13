/* token.h: what the token endpoint of an issuer answers (RFC 6749, 5.1). */
#ifndef MCP_LOGIN_TOKEN_H
#define MCP_LOGIN_TOKEN_H

#include <jansson.h>

#include "tfy.h"

#define TFY_TOKEN_MOST 16384 /* bytes of one token */

/* Puts an answer into a server's entry (logins.h): "access", "refresh" and "scope" where they are given, and "expires",
 * from now_s on. scope: what was asked for, which holds if the answer does not say; NULL: what is there stays. False:
 * the answer cannot be used, and why (TFY_ERROR_TEXT bytes) says so; the entry is as before. */
bool tfy__token_take(json_t *entry, const json_t *answer, const char *scope, int64_t now_s, char *why);

#endif
