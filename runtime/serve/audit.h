/* audit.h: GET /v1/audit: who did what: answers, signals, kills and resolved steps of runs, and what was done to the server
 * itself. All of it is in the log, chained as everything is; the index only says where. */
#ifndef SERVE_AUDIT_H
#define SERVE_AUDIT_H

#include "serve/serve.h"

extern const char *const tfy__audit_parameters[]; /* of the query; ends with NULL */

void tfy__serve_audit(TfyRequest *request);

#endif
