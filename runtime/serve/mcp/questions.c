/* questions.c: the open questions of a turn's run, and answers to them. */
#include <stdio.h>
#include <stdlib.h>

#include "mcp/server/question.h"
#include "serve/mcp/turn.h"

void tfy__questions_ask(TfyMcpTurn *turn, TfyMcpThen *then)
{
    char target[96];
    snprintf(target, sizeof target, "/v1/questions?run=%s", turn->run);
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_GET, .target = target, .after = turn->host->cursor}, then);
}

json_t *tfy__questions_requests(const json_t *questions)
{
    json_t *requests = json_object(), *question;
    char key[TFY_MCP_QUESTION_KEY];
    size_t i;
    json_array_foreach((json_t *)questions, i, question)
    {
        if (!tfy__mcp_question_key(question, key)) continue;
        json_object_set_new(requests, key,
                            json_pack("{s:s, s:o}", "method", "elicitation/create", "params",
                                      tfy__mcp_question_params(question, true)));
    }
    return requests;
}

/* An answer is for the question that the client saw, and for no later one of the same step. */
bool tfy__question_answer(TfyMcpTurn *turn, const json_t *question, const json_t *response, TfyMcpThen *then)
{
    char target[512];
    json_t *body;
    const char *task = json_string_value(json_object_get(question, "task")),
               *digest = json_string_value(json_object_get(question, "digest"));
    if (tfy__mcp_question_reply(question, response, &body) != TFY_MCP_REPLY_GIVEN) return false;
    snprintf(target, sizeof target, "/v1/questions/%s/%.300s/%lld/answer", turn->run, task ? task : "",
             (long long)json_integer_value(json_object_get(question, "step")));
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_POST, .target = target, .body = body, .seen = digest}, then);
    return true;
}

uint32_t tfy__questions_reply(TfyMcpTurn *turn, const json_t *questions, TfyMcpThen *then)
{
    char key[TFY_MCP_QUESTION_KEY];
    json_t *question;
    size_t i;
    uint32_t count = 0;
    json_array_foreach((json_t *)questions, i, question)
    {
        json_t *response = tfy__mcp_question_key(question, key) ? json_object_get(turn->replies, key) : NULL;
        if (!response) continue;
        count += tfy__question_answer(turn, question, response, then);
        json_object_del(turn->replies, key);
    }
    return count;
}
