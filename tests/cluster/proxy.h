/* proxy.h: stands between clients and a PostgreSQL server, and decides what becomes of a commit: it arrives, gets lost, arrives
 * late, or its answer gets lost. Everything else passes.
 *
 * What a client sends is passed on up to each Sync, so that a commit is seen as a whole: as a sending with the fence of a session
 * and COMMIT in it. */
#ifndef CLUSTER_PROXY_H
#define CLUSTER_PROXY_H

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"

typedef enum ProxyFate {
    PROXY_ARRIVES,
    PROXY_AWAY,           /* nobody can connect, and all connections break */
    PROXY_LOST,           /* the commit never arrives */
    PROXY_LATE,           /* it arrives with proxy_deliver */
    PROXY_ANSWER_IS_LOST, /* it happens, or not, and the client does not hear of it */
    PROXY_HALF /* half of it arrives, and nothing more; the server's connection stays, whatever the client does */
} ProxyFate;

enum { PROXY_PAIRS = 32, PROXY_LATE_MOST = 8 };

typedef struct ProxyPair {
    int client, server; /* -1: closed */
    bool begun;         /* the startup message has passed */
    bool half;          /* half a commit has arrived: PROXY_HALF */
    TfyBuffer sending;  /* of the client, until its Sync */
} ProxyPair;

typedef struct ProxyLate {
    int server;
    TfyBuffer sending; /* empty: nothing arrives any more */
} ProxyLate;

typedef struct Proxy {
    char directory[64], target[108];
    int listener, wake[2];
    pthread_t thread;
    pthread_mutex_t mutex; /* all of the below */
    pthread_cond_t turned;
    ProxyFate fate;
    bool stopping;
    uint64_t turns, commits; /* commits that were seen */
    ProxyPair pairs[PROXY_PAIRS];
    ProxyLate late[PROXY_LATE_MOST];
    int late_count;
} Proxy;

static inline void proxy_close(Proxy *proxy, ProxyPair *pair)
{
    if (pair->half && pair->server >= 0 && proxy->late_count < PROXY_LATE_MOST) {
        proxy->late[proxy->late_count++] = (ProxyLate){.server = pair->server};
        pair->server = -1;
    }
    if (pair->client >= 0) close(pair->client);
    if (pair->server >= 0) close(pair->server);
    tfy__buffer_free(&pair->sending);
    *pair = (ProxyPair){.client = -1, .server = -1};
}

