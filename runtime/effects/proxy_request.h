/* proxy_request.h: the head of a request to the proxy: what it asks for, and what is sent on of it.
 *
 * Read strictly, because a server that reads a doubtful head otherwise than the proxy does could be asked for two
 * things at once: lines end with CR LF and are not folded, names of fields are tokens with a colon right behind them,
 * "Content-Length" is there at most once. Any bytes are either a request or refused. */
#ifndef TFY_EFFECTS_PROXY_REQUEST_H
#define TFY_EFFECTS_PROXY_REQUEST_H

#include "base/buffer.h"
#include "effects/proxy_rules.h"

enum { TFY_PROXY_HEAD_MOST = 16 << 10 }; /* bytes of a head */

typedef struct TfyProxyRequest {
    TfyProxyTarget target;
    bool tunnel;   /* CONNECT: all that follows is passed on, both ways */
    uint64_t body; /* bytes that follow the head; tunnel: 0 */
    /* In the head, not for a tunnel: */
    const char *method, *path, *fields; /* path: with the query */
    size_t method_len, path_len, fields_len;
    char minor; /* of the version: HTTP/1.0 or HTTP/1.1 */
} TfyProxyRequest;

/* The bytes of the head at the beginning of these, with its empty line; 0: it is not whole. seen: bytes that were
 * looked at before. */
size_t tfy__proxy_head(const char *bytes, size_t len, size_t seen);
/* Reads a whole head. 0, or the status that refuses it: 400, 403 (not a target that a rule could allow), 405, 411,
 * 505. */
int tfy__proxy_request(const char *head, size_t len, TfyProxyRequest *request);
/* Adds the head for the server: the target's own "Host", "Connection: close", and no fields for a proxy. */
void tfy__proxy_forward(const TfyProxyRequest *request, TfyBuffer *out);

#endif
