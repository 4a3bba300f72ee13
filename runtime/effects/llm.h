/* llm.h: requests to a language model: what the files of this family share.
 *
 * One request of a program is one call of the performer. It passes through these files:
 *
 *   llm_prompt    call → request (model, messages, schema) → digest; and the answer's text → value
 *   llm_request   the request as text: its digest, and the body for an endpoint
 *   llm_talk      keeps the messages of a conversation between its questions
 *   llm_cassette  answers from a recorded session, or writes one
 *   llm_http      POST to an endpoint, without ever blocking the loop; llm_stream puts the pieces of a stream together
 *   llm_says      what the model says meanwhile, for those who watch
 *   llm_sent      keeps what was sent (llm_sent.h)
 *   llm_memory    counts answers, and keeps a misfit for the next attempt
 *   llm           the performer: chooses the source, writes the LLMPlan record
 *
 * The digest of a request covers the canonical text with the model as the *program* names it ("default"), not as
 * TFY_LLM_MODEL resolves it, so that a cassette plays on a machine with another endpoint or none.
 *
 * The key is read when a request is sent and wiped after it. Everything that an endpoint returns is searched for
 * the key before any other code sees it. */
#ifndef EFFECTS_LLM_H
#define EFFECTS_LLM_H

#include "core/effect.h"
#include "effects/llm_request.h"
#include "base/buffer.h"

#include <jansson.h>

/* Limits on requests to an endpoint. Tests make them shorter. */
typedef struct TfyLlmLimits {
    int64_t connect_ms; /* until the connection is established */
    /* one HTTP request, from the first byte sent to the last byte received; of an answer that streams, the longest
     * silence … */
    int64_t total_ms;
    int64_t stream_ms;   /* … and this is all of it */
    int64_t wait_ms;     /* before the second try if the endpoint gives no delay; doubles */
    int64_t wait_max_ms; /* above it another model is asked, if there is one, or the step waits */
    /* HTTP requests sent for one call while the endpoint has no time or cannot be reached */
    uint32_t tries;
    size_t body_max; /* bytes of one response, or of one event of a stream */
} TfyLlmLimits;

/* A model's answer. The reply owns the strings; all zero is an empty reply. */
typedef struct TfyLlmReply {
    char *answer;              /* raw text, NUL-terminated; may hold NULs */
    size_t answer_len;         /* bytes */
    char *model;               /* as the endpoint names it */
    char *finish_reason;       /* "stop", "length", …; "" if the endpoint gave none */
    char *calls;               /* of tools: JSON, [{id, tool, args}, …]; NULL: none */
    json_t *call_list;         /* the same, parsed */
    char *opaque;              /* what only its provider understands: JSON, {"from", "items"}; NULL: nothing */
    char *refusal;             /* why the model does not answer; NULL: it answers */
    char *too_long;            /* the request was too long for it, in the endpoint's words; NULL: it was not */
    int64_t prompt_tokens;     /* -1: unknown */
    int64_t completion_tokens; /* -1: unknown */
    int64_t cached_tokens;     /* of the prompt's, which the endpoint had kept; -1: unknown */
    int64_t window;            /* tokens that the model can read; 0: unknown */
} TfyLlmReply;

void tfy__llm_reply_clear(TfyLlmReply *reply);

/* An answer that does not fit, kept while its prompt may try again. */
typedef struct TfyLlmMisfit {
    char *answer;      /* raw text, valid UTF-8 */
    size_t answer_len; /* bytes */
    char *error;       /* the decoder's message */
} TfyLlmMisfit;

/* ---- llm_prompt.c ---- */

/* Builds the request from the call's arguments; misfit (or NULL) adds the model's previous answer and its error. files
 * (or NULL) are sent along and belong to the request from now on.
 * False: task->error is set. The caller clears the result. */
bool tfy__llm_request(TfyLlmKept *kept, TfyCall *call, const TfyLlmMisfit *misfit, TfyLlmFiles *files,
                      TfyLlmRequest *out);

/* TfyPerformer.tell: {"model", "system"?, "user"} of a question, {"model", "system"?, "messages"} of a conversation, with
 * "files" if the prompt sends any. */
bool tfy__llm_tell(TfyCall *call, const json_t *messages, TfyBuffer *out);

/* XXH3-64 of the canonical text of a request, as a recorded session has it; 0: no memory. */
uint64_t tfy__llm_digest(const json_t *request);

/* Whether an answer with this finish_reason was longer than the endpoint gives. */
bool tfy__llm_is_long(const char *finish_reason);

/* Whether an answer with this finish_reason is not the whole answer: it was cut off, or a filter stopped it. */
bool tfy__llm_is_cut(const char *finish_reason);

/* Why the reply is not an answer: a sentence that says what to do, with a code for ToolError; false: it is one. */
bool tfy__llm_is_refused(const TfyLlmReply *reply, int64_t *code, char *error);

/* The text without a leading `<think>…</think>`, which servers of reasoning models leave there; *len is its length. */
const char *tfy__llm_without_thoughts(const char *text, size_t *len);

/* Converts an answer's text to a value: a string as it is, every other type from JSON, with or without code fences
 * around it. The result is borrowed. False: error (TFY_ERROR_TEXT bytes) says what does not fit; task->error is
 * set only if the program is at fault. */
