/* index.h: "<db>-index": what lists and searches need, drawn from the log. It is derived: made anew when it is missing, torn,
 * of another version or of another database, and deleted at will. The log itself has no index besides those that it needs
 * to write.
 *
 * One thread follows the log, record by record behind a cursor, and writes what up to 2,000 of them change in one
 * transaction. Readers have handles of their own. A row has no text of more than 4 KiB; the log has the whole. */
#ifndef SERVE_INDEX_H
#define SERVE_INDEX_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "wal/log/log.h"

enum {
    TFY_ONLY_SIZE = 512,
    TFY_ONLY_MOST = 16
}; /* bytes and number of the globs that say which workflows a caller sees */

typedef struct TfyIndexer TfyIndexer;

/* Opens it for the one that follows. NULL: error (TFY_ERROR_TEXT bytes) says why. */
TfyIndexer *tfy__indexer_open(const char *db_path, bool words, char *error);
/* Follows up to so many records. Returns their number, or a negative code. */
int tfy__indexer_follow(TfyIndexer *indexer);
/* Whether the run with that uuid is in the index, and has ended. */
bool tfy__indexer_has_ended(TfyIndexer *indexer, const char *uuid);
/* A run that was queued has begun. False: the index cannot be written now. */
bool tfy__indexer_begins(TfyIndexer *indexer, const char *uuid);
/* A run is set aside, since it differs from its log (core/served.h); why NULL: it is no longer. Of a file that is opened, none
 * is. False: the index cannot be written now. */
bool tfy__indexer_diverged(TfyIndexer *indexer, const char *uuid, const char *why);
int64_t tfy__indexer_cursor(const TfyIndexer *indexer); /* the newest record that is in it */
void tfy__indexer_rest(TfyIndexer *indexer);            /* gives back memory that only speeds up what follows */
void tfy__indexer_close(TfyIndexer *indexer);

/* A run, as lists show it. */
typedef struct TfyRunShown {
    const char *id, *program, *version, *workflow, *by; /* by, program: "" where the log does not say */
    const char *state;                                  /* "queued", "running", "completed", "failed", "cancelled" */
    const char *attention;                              /* "diverged", "held", "question", "in_doubt", "deadlock" */
    const char *difference;                             /* of a diverged one: a sentence; NULL: it is none */
    const char *held;             /* of a held one, which nobody may claim: why; NULL: it is none */
    int64_t started_ms, ended_ms; /* ended_ms 0: it has not */
    const json_t *labels;         /* NULL: none */
    int64_t tokens_in, tokens_out;
    int64_t cost; /* in millionths; -1: nothing has a price */
    int64_t records, lsn;
    const char *result, *error; /* JSON; NULL: none */
} TfyRunShown;

/* By what runs are ordered; those that are alike, by their start. An order other than TFY_BY_START has only runs that have
 * what they are ordered by: an end, tokens, a price. */
typedef enum TfyRunsOrder {
    TFY_BY_START,
    TFY_BY_END,
    TFY_BY_TOOK,
    TFY_BY_TOKENS,
    TFY_BY_COST,
    TFY_RUNS_ORDERS
} TfyRunsOrder;

/* Where a page of a list starts: behind this row. */
typedef struct TfyPlace {
    int64_t at;    /* the number of the row; 0: at the first one */
    int64_t value; /* what it was ordered by, which may have changed since; 0: its number is the order */
} TfyPlace;

/* Which runs. */
typedef struct TfyRunsWanted {
    const char *words; /* of arguments, result, error and labels; NULL: all */
    const char *state, *attention, *program, *version, *workflow, *by; /* NULL: all */
    const char *label, *label_value;                                   /* NULL: all */
    int64_t before_ms, after_ms;                                       /* when they started; 0: whenever */
    const char *only; /* globs of PROGRAM.WORKFLOW with blanks between them; NULL or "": all */
    TfyRunsOrder order;
    bool ascending; /* the oldest, shortest, cheapest first; false: the newest, longest, dearest */
    TfyPlace behind;
    uint32_t limit;
} TfyRunsWanted;

