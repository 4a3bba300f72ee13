/* inside.h: requests that the server makes of itself, for those who speak another protocol with it. Such a request has the
 * same routes, roles and rules as one that came over HTTP; only the gate is passed already. */
#ifndef SERVE_INSIDE_H
#define SERVE_INSIDE_H

#include "serve/serve.h"

typedef struct TfyInside {
    const TfyCaller *caller; /* whose roles count; copied */
    TfyMethod method;
    const char *target; /* "/v1/runs?limit=5" */
    json_t *body;       /* of a change; taken; NULL: an empty object */
    const char *key;    /* Idempotency-Key; NULL: none */
    const char *seen;   /* If-Match; NULL: none */
    int64_t after;      /* Tfy-After; 0: none */
    /* Gets the answered request, which it owns from then on, once, in whichever thread answers it. */
    void (*done)(void *arg, TfyRequest *request);
    void *arg;
} TfyInside;

/* False: there is no memory, and nothing is asked. */
bool tfy__inside_ask(TfyServer *server, const TfyInside *what);

#endif
