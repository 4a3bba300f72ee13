/* bounds.c: see bounds.h. */
#include "serve/bounds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/table.h"
#include "serve/clock.h"

enum {
    PER_ADDRESS = 64,
    REQUEST_MS = 30000,
    TICK_MS = 1000,
    FAILURES = 10,
    MINUTE_MS = 60000,
    FAILED_MOST = 1024, /* addresses whose failures are remembered, a power of two */
};

struct TfyLine {
    struct TfyLine *next, *prev;
    TfyBounds *bounds;
    int fd;
    bool busy;
    int64_t since_ms; /* when it was its turn */
    uint8_t from[16]; /* the address; all zero: this machine */
};

typedef struct Failed {
    uint64_t address; /* its hash */
    int count;
    int64_t since_ms; /* of the first of them */
} Failed;

struct TfyBounds {
    pthread_t thread;
    pthread_mutex_t mutex; /* held for the rest */
    pthread_cond_t end;
    bool ends;
    void (*tick)(void *arg);
    void *arg;
    LIST(TfyLine) lines; /* those whose turn came earliest first */
    uint32_t count;
    Failed failed[FAILED_MOST];
};

/* ---- connections ---- */

/* Sixteen bytes of it; of IPv6 the network that one customer has counts. */
static void take_address(const struct sockaddr *from, uint8_t out[16])
{
    memset(out, 0, 16);
    if (from && from->sa_family == AF_INET) {
        const uint32_t address = ((const struct sockaddr_in *)(const void *)from)->sin_addr.s_addr;
        if (ntohl(address) >> 24 != 127) memcpy(out, &address, sizeof address);
    } else if (from && from->sa_family == AF_INET6) {
        const struct in6_addr *address = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
        if (!IN6_IS_ADDR_LOOPBACK(address)) memcpy(out, address->s6_addr, 8);
    }
}

static bool is_far(const uint8_t address[16])
{
    static const uint8_t here[16];
    return memcmp(address, here, 16) != 0;
}

bool tfy__bounds_let_in(TfyBounds *bounds, const struct sockaddr *from)
{
    uint8_t address[16];
    uint32_t count = 0;
    take_address(from, address);
    if (!is_far(address)) return true;
    pthread_mutex_lock(&bounds->mutex);
    for (const TfyLine *line = bounds->lines.first; line; line = line->next)
        count += memcmp(line->from, address, 16) == 0;
    pthread_mutex_unlock(&bounds->mutex);
    return count < PER_ADDRESS;
}

static void link_last(TfyBounds *bounds, TfyLine *line)
{
    line->since_ms = tfy__monotonic_ms();
    LIST2_APPEND(&bounds->lines, line, prev, next);
}

static void drop(TfyLine *line)
{
    shutdown(line->fd, SHUT_RDWR);
    line->busy = true; /* once is enough */
}

static void drop_oldest_idle(TfyBounds *bounds)
{
    TfyLine *line = bounds->lines.first;
    while (line && line->busy) line = line->next;
    if (line) drop(line);
}

TfyLine *tfy__line_open(TfyBounds *bounds, int fd, const struct sockaddr *from)
{
    TfyLine *line = calloc(1, sizeof *line);
    if (!line) return NULL;
    line->bounds = bounds;
    line->fd = fd;
    take_address(from, line->from);
    pthread_mutex_lock(&bounds->mutex);
    if (bounds->count >= TFY_CONNECTIONS_MOST) drop_oldest_idle(bounds);
    link_last(bounds, line);
    bounds->count++;
    pthread_mutex_unlock(&bounds->mutex);
    return line;
}

void tfy__line_close(TfyLine *line)
{
    if (!line) return;
    TfyBounds *bounds = line->bounds;
    pthread_mutex_lock(&bounds->mutex);
    LIST2_REMOVE(&bounds->lines, line, prev, next);
    bounds->count--;
    pthread_mutex_unlock(&bounds->mutex);
    free(line);
}

void tfy__line_busy(TfyLine *line, bool busy)
{
    if (!line) return;
    TfyBounds *bounds = line->bounds;
    pthread_mutex_lock(&bounds->mutex);
    LIST2_REMOVE(&bounds->lines, line, prev, next);
    line->busy = busy;
    link_last(bounds, line);
    pthread_mutex_unlock(&bounds->mutex);
}

static void drop_late(TfyBounds *bounds)
{
    const int64_t before = tfy__monotonic_ms() - REQUEST_MS;
    for (TfyLine *line = bounds->lines.first; line && line->since_ms < before; line = line->next)
        if (!line->busy) drop(line);
}

/* ---- failures ---- */

/* Two addresses may share a place; the older one is then forgotten. */
static Failed *place_of(TfyBounds *bounds, const char *address)
{
    uint64_t hash = 1469598103934665603u;
    for (; *address; address++) hash = (hash ^ (uint8_t)*address) * 1099511628211u;
    Failed *failed = &bounds->failed[tfy__mix(hash) & (FAILED_MOST - 1)];
    if (failed->address != hash || tfy__monotonic_ms() - failed->since_ms >= MINUTE_MS)
        *failed = (Failed){.address = hash, .since_ms = tfy__monotonic_ms()};
    return failed;
}

bool tfy__bounds_refused(TfyBounds *bounds, const char *address)
{
    if (!*address) return false;
    pthread_mutex_lock(&bounds->mutex);
    const bool refused = place_of(bounds, address)->count >= FAILURES;
    pthread_mutex_unlock(&bounds->mutex);
    return refused;
}

void tfy__bounds_failed(TfyBounds *bounds, const char *address)
{
    if (!*address) return;
    pthread_mutex_lock(&bounds->mutex);
    place_of(bounds, address)->count++;
    pthread_mutex_unlock(&bounds->mutex);
}

/* ---- the thread ---- */

static void *work(void *arg)
{
    TfyBounds *bounds = arg;
    pthread_setname_np(pthread_self(), "tfy bounds");
    pthread_mutex_lock(&bounds->mutex);
    while (!bounds->ends) {
        const struct timespec until = tfy__deadline(TICK_MS);
        while (!bounds->ends && pthread_cond_timedwait(&bounds->end, &bounds->mutex, &until) != ETIMEDOUT) {}
        drop_late(bounds);
        pthread_mutex_unlock(&bounds->mutex);
        bounds->tick(bounds->arg);
        pthread_mutex_lock(&bounds->mutex);
    }
    pthread_mutex_unlock(&bounds->mutex);
    return NULL;
}

TfyBounds *tfy__bounds_open(void (*tick)(void *arg), void *arg)
{
    TfyBounds *bounds = calloc(1, sizeof *bounds);
    if (!bounds) return NULL;
    bounds->tick = tick;
    bounds->arg = arg;
    pthread_mutex_init(&bounds->mutex, NULL);
    tfy__cond_init(&bounds->end);
    if (pthread_create(&bounds->thread, NULL, work, bounds) == 0) return bounds;
    free(bounds);
    return NULL;
}

void tfy__bounds_close(TfyBounds *bounds)
{
    if (!bounds) return;
    pthread_mutex_lock(&bounds->mutex);
    bounds->ends = true;
    pthread_cond_signal(&bounds->end);
    pthread_mutex_unlock(&bounds->mutex);
    pthread_join(bounds->thread, NULL);
    pthread_mutex_destroy(&bounds->mutex);
    pthread_cond_destroy(&bounds->end);
    free(bounds);
}
