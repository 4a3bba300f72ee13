/* llm_form.h: the wire forms that endpoints of models speak. One file each: llm_chat.c, llm_messages.c and
 * llm_responses.c.
 *
 * The neutral form, which requests, records and recorded sessions have, is
 *
 *   {"messages": [...], "model": "...", "most": N?, "schema": {...}?, "tools": [{"name", "description", "schema"}]?}
 *
 * with the messages
 *
 *   {"role": "system" | "user", "content": "..."}
 *   {"role": "assistant", "content": "...", "calls": [{"id", "tool", "args"}]?}
 *   {"role": "tool", "content": "...", "id": "..."}
 *
 * A body begins with the bytes of the body before it in the same conversation, so that endpoints need not read them
 * again. */
#ifndef EFFECTS_LLM_FORM_H
#define EFFECTS_LLM_FORM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What an answer holds. */
typedef struct TfyLlmParts {
    json_t *text;              /* a string, owned; NULL: it has none */
    json_t *calls;             /* a list of {id, tool, args}, owned; NULL: none */
    const json_t *refusal;     /* a string: why the model does not answer; NULL: it answers */
    const json_t *model;       /* a string, as the endpoint names it, or NULL */
    const char *finish_reason; /* "stop", "length", …; "": the endpoint gave none */
    int64_t prompt_tokens, completion_tokens, cached_tokens; /* -1: unknown */
} TfyLlmParts;

typedef struct TfyLlmForm {
    const char *api;   /* its name among the models: "chat" */
    const char *path;  /* what an address ends with: "/chat/completions" */
    const char *place; /* where its text is, for messages */
    const char *key;   /* the header line before the key */
    const char *fixed; /* one more header line, or NULL */
    /* The body for a request in the neutral form; name: the schema's. The caller owns it; NULL: no memory. */
    json_t *(*body)(const json_t *request, const char *model, const char *name);
    /* Reads a response. False: it holds no message. The parts are all zero before. */
    bool (*read)(const json_t *response, TfyLlmParts *parts);
} TfyLlmForm;

extern const TfyLlmForm tfy__llm_chat, tfy__llm_messages, tfy__llm_responses;

const TfyLlmForm *tfy__llm_form_named(const char *api); /* NULL: there is none */

/* ---- what they share (llm_form.c) ---- */

enum { TFY_LLM_MOST = 8192 }; /* tokens of an answer, if nothing is said */

/* A call in the neutral form. args: an object, or the text of one; what is no object, or nests deeper than a record may,
 * stays a text and does not fit. */
json_t *tfy__llm_call(const json_t *id, const json_t *tool, const json_t *args);
/* The arguments as the text that endpoints want; malloc'ed. */
char *tfy__llm_args_text(const json_t *call);
/* The strings `member` of the parts of a list, joined; parts whose `type` is another are left out. type NULL: all. NULL:
 * there is none. The caller owns it. */
json_t *tfy__llm_joined(const json_t *parts, const char *type, const char *member);
int64_t tfy__llm_count(const json_t *usage, const char *name); /* -1: it has none */

#endif
