/* changes.h: what people do to a run: signals, answers, cancellations, resolved steps, forks. Each is recorded, with its
 * sender, and durable before it is answered. */
#ifndef SERVE_CHANGES_H
#define SERVE_CHANGES_H

#include "serve/serve.h"

void tfy__serve_signal(TfyRequest *request);
void tfy__serve_cancel(TfyRequest *request);
void tfy__serve_resolve(TfyRequest *request);
void tfy__serve_answer(TfyRequest *request);
void tfy__serve_fork(TfyRequest *request);
void tfy__serve_again(TfyRequest *request);

#endif
