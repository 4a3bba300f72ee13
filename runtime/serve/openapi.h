/* openapi.h: the document that describes the interface, for people, generators of clients, and forms. */
#ifndef SERVE_OPENAPI_H
#define SERVE_OPENAPI_H

#include "serve/serve.h"

/* With the workflows that the caller sees; NULL: all. malloc'ed; NULL: no memory. */
char *tfy__openapi_text(const TfyServer *server, const TfyCaller *caller);

extern const char *const tfy__runs_parameters[]; /* of the query of GET /v1/runs (runs.c); ends with NULL */

#endif
