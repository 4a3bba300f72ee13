/* listen.h: the sockets on which the server listens. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "serve/config.h"

enum { TFY_ADDRESS_SIZE = 64 }; /* that of TfyListen.actual */

/* Takes the sockets that whoever started the process handed over ($LISTEN_FDS, as systemd does), and the variables out of the
 * environment. A restart that keeps them refuses no connection: those that come meanwhile wait in them. */
void tfy__listen_take(void);
bool tfy__listen_handed(void); /* there were some */
/* Whether each was asked for by one of the two below; otherwise error says which was not. */
bool tfy__listen_all_asked(char *error);

/* A socket that was handed over for that place, or one of our own. Both return a descriptor, or -1 with error (TFY_ERROR_TEXT bytes). */
int tfy__listen_unix(const char *path, int mode, char *error);
/* actual: "127.0.0.1:8433", with the port that the system chose for 0. */
int tfy__listen_tcp(const char *address, char actual[TFY_ADDRESS_SIZE], char *error);

/* "<db>-live/http", in the owner's directory, which nobody else may enter. Its path may be longer than that of a socket. */
int tfy__listen_live(const char *db, char *error);
void tfy__listen_live_end(const char *db);

#endif
