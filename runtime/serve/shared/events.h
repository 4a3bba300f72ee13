/* events.h: streams of events over a shared database (events.c). */
#ifndef SERVE_SHARED_EVENTS_H
#define SERVE_SHARED_EVENTS_H

#include <sys/types.h>

#include "serve/serve.h"

void tfy__shared_events(TfyRequest *request); /* GET /v1/events */

struct TfySharedEvents *tfy__shared_events_open(TfyServer *server, char *error);
void tfy__shared_events_quit(struct TfySharedEvents *events); /* all streams are told that this is the end */
void tfy__shared_events_close(struct TfySharedEvents *events);
struct TfySharedEvents *tfy__shared_events_of(const TfyServer *server);

/* As tfy__stream_take and tfy__stream_free (stream.h). */
ssize_t tfy__follow_take(TfyRequest *request, char *bytes, size_t most);
void tfy__follow_free(struct TfyFollow *follow);

#endif
