/* ask.h: what a server asks of people in the middle of a call, and their answers, as the protocol has them. */
#ifndef MCP_ASK_H
#define MCP_ASK_H

#include "core/exchange.h"

extern const TfyInquiry tfy__mcp_inquiry;

/* Tells the server of a call that nobody waits for its task any more (perform.c). */
void tfy__mcp_abandon(const TfyCall *call, const json_t *away);

/* The answer of a person to a request elicitation/create with these params: a form's content, "yes" or "no"; owned. NULL:
 * it is none, and error says why. */
json_t *tfy__mcp_ask_answer(const json_t *params, const char *text, char *error);

/* What stands below the question: the fields of a form, or an address to open; a line each. */
void tfy__mcp_ask_details(const json_t *params, TfyBuffer *out);

/* Why the requests of a result cannot be put to people; "": they can. error: TFY_ERROR_TEXT bytes. */
void tfy__mcp_ask_wrong(const json_t *requests, char *error);

#endif
