/* index_query.h: a query of the index, put together from conditions. */
#ifndef SERVE_INDEX_QUERY_H
#define SERVE_INDEX_QUERY_H

#include "base/buffer.h"
#include "serve/index.h"

struct TfyIndexReader {
    sqlite3 *db;
    char path[4096];
};

/* What a query is bound to, in its order. */
typedef struct TfyBound {
    const char *text; /* NULL: a number */
    int64_t number;
} TfyBound;

typedef struct TfyQuery {
    TfyBuffer sql;
    TfyBound bound[16 + TFY_ONLY_MOST];
    int count;
    char only[TFY_ONLY_SIZE];
} TfyQuery;

/* Appends " AND condition", whose "?" gets the value; a text that is NULL appends nothing. */
void tfy__query_text(TfyQuery *query, const char *condition, const char *value);
void tfy__query_number(TfyQuery *query, const char *condition, int64_t value);
/* Appends the condition that "PROGRAM.WORKFLOW", as SQL has it, fits one of the globs; NULL or "": nothing. */
void tfy__query_only(TfyQuery *query, const char *name, const char *only);
/* The statement, bound. NULL: it cannot be had; *code says why. */
sqlite3_stmt *tfy__query_open(TfyIndexReader *reader, const TfyQuery *query, int *code);

/* ---- runs ---- */

/* What a run r is shown from: these columns, from the first on. */
#define TFY_RUN_COLUMNS                                                                                                \
    "r.id,r.uuid,r.program,r.version,r.workflow,r.started_by,r.labels,r.state,r.questions,r.doubts,r.stuck,"           \
    "r.started_ms,r.ended_ms,r.tokens_in,r.tokens_out,r.cost,r.records,r.lsn,r.result,r.error,"                        \
    "r.difference"
enum { TFY_RUN_COLUMN_COUNT = 21 };

void tfy__query_show_run(sqlite3_stmt *row, void (*show)(void *arg, const TfyRunShown *run), void *arg);

/* ---- words ---- */

/* Writes what somebody searches for as FTS5 has it: each word as a quoted string, the last one as the start of a word. False:
 * there is no word. */
bool tfy__query_words(TfyIndexReader *reader, const char *words, TfyBuffer *out);

#endif
