/* logins.h: the file in which the logins of a person are kept.
 *
 * It is $TFY_LOGINS, else $XDG_CONFIG_HOME/tfy/logins.json, else ~/.config/tfy/logins.json. A login belongs to a person
 * and a machine, and neither to a program nor to a database, which may be copied. The file has mode 0600; one that
 * others can read is refused. A new state replaces it as a whole. A process that changes it holds the lock FILE-lock,
 * and reads it anew behind the lock: so a refresh token is used once, whichever process uses it.
 *
 *   {"issuers": {"https://login.example": {
 *      "client": {"id", "secret"?, "method", "redirect"?, "expires"?},
 *      "servers": {"https://hub.example/mcp": {"resource", "endpoint", "client", "access", "refresh"?, "expires"?,
 *                                              "scope"?}}}}}
 *
 * All that an issuer gave is below its name, so that nothing of it can reach another issuer: what the client is called
 * there, and the tokens for each server, with the endpoint that renews them and the client to which they were given.
 * "method" is how a client shows itself there: none, client_secret_basic or client_secret_post. Times are in seconds
 * since 1970. */
#ifndef MCP_LOGIN_LOGINS_H
#define MCP_LOGIN_LOGINS_H

#include <jansson.h>
#include <stdbool.h>

#include "tfy.h"

/* The file's content; no file: without any issuer. NULL: it cannot be used, and why (TFY_ERROR_TEXT bytes) says so.
 * Owned. */
json_t *tfy__logins_read(char *why);

/* Locks the file against others who change it: a descriptor, to be closed; -1: another process holds the lock, and why
 * is "", or it cannot be locked. */
int tfy__logins_lock(char *why);
/* Replaces the content; under the lock. False: why says what went wrong. */
bool tfy__logins_write(const json_t *logins, char *why);

/* What is stored of an issuer; made if it is not there yet; NULL: no memory. Borrowed. */
json_t *tfy__logins_issuer(json_t *logins, const char *issuer);
/* The login at a server, by its canonical address (place.h), and the name of its issuer. NULL: there is none. Borrowed.
 */
json_t *tfy__logins_find(const json_t *logins, const char *url, const char **issuer);
/* Forgets the login at a server, whoever gave it. */
void tfy__logins_forget(json_t *logins, const char *url);

#endif
