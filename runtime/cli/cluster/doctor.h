/* doctor.h: what is wrong with a database of PostgreSQL, and what to do about it. */
#ifndef CLI_CLUSTER_DOCTOR_H
#define CLI_CLUSTER_DOCTOR_H

#include <jansson.h>

#include "wal/store/pg_about.h"

/* Hears one sentence of advice. */
typedef void TfyAdvise(void *state, const char *text);
/* Prints it as a message. */
void tfy__advise_aloud(void *state, const char *text);

/* Says how the server or the tables are set up badly. */
void tfy__cluster_advise(const TfyPgAbout *about, TfyAdvise *advise, void *state);
/* Says which runs no worker would take. queues: of TfyPgOverview. */
void tfy__cluster_uncovered(const json_t *queues, TfyAdvise *advise, void *state);

/* Reads both, adds to the report what doctor shows of the database in place of files ("server", "lease_ms", "workers", "queues"),
 * and advises. Returns EXIT_DONE, or the exit status after a message. */
int tfy__cluster_examine(const char *address, json_t *report, TfyAdvise *advise, void *state);
/* Prints that for people. */
void tfy__cluster_print(const json_t *report);

#endif
