/* start.h: POST /v1/programs/{p}/workflows/{w}/runs: a run of a workflow starts.
 *
 * A start with an Idempotency-Key happens once: the key makes the run's uuid (wal/log/run_id.h), and the unique index of
 * table run decides whether it exists, so there is no second table, and no crash between two. A start whose key is on its
 * way to the disk is known by its uuid until it is durable. */
#ifndef SERVE_START_H
#define SERVE_START_H

#include "base/table.h"
#include "serve/serve.h"

/* A start on its way: from the loop until it is durable, or of a run that is there already. */
typedef struct TfyStarting {
    TfyLink link;        /* by uuid, while it is not durable; only with a key */
    const TfyServed *of; /* the program */
    const TfyWorkflow *workflow;
    uint8_t uuid[16];             /* with a key */
    char run[37];                 /* … as text */
    TfyBuffer args;               /* as InstructionStart has them */
    struct TfyRequest *followers; /* with the same key: they are answered when it is durable */
    int64_t started_ms;
} TfyStarting;

/* What the first record of a run says besides. */
typedef struct TfyStartFacts {
    const TfyCaller *caller;
    const json_t *labels; /* NULL: none */
    const char *program;  /* its name here */
} TfyStartFacts;
void tfy__put_start_facts(void *facts, TfyBuffer *members); /* as TfyStart has it */

void tfy__serve_start(TfyRequest *request);
void tfy__starting_free(TfyStarting *starting);

/* A run with that key exists: answers with it if its arguments are these. In a reader. */
void tfy__serve_started(TfyRequest *request);
/* The run has ended, or was waited for long enough. In a reader. */
void tfy__serve_waited(TfyRequest *request);

#endif
