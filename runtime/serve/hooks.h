/* hooks.h: POST /v1/hooks/{h}: another service starts or signals a run, as a hook of the configuration says (hook.h). Its signature
 * stands for a token. */
#ifndef SERVE_HOOKS_H
#define SERVE_HOOKS_H

#include "serve/serve.h"

/* Whether no hook fills a parameter from outside that its workflow does not declare untrusted. False: error names it. */
bool tfy__hooks_fit(const TfyServer *server, const TfyConfig *config, char *error);

void tfy__serve_hook(TfyRequest *request);

#endif
