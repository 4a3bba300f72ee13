/* runs.h: GET /v1/runs and GET /v1/runs/{id}. */
#ifndef SERVE_RUNS_H
#define SERVE_RUNS_H

#include "serve/index.h"
#include "serve/serve.h"

/* Appends a run as JSON. */
void tfy__run_shown(const TfyRunShown *run, TfyBuffer *out);

enum { TFY_CURSOR_SIZE = 80 }; /* bytes of a cursor, with its NUL */

/* Waits until the index has what Tfy-After names. False: the problem says that it does not. */
bool tfy__index_awaited(TfyRequest *request);
/* In a reader: a cursor of a list names the list, the making of the index, and where the next page starts. Read: the problem
 * says that it is none of this list. Written: "],"next":…}", where a place at 0 means the last page, and "behind": how many records the
 * list lacks, if they are many. */
bool tfy__cursor_read(TfyRequest *request, char list, TfyPlace *place);
void tfy__cursor_write(TfyRequest *request, char list, TfyPlace place);
void tfy__cursor_text(TfyRequest *request, char list, TfyPlace place, char *text, size_t size); /* the cursor alone */
char tfy__runs_list(const TfyRunsWanted *wanted); /* the letter of their list, which has its order in it */
/* In a reader: which runs the request's parameters mean. False: the problem says what is wrong with them. */
bool tfy__runs_wanted(TfyRequest *request, TfyRunsWanted *wanted);
/* In a reader: shows the run with that id, or a unique start of it, if the caller sees it. False: the problem says why not;
 * of several, one was shown. */
bool tfy__run_look_up(TfyRequest *request, const char *id, void (*show)(void *arg, const TfyRunShown *run), void *arg);
/* In a reader: writes the run with that id, or a unique start of it, as the answer. False: the problem says why not. */
bool tfy__run_answer(TfyRequest *request, const char *id);

void tfy__serve_runs(TfyRequest *request);
void tfy__serve_run(TfyRequest *request);

/* On a reader's thread: the uuid of the run that somebody names by it, or by a unique start of it. A run that the index does
 * not have yet is found by its uuid alone. False: the problem says why there is none. */
bool tfy__find_run_id(TfyRequest *request, const char *given, char id[37]);

#endif
