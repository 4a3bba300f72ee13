/* problem.h: why a request is refused, as RFC 9457 has it (application/problem+json). Each kind has an identifier, which is
 * a part of the interface: clients decide by it, and the text is for people. */
#ifndef SERVE_PROBLEM_H
#define SERVE_PROBLEM_H

#include <jansson.h>

#include "base/buffer.h"

/* Name, status, identifier, title. */
#define TFY_PROBLEMS(P)                                                                                                \
    P(BAD_REQUEST, 400, "bad-request", "The request is not understood")                                                \
    P(UNAUTHENTICATED, 401, "unauthenticated", "Nobody is named, or not in a way that holds")                          \
    P(FORBIDDEN, 403, "forbidden", "This is not allowed")                                                              \
    P(NOT_FOUND, 404, "not-found", "There is no such thing")                                                           \
    P(METHOD, 405, "method", "This cannot be done with it")                                                            \
    P(ANSWERED, 409, "answered", "It was answered before")                                                             \
    P(ENDED, 409, "ended", "It has ended")                                                                             \
    P(NOT_IN_DOUBT, 409, "not-in-doubt", "Nobody doubts what happened")                                                \
    P(IN_USE, 409, "in-use", "Runs still need it")                                                                     \
    P(QUEUED, 409, "queued", "It has not begun")                                                                       \
    P(TAKEN, 409, "taken", "There is one of this name")                                                                \
    P(DIVERGED, 409, "diverged", "It differs from its log")                                                            \
    P(AMBIGUOUS, 409, "ambiguous", "Several fit")                                                                      \
    P(COMPACTED, 410, "compacted", "It is gone: compacted, or removed")                                                \
    P(CHANGED, 412, "changed", "It is another one now")                                                                \
    P(TOO_LARGE, 413, "too-large", "The body is too large")                                                            \
    P(MEDIA, 415, "media", "The body has another type")                                                                \
    P(WRONG_HOST, 421, "wrong-host", "This server has another name")                                                   \
    P(ARGUMENTS, 422, "arguments", "The arguments do not fit")                                                         \
    P(KEY_REUSED, 422, "key-reused", "The key was used for something else")                                            \
    P(UNKNOWN_ANSWER, 422, "unknown-answer", "This is not one of the answers")                                         \
    P(NOT_POSSIBLE, 422, "not-possible", "This cannot be done")                                                        \
    P(BUSY, 429, "busy", "There is no room for more")                                                                  \
    P(HEADERS, 431, "headers", "The head of the request is too large")                                                 \
    P(INTERNAL, 500, "internal", "The server failed")                                                                  \
    P(UNKNOWN_METHOD, 501, "unknown-method", "There is no such method")                                                \
    P(SQLITE_ONLY, 501, "sqlite-only", "Only a server of a file has this")                                             \
    P(SHARED_ONLY, 501, "postgresql-only", "Only a server of a shared database has this")                              \
    P(DRAINING, 503, "draining", "The server is about to end")                                                         \
    P(TOO_MANY_REPLAYS, 503, "too-many-replays", "Others are being replayed")                                          \
    P(TOO_LONG, 503, "too-long", "It takes too long")                                                                  \
    P(LOG_FULL, 503, "log-full", "Nothing can be written now")                                                         \
    P(INDEX_BEHIND, 503, "index-behind", "The lists are behind")                                                       \
    P(DATABASE_AWAY, 503, "database-away", "The database does not answer")

typedef enum TfyProblemKind {
    TFY_NO_PROBLEM,
#define TFY__PROBLEM(Name, Status, Id, Title) TFY_PROBLEM_##Name,
    TFY_PROBLEMS(TFY__PROBLEM)
#undef TFY__PROBLEM
} TfyProblemKind;

/* All zero: none. */
typedef struct TfyProblem {
    TfyProblemKind kind;
    char detail[512];  /* a sentence, or ""; UTF-8 */
    json_t *errors;    /* [{"path", "detail"}, …], owned; NULL: none */
    json_t *more;      /* an object with members of this kind of problem, owned; NULL: none */
    const char *allow; /* METHOD: what can be done with it, "GET, POST"; static */
} TfyProblem;

/* Sets the problem, unless there is one already. Returns false, so that a check can end with it. */
bool tfy__problem(TfyProblem *problem, TfyProblemKind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tfy__problem_clear(TfyProblem *problem);

int tfy__problem_status(TfyProblemKind kind);
const char *tfy__problem_id(TfyProblemKind kind);
/* Appends the body. request: the number of the request, for people who look for it among the server's lines. */
void tfy__problem_text(const TfyProblem *problem, const char *request, TfyBuffer *out);

/* What follows the sentence about an unknown name: "; did you mean 'order'?", or "" where none of these is near. names ends
 * with NULL. */
typedef struct TfyMeant {
    char text[112];
} TfyMeant;
TfyMeant tfy__meant(const char *name, const char *const *names);

#endif
