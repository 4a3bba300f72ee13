/* exchange.h: calls that take several exchanges, for performers whose servers ask people in the middle of a call, or make
 * tasks of calls. core/step/round.h says what is recorded, and when. */
#ifndef CORE_EXCHANGE_H
#define CORE_EXCHANGE_H

#include "core/effect.h"
#include "observe/line.h"

/* What is known of a call that takes several exchanges. */
typedef struct TfyRound {
    json_t *asked;   /* what tfy__call_ask_more was told last; NULL: nothing since the last exchange */
    json_t *answers; /* {NAME: answer} for each of its requests, as TfyInquiry.answer made them */
    json_t *away;    /* what tfy__call_away was told; NULL: the server has no task of it */
    uint32_t count;  /* how often people were asked */
    uint32_t polls;  /* how often this process has asked for the task's end */
} TfyRound;

/* How a performer asks people in the middle of a call. request: a value of the requests. */
typedef struct TfyInquiry {
    /* The text of the question, and what stands below it. False: no memory. */
    bool (*question)(const TfyCall *call, const char *name, const json_t *request, TfyBuffer *text, TfyBuffer *details);
    /* How it is answered, as StepStart has it: "bool" or a form (value/form.h); owned. NULL: no memory. */
    json_t *(*type)(const json_t *request);
    /* A person's answer as the server gets it; "yes" and "no" are always among them; owned. NULL: it is none, and error
     * (TFY_ERROR_TEXT bytes) says why. */
    json_t *(*answer)(const json_t *request, const char *text, char *error);
    /* Nobody waits for the task any more. */
    void (*abandon)(const TfyCall *call, const json_t *away);
} TfyInquiry;

struct RoundOps;
extern const struct RoundOps tfy__rounds; /* for TfyPerformer.rounds */

/* These end an exchange, for performers with an inquiry; start() is called anew behind each. The trees are taken over.
 *
 * People are asked; {"server": name, "requests": {NAME: request}, "state"?: text} is recorded as McpRound. */
void tfy__call_ask_more(TfyCall *call, json_t *asked);
/* The server has made a task of the call, whose end it is asked for after wait_ms; {"server", "task": id, "ttl_ms"?,
 * "poll_ms"?} is recorded as McpTask. */
void tfy__call_away(TfyCall *call, json_t *away, int64_t wait_ms);
/* It goes on, and is asked again after wait_ms; what people answered has arrived. Nothing is recorded. */
void tfy__call_poll(TfyCall *call, int64_t wait_ms);
/* It has ended. The exchange goes on. */
void tfy__call_back(TfyCall *call);

/* Writes the span of an attempt as W3C's traceparent, for whoever is called. It is in the trace of its run (observe/line.h). */
void tfy__call_trace(const TfyCall *call, char out[TFY_TRACE_PARENT_LEN + 1]);

#endif
