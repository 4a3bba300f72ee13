/* entrance.h: the way in: the configuration, the sockets, and whom the server knows, opened together and closed together. */
#ifndef SERVE_ENTRANCE_H
#define SERVE_ENTRANCE_H

#include "serve/serve.h"

/* Reads the configuration. False: error says why. */
bool tfy__entrance_read(TfyServer *server, const TfyServeFlags *flags, char *error);
/* Opens everything; requests may come from here on. The loop, the readers and the tail are there. */
bool tfy__entrance_open(TfyServer *server, char *error);
/* From a signal handler: the configuration is read again soon. */
void tfy__entrance_again(void);
/* Prints where it is, and on a terminal a line that lets a browser in. opens: a browser is started with it. */
void tfy__entrance_tell(TfyServer *server, bool opens);
void tfy__entrance_quit(TfyServer *server);  /* takes no more requests, and answers those under way */
void tfy__entrance_close(TfyServer *server); /* … and after all that answers them has ended */

/* What the line protocol of the owner asks before it obeys (cli/program/owner.h): whether this user may. */
bool tfy__entrance_guard(void *server, const char *what, const char *run, const char *by, char *error);

#endif
