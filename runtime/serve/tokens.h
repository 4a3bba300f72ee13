/* tokens.h: who may come in: tokens, sessions of browsers, and codes that start them. */
#ifndef SERVE_TOKENS_H
#define SERVE_TOKENS_H

#include "serve/door.h"
#include "serve/serve.h"

void tfy__serve_enter(TfyRequest *request);  /* POST /v1/session */
void tfy__serve_leave(TfyRequest *request);  /* DELETE /v1/session */
void tfy__serve_me(TfyRequest *request);     /* GET /v1/me */
void tfy__serve_login(TfyRequest *request);  /* POST /v1/login: a code for a browser */
void tfy__serve_tokens(TfyRequest *request); /* GET /v1/tokens */
void tfy__serve_grant(TfyRequest *request);  /* POST /v1/tokens */
void tfy__serve_revoke(TfyRequest *request); /* DELETE /v1/tokens/{name} */

/* What a body says of a token: {"name", "roles", "only"?, "expires"?, "rate"?}. False: the problem says what is wrong. */
bool tfy__token_read(const json_t *body, TfyToken *token, TfyProblem *problem);

#endif
