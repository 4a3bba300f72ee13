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

/* In the loop: the same to request->run, one of many (bulk.h), without an answer. A code, and error says why. */
int tfy__change_cancel(TfyRequest *request, char *error);
int tfy__change_signal(TfyRequest *request, char *error);
/* key: of the start; NULL: none. run: the new one's id. */
int tfy__change_again(TfyRequest *request, const char *key, char run[37], char *error);
/* Whether the body is a signal. False: the problem says why not. */
bool tfy__change_signal_fits(TfyRequest *request);
/* For a server that sends instead: what the request asks for, as the owner's line protocol has it (cli/program/owner.h). NULL: the
 * problem says why the body does not fit. */
json_t *tfy__signal_letter(TfyRequest *request);
json_t *tfy__cancel_letter(TfyRequest *request);
json_t *tfy__resolve_letter(TfyRequest *request);
json_t *tfy__answer_letter(TfyRequest *request);
/* The start of a run with the arguments of another one, out of its first record, which this log has, and what bounded it. NULL: it
 * cannot be read. */
json_t *tfy__again_letter(TfyRequest *request, TfyLog *log);
/* What a code of a change means for the run. state: what TFY_E_STATE does. error says it in other words where the run's state
 * is the reason. */
TfyProblemKind tfy__change_refusal(TfyRequest *request, int code, TfyProblemKind state, char *error);

#endif
