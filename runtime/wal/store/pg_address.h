/* pg_address.h: where a database of PostgreSQL is, and how it is connected to.
 *
 *   postgresql://USER@HOST:PORT/NAME?sslmode=verify-full&tfy_prepare=0
 *
 * The address is libpq's, with two settings of our own, which libpq does not get to see:
 *   tfy_plain=1    no TLS, or one that does not prove who answers; elsewhere the server's certificate is checked
 *   tfy_prepare=0  nothing is kept in a connection: for poolers that give each transaction another one
 *
 * A password does not belong in an address, which is on command lines, in logs and messages: such an address is refused, and
 * no message repeats it. libpq finds passwords in the file that PGPASSFILE names, or in ~/.pgpass. */
#ifndef WAL_STORE_PG_ADDRESS_H
#define WAL_STORE_PG_ADDRESS_H

#include <stdbool.h>

#include "wal/store/pg_api.h"

enum { TFY_PG_SETTINGS = 80 };

typedef struct TfyPgAddress {
    char *text; /* without our own settings */
    /* What libpq is given: the words of the address and ours, up to a NULL. Owned. */
    char *keywords[TFY_PG_SETTINGS], *values[TFY_PG_SETTINGS];
    int count;
    bool plain, unprepared;
} TfyPgAddress;

/* Whether a text is meant to be such an address, and no name of a file. */
bool tfy__pg_is_address(const char *text);

/* Reads an address, for a connection that says who it is ("tfy", or "tfy/7" for a session). 0; TFY_E_INVALID with a message,
 * TFY_E_NOMEM. The caller frees it, also after a failure. */
int tfy__pg_address_read(TfyPgAddress *address, const TfyPgApi *api, const char *text, const char *name,
                         char *error_text);
/* Changes who it says it is, from the next connection on. 0 or TFY_E_NOMEM, and nothing is changed. */
int tfy__pg_address_name(TfyPgAddress *address, const char *name);
void tfy__pg_address_free(TfyPgAddress *address);

#endif
