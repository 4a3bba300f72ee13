/* question.h: what a run asks a person, as an elicitation, and what a client answers.
 *
 * A question is an item of GET /v1/questions: {"key", "task", "step", "question", "details", "answers", "form"}. Without a
 * key of its own it is TASK/STEP: each step of a run has a number of its own. So no key is used for two questions. Where
 * the program gives no form, it has one field: "confirm", true or false; "choice", one of several words; or "answer", a
 * text. */
#ifndef MCP_SERVER_QUESTION_H
#define MCP_SERVER_QUESTION_H

#include <jansson.h>
#include <stdbool.h>

enum { TFY_MCP_QUESTION_KEY = 320 };

/* Writes the key of a question. False: it has none, which no question of ours lacks. */
bool tfy__mcp_question_key(const json_t *question, char key[TFY_MCP_QUESTION_KEY]);

/* The params of elicitation/create. with_mode: revisions since 2025-11-25 name its kind. NULL: no memory. */
json_t *tfy__mcp_question_params(const json_t *question, bool with_mode);

typedef enum TfyMcpReply {
    TFY_MCP_REPLY_NONE, /* not an answer: the question stays open */
    TFY_MCP_REPLY_GIVEN,
    TFY_MCP_REPLY_DECLINED, /* the client will not answer, and the question has no "no" */
} TfyMcpReply;

/* What a client's response, {"action", "content"}, answers: *body is then that of the answer's request, {"answer"},
 * which the caller owns. Declining a question that can be denied is a no. */
TfyMcpReply tfy__mcp_question_reply(const json_t *question, const json_t *response, json_t **body);

#endif
