/* post.c: see post.h. */
#include "publish/post.h"

#include <stdio.h>

enum { ANSWER_MOST = 64 << 10, AFTER_MOST_S = 3600 };

static size_t take(char *bytes, size_t size, size_t count, void *arg)
{
    TfyPost *post = arg;
    if (post->answer.len + size * count <= ANSWER_MOST) tfy__buffer_add(&post->answer, bytes, size * count);
    return size * count;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    return tfy__publish_ends();
}

bool tfy__post_open(TfyPost *post, bool plain)
{
    CURL *easy = post->easy = curl_easy_init();
    if (!easy) return false;
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)TFY_TARGET_WAIT_MS);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "tfy/" TFY_VERSION);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, post->why);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, post);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    return true;
}

void tfy__post_close(TfyPost *post)
{
    if (post->easy) curl_easy_cleanup(post->easy);
    tfy__buffer_free(&post->answer);
}

bool tfy__post_send(TfyPost *post, const char *url, struct curl_slist *headers, const char *body, size_t len)
{
    curl_off_t after_s = 0;
    tfy__buffer_reset(&post->answer);
    *post->why = '\0';
    curl_easy_setopt(post->easy, CURLOPT_URL, url);
    curl_easy_setopt(post->easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(post->easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(post->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    const CURLcode code = curl_easy_perform(post->easy);
    curl_easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &post->status);
    curl_easy_getinfo(post->easy, CURLINFO_RETRY_AFTER, &after_s);
    post->after_ms = after_s > 0 && after_s <= AFTER_MOST_S ? after_s * 1000 : 0;
    if (code != CURLE_OK && !*post->why) snprintf(post->why, sizeof post->why, "%s", curl_easy_strerror(code));
    return code == CURLE_OK;
}
