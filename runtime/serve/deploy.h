/* deploy.h: PUT /v1/programs/{p}: a new version of a program, from its source.
 *
 *   reader            checks the body
 *   a thread of its own   compiles it (build.h), and loads the object
 *   loop              takes it: new runs get it from then on (versions.h)
 *   a thread of its own   once that is durable, says what `tfy compat` says of the runs that older versions still have
 *
 * Source comes over HTTP, and nothing else: no C, no objects. */
#ifndef SERVE_DEPLOY_H
#define SERVE_DEPLOY_H

#include "serve/serve.h"

enum { TFY_DEPLOY_BODY = 8 << 20 }; /* bytes of a body */

void tfy__serve_deploy(TfyRequest *request);

struct TfyDeploy;
void tfy__deploy_free(struct TfyDeploy *deploy);

#endif
