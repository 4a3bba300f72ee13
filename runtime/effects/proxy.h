/* proxy.h: the way out of a sandbox with a list of hosts: an HTTP proxy in the runtime's loop.
 *
 *   tool ── its own loopback ── listener ── proxy ── the hosts of the list
 *
 * The tool has no network but its loopback, so this is its only way, and no program of its own choice leads around
 * it. The cell makes the listener inside the tool's network namespace and hands it out (cell/policy.h); one proxy
 * serves one tool, so requests need no password.
 *
 * Invariants
 *   - A connection serves one request: CONNECT, or GET, HEAD and POST of an http:// address. What follows a
 *     request's body is never passed on.
 *   - Names are looked up here, by a thread of the pool, and the connection goes to an address that was checked.
 *     It is looked up once: an answer that changes meanwhile changes nothing.
 *   - Memory is bounded: RELAYS_MOST connections, 64 KiB each way. The next one waits in the listener. */
#ifndef TFY_EFFECTS_PROXY_H
#define TFY_EFFECTS_PROXY_H

#include "core/effect.h"

typedef struct TfyProxy TfyProxy;
struct addrinfo;

/* All borrowed until tfy__proxy_close. */
typedef struct TfyProxyRules {
    const char *const *hosts;   /* rules of proxy_rules.h without fault, ends with NULL */
    const char *const *ceiling; /* likewise: it must allow a host, too; NULL: there is no ceiling */
    /* Looks a name up as getaddrinfo does; on a thread of the pool. NULL: getaddrinfo. */
    int (*look_up)(const char *name, const char *port, struct addrinfo **list);
} TfyProxyRules;

/* Serves a listening socket, and closes it in the end. NULL: no memory, or the descriptor cannot be watched: errno;
 * then the listener is still the caller's. */
TfyProxy *tfy__proxy_start(TfyLoop *loop, int listener, const TfyProxyRules *rules);
/* The i-th "host:port" that was refused, each once, first come first; NULL: there are no more. */
const char *tfy__proxy_refused(const TfyProxy *proxy, uint32_t i);
void tfy__proxy_close(TfyProxy *proxy); /* NULL is allowed */

#endif
