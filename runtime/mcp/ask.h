/* ask.h: what a server asks of people in the middle of a call, and their answers, as the protocol has them. */
#ifndef MCP_ASK_H
#define MCP_ASK_H

#include "core/exchange.h"

extern const TfyInquiry tfy__mcp_inquiry;

/* Tells the server of a call that nobody waits for its task any more (perform.c). */
void tfy__mcp_abandon(const TfyCall *call, const json_t *away);

/* The requests of a call that waits for a login; a server can make none of this kind. say: "needs a login: tfy mcp login
 * …". answers: of people to what the server asked before, or NULL; they are sent once it goes on. Owned; NULL: no
 * memory. */
json_t *tfy__mcp_ask_login(const char *say, json_t *answers);
/* The login that the newest question of a call was about; NULL: it was another. round may be NULL. Borrowed. */
const json_t *tfy__mcp_asked_login(const TfyRound *round);
/* What people answered to the server itself, to be sent; NULL: nothing. Borrowed. */
json_t *tfy__mcp_answers(const TfyRound *round);
/* Whether a person said that there will be no login. */
bool tfy__mcp_login_denied(const TfyRound *round);

/* The answer of a person to a request elicitation/create with these params: a form's content, "yes" or "no"; owned. NULL:
 * it is none, and error says why. */
json_t *tfy__mcp_ask_answer(const json_t *params, const char *text, char *error);

/* What stands below the question: the fields of a form, or an address to open; a line each. */
void tfy__mcp_ask_details(const json_t *params, TfyBuffer *out);

/* Why the requests of a result cannot be put to people; "": they can. error: TFY_ERROR_TEXT bytes. */
void tfy__mcp_ask_wrong(const json_t *requests, char *error);

#endif
