/* lists.h: what requests read besides the histories of runs: lists, questions, counts. One table of functions, with two
 * implementations: the index beside a file (index.h), and the tables of a shared database (shared/). No route knows which one
 * it asks.
 *
 * Each call is made by a reader's own thread. Codes are TFY_OK, TFY_E_NOMEM, TFY_E_IO; and TFY_STORE_AWAY where a database does
 * not answer. NULL in place of a function: there is none of this, and routes that need it are not served (routes.c). */
#ifndef SERVE_LISTS_H
#define SERVE_LISTS_H

#include "serve/index.h"

struct TfyEvent;
struct TfyReader;
struct TfyRequest;
struct TfyServer;

typedef void TfyShowRun(void *arg, const TfyRunShown *run);

typedef struct TfyLists {
    /* Opens and closes what a reader needs besides its log. False: error (TFY_ERROR_TEXT bytes) says why. */
    bool (*open)(struct TfyReader *reader, char *error);
    void (*close)(struct TfyReader *reader);
    void (*rest)(struct TfyReader *reader); /* gives back memory that only speeds up what follows */

    /* Waits until the lists have this record. False: they have not within five seconds. */
    bool (*await)(struct TfyServer *server, int64_t lsn);
    /* Waits until they have all that was durable when this was called. */
    bool (*await_all)(struct TfyServer *server);
    int64_t (*behind)(struct TfyServer *server); /* durable records that they lack */
    int64_t (*made)(struct TfyReader *reader);   /* a number of this making of them; cursors name it */

    /* Which of the things that are wanted there are not in these lists, as people know it; NULL: they have all. */
    const char *(*lacks)(const struct TfyServer *server, const TfyRunsWanted *wanted);
    /* As tfy__index_runs, tfy__index_run, … (index.h). */
    int (*runs)(struct TfyReader *reader, const TfyRunsWanted *wanted, TfyShowRun *show, void *arg, TfyPlace *next);
    int (*run)(struct TfyReader *reader, const char *id, TfyShowRun *show, void *arg);
    int (*questions)(struct TfyReader *reader, const TfyQuestionsWanted *wanted,
                     void (*show)(void *arg, int64_t lsn, const TfyRunShown *run), void *arg, int64_t *next);
    int (*live)(struct TfyReader *reader, const char *only,
                void (*show)(void *arg, const char *program, const char *version, int64_t live), void *arg);
    int (*points)(struct TfyReader *reader, const char *program, const char *version,
                  void (*show)(void *arg, uint32_t from, uint32_t to, const struct TfyCounts *counts), void *arg);
    int (*stats)(struct TfyReader *reader, const TfyStatsWanted *wanted, bool (*show)(void *arg, const TfyStat *stat),
                 void *arg, bool *more);
    int (*audit)(struct TfyReader *reader, const char *only, int64_t below, uint32_t limit,
                 void (*show)(void *arg, int64_t lsn), void *arg, int64_t *next);
    /* Shows the record of this lsn, of this run where each has numbers of its own, if it is there. */
    int (*record)(struct TfyReader *reader, const char *run, int64_t lsn,
                  int (*see)(void *arg, const struct TfyEvent *event), void *arg);
} TfyLists;

extern const TfyLists tfy__index_lists; /* index_lists.c: of a file */

/* A code of these, or of a log that is read: the problem says so, in this sentence where the code has none of its own. False. */
bool tfy__lists_failed(struct TfyRequest *request, int code, const char *sentence);

#endif
