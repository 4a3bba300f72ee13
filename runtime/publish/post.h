/* post.h: one HTTP request after the other over one connection, for targets that are reached so. */
#ifndef PUBLISH_POST_H
#define PUBLISH_POST_H

#include <curl/curl.h>

#include "publish/target.h"

typedef struct TfyPost {
    CURL *easy;
    long status;               /* of the newest answer */
    int64_t after_ms;          /* … what it says of Retry-After; 0: nothing */
    TfyBuffer answer;          /* … its body, as far as it is kept */
    char why[CURL_ERROR_SIZE]; /* why there is none */
} TfyPost;

/* False: no memory. plain: http and not https. */
bool tfy__post_open(TfyPost *post, bool plain);
void tfy__post_close(TfyPost *post);

/* False: there is no answer, and `why` says why not. */
bool tfy__post_send(TfyPost *post, const char *url, struct curl_slist *headers, const char *body, size_t len);

#endif
