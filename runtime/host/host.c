/* host.c: TfyHost (tfy.h): a C program that executes runs of a database of PostgreSQL in several threads, as a worker does.
 *
 * It has a session and its loops (loops.h), a handle for submitting, and a log that reads. The last two are used by any thread,
 * one at a time. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/lease.h"
#include "core/loop.h"
#include "core/served.h"
#include "host/loops.h"
#include "hub/hub_cluster.h"
#include "tfy.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"
#include "wal/store/pg_address.h"
#include "wal/store/pg_cluster.h"

enum { TRIES = 5, TRY_MS = 200, LOOK_MS = 100, LEFT_MS = 2000 /* how long the last tools may take to end */ };

struct TfyHost {
    const TfyProgram *program;
    TfyHostOptions options;
    char *database; /* owned */
    TfyHub *hub;
    TfyLoops *loops;
    int told[2]; /* what watchers say (base/lease.h); -1: it is not open */
    int code;    /* of tfy_host_run */
    /* With the mutex. */
    pthread_mutex_t mutex;
    TfyCluster *cluster;
    TfyLog *log; /* NULL: nobody has asked yet */
    int64_t queue, row;
};

static void say(const TfyHost *host, const char *text)
{
    if (host->options.on_message) host->options.on_message(host->options.state, text);
}

/* ---- opening ---- */

static int check(const TfyHostOptions *options, char *error_text)
{
    if (!options->database || !tfy__pg_is_address(options->database))
        return tfy__log_refuse(
            error_text, TFY_E_INVALID,
            "a host shares a database of PostgreSQL: postgresql://USER@HOST/NAME; for a file there is "
            "tfy_open");
    if (options->threads > TFY_LOOPS_MOST)
        return tfy__log_refuse(error_text, TFY_E_INVALID, "a host has %d threads at most", TFY_LOOPS_MOST);
    return 0;
}

static int join(void *state, int64_t session, int64_t lease_ms, struct TfyStore **store, char *error_text)
{
    const TfyHost *host = state;
    return tfy__pg_open(store, &(TfyPgOpen){.address = host->database, .session = session, .lease_ms = lease_ms},
                        error_text);
}

static void on_blame(void *state, const TfyBlame *blame)
{
    char run[37], text[200];
    tfy__uuid_text(blame->uuid, run);
    snprintf(text, sizeof text, "run %s is held; when the cause is mended, 'tfy release %s' lets it be taken again",
             run, run);
    if (blame->held) say(state, text);
}

/* Keeps the program and its queue, so that its runs have a place. */
static int keep_program(TfyHost *host, char *error_text)
{
    const TfyProgram *program = host->program;
    const char *pool = host->options.pool ? host->options.pool : "default";
    TfyStoreProgram row = {.tfyc = program->tfyc, .source = program->source, .layout = program->layout};
    memcpy(row.hash, program->hash, sizeof row.hash);
    int code = tfy__pg_cluster_open(&host->cluster, &(TfyPgOpen){.address = host->database}, error_text);
    if (code) return code;
    host->row = host->cluster->ops->keep_program(host->cluster, &row);
    host->queue = host->row > 0 ? host->cluster->ops->queue(host->cluster, pool, host->row) : host->row;
    return host->queue > 0 ? 0 : tfy__log_refuse(error_text, (int)host->queue, "%s", host->cluster->error);
}

static int open_session(TfyHost *host, char *error_text)
{
    const TfyHostOptions *options = &host->options;
    TfyHubOpen open = {.join = join,
                       .state = host,
                       .session = {.worker = options->name ? options->name : "host",
                                   .version = tfy_version(),
                                   .pool = options->pool ? options->pool : "default",
                                   .name = options->name ? options->name : "host",
                                   .program = (const uint8_t *)host->program->hash,
                                   .capacity = TFY_RUNS_MOST},
                       .pool = options->pool,
                       .loops = options->threads,
                       .leased = true,
                       .blame = on_blame};
    if (pipe2(host->told, O_CLOEXEC | O_NONBLOCK) != 0)
        return tfy__log_refuse(error_text, TFY_E_IO, "no descriptor is left for a host");
    tfy__lease_tell(host->told[1]);
    const int code = tfy__pg_cluster_open(&open.cluster, &(TfyPgOpen){.address = host->database}, error_text);
    return code ? code : tfy__hub_cluster_open(&host->hub, &open, error_text);
}

