/* child.h: what takes long or needs a compiler is done by tfy itself, in a process of its own: replaying a run up to a record,
 * comparing two. It has 10 s, 1 GiB of memory and 16 MiB of output, and two work at once. */
#ifndef SERVE_CHILD_H
#define SERVE_CHILD_H

#include "serve/process.h"
#include "serve/serve.h"

struct TfyChildren *tfy__children_open(void);
void tfy__children_quit(struct TfyChildren *children); /* ends those that work; their requests are answered */
void tfy__children_close(struct TfyChildren *children);

/* In a reader: has a thread of its own do the work, once the reader has done with the request. It may run processes, and
 * passes the request on. Where too many work already, the problem says so. */
void tfy__child_work(TfyRequest *request, void (*work)(TfyRequest *request));
/* On that thread: tfy__process_run for a process that ends with the server. */
TfyProcessEnd tfy__child_run(TfyRequest *request, TfyProcess *process, int *status);
/* The same for a process that somebody else runs: its `born`. */
bool tfy__child_born(void *request, pid_t pid);
/* The last line that tfy said, without its name; "" where it names a file of the machine, which stays here. */
void tfy__child_says(TfyProcess *process, char *words, size_t size);

/* In a reader: has a child answer the request, once the reader has done with it: `tfy WORDS… --db DATABASE --json`. The words
 * are copied; NULL ends them. What the child prints is the answer. */
void tfy__child_ask(TfyRequest *request, const char *const *words);
/* Has the answer that the child gave, a JSON object, be changed before it leaves, on a thread of the child's own. Takes the
 * facts, for the function. */
void tfy__child_then(TfyRequest *request, void (*finish)(TfyRequest *request, json_t *answer, json_t *facts),
                     json_t *facts);
void tfy__child_free(struct TfyChild *child);

void tfy__serve_at(TfyRequest *request);      /* GET /v1/runs/{id}/at/{place} */
void tfy__serve_compare(TfyRequest *request); /* GET /v1/compare */
extern const char *const tfy__compare_parameters[];

#endif
