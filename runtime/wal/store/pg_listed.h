/* pg_listed.h: what lists of runs show of them, drawn from their records as these are written. So a list reads table run alone,
 * and what it shows is of the same commit as the record that says it.
 *
 *   InstructionStart   who started the run, of which workflow, its labels, and what its program was called
 *   LLMPlan            tokens and a cost, which are added up
 *   TaskComplete       the error that ended it
 *
 * All of it is for people and lists: nothing else reads these columns, and the records have the whole. */
#ifndef WAL_STORE_PG_LISTED_H
#define WAL_STORE_PG_LISTED_H

#include "wal/rows/record.h"

typedef struct TfyPgListed {
    char *program_name, *workflow, *by; /* owned; NULL: nothing new is known */
    char *labels, *error;               /* JSON, owned; NULL: the same */
    int64_t tokens_in, tokens_out;      /* more than before */
    int64_t cost;                       /* the same, in millionths; -1: nothing had a price */
    bool any;                           /* something is new */
} TfyPgListed;

enum { TFY_PG_LISTED_MOST = 4096 /* bytes of an error */ };

void tfy__pg_listed_start(TfyPgListed *listed);
/* Adds what a record says. Texts that the database could not keep are left out. */
void tfy__pg_listed_add(TfyPgListed *listed, const TfyLogRecord *record);
/* The same of a run's first record, of which only the payload is set. */
void tfy__pg_listed_birth(TfyPgListed *listed, const TfyLogRecord *birth);
void tfy__pg_listed_free(TfyPgListed *listed);

/* Whether the record asks people something, or ends the question that its task has asked. */
bool tfy__pg_asks(const TfyLogRecord *record);
bool tfy__pg_answers(const TfyLogRecord *record);

#endif
