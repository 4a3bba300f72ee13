/* followers.h: the followers of the configuration, each a process of tfy-publish: started with the server, again after a fault,
 * and ended with it. What a follower has done is in its cursor's file, so nothing here is kept.
 *
 * A thread of its own starts them and looks after them. It is the parent that they end with (PR_SET_PDEATHSIG), so it stays as
 * long as the server does. */
#ifndef SERVE_FOLLOWERS_H
#define SERVE_FOLLOWERS_H

#include "serve/serve.h"

struct TfyFollowers *tfy__followers_open(TfyServer *server, char *error);
void tfy__followers_quit(struct TfyFollowers *followers); /* ends them, and waits for that */
void tfy__followers_close(struct TfyFollowers *followers);

/* Appends tfy_follower_lag_records. head: the newest durable record. */
void tfy__followers_figures(struct TfyFollowers *followers, int64_t head, TfyBuffer *out);

void tfy__serve_followers(TfyRequest *request); /* GET /v1/followers */

#endif
