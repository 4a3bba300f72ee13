/* http_client.h: HTTP on the loop's thread, without ever blocking it: what asking a model and the effect http share.
 *
 * libcurl does the protocol; the loop's poller and timers drive its multi interface. Who sends something makes an
 * easy handle, says all about the request with curl_easy_setopt, and starts a transfer of it; the transfer ends in
 * exactly one call. */
#ifndef EFFECTS_HTTP_CLIENT_H
#define EFFECTS_HTTP_CLIENT_H

#include <curl/curl.h>

#include "core/effect.h"

typedef struct TfyHttp TfyHttp; /* one per performer and loop */

/* One request under way. Owned by who sends it. */
typedef struct TfyTransfer {
    CURL *easy;  /* CURLOPT_PRIVATE is the client's */
    bool active; /* curl works on it */
    int no_room; /* the error with which a socket was refused for want of room; 0: none was */
    void (*ended)(void *arg,
                  CURLcode result); /* on the loop's thread, never inside tfy__http_start; may start it again */
    void *arg;
} TfyTransfer;

TfyHttp *tfy__http_new(TfyLoop *loop); /* NULL: no memory */
void tfy__http_free(TfyHttp *http);    /* no transfer is active; NULL is fine */

bool tfy__http_start(TfyHttp *http, TfyTransfer *transfer); /* false: no memory */
/* In `ended`, after a failure: 0, or the error for which there was no room while nothing had been sent yet. */
int tfy__http_no_room(const TfyTransfer *transfer);
void tfy__http_stop(TfyHttp *http,
                    TfyTransfer *transfer); /* `ended` is not called any more; one that is not active is fine */

/* The parts of an http or https address, to be given to curl_url_cleanup; NULL when it is none. */
CURLU *tfy__http_parse_url(const char *url);
char *tfy__http_take_url(CURLU *parts); /* malloc'ed, or NULL */
/* What of an address may stand in messages: no user, password or query. malloc'ed, or NULL when it is no http
 * address. */
char *tfy__http_public_url(const char *url);

#endif