typedef struct TfyIndexReader TfyIndexReader;
TfyIndexReader *tfy__index_reader_open(const char *db_path, char *error);
void tfy__index_reader_rest(TfyIndexReader *reader); /* as tfy__indexer_rest */
void tfy__index_reader_close(TfyIndexReader *reader);
int64_t tfy__index_made(TfyIndexReader *reader);   /* a number of this making of the index; cursors name it */
int64_t tfy__index_cursor(TfyIndexReader *reader); /* the newest record that is in it; negative: a code */
/* Shows the runs to the callback. *next: where the next page starts; at 0: this is the last. 0 or a negative code. */
int tfy__index_runs(TfyIndexReader *reader, const TfyRunsWanted *wanted,
                    void (*show)(void *arg, const TfyRunShown *run), void *arg, TfyPlace *next);
/* Which open questions, oldest first. */
typedef struct TfyQuestionsWanted {
    const char *run;  /* uuid; NULL: all */
    const char *only; /* as above */
    int64_t above;    /* the cursor: asked behind this record */
    uint32_t limit;
} TfyQuestionsWanted;
/* Shows the record of each, and its run. *next: the cursor of the next page; 0: this is the last. 0 or a negative code. */
int tfy__index_questions(TfyIndexReader *reader, const TfyQuestionsWanted *wanted,
                         void (*show)(void *arg, int64_t lsn, const TfyRunShown *run), void *arg, int64_t *next);
/* What was done, newest first: the records. below: the cursor; 0: all. */
int tfy__index_audit(TfyIndexReader *reader, const char *only, int64_t below, uint32_t limit,
                     void (*show)(void *arg, int64_t lsn), void *arg, int64_t *next);
/* What was counted (tally.h), in groups. */
typedef enum TfyStatsBy {
    TFY_BY_HOUR = 1,
    TFY_BY_DAY = 2,
    TFY_BY_WORKFLOW = 4,
    TFY_BY_MODEL = 8,
    TFY_BY_POINT = 16, /* each of one version; with neither workflow nor model */
} TfyStatsBy;

typedef struct TfyStatsWanted {
    unsigned by;                    /* of TfyStatsBy; a day is one of UTC */
    const char *program, *workflow; /* NULL: all */
    const char *only;               /* as above; of points, whoever shows them has to look at it */
    int64_t after_ms, before_ms;    /* whole hours; before_ms 0: until now */
    uint32_t limit;                 /* groups, the newest ones first */
} TfyStatsWanted;

struct TfyCounts;
typedef struct TfyStat {
    int64_t begins_ms;                      /* of the hour or the day; 0: it is of all */
    const char *program, *workflow, *model; /* NULL: it is of all */
    const char *version;                    /* of the program whose point it is; NULL: it is of no point */
    uint32_t point;
    const struct TfyCounts *counts;
} TfyStat;
/* show: false: the group does not count towards the limit. 0 or a negative code. *more: there are more groups than the
 * limit. */
int tfy__index_stats(TfyIndexReader *reader, const TfyStatsWanted *wanted, bool (*show)(void *arg, const TfyStat *stat),
                     void *arg, bool *more);
/* What was counted at the points of a version of a program, and on the ways between them: to 0: at the point `from`. 0 or a
 * negative code. */
int tfy__index_points(TfyIndexReader *reader, const char *program, const char *version,
                      void (*show)(void *arg, uint32_t from, uint32_t to, const struct TfyCounts *counts), void *arg);
/* How many unfinished runs each version of each program has, the newest version first; `only` as above. 0 or a negative
 * code. */
int tfy__index_live(TfyIndexReader *reader, const char *only,
                    void (*show)(void *arg, const char *program, const char *version, int64_t live), void *arg);
/* How many questions are open, the record of the oldest one (0: none is), and how many steps are in doubt. 0 or a negative
 * code. */
typedef struct TfyWaiting {
    int64_t questions, oldest_lsn, doubts;
} TfyWaiting;
int tfy__index_waiting(TfyIndexReader *reader, TfyWaiting *waiting);
/* The run with that uuid, or with a unique start of it. TFY_E_ABSENT: none; TFY_E_INVALID: several. */
int tfy__index_run(TfyIndexReader *reader, const char *id, void (*show)(void *arg, const TfyRunShown *run), void *arg);

#endif
