/* waker.h: how a follower learns that more is durable: from the process that owns the database, if there is one; else it
 * looks every 200 ms. Nobody waits for it: an owner whose follower does not read leaves words out. */
#ifndef PUBLISH_WAKER_H
#define PUBLISH_WAKER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct TfyWaker {
    const char *db;
    int fd; /* to the owner; below 0: there is none */
} TfyWaker;

/* Waits until there may be more, or a signal has come. True: meanwhile the descriptor became readable; below 0: none. */
bool tfy__waker_wait(TfyWaker *waker, int idle_fd);
int64_t tfy__publish_ms(void); /* monotonic */
/* Waits so long, or until a person wants the process to end. */
void tfy__publish_pause(int64_t ms);
void tfy__waker_close(TfyWaker *waker);

#endif
