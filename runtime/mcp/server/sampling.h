/* sampling.h: questions of a run's models as sampling/createMessage, and what a client answers.
 *
 * The request is a wire form like that of an endpoint (effects/llm_form.h), without streams. Clients of all revisions take
 * it: a message with one part has that part as its content, others a list; tools are there if the prompt offers any, and
 * then only for clients that take them. */
#ifndef MCP_SERVER_SAMPLING_H
#define MCP_SERVER_SAMPLING_H

#include "effects/llm.h"

extern const TfyLlmForm tfy__mcp_sampling;

/* The params of a request that was written in this form. The caller owns them. NULL: no memory. */
json_t *tfy__mcp_sampling_params(const char *body, size_t len);
/* Whether only a client with the capability sampling.tools can answer it. */
bool tfy__mcp_sampling_offers(const json_t *params);

/* What a client answers. False: it is not an answer. The caller clears the reply either way. */
bool tfy__mcp_sampled(const json_t *result, TfyLlmReply *reply);

#endif
