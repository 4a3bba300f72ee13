/* models.h: the models that agents ask in the simulation.
 *
 * The runtime's own code for models runs as it is, down to libcurl: curl.c stands in for the part of libcurl that sends, so a request is one
 * call of sim_models_asked, and its answer arrives at a moment of the simulated clock. Three wire forms are spoken (SIM_MODELS names the file
 * that says which model speaks which). What an endpoint does follows from the seed: it is slow, refuses, has no time and says until when, breaks
 * off, answers with what is not JSON, or never; and its model lies: tools that do not exist, arguments that do not fit, equal ids, answers that
 * are cut off, refusals, too many calls.
 *
 * An endpoint remembers across deaths, by words that the programs put into their questions (agents.tfy):
 *
 *   goal=G           what the work comes to in the end: "G is done"
 *   talk=T           the conversation: each request of it holds all that the one before held
 *   budget=B:C:N     the budget that it counts for: at most C calls and N tokens; "none": no budget */
#ifndef SIM_MODELS_H
#define SIM_MODELS_H

#include <curl/curl.h>

#include "sim.h"
#include "base/buffer.h"

#define SIM_MODELS "/sim/models.json"

/* What is asked. */
typedef struct SimQuestion {
    const char *form; /* "chat", "messages" or "responses" */
    json_t *body;
    json_t *heard;    /* its messages, flat; owned */
    const char *said; /* the newest of the user's texts with a name of a talk; "" */
    char goal[80], talk[80], budget[80];
    uint32_t rounds; /* answers so far */
    int64_t window;  /* tokens that the model can read; 0: it has no window */
    bool offers;     /* tools */
    bool compacts;   /* asks for a summary of the older part of a conversation */
    bool streams;    /* the answer may be a stream */
    size_t len;      /* of the body */
} SimQuestion;

/* What comes back of a request. */
typedef struct SimAnswer {
    CURLcode result;    /* CURLE_OK, or how the connection ends behind the body */
    long status;        /* 0: there is none */
    char header[2][80]; /* name and value of one header; "": none */
    TfyBuffer body;
    bool streams;     /* the body is a stream, and arrives in pieces */
    int64_t delay_ns; /* until it arrives, or its first piece; INT64_MAX: never */
} SimAnswer;

/* models.c */
void sim_models_begin(void); /* of a life: sets the performers */
void sim_models_die(void);
int sim_models_file(void); /* a descriptor that reads SIM_MODELS */
void sim_models_asked(const char *url, const char *body, SimAnswer *answer);
void sim_models_answered(void);                                     /* what was asked for has left the endpoint */
void sim_models_performed(const TfyCall *call);                     /* a tool begins outside */
void sim_check_models(const TfyHistory *history, const char *uuid); /* d9, d10, d11 */

/* talk.c: what endpoints remember of the conversations with them */
typedef struct SimTalk SimTalk;
SimTalk *sim_talk_of(const SimQuestion *q);
void sim_talk_heard(SimTalk *talk, const SimQuestion *q); /* w10, w12, w13, w14 */
void sim_talk_waits(SimTalk *talk, int64_t until_ns);     /* it is not to go on before */
void sim_talk_sums_up(SimTalk *talk, uint32_t remark);    /* the newest summary is this remark */
void sim_remark(uint32_t number, TfyBuffer *out);
int sim_remark_in(const char *text,
                  uint32_t *number); /* 1: it is a whole one; 0: it is none; -1: it is a part of one, or has more */

/* stream.c */
void sim_stream_write(const SimQuestion *q, const json_t *answer, TfyBuffer *out);

/* curl.c */
void sim_curl_die(void); /* nothing is under way any more */

#endif
