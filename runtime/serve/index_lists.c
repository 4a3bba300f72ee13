/* index_lists.c: see lists.h: the lists of a file, which are in the index beside it, kept by the tail. */
#include "cli/look/event.h"
#include "serve/lists.h"
#include "serve/reader.h"
#include "wal/store/store.h"

static bool open_index(TfyReader *reader, char *error)
{
    return (reader->index = tfy__index_reader_open(reader->server->db, error));
}

static void close_index(TfyReader *reader)
{
    tfy__index_reader_close(reader->index);
}

static void rest(TfyReader *reader)
{
    tfy__index_reader_rest(reader->index);
}

static bool await(TfyServer *server, int64_t lsn)
{
    return tfy__tail_await(server->tail, lsn);
}

static bool await_all(TfyServer *server)
{
    return tfy__tail_await(server->tail, tfy__log_durable_lsn(tfy__loop_log(server->loop)));
}

static int64_t behind(TfyServer *server)
{
    return tfy__tail_behind(server->tail);
}

static int64_t made(TfyReader *reader)
{
    return tfy__index_made(reader->index);
}

static const char *lacks(const TfyServer *server, const TfyRunsWanted *wanted)
{
    (void)server;
    (void)wanted;
    return NULL;
}

static int runs(TfyReader *reader, const TfyRunsWanted *wanted, TfyShowRun *show, void *arg, TfyPlace *next)
{
    return tfy__index_runs(reader->index, wanted, show, arg, next);
}

static int run(TfyReader *reader, const char *id, TfyShowRun *show, void *arg)
{
    return tfy__index_run(reader->index, id, show, arg);
}

static int questions(TfyReader *reader, const TfyQuestionsWanted *wanted,
                     void (*show)(void *arg, int64_t lsn, const TfyRunShown *run), void *arg, int64_t *next)
{
    return tfy__index_questions(reader->index, wanted, show, arg, next);
}

static int live(TfyReader *reader, const char *only,
                void (*show)(void *arg, const char *program, const char *version, int64_t live), void *arg)
{
    return tfy__index_live(reader->index, only, show, arg);
}

static int points(TfyReader *reader, const char *program, const char *version,
                  void (*show)(void *arg, uint32_t from, uint32_t to, const struct TfyCounts *counts), void *arg)
{
    return tfy__index_points(reader->index, program, version, show, arg);
}

static int stats(TfyReader *reader, const TfyStatsWanted *wanted, bool (*show)(void *arg, const TfyStat *stat),
                 void *arg, bool *more)
{
    return tfy__index_stats(reader->index, wanted, show, arg, more);
}

static int audit(TfyReader *reader, const char *only, int64_t below, uint32_t limit,
                 void (*show)(void *arg, int64_t lsn), void *arg, int64_t *next)
{
    return tfy__index_audit(reader->index, only, below, limit, show, arg, next);
}

static int record(TfyReader *reader, const char *run, int64_t lsn, int (*see)(void *arg, const struct TfyEvent *event),
                  void *arg)
{
    (void)run;
    return tfy__events_see(reader->events, lsn, see, arg);
}

const TfyLists tfy__index_lists = {
    .open = open_index,
    .close = close_index,
    .rest = rest,
    .await = await,
    .await_all = await_all,
    .behind = behind,
    .made = made,
    .lacks = lacks,
    .runs = runs,
    .run = run,
    .questions = questions,
    .live = live,
    .points = points,
    .stats = stats,
    .audit = audit,
    .record = record,
};
