/* fetch.h: one exchange of a login with an address: a document that is read, or a form or JSON that is sent. Its maker
 * drives libcurl: a command waits for it, a program has its loop do it.
 *
 * Redirects are not followed, since what is sent holds keys; an answer has at most TFY_FETCH_MOST bytes. */
#ifndef MCP_LOGIN_FETCH_H
#define MCP_LOGIN_FETCH_H

#include <curl/curl.h>
#include <jansson.h>

#include "base/buffer.h"
#include "tfy.h"

#define TFY_FETCH_MOST ((size_t)256 << 10)
#define TFY_FETCH_S    30L /* until an answer must be there */

/* A zeroed struct is an exchange that sends nothing. */
typedef struct TfyFetch {
    const char *type; /* of what is sent; NULL: nothing is, and the answer is asked for */
    TfyBuffer body;   /* what is sent */
    struct curl_slist *headers;
    TfyBuffer answer;
    bool too_big;
} TfyFetch;

#define TFY_FETCH_FORM "application/x-www-form-urlencoded"
#define TFY_FETCH_JSON "application/json"

/* Adds a value to a form. */
void tfy__fetch_add(TfyFetch *fetch, const char *name, const char *value);
/* Shows a client at an endpoint, as its entry in the file of logins says (logins.h). False: no memory. */
bool tfy__fetch_show(TfyFetch *fetch, const json_t *client);

/* Sets up a handle without options. The fetch stays until the transfer has ended. False: no memory. */
bool tfy__fetch_set(TfyFetch *fetch, CURL *easy, const char *url);
/* Why the answer cannot be used, in TFY_ERROR_TEXT bytes, a sentence without its subject: the transfer failed, or its
 * status is not 2xx; an error of OAuth is quoted. "": it can. Returns the status, or 0. */
long tfy__fetch_ended(const TfyFetch *fetch, CURL *easy, CURLcode result, char *why);
/* Whether the answer is this error of OAuth. */
bool tfy__fetch_is_error(const TfyFetch *fetch, const char *error);
/* The answer, an object; NULL: it is none. Owned. */
json_t *tfy__fetch_json(const TfyFetch *fetch);
void tfy__fetch_free(TfyFetch *fetch); /* wipes what was sent and answered; the struct is zeroed */

#endif
