/* http_client.h: HTTP on the loop's thread, without blocking it: shared by models and the effect http.
 *
 * libcurl implements the protocol; the loop's poller and timers drive its multi interface. A sender takes an easy
 * handle, sets up the request with curl_easy_setopt, and starts a transfer of it; the transfer finishes with
 * exactly one call. */
#ifndef EFFECTS_HTTP_CLIENT_H
#define EFFECTS_HTTP_CLIENT_H

#include <curl/curl.h>

#include "core/effect.h"

typedef struct TfyHttp TfyHttp; /* one per performer and loop */

/* One request under way. The sender owns it. */
typedef struct TfyTransfer {
    CURL *easy;    /* CURLOPT_PRIVATE is reserved for the client */
    TfyHttp *http; /* that it was started with last; NULL: none yet */
    bool active;   /* curl works on it */
    int no_room;   /* the error of a socket that was refused for lack of room; 0: none */
    /* Called on the loop's thread, never inside tfy__http_start; may start the transfer again. */
    void (*ended)(void *arg, CURLcode result);
    void *arg;
} TfyTransfer;

TfyHttp *tfy__http_new(TfyLoop *loop); /* NULL: no memory */
void tfy__http_free(TfyHttp *http);    /* no transfer may be active; NULL is allowed */

/* An easy handle without any options; NULL: no memory. It is given back before the client is freed; NULL is allowed. */
CURL *tfy__http_easy(TfyHttp *http);
void tfy__http_easy_free(TfyHttp *http, CURL *easy);

bool tfy__http_start(TfyHttp *http, TfyTransfer *transfer); /* false: no memory */
/* In `ended`, after a failure: 0, or the error of a lack of room that occurred before anything was sent. */
int tfy__http_no_room(const TfyTransfer *transfer);
/* `ended` is not called any more; an inactive transfer is allowed */
void tfy__http_stop(TfyHttp *http, TfyTransfer *transfer);

/* Wipes headers, which may hold keys, and frees them; NULL is allowed. */
void tfy__http_headers_free(struct curl_slist *headers);

/* The parts of an http or https address, to be freed with curl_url_cleanup; NULL if the text is not one. */
CURLU *tfy__http_parse_url(const char *url);
char *tfy__http_take_url(CURLU *parts); /* malloc'ed, or NULL */
/* The part of an address that messages may show: no user, password or query. malloc'ed, or NULL if it is not an
 * http address. */
char *tfy__http_public_url(const char *url);

#endif
