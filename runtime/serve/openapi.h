/* openapi.h: the document that describes the interface, for people, generators of clients, and forms. */
#ifndef SERVE_OPENAPI_H
#define SERVE_OPENAPI_H

#include "serve/serve.h"

void tfy__serve_openapi(TfyRequest *request); /* GET /openapi.json */

/* schemas.json, which the build makes C of (make_image.c). */
extern const unsigned char tfy__openapi_shared[];
extern const size_t tfy__openapi_shared_len;

extern const char *const tfy__runs_parameters[]; /* of the query of GET /v1/runs (runs.c); ends with NULL */

#endif