bool tfy__llm_decode(TfyTask *task, const TfyType *type, const char *answer, size_t len, TfyValue *out, char *error);

/* ---- llm_cassette.c ---- */

typedef struct TfyCassette TfyCassette;

/* Reads the lines of a session; name appears in errors. False: error holds one sentence with name:line. The
 * cassette must be empty before. */
bool tfy__cassette_read(TfyCassette *cassette, const char *bytes, size_t len, const char *name, char *error);

/* Opens FILE to answer from it, or (record) to append to it, creating it. TFY_OK, or a negative code and a
 * sentence. */
int tfy__cassette_open(TfyCassette **cassette, const char *path, bool record, char *error);
TfyCassette *tfy__cassette_new(void); /* an empty one without a file; NULL: no memory */
void tfy__cassette_free(TfyCassette *cassette);

/* The answer to the occurrence-th request with this digest (from 1), or NULL. Valid until the cassette is freed. */
const TfyLlmReply *tfy__cassette_find(const TfyCassette *cassette, uint64_t digest, uint32_t occurrence);

/* Appends one line and syncs it. TFY_OK or TFY_E_IO with errno set. */
int tfy__cassette_append(TfyCassette *cassette, const TfyLlmRequest *request, uint32_t occurrence,
                         const TfyLlmReply *reply);

/* ---- llm_http.c ---- */

/* Who is asked. Everything is borrowed for the call. */
typedef struct TfyLlmTarget {
    const TfyLlmForm *form;
    const char *url;
    const char *model;     /* as the endpoint calls it */
    const char *named;     /* the address, in messages about the settings */
    const char *from;      /* the model's name, in what is opaque; "": the environment's */
    const char *key;       /* NULL: none */
    bool from_environment; /* the key is that of TFY_LLM_KEY_FILE or TFY_LLM_KEY */
    bool has_other;        /* somebody else can be asked: a long wait is a failure */
    bool offers;           /* the request offers tools: an answer without a text is one, too */
    bool bound;            /* by a budget: a request that broke is put down once more before it is sent again */
    uint32_t tries;        /* requests that it was sent before */
    bool streams;          /* the body asks for a stream; an answer in one piece is taken, too */
} TfyLlmTarget;

typedef struct TfyLlmHttp TfyLlmHttp;
typedef struct TfyLlmAsk TfyLlmAsk;

/* The endpoint answered with this status (0: there was no connection, or it broke), and is asked again after a pause;
 * tries: requests sent so far. */
typedef void (*TfyLlmAgain)(void *arg, int64_t status, int64_t wait_ms, uint32_t tries);

/* Finishes a request: reply (borrowed) or, if it is NULL, a code (HTTP status or errno value) and a sentence; and all of
 * them if the request was too long. The ask is freed after it. */
typedef void (*TfyLlmDone)(void *arg, const TfyLlmReply *reply, int64_t code, const char *error);

/* A piece of the text of an answer that streams, as it came; NULL: the stream was lost, and what it said is void. */
typedef void (*TfyLlmSaid)(void *arg, const char *text, size_t len);

/* What the caller of an ask hears. wait: the pause is above wait_max_ms, or comes after a bound request that broke, and is
 * the caller's own; the ask is freed after it. */
typedef struct TfyLlmHeard {
    TfyLlmAgain again, wait;
    TfyLlmDone done;
    TfyLlmSaid said;
} TfyLlmHeard;

/* The code of an endpoint that gives no streams: the same may be asked for in one piece. */
#define TFY_LLM_NO_STREAM (-1)

/* The caller owns limits and may change them; NULL: no memory. */
TfyLlmHttp *tfy__llm_http_new(TfyLoop *loop, const TfyLlmLimits *limits);
void tfy__llm_http_free(TfyLlmHttp *http); /* no ask may be in flight */
/* Whether the target may give streams: false once it has refused one. */
bool tfy__llm_http_streams(const TfyLlmHttp *http, const TfyLlmTarget *target);

/* Sends the body, which it takes, also when it fails. The answer arrives on the loop's thread, never inside this call. NULL:
 * error (TFY_ERROR_TEXT bytes) says why nothing was sent, *code as above. */
TfyLlmAsk *tfy__llm_http_ask(TfyLlmHttp *http, const TfyLlmTarget *target, TfyBuffer *body, const TfyLlmHeard *heard,
                             void *arg, int64_t *code, char *error);
void tfy__llm_http_cancel(TfyLlmAsk *ask); /* done is not called any more */

/* The address of requests for a URL, which may end in /v1, /v1/chat/completions or neither. malloc'ed, or NULL if it is
 * not an http(s) URL. */
char *tfy__llm_endpoint(const TfyLlmForm *form, const char *url);

/* ---- llm.c ---- */

/* Reads the loop's llm option now: opens and checks a cassette. Called at open, so that a bad one is refused
 * before anything runs; otherwise the first call does it. TFY_OK or a negative code and a sentence (TFY_ERROR_TEXT
 * bytes). */
int tfy__llm_prepare(TfyLoop *loop, char *error);

/* For tests; NULL: no memory. */
TfyLlmLimits *tfy__llm_limits(TfyLoop *loop);

#endif
