/* delivery.h: what becomes of a request to a run. */
#ifndef CLI_ANSWER_DELIVERY_H
#define CLI_ANSWER_DELIVERY_H

#include <stdbool.h>

#include "tfy.h"

/* The outcome of a request. */
typedef struct TfyDelivery {
    bool live; /* a live process received it */
    /* the run's uuid; after a live process answered, only the uuid of a run that it created */
    char run[37];
    /* why it failed; of a delivered request, what happened to an earlier one, or "" */
    char text[TFY_ERROR_TEXT];
} TfyDelivery;

#endif
