/* llm.h: asking a language model: what the files of this family share.
 *
 * One asking is one call of the performer. It goes through four hands:
 *
 *   llm_prompt    call → request (model, messages, schema) → digest; and the answer's text → value
 *   llm_cassette  answers from a recorded session, or writes one
 *   llm_http      POST to an OpenAI-compatible endpoint, without ever blocking the loop
 *   llm           the performer: chooses the source, writes what LLMPlan keeps, remembers a misfit for the next asking
 *
 * The request is kept as JSON (jansson) because three things need the same bytes: the digest, the cassette's line and
 * the body. Its digest is taken over the canonical text with the model as the *program* names it ("default"), not as
 * TFY_LLM_MODEL resolves it, so that a cassette plays on a machine with another endpoint or none.
 *
 * The key is read when a request leaves and wiped after it; whatever an endpoint says is searched for it before
 * anybody else sees it. */
#ifndef EFFECTS_LLM_H
#define EFFECTS_LLM_H

#include "core/effect.h"
#include "base/buffer.h"

#include <jansson.h>

/* What an endpoint may cost. Tests make it shorter. */
typedef struct TfyLlmLimits {
    int64_t connect_ms;  /* until the connection stands */
    int64_t total_ms;    /* one request, from the first byte out to the last byte in */
    int64_t wait_ms;     /* before the second try when the endpoint does not say how long; doubles */
    int64_t wait_max_ms; /* before any try, whatever the endpoint says */
    uint32_t tries;      /* requests sent for one asking while it answers 429 or 5xx */
    size_t body_max;     /* bytes of one response */
} TfyLlmLimits;

/* What a model answered. The strings are the reply's own; all zero is an empty one. */
typedef struct TfyLlmReply {
    char *answer;              /* raw text, NUL-terminated; may hold NULs */
    size_t answer_len;         /* bytes */
    char *model;               /* as the endpoint names it */
    char *finish_reason;       /* "stop", "length", …; "" when it said nothing */
    int64_t prompt_tokens;     /* -1: not told */
    int64_t completion_tokens; /* -1: not told */
} TfyLlmReply;

void tfy__llm_reply_clear(TfyLlmReply *reply);

/* An answer that did not fit, while its prompt may ask again. */
typedef struct TfyLlmMisfit {
    char *answer;      /* raw text, valid UTF-8 */
    size_t answer_len; /* bytes */
    char *error;       /* the decoder's words */
} TfyLlmMisfit;

/* ---- llm_prompt.c ---- */

/* Builds {"messages": [...], "model": "...", "schema": {...}?} from the call's arguments; misfit (or NULL) adds what
 * the model answered before and what was wrong with it. NULL: task->error is set. Owned by the caller. */
json_t *tfy__llm_request(TfyCall *call, const TfyLlmMisfit *misfit);

/* XXH3-64 of the canonical text; 0 when memory ran out. */
uint64_t tfy__llm_digest(const json_t *request);

/* The body for the endpoint. name: what the schema is called. Owned by the caller; NULL when memory ran out. */
json_t *tfy__llm_body(const json_t *request, const char *model, const char *name);

/* An answer's text to a value: a string as it is, everything else as JSON, with or without code fences around it. The
 * result is borrowed. False: error (TFY_ERROR_TEXT bytes) says what does not fit; task->error is set only when the
 * program is at fault. */
bool tfy__llm_decode(TfyTask *task, const TfyType *type, const char *answer, size_t len, TfyValue *out, char *error);

/* ---- llm_cassette.c ---- */

typedef struct TfyCassette TfyCassette;

/* Reads the lines of a session; name stands in errors. False: error has one sentence with name:line. The cassette is
 * empty before. */
bool tfy__cassette_read(TfyCassette *cassette, const char *bytes, size_t len, const char *name, char *error);

/* Opens FILE to answer from it, or (record) to append to it, creating it. TFY_OK, or a negative code and a sentence. */
int tfy__cassette_open(TfyCassette **cassette, const char *path, bool record, char *error);
TfyCassette *tfy__cassette_new(void); /* an empty one without a file; NULL when memory ran out */
void tfy__cassette_free(TfyCassette *cassette);

/* The answer to the occurrence-th request with this digest (from 1), or NULL. Valid until the cassette is freed. */
const TfyLlmReply *tfy__cassette_find(const TfyCassette *cassette, uint64_t digest, uint32_t occurrence);

/* Appends one line and syncs it. TFY_OK or TFY_E_IO with errno set. */
int tfy__cassette_append(TfyCassette *cassette, const json_t *request, uint64_t digest, uint32_t occurrence,
                         const TfyLlmReply *reply);

/* ---- llm_http.c ---- */

typedef struct TfyLlmHttp TfyLlmHttp;
typedef struct TfyLlmAsk TfyLlmAsk;

/* Ends an asking: reply (borrowed) or, when it is NULL, a code (HTTP status or errno value) and a sentence. The ask
 * is gone after it. */
typedef void (*TfyLlmDone)(void *arg, const TfyLlmReply *reply, int64_t code, const char *error);

TfyLlmHttp *
tfy__llm_http_new(TfyLoop *loop,
                  const TfyLlmLimits *limits); /* limits stay the caller's and may change; NULL: no memory */
void tfy__llm_http_free(TfyLlmHttp *http);     /* no ask is in flight */

/* Sends the body (kept as long as needed). The answer comes on the loop's thread, never inside this call. NULL: error
 * (TFY_ERROR_TEXT bytes) says why nothing was sent, *code as above. */
TfyLlmAsk *tfy__llm_http_ask(TfyLlmHttp *http, const char *url, const json_t *body, TfyLlmDone done, void *arg,
                             int64_t *code, char *error);
void tfy__llm_http_cancel(TfyLlmAsk *ask); /* done is not called any more */

/* Where requests go for a TFY_LLM_URL: with or without /v1 or /v1/chat/completions at its end. malloc'd, or NULL when
 * it is no http(s) URL. */
char *tfy__llm_endpoint(const char *url);

/* ---- llm.c ---- */

/* Reads the loop's llm option now: a cassette is opened and checked. Called at open so that a bad one is refused
 * before anything runs; otherwise the first call does it. TFY_OK or a negative code and a sentence (TFY_ERROR_TEXT
 * bytes). */
int tfy__llm_prepare(TfyLoop *loop, char *error);

/* For tests; NULL when memory ran out. */
TfyLlmLimits *tfy__llm_limits(TfyLoop *loop);

#endif
