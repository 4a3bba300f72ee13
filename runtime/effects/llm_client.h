/* llm_client.h: models' answers from elsewhere than an endpoint: `--llm client`. Only a server has somebody who gives them;
 * it says who after the loop has opened, and before it turns.
 *
 * Nothing of an open request is recorded, so it may be shown again, by the next process as well. The answer is recorded
 * like that of an endpoint. */
#ifndef EFFECTS_LLM_CLIENT_H
#define EFFECTS_LLM_CLIENT_H

#include "effects/llm.h"

typedef struct TfyLlmClient {
    const TfyLlmForm *form; /* which requests are shown in; it has members for requests and answers in one piece alone */
    /* Shows a request, of which it takes the body. done is called on the loop's thread, later; or cancel is. NULL: not now,
     * since there is no memory, or the server ends: the step waits, and asks again. */
    void *(*ask)(void *state, const TfyCall *call, TfyBuffer *body, TfyLlmDone done, void *arg);
    void (*cancel)(void *asked); /* nobody waits for its answer any more */
    void *state;
} TfyLlmClient;

/* The code of a request that is given back unanswered: the server ends. The step waits, and asks again. */
#define TFY_LLM_NOT_NOW (-2)

/* False: no memory. client outlives the loop. */
bool tfy__llm_set_client(TfyLoop *loop, const TfyLlmClient *client);

/* Fills in a reply with what an answer holds. from: the model's name, in what is opaque. False: no memory; the caller clears
 * the reply then, too. */
bool tfy__llm_keep_parts(const TfyLlmParts *parts, const char *from, TfyLlmReply *reply);

#endif
