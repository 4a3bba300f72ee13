/* server.h: tfy serve over a shared database (wal/store/pg.h): it owns no run, and executes none. It sends and reads, as commands
 * do, and workers execute.
 *
 *   readers (reader.c)     four threads, each with connections of its own; they answer all but what is in memory
 *   senders                the same, for what changes something: it waits a moment for a worker to take it
 *   programs (programs.c)  a thread that looks every second which programs are deployed
 *
 * There is no loop, tail, hub or queue: what is committed is in the tables, and each list reads them. Everything that a request may
 * wait for has a bound of some seconds, behind which the answer is 503: the thread of HTTP waits for none of it.
 *
 * Its own files are beside ".tfy/serve-XXXXXXXX" in its working directory, named by the database's id. A lock there keeps a
 * second server of the same database out of that directory; in others there may be as many as are wanted. */
#ifndef SERVE_SHARED_SERVER_H
#define SERVE_SHARED_SERVER_H

#include "serve/serve.h"

/* Serves until a signal ends it. Returns the exit status, after a message. */
int tfy__shared_serve(TfyServer *server, bool opens);

void tfy__shared_health(TfyRequest *request);
void tfy__shared_ready(TfyRequest *request);
void tfy__shared_metrics(TfyRequest *request);
void tfy__shared_overview(TfyRequest *request); /* GET /v1/cluster */

/* ---- send.c, start.c: by senders, which wait for workers as readers do for nothing ---- */

void tfy__shared_signal(TfyRequest *request);
void tfy__shared_cancel(TfyRequest *request);
void tfy__shared_resolve(TfyRequest *request);
void tfy__shared_answer(TfyRequest *request);
void tfy__shared_start(TfyRequest *request);
void tfy__shared_again(TfyRequest *request);

/* ---- programs.c ---- */

/* Starts the thread, which has loaded what is deployed when this returns. False: error says why. */
struct TfySharedPrograms *tfy__shared_programs_open(TfyServer *server, char *error);
/* Looks now, and loads what is new; it may take as long as a compiler does. */
void tfy__shared_programs_look(struct TfySharedPrograms *programs);
/* Whether the database has answered within this time. */
bool tfy__shared_programs_heard(const struct TfySharedPrograms *programs, int64_t within_ms);
void tfy__shared_programs_close(struct TfySharedPrograms *programs);

/* ---- wait.c ---- */

struct TfySharedWaits *tfy__shared_waits_open(TfyServer *server, char *error);
/* The request waits for the end of the run that it started; then a reader has it (tfy__serve_waited). */
void tfy__shared_waits_hold(struct TfySharedWaits *waits, TfyRequest *request);
void tfy__shared_waits_quit(struct TfySharedWaits *waits); /* nothing waits any longer */
void tfy__shared_waits_close(struct TfySharedWaits *waits);

/* ---- server.c ---- */

/* The server's own of these two. */
void tfy__shared_look(TfyServer *server);
void tfy__shared_hold(TfyRequest *request);

#endif
