/* answer.h: what the browser brings back to the redirect address: the query of a request (RFC 6749, RFC 9207). */
#ifndef MCP_LOGIN_ANSWER_H
#define MCP_LOGIN_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "tfy.h"

#define TFY_ANSWER_MOST 4096 /* bytes of a value, with a NUL */

typedef struct TfyLoginAnswer {
    char code[TFY_ANSWER_MOST], state[TFY_ANSWER_MOST], iss[TFY_ANSWER_MOST]; /* "": it is not there */
    char error[TFY_ANSWER_MOST], error_description[TFY_ANSWER_MOST];
    bool has_iss; /* though it may be empty */
} TfyLoginAnswer;

/* False: the query is not encoded as a form, a value is too long, or a name that counts is there twice. */
bool tfy__login_answer_read(const char *query, size_t len, TfyLoginAnswer *answer);

/* Why an answer must not be used, in TFY_ERROR_TEXT bytes: it belongs to another request, comes from another issuer, or
 * says that the login failed. says_issuer: the issuer promises to name itself. Values are compared byte by byte. "": it
 * has a code that can be used. */
void tfy__login_answer_wrong(const TfyLoginAnswer *answer, const char *state, const char *issuer, bool says_issuer,
                             char *why);

#endif