static void on_diverged(void *state, const char *run, const char *why)
{
    char text[TFY_ERROR_TEXT + 40];
    (void)run;
    snprintf(text, sizeof text, "set aside and held: %s", why ? why : "");
    if (why) say(state, text);
}

static void on_notice(void *state, const char *text)
{
    say(state, text);
}

static void on_opened(void *state, TfyLoop *loop)
{
    tfy__set_aside(loop, on_diverged, state);
    tfy__on_notice(loop, on_notice, state);
}

static void on_ended(void *state, uint32_t place, TfyLoop *loop, int code)
{
    (void)place;
    if (code != TFY_E_STATE) say(state, tfy__failure(loop));
}

static int open_loops(TfyHost *host, char *error_text)
{
    TfyLoopsOpen open = {.program = host->program,
                         .hub = host->hub,
                         .count = host->options.threads,
                         .opened = on_opened,
                         .ended = on_ended,
                         .state = host};
    if (host->options.each) open.options = *host->options.each;
    open.options.db_path = NULL;
    open.options.stay = open.options.served = true;
    open.options.max_tasks = (open.options.max_tasks + open.count - 1) / open.count;
    return tfy__loops_open(&host->loops, &open, error_text);
}

int tfy_host_open(TfyHost **result, const TfyProgram *program, const TfyHostOptions *options, char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    if (!error_text) error_text = scratch;
    *result = NULL;
    *error_text = '\0';
    int code = check(options, error_text);
    if (code) return code;
    TfyHost *host = calloc(1, sizeof *host);
    if (host) *host = (TfyHost){.program = program, .options = *options, .told = {-1, -1}};
    if (!host || !(host->database = strdup(options->database))) {
        free(host);
        return tfy__log_refuse(error_text, TFY_E_NOMEM, "memory ran out");
    }
    if (!host->options.threads) host->options.threads = 1;
    pthread_mutex_init(&host->mutex, NULL);
    code = keep_program(host, error_text);
    if (!code) code = open_session(host, error_text);
    if (!code) code = open_loops(host, error_text);
    if (code) {
        host->code = code;
        tfy_host_close(host);
        return code;
    }
    *result = host;
    return 0;
}

/* ---- runs ---- */

/* The same run, whatever became of the answer to an earlier try. */
static int64_t put(TfyHost *host, TfyLogRun *row, const char *birth, char *error_text)
{
    int64_t id = TFY_STORE_UNKNOWN;
    pthread_mutex_lock(&host->mutex);
    for (int i = 0; i < TRIES && (id == TFY_STORE_UNKNOWN || id == TFY_STORE_AWAY); i++) {
        if (i) poll(NULL, 0, TRY_MS);
        id = host->cluster->ops->submit(host->cluster, host->queue, row, birth);
    }
    if (id > 0)
        host->cluster->ops->notify(host->cluster, id);
    else
        tfy__log_refuse(error_text, TFY_E_IO, "the run could not be put into the database: %s", host->cluster->error);
    pthread_mutex_unlock(&host->mutex);
    return id;
}

int tfy_host_submit(TfyHost *host, const char *workflow, const char *args_json, char run[37], char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    TfyLoop *loop; /* it says what would be recorded, and nothing starts there */
    TfyBirth birth = {0};
    const TfyStart how = {.run = run, .birth = &birth};
    if (!error_text) error_text = scratch;
    int code = tfy_open(&loop, host->program, &(TfyOptions){.quiet = true}, error_text);
    if (code) return code;
    code = tfy__submit_start(loop, host->program, workflow, args_json, &how, NULL, error_text);
    birth.row.program = host->row;
    birth.row.root = 1; /* a loop counts tasks over all runs, a database of PostgreSQL in each run */
    if (code >= 0 && put(host, &birth.row, birth.payload.data, error_text) <= 0) code = TFY_E_IO;
    tfy__buffer_free(&birth.payload);
    tfy_close(loop);
    return code < 0 ? code : 0;
}

/* With the mutex. */
static int find(TfyHost *host, const char *run, TfyLogRun *row, char *error_text)
{
    if (!host->log) {
        TfyLogOptions options = {.read_only = true};
        const int code = tfy__pg_open(&options.store, &(TfyPgOpen){.address = host->database}, error_text);
        if (code) return code;
        const int opened = tfy__log_open(&host->log, &options, error_text);
        if (opened) return opened;
    }
    return tfy__history_find(host->log, run, row, error_text);
}

