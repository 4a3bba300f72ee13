/* drain.h: how the server ends: nothing starts any more, and tools under way may finish until a deadline. SIGTERM does it, and
 * POST /v1/drain. */
#ifndef SERVE_DRAIN_H
#define SERVE_DRAIN_H

#include "serve/serve.h"

void tfy__drain_server(TfyServer *server); /* from anywhere, a signal handler too; the second time it ends at once */
void tfy__serve_drain(TfyRequest *request);

#endif
