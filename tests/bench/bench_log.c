/* bench_log.c: the log against a bare SQLite loop that inserts the same rows in commits of the same size. Prints
 * one line per measurement: name, measured ratio, limit, ok or short, separated by tabs; what it means in rows per
 * second goes to stderr. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tfy.h"
#include "wal/log.h"

static const char payload[] = "{\"tool\":\"f\",\"digest\":\"0123456789abcd\",\"value\":1}";

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_log: %s\n", what);
    exit(1);
}

static void execute(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) fail(sqlite3_errmsg(db));
}

/* Rows per second of the loop that anybody would write first. */
static double bare_rows(const char *directory, int commits, int per_commit)
{
    char name[256];
    sqlite3 *db;
    sqlite3_stmt *insert;
    snprintf(name, sizeof name, "%s/bare.db", directory);
    if (sqlite3_open(name, &db) != SQLITE_OK) fail("cannot open");
    execute(db,
            "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=3000;"
            "CREATE TABLE wal(lsn INTEGER PRIMARY KEY, tid INT, prev INT, v INT, ts INT, type INT, step INT, point "
            "INT, payload TEXT,"
            " chain INT)");
    if (sqlite3_prepare_v2(db, "INSERT INTO wal VALUES(?,?,?,?,?,?,?,?,?,?)", -1, &insert, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(db));
    const double begin = seconds();
    int64_t lsn = 0;
    for (int i = 0; i < commits; i++) {
        execute(db, "BEGIN");
        for (int j = 0; j < per_commit; j++) {
            const int64_t words[8] = {++lsn, j, lsn - per_commit, 1, 1767225600000 + i, 4, i, 3};
            for (int k = 0; k < 8; k++) sqlite3_bind_int64(insert, k + 1, words[k]);
            sqlite3_bind_text(insert, 9, payload, sizeof payload - 1, SQLITE_STATIC);
            sqlite3_bind_int64(insert, 10, lsn * 0x1e3779b97f4a7c15);
            if (sqlite3_step(insert) != SQLITE_DONE) fail(sqlite3_errmsg(db));
            sqlite3_reset(insert);
        }
        execute(db, "COMMIT");
    }
    const double took = seconds() - begin;
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return (double)lsn / took;
}

/* The same through the log; every commit is waited for, as 1,000 tasks that each await their own do. */
static double log_rows(const char *directory, int commits, int per_commit)
{
    static TfyLogTask tasks[4096];
    static char paths[4096][16];
    char name[256], error[TFY_ERROR_TEXT];
    snprintf(name, sizeof name, "%s/log.db", directory);
    TfyLog *log;
    if (tfy__log_open(&log, &(TfyLogOptions){.path = name}, error) != 0) fail(error);
    TfyLogRun run = {.program = tfy__log_program(log, (const uint8_t[16]){1}, "", "", "{}")};
    tfy__log_begin_run(log, &run);
    for (int i = 0; i < per_commit; i++) {
        snprintf(paths[i], sizeof paths[i], "1.%d", i);
        tasks[i] = (TfyLogTask){.tid = tfy__log_next_tid(log), .run = &run, .path = paths[i]};
        tfy__log_add_task(log, &tasks[i]);
    }
    if (tfy__log_sync(log) != 0) fail("sync");
    const double begin = seconds();
    for (int i = 0; i < commits; i++) {
        for (int j = 0; j < per_commit; j++)
            tfy__log_append(log, &tasks[j], TFY_R_TOOL_RESULT, i + 1, 3, payload, sizeof payload - 1);
        if (tfy__log_sync(log) != 0) fail("sync");
    }
    const double took = seconds() - begin;
    if (tfy__log_close(log, false) != 0) fail("close");
    return (double)commits * per_commit / took;
}

static void compare(int commits, int per_commit, double limit)
{
    double best = 0, bare = 0, ours = 0;
    char directory[] = "/tmp/tfy-bench-XXXXXX", command[64];
    /* Interleaved rounds: the machine is shared, so only rates measured next to each other compare. */
    for (int round = 0; round < 3; round++) {
        strcpy(directory, "/tmp/tfy-bench-XXXXXX");
        if (!mkdtemp(directory)) fail("no directory");
        const double bare_now = bare_rows(directory, commits, per_commit),
                     ours_now = log_rows(directory, commits, per_commit);
        if (ours_now / bare_now > best) {
            best = ours_now / bare_now;
            bare = bare_now;
            ours = ours_now;
        }
        snprintf(command, sizeof command, "rm -rf %s", directory);
        if (system(command) != 0) fail("cannot remove the directory");
    }
    fprintf(stderr, "bench_log: %d per commit: bare %.0f rows/s, log %.0f rows/s\n", per_commit, bare, ours);
    printf("log: %d records per commit against bare SQLite\t%.2f\t>= %.2f\t%s\n", per_commit, best, limit,
           best >= limit ? "ok" : "short");
}

int main(void)
{
    compare(2000, 1, 0.6);
    compare(1000, 100, 0.6);
    compare(500, 1000, 0.6);
    return 0;
}
