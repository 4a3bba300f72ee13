/* post.c: what other threads ask of a loop. Nobody but the loop's own thread may touch it, so they leave functions
 * behind, and the loop calls them in their order at the start of a turn, a limited number in each: a flood of requests
 * delays the tasks, but does not stop them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/loop/state.h"

#define POSTS_PER_TURN 256

struct Post {
    struct Post *next;
    TfyPosted call;
    void *arg;
    TfyTicket ticket; /* that must be durable before */
};

int tfy__post(TfyLoop *loop, TfyPosted call, void *arg)
{
    Post *post = malloc(sizeof *post);
    if (!post) return TFY_E_NOMEM;
    *post = (Post){.call = call, .arg = arg};
    pthread_mutex_lock(&loop->posts.mutex);
    const bool first = !loop->posts.waiting.first;
    LIST_APPEND(&loop->posts.waiting, post, next);
    /* Read behind the list was changed: a loop that opens it meanwhile looks at the list before it sleeps. */
    if (first && loop->wake_fd >= 0) (void)!write(loop->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    pthread_mutex_unlock(&loop->posts.mutex);
    return TFY_OK;
}

bool tfy__posts_wait(TfyLoop *loop)
{
    pthread_mutex_lock(&loop->posts.mutex);
    const bool some = loop->posts.waiting.first;
    pthread_mutex_unlock(&loop->posts.mutex);
    return some;
}

static Post *take(TfyLoop *loop)
{
    pthread_mutex_lock(&loop->posts.mutex);
    Post *post = LIST_TAKE(&loop->posts.waiting, next);
    pthread_mutex_unlock(&loop->posts.mutex);
    return post;
}

int tfy__posts_run(TfyLoop *loop)
{
    int count = 0;
    for (Post *post; count < POSTS_PER_TURN && !loop->failure && (post = take(loop)); count++) {
        post->call(loop, post->arg);
        free(post);
    }
    return count;
}

/* ---- what waits for the disk ---- */

int tfy__when_durable(TfyLoop *loop, TfyPosted call, void *arg)
{
    Post *post = malloc(sizeof *post);
    if (!post) return TFY_E_NOMEM;
    *post = (Post){.call = call, .arg = arg, .ticket = tfy__out_ticket(loop)};
    LIST_APPEND(&loop->posts.undurable, post, next);
    return TFY_OK;
}

void tfy__on_durable(TfyLoop *loop, TfyPosted call, void *arg)
{
    int at = 0;
    while (at < TFY_ON_DURABLE_MOST && loop->posts.moved[at].call) at++;
    CHECK(at < TFY_ON_DURABLE_MOST);
    loop->posts.moved[at].call = call;
    loop->posts.moved[at].arg = arg;
}

void tfy__off_durable(TfyLoop *loop, const void *arg)
{
    for (int at = 0; at < TFY_ON_DURABLE_MOST; at++)
        if (loop->posts.moved[at].arg == arg) loop->posts.moved[at].call = NULL;
}

void tfy__posts_durable(TfyLoop *loop)
{
    const TfyTicket durable = loop->log ? tfy__log_durable(loop->log) : INT64_MAX;
    for (int at = 0; durable != loop->posts.seen && at < TFY_ON_DURABLE_MOST; at++)
        if (loop->posts.moved[at].call) loop->posts.moved[at].call(loop, loop->posts.moved[at].arg);
    loop->posts.seen = durable;
    while (loop->posts.undurable.first && loop->posts.undurable.first->ticket <= durable) {
        Post *post = LIST_TAKE(&loop->posts.undurable, next);
        post->call(loop, post->arg);
        free(post);
    }
}

void tfy__posts_end(TfyLoop *loop)
{
    memset(loop->posts.moved, 0, sizeof loop->posts.moved);
    for (Post *post; (post = LIST_TAKE(&loop->posts.undurable, next));) {
        post->call(NULL, post->arg);
        free(post);
    }
    for (Post *post; (post = take(loop));) {
        post->call(NULL, post->arg);
        free(post);
    }
}

void tfy__posts_close(TfyLoop *loop)
{
    pthread_mutex_destroy(&loop->posts.mutex);
}
