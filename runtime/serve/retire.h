/* retire.h: DELETE /v1/programs/{p}/versions/{v}: no new runs get this version any more.
 *
 * It is the active one, so the program is gone from what is served until somebody deploys it again. While runs of the
 * program have not ended, it cannot be retired. The record Admin "retire" keeps it so across restarts; a file that the command
 * line or the configuration names is deployed anew by the next start. */
#ifndef SERVE_RETIRE_H
#define SERVE_RETIRE_H

#include "serve/serve.h"

void tfy__serve_retire(TfyRequest *request);

#endif
