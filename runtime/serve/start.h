/* start.h: POST /v1/programs/{p}/workflows/{w}/runs: a run of a workflow starts.
 *
 * A start with an Idempotency-Key happens once: the key makes the run's uuid (wal/log/run_id.h), and the unique index of
 * table run decides whether it exists, so there is no second table, and no crash between two. A start whose key is on its
 * way to the disk is known by its uuid until it is durable. */
#ifndef SERVE_START_H
#define SERVE_START_H

#include "base/table.h"
#include "serve/programs.h"

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
    bool queued; /* it has not begun */
} TfyStarting;

/* What the first record of a run says besides. */
typedef struct TfyStartFacts {
    const TfyCaller *caller;
    const json_t *labels;    /* NULL: none */
    const char *program;     /* its name here */
    const char *concurrency; /* runs of its workflow with the same one wait for each other (queue.h); NULL: none */
    int64_t per_key;         /* … so many at once; 0: what the workflow has */
    int64_t priority;
    const json_t *narrower; /* what the start narrows (reach.h); NULL: nothing */
    TfyProblem *problem;    /* … where that is a mistake: TFY_E_INVALID */
    bool queued;            /* tfy__start_run says so: it has not begun */
} TfyStartFacts;
/* In the loop: starts a run, or queues it. key: Idempotency-Key, or NULL. Fills in its uuid. TFY_E_STATE: there is a run of
 * that key; TFY_E_FULL: there is no room, and others as tfy_submit. */
int tfy__start_run(TfyServer *server, const TfyServed *of, const TfyWorkflow *workflow, const char *args,
                   const char *key, TfyStartFacts *facts, char run[37], char *error);

void tfy__serve_start(TfyRequest *request);
/* Whether the body is a start of the program and workflow of the path, which request->starting gets. False: the problem says why
 * not. */
bool tfy__start_fits(TfyRequest *request);
/* As TfyStart.facts; arg: TfyStartFacts. */
void tfy__start_put_facts(void *arg, TfyBuffer *members);
void tfy__starting_free(TfyStarting *starting);

/* A run with that key exists: answers with it if its arguments are these. In a reader. */
void tfy__serve_started(TfyRequest *request);
/* The run has ended, or was waited for long enough. In a reader. */
void tfy__serve_waited(TfyRequest *request);

#endif
