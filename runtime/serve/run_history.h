/* run_history.h: what is in the log of one run, for those who look at it: its records, what each task did when, where its
 * tasks are, what it printed, and the source of its program. A reader reads the whole run for that. */
#ifndef SERVE_RUN_HISTORY_H
#define SERVE_RUN_HISTORY_H

#include "serve/serve.h"

extern const char *const tfy__records_parameters[]; /* of the query of …/records; ends with NULL */
extern const char *const tfy__output_parameters[];  /* … of …/output */

void tfy__serve_records(TfyRequest *request);
void tfy__serve_timeline(TfyRequest *request);
void tfy__serve_tasks(TfyRequest *request);
void tfy__serve_output(TfyRequest *request);
void tfy__serve_source(TfyRequest *request); /* GET …/source: the files of its program, the main one first */
void tfy__serve_run_record(TfyRequest *request);
void tfy__serve_record(TfyRequest *request); /* GET /v1/records/{lsn} */

#endif
