/* watch.c: the descriptors that the loop's poller watches, each with the handler of its events.
 *
 * A handle is a place in the table and the generation of its use: an event that was reported before its watch was
 * removed finds another generation, and reaches nobody. */
#include "core/loop/state.h"

int64_t tfy__watch_add(TfyLoop *loop, int fd, uint32_t events, TfyFdHandler handler, void *arg)
{
    if (loop->watch_free == NO_INDEX) {
        const uint32_t old = loop->watch_cap;
        if (!GROW(loop->watches, loop->watch_cap, old + 1, 16)) return TFY_E_NOMEM;
        for (uint32_t i = old; i < loop->watch_cap; i++)
            loop->watches[i] = (Watch){.fd = -1, .next_free = i + 1 < loop->watch_cap ? i + 1 : NO_INDEX};
        loop->watch_free = old;
    }
    uint32_t index = loop->watch_free;
    CHECK(index < loop->watch_cap && loop->watch_count < loop->watch_cap);
    Watch *watch = &loop->watches[index];
    CHECK(!watch->handler && watch->fd < 0);
    uint32_t generation = (watch->generation + 1) & 0x7fffffff;
    int64_t tag = (int64_t)generation << 32 | index;
    if (loop->world.poller->add(loop->poller, fd, events, (uint64_t)tag) < 0) return TFY_E_IO;
    loop->watch_free = watch->next_free;
    loop->watch_count++;
    *watch = (Watch){.fd = fd, .handler = handler, .arg = arg, .generation = generation};
    return tag;
}

static Watch *watch_of(TfyLoop *loop, int64_t tag)
{
    uint32_t index = (uint32_t)tag;
    if (tag < 0 || index >= loop->watch_cap) return NULL;
    Watch *watch = &loop->watches[index];
    return watch->handler && watch->generation == (uint32_t)(tag >> 32) ? watch : NULL;
}

void tfy__watch_arm(TfyLoop *loop, int64_t handle, uint32_t events)
{
    Watch *watch = watch_of(loop, handle);
    if (watch && loop->world.poller->arm) loop->world.poller->arm(loop->poller, watch->fd, events);
}

void tfy__watch_del(TfyLoop *loop, int64_t handle)
{
    Watch *watch = watch_of(loop, handle);
    if (!watch) return;
    CHECK(watch->fd >= 0);
    loop->world.poller->del(loop->poller, watch->fd);
    CHECK(loop->watch_count > 0);
    loop->watch_count--;
    watch->handler = NULL;
    watch->fd = -1;
    watch->next_free = loop->watch_free;
    loop->watch_free = (uint32_t)handle;
}

void tfy__watch_fire(TfyLoop *loop, const TfyFdEvent *event)
{
    Watch *watch = watch_of(loop, (int64_t)event->tag); /* a handler may have removed a later event's watch */
    if (watch) watch->handler(watch->arg, event->events);
}
