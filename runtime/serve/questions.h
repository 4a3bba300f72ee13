/* questions.h: the questions that wait for people, with what the person has to know, and the digest that an answer names,
 * so that nobody answers something else than they saw. */
#ifndef SERVE_QUESTIONS_H
#define SERVE_QUESTIONS_H

#include "serve/serve.h"

extern const char *const tfy__questions_parameters[]; /* of the query of GET /v1/questions; ends with NULL */

void tfy__serve_questions(TfyRequest *request);
void tfy__serve_question(TfyRequest *request);

/* In a reader: an answer came to no open question, or to another one than it names. Says as the problem who answered
 * before, or what is asked now. */
void tfy__serve_unanswered(TfyRequest *request);
/* The same where the loop does not know the question: a run that is being taken up may not have come to it yet, and is asked again
 * for some seconds. */
void tfy__serve_unready(TfyRequest *request);

#endif
