/* llm_request.h: one request in the neutral form (llm_form.h), as canonical text. Its messages are a talk's (llm_talk.h),
 * and what follows them is made for each request:
 *
 *   {"messages":[ TALK ],"model":"strong","most":8192,"schema":{…},"tools":[…]}
 *
 * The digest is that of this text, which is put together only for the line of a recorded session. */
#ifndef EFFECTS_LLM_REQUEST_H
#define EFFECTS_LLM_REQUEST_H

#include "effects/llm_talk.h"

/* The tools of an agent's questions: they are the same each time, but in the last. */
typedef struct TfyLlmTools {
    struct TfyLlmTools *next;
    const TfyTool *tool; /* that asks */
    bool last;           /* in the last question */
    TfyBuffer text;      /* the list, canonical; empty: none are offered */
    const TfyLlmForm *form;
    TfyBuffer items; /* as this form writes them */
} TfyLlmTools;

/* What a loop keeps between its requests. A zeroed struct is empty. */
typedef struct TfyLlmKept {
    TfyLlmTalks talks;
    TfyLlmTools *tools; /* two for each agent at most */
} TfyLlmKept;

/* A zeroed struct is empty. */
typedef struct TfyLlmRequest {
    TfyLlmTalk *talk;   /* owned until the request is cleared */
    TfyBuffer tail;     /* the text behind the messages */
    const char *model;  /* as the program names it; in the tail, NUL-terminated: owned */
    int64_t most;       /* tokens of the answer; 0: nothing is said */
    int64_t bound;      /* what the endpoint is told then, which is not a part of the text; 0: nothing */
    json_t *schema;     /* of the answer; owned; NULL: none */
    TfyLlmTools *tools; /* kept; NULL: none */
    TfyLlmFiles *files; /* that are sent along; owned; NULL: none */
    uint64_t digest;    /* XXH3-64 of the text */
} TfyLlmRequest;

/* Writes the tail and takes the digest, once the talk, the model and all else is there. False: no memory. */
bool tfy__llm_request_finish(TfyLlmRequest *request);
size_t tfy__llm_request_size(const TfyLlmRequest *request); /* bytes of the text */
void tfy__llm_request_text(const TfyLlmRequest *request, TfyBuffer *out);
/* Appends the body for an endpoint. from: the model's name, for what is opaque; asked: what the request does not say
 * itself, the members model, name, effort and streams. False: no memory. */
bool tfy__llm_request_body(TfyLlmRequest *request, const TfyLlmForm *form, const char *from, const TfyLlmAsked *asked,
                           TfyBuffer *out);
/* Adds what LLMPlan has of it: the digest, and each file as [path, kind, hash, bytes]. */
void tfy__llm_request_record(const TfyLlmRequest *request, TfyBuffer *members);
void tfy__llm_request_clear(TfyLlmKept *kept, TfyLlmRequest *request);

/* What the call offers its model; *out is NULL if that is nothing. False: no memory, or task->error is set. */
bool tfy__llm_tools(TfyLlmKept *kept, const TfyCall *call, TfyLlmTools **out);
void tfy__llm_kept_close(TfyLlmKept *kept);

#endif
