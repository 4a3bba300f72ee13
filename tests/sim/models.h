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

/* What comes back of a request. */
typedef struct SimAnswer {
    CURLcode result;    /* CURLE_OK, or how the connection ends behind the body */
    long status;        /* 0: there is none */
    char header[2][80]; /* name and value of one header; "": none */
    TfyBuffer body;
    int64_t delay_ns; /* until it arrives; INT64_MAX: never */
} SimAnswer;

/* models.c */
void sim_models_begin(void); /* of a life: sets the performers */
void sim_models_die(void);
int sim_models_file(void); /* a descriptor that reads SIM_MODELS */
void sim_models_asked(const char *url, const char *body, SimAnswer *answer);
void sim_models_answered(void);                                     /* what was asked for has left the endpoint */
void sim_models_performed(const TfyCall *call);                     /* a tool begins outside */
void sim_check_models(const TfyHistory *history, const char *uuid); /* d9, d10 */

/* curl.c */
void sim_curl_die(void); /* nothing is under way any more */

#endif
