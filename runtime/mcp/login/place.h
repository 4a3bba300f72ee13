/* place.h: addresses that a login may use. Keys and tokens go there, so they are https; plain http is for a server on
 * this machine alone, and only a server on this machine may send a person or a token to an address on it. */
#ifndef MCP_LOGIN_PLACE_H
#define MCP_LOGIN_PLACE_H

#include <stdbool.h>

/* The address under which the login at a server is kept: scheme and host in small letters, without the usual port, a
 * user or a fragment. Owned; NULL: it is not an http or https address. */
char *tfy__place_canonical(const char *url);

/* Whether the address is on this machine: localhost, 127.0.0.0/8 or ::1. */
bool tfy__place_is_local(const char *url);

/* Why an address cannot be used; NULL: it can. local: so can one on this machine. */
const char *tfy__place_wrong(const char *url, bool local);

/* Whether a resource is the server or what it is part of: of the same origin, with a path above or equal to it. */
bool tfy__place_covers(const char *resource, const char *url);

#endif
