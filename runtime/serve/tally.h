/* tally.h: what the index counts of the log, an hour at a time: runs, steps at each point of a program and the ways between
 * them, answers of models. Totals are kept, so that no question about a million runs reads a million rows.
 *
 * While a page of records is followed the numbers grow in memory; at its end they are added to the rows of the index, in the
 * same transaction as its cursor. How long things took is a spread: a count for each of 96 classes, two for
 * each doubling, so a quantile is right within a third. */
#ifndef SERVE_TALLY_H
#define SERVE_TALLY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"

/* What a row counts. Stored: never change a number. */
typedef enum TfyTallied {
    TFY_TALLY_RUNS = 1, /* name: "" */
    TFY_TALLY_MODELS,   /* answers of a model; name: of the model */
    TFY_TALLY_POINTS,   /* steps at a point; workflow: ""; name: "VERSION/POINT" */
    TFY_TALLY_WAYS,     /* from the point of a step to that of the task's next one; workflow: ""; name: "VERSION/FROM/TO" */
} TfyTallied;

enum { TFY_SPREAD = 96, TFY_TALLY_NAME = 128, TFY_HOUR_MS = 3600000 };

typedef struct TfyCounts {
    int64_t begun, ended, failed, cancelled; /* ended: also those that failed or were cancelled */
    int64_t ms;                              /* how long all together took */
    int64_t tokens_in, tokens_out;
    int64_t cost; /* in millionths */
    uint32_t spread[TFY_SPREAD];
} TfyCounts;

typedef struct TfyTally {
    TfyLink link; /* in TfyTallies.table */
    TfyTallied what;
    int64_t hour; /* since 1970 */
    char program[TFY_TALLY_NAME], workflow[TFY_TALLY_NAME], name[TFY_TALLY_NAME];
    TfyCounts counts;
} TfyTally;

/* A zeroed struct has counted nothing. */
typedef struct TfyTallies {
    TfyTable table; /* owns what it finds */
    TfyTally spare; /* what is counted when memory has run out, and lost */
    bool failed;
} TfyTallies;

extern const char tfy__tally_schema[];

/* The counts of a row, to be added to. Never NULL; names are cut at TFY_TALLY_NAME. */
TfyCounts *tfy__tally(TfyTallies *tallies, TfyTallied what, int64_t ms, const char *program, const char *workflow,
                      const char *name);
void tfy__tally_took(TfyCounts *counts, int64_t ms);
/* Adds all to the rows of the index and forgets them. A code of SQLite's. */
int tfy__tallies_keep(TfyTallies *tallies, sqlite3 *db);
void tfy__tallies_drop(TfyTallies *tallies);

/* ---- reading ---- */

/* Adds the counts of a row: nine columns from `at` on, as TFY_TALLY_COLUMNS names them. */
#define TFY_TALLY_COLUMNS "begun,ended,failed,cancelled,ms,tokens_in,tokens_out,cost,spread"
void tfy__tally_read(sqlite3_stmt *row, int at, TfyCounts *counts);
/* The time below which such a share of them took, in milliseconds. share: 0.5 for the median; -1: nothing took any time. */
int64_t tfy__tally_quantile(const TfyCounts *counts, double share);

#endif
