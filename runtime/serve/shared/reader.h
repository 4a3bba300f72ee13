/* reader.h: what a reader's thread has of a shared database besides a log: a connection for lists.
 *
 * A list is one statement in a transaction that only reads, and ends after some seconds whatever it finds. If the database does
 * not answer, the reader waits for it once, and says so at once for a while (pg_link.h). */
#ifndef SERVE_SHARED_READER_H
#define SERVE_SHARED_READER_H

#include "base/buffer.h"
#include "serve/lists.h"
#include "serve/reader.h"
#include "wal/store/cluster.h"
#include "wal/store/pg_link.h"
#include "wal/store/pg_submit.h"

enum { TFY_SHARED_PATIENCE_MS = 5000 }; /* how long a reader waits for the database */

typedef struct TfySharedReader {
    TfyPgAddress address;
    TfyPgLink link;
    /* Of those that send; NULL: nothing was sent yet. */
    TfyCluster *cluster;
    TfyPgSubmitter *submitter;
    TfyLoop *loop;             /* says what the first record of a run would be … */
    const TfyProgram *program; /* … of this program; it has no log */
} TfySharedReader;

/* The reader's handle to send through, opened when it is first asked for. NULL: the problem says that the database is away. */
TfyCluster *tfy__shared_cluster_of(TfyRequest *request);

extern const TfyLists tfy__shared_lists; /* lists.c */

/* A statement that is being written, with its values, which are borrowed until it is asked. */
typedef struct TfySharedQuery {
    TfyBuffer sql;
    TfyPgAsk ask;
    TfyBuffer texts[TFY_ONLY_MOST]; /* values that it owns */
    int text_count;
} TfySharedQuery;

void tfy__shared_query_start(TfySharedQuery *query);
void tfy__shared_query_free(TfySharedQuery *query);
/* Appends the text, and with it the place of a value. */
void tfy__shared_query_text(TfySharedQuery *query, const char *before, const char *value); /* NULL: nothing at all */
void tfy__shared_query_number(TfySharedQuery *query, const char *before, int64_t value);
/* Appends that the name fits one of these globs, if there are any. */
void tfy__shared_query_only(TfySharedQuery *query, const char *name, const char *only);

/* A code of pg_link.h as one of lists.h; whoever calls says a line about TFY_E_IO. */
int tfy__shared_code(int code);
/* Asks it; the result is the caller's to clear. TFY_OK, TFY_STORE_AWAY, TFY_E_NOMEM, or TFY_E_IO, of which a line says more. */
int tfy__shared_ask(TfySharedReader *reader, TfySharedQuery *query, const char *what, TfyPgResult **result);

#endif