static void explain_end(const TfyLogRun *row, const TfyLogRecord *end, char *error_text)
{
    TfyPayload payload;
    const bool open = tfy__payload_open(&payload, end);
    const json_t *error = open ? tfy__payload_get(&payload, TFY_P_ERROR) : NULL;
    const char *kind = tfy__error_kind(error), *message = tfy__error_message(error);
    if (row->state == TFY_TASK_CANCELLED)
        tfy__log_refuse(error_text, 0, "the run was cancelled");
    else
        tfy__log_refuse(error_text, 0, "the run failed: %.100s%s%.300s", kind ? kind : "no reason is known",
                        message ? ": " : "", message ? message : "");
    tfy__payload_close(&payload);
}

/* How it ended; with the mutex. */
static int outcome(TfyHost *host, const TfyLogRun *row, char **result_json, char *error_text)
{
    TfyLogOutline outline = {0};
    int code = tfy__log_outline(host->log, row, &outline);
    if (!code && !outline.end) code = TFY_E_DATA;
    if (code) {
        tfy__log_outline_free(&outline);
        return tfy__log_refuse(error_text, code, "the end of the run cannot be read");
    }
    const TfyLogRecord end = tfy__record_of_payload(outline.end);
    size_t len = 0;
    const char *value = tfy__record_raw(&end, TFY_P_VALUE, &len);
    if (row->state != TFY_TASK_COMPLETED)
        explain_end(row, &end, error_text);
    else if (!(*result_json = value ? strndup(value, len) : strdup("null")))
        code = tfy__log_refuse(error_text, TFY_E_NOMEM, "memory ran out");
    tfy__log_outline_free(&outline);
    return code;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

int tfy_host_await(TfyHost *host, const char *run, int64_t most_ms, char **result_json, char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    const int64_t begun_ms = now_ms();
    if (!error_text) error_text = scratch;
    *result_json = NULL;
    *error_text = '\0';
    for (;;) {
        TfyLogRun row;
        pthread_mutex_lock(&host->mutex);
        int code = find(host, run, &row, error_text);
        const bool ended = !code && row.state >= TFY_TASK_COMPLETED;
        if (ended) code = outcome(host, &row, result_json, error_text);
        pthread_mutex_unlock(&host->mutex);
        if (ended || (code && code != TFY_STORE_AWAY && code != TFY_E_IO)) return code;
        if (most_ms >= 0 && now_ms() - begun_ms >= most_ms)
            return tfy__log_refuse(error_text, TFY_E_STATE, "run %s has not ended yet", run);
        poll(NULL, 0, LOOK_MS);
    }
}

int tfy_host_run(TfyHost *host)
{
    return host->code = tfy__loops_run(host->loops);
}

void tfy_host_drain(TfyHost *host, int64_t grace_ms)
{
    tfy__loops_drain(host->loops, grace_ms);
}

/* ---- closing ---- */

/* Whether nothing is left of the tools: then the session ends at once, and otherwise when it has been silent for a lease. */
static bool all_left(const TfyHost *host)
{
    int watched = 0, released = 0;
    const int64_t until_ms = now_ms() + LEFT_MS;
    for (;;) {
        char byte;
        while (read(host->told[0], &byte, 1) == 1) *(byte == TFY_LEASE_WATCHED ? &watched : &released) += 1;
        const int64_t left_ms = until_ms - now_ms();
        if (watched == released || left_ms <= 0) return watched == released;
        (void)poll(&(struct pollfd){host->told[0], POLLIN, 0}, 1, (int)left_ms);
    }
}

int tfy_host_close(TfyHost *host)
{
    if (!host) return 0;
    const int code = host->code == TFY_E_STATE ? 0 : host->code;
    tfy__loops_close(host->loops);
    tfy__hub_cluster_close(host->hub, host->hub && all_left(host));
    tfy__lease_tell(-1);
    for (int i = 0; i < 2; i++)
        if (host->told[i] >= 0) close(host->told[i]);
    if (host->log) tfy__log_close(host->log, false);
    if (host->cluster) host->cluster->ops->close(host->cluster);
    pthread_mutex_destroy(&host->mutex);
    free(host->database);
    free(host);
    return code;
}