static inline bool proxy_write(int to, const char *bytes, size_t len)
{
    while (len) {
        const ssize_t sent = send(to, bytes, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

/* Reads the server's answer up to ReadyForQuery, and drops it. */
static inline void proxy_swallow(int server)
{
    for (;;) {
        uint8_t head[5], rest[4096];
        uint32_t len;
        if (recv(server, head, sizeof head, MSG_WAITALL) != sizeof head) return;
        memcpy(&len, head + 1, sizeof len);
        for (size_t left = be32toh(len) - 4; left;) {
            const ssize_t got = recv(server, rest, left < sizeof rest ? left : sizeof rest, 0);
            if (got <= 0) return;
            left -= (size_t)got;
        }
        if (head[0] == 'Z') return;
    }
}

static inline bool proxy_is_commit(const TfyBuffer *sending)
{
    return memmem(sending->data, sending->len, "\0tfy0", 6) && memmem(sending->data, sending->len, "COMMIT", 7);
}

/* Takes what the client has sent up to now as one. */
static inline void proxy_pass(Proxy *proxy, ProxyPair *pair)
{
    const bool commit = proxy_is_commit(&pair->sending);
    const ProxyFate fate = commit ? proxy->fate : PROXY_ARRIVES;
    proxy->commits += commit;
    if (pair->half) return tfy__buffer_reset(&pair->sending);
    if (fate == PROXY_LATE && proxy->late_count < PROXY_LATE_MOST) {
        proxy->late[proxy->late_count++] = (ProxyLate){pair->server, pair->sending};
        pair->server = -1;
        pair->sending = (TfyBuffer){0};
        return proxy_close(proxy, pair);
    }
    if (fate == PROXY_LOST) return proxy_close(proxy, pair);
    if (fate == PROXY_HALF) {
        const char *end = memmem(pair->sending.data, pair->sending.len, "COMMIT", 7);
        proxy_write(pair->server, pair->sending.data, (size_t)(end - pair->sending.data) - 6);
        pair->half = true;
        return tfy__buffer_reset(&pair->sending);
    }
    if (!proxy_write(pair->server, pair->sending.data, pair->sending.len)) return proxy_close(proxy, pair);
    tfy__buffer_reset(&pair->sending);
    if (fate != PROXY_ANSWER_IS_LOST) return;
    proxy_swallow(pair->server);
    proxy_close(proxy, pair);
}

/* The length of the message at `at`; 0: it is not whole yet. */
static inline size_t proxy_message(const ProxyPair *pair, size_t at)
{
    uint32_t len;
    const size_t type = pair->begun ? 1 : 0;
    if (pair->sending.len < at + type + 4) return 0;
    memcpy(&len, pair->sending.data + at + type, sizeof len);
    const size_t whole = type + be32toh(len);
    return pair->sending.len < at + whole ? 0 : whole;
}

static inline void proxy_from_client(Proxy *proxy, ProxyPair *pair)
{
    static char bytes[1 << 16];
    const ssize_t got = recv(pair->client, bytes, sizeof bytes, 0);
    if (got <= 0) return proxy_close(proxy, pair);
    tfy__buffer_add(&pair->sending, bytes, (size_t)got);
    size_t at = 0, whole;
    bool end = false;
    while ((whole = proxy_message(pair, at))) {
        end = !pair->begun || strchr("SQX", pair->sending.data[at]);
        pair->begun = true;
        at += whole;
    }
    if (end && at == pair->sending.len) proxy_pass(proxy, pair);
}

static inline void proxy_from_server(Proxy *proxy, ProxyPair *pair)
{
    static char bytes[1 << 16];
    const ssize_t got = recv(pair->server, bytes, sizeof bytes, 0);
    if (got <= 0 || !proxy_write(pair->client, bytes, (size_t)got)) proxy_close(proxy, pair);
}

static inline int proxy_connect(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", name);
    const int on = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (on >= 0 && connect(on, (struct sockaddr *)&to, sizeof to) == 0) return on;
    if (on >= 0) close(on);
    return -1;
}

static inline void proxy_accept(Proxy *proxy)
{
    const int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    ProxyPair *pair = proxy->pairs;
    while (pair < proxy->pairs + PROXY_PAIRS && pair->client >= 0) pair++;
    const bool taken = client >= 0 && proxy->fate != PROXY_AWAY && pair < proxy->pairs + PROXY_PAIRS;
    const int server = taken ? proxy_connect(proxy->target) : -1;
    if (server < 0) {
        if (client >= 0) close(client);
        return;
    }
    *pair = (ProxyPair){.client = client, .server = server};
}

static inline void proxy_turn(Proxy *proxy)
{
    struct pollfd on[2 + 2 * PROXY_PAIRS] = {{proxy->listener, POLLIN, 0}, {proxy->wake[0], POLLIN, 0}};
    char byte;
    for (int i = 0; i < PROXY_PAIRS; i++) {
        on[2 + 2 * i] = (struct pollfd){proxy->pairs[i].client, POLLIN, 0};
        on[3 + 2 * i] = (struct pollfd){proxy->pairs[i].server, POLLIN, 0};
    }
    pthread_mutex_unlock(&proxy->mutex);
    poll(on, 2 + 2 * PROXY_PAIRS, -1);
    pthread_mutex_lock(&proxy->mutex);
    if (on[1].revents && read(proxy->wake[0], &byte, 1) < 0) return;
    for (int i = 0; i < PROXY_PAIRS; i++) {
        ProxyPair *pair = &proxy->pairs[i];
        if (proxy->fate == PROXY_AWAY && pair->client >= 0) proxy_close(proxy, pair);
        if (pair->client >= 0 && pair->client == on[2 + 2 * i].fd && on[2 + 2 * i].revents)
            proxy_from_client(proxy, pair);
        if (pair->server >= 0 && pair->server == on[3 + 2 * i].fd && on[3 + 2 * i].revents)
            proxy_from_server(proxy, pair);
    }
    if (on[0].revents) proxy_accept(proxy);
    proxy->turns++;
    pthread_cond_broadcast(&proxy->turned);
}

static inline void *proxy_run(void *state)
{
    Proxy *proxy = state;
    pthread_mutex_lock(&proxy->mutex);
    while (!proxy->stopping) proxy_turn(proxy);
    for (int i = 0; i < PROXY_PAIRS; i++) proxy_close(proxy, &proxy->pairs[i]);
    pthread_mutex_unlock(&proxy->mutex);
    return NULL;
}

/* Listens in a directory of its own for what goes to this directory's server. */
static inline bool proxy_start(Proxy *proxy, const char *server_directory)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    *proxy = (Proxy){.mutex = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};
    for (int i = 0; i < PROXY_PAIRS; i++) proxy->pairs[i].client = proxy->pairs[i].server = -1;
    strcpy(proxy->directory, "/tmp/tfy-proxy-XXXXXX");
    snprintf(proxy->target, sizeof proxy->target, "%s/.s.PGSQL.5432", server_directory);
    if (!mkdtemp(proxy->directory) || pipe(proxy->wake) != 0) return false;
    snprintf(name.sun_path, sizeof name.sun_path, "%s/.s.PGSQL.5432", proxy->directory);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return proxy->listener >= 0 && bind(proxy->listener, (struct sockaddr *)&name, sizeof name) == 0 &&
           listen(proxy->listener, 16) == 0 && pthread_create(&proxy->thread, NULL, proxy_run, proxy) == 0;
}

/* Of the next commits, until it is called again. */
static inline void proxy_fate(Proxy *proxy, ProxyFate fate)
{
    pthread_mutex_lock(&proxy->mutex);
    const uint64_t turns = proxy->turns;
    const bool waits = proxy->fate != fate && fate == PROXY_AWAY;
    proxy->fate = fate;
    if (waits && write(proxy->wake[1], "", 1) == 1)
        while (proxy->turns == turns) pthread_cond_wait(&proxy->turned, &proxy->mutex);
    pthread_mutex_unlock(&proxy->mutex);
}

/* The oldest late commit arrives now; false: there is none. */
static inline bool proxy_deliver(Proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    const bool found = proxy->late_count > 0;
    ProxyLate late = found ? proxy->late[0] : (ProxyLate){.server = -1};
    if (found) memmove(proxy->late, proxy->late + 1, (size_t)--proxy->late_count * sizeof *proxy->late);
    pthread_mutex_unlock(&proxy->mutex);
    if (!found) return false;
    if (late.sending.len && proxy_write(late.server, late.sending.data, late.sending.len)) proxy_swallow(late.server);
    close(late.server);
    tfy__buffer_free(&late.sending);
    return true;
}

static inline void proxy_stop(Proxy *proxy)
{
    char name[108];
    pthread_mutex_lock(&proxy->mutex);
    proxy->stopping = true;
    const bool told = write(proxy->wake[1], "", 1) == 1;
    pthread_mutex_unlock(&proxy->mutex);
    if (told) pthread_join(proxy->thread, NULL);
    while (proxy_deliver(proxy)) continue;
    close(proxy->listener);
    close(proxy->wake[0]);
    close(proxy->wake[1]);
    snprintf(name, sizeof name, "%s/.s.PGSQL.5432", proxy->directory);
    unlink(name);
    rmdir(proxy->directory);
}

#endif
