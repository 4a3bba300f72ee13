/* of_run.h: the run that a request is about. A reader finds it in the index, and whether the caller may see it, or change
 * it; the loop gets its whole id. */
#ifndef SERVE_OF_RUN_H
#define SERVE_OF_RUN_H

#include "serve/serve.h"

typedef struct TfyRunFound {
    char id[37];
    char program[128], workflow[128], by[64];
    json_t *labels; /* owned; NULL: none */
    bool ended;
} TfyRunFound;

/* In a reader: finds the run by its id or a unique start of it, as request->run. False: the problem says why not. */
bool tfy__run_find(TfyRequest *request, const char *id);
void tfy__run_found_free(TfyRunFound *run);
/* Notes all but the labels. */
void tfy__run_found_note(TfyRunFound *run, const TfyRunShown *shown);

/* In a reader: finds the run that the first name of the path means, decides whether the caller may do what the route does
 * to it, and passes the request to the loop. */
void tfy__of_run(TfyRequest *request);

#endif
