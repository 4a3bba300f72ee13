/* bench_log.c: the log against a bare SQLite loop that inserts the same rows in commits of the same size. Prints
 * one line per measurement: name, measured ratio, limit, ok or short, separated by tabs; what it means in rows per
 * second goes to stderr. */
#include <sqlite3.h>

#include "bench.h"
#include "wal/log/log.h"

static const char payload[] = "{\"tool\":\"f\",\"digest\":\"0123456789abcd\",\"value\":1}";

static void execute(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) bench_die("%s", sqlite3_errmsg(db));
}

/* Rows per second of the loop that anybody would write first. */
static double bare_rows(const BenchPlace *place, int commits, int per_commit)
{
    char name[256];
    sqlite3 *db;
    sqlite3_stmt *insert;
    snprintf(name, sizeof name, "%s/bare.db", place->directory);
    if (sqlite3_open(name, &db) != SQLITE_OK) bench_die("%s", sqlite3_errmsg(db));
    execute(db,
            "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=3000;"
            "CREATE TABLE wal(lsn INTEGER PRIMARY KEY, tid INT, prev INT, v INT, ts INT, type INT, step INT, point "
            "INT, payload TEXT,"
            " chain INT)");
    if (sqlite3_prepare_v2(db, "INSERT INTO wal VALUES(?,?,?,?,?,?,?,?,?,?)", -1, &insert, NULL) != SQLITE_OK)
        bench_die("%s", sqlite3_errmsg(db));
    const double begin = bench_seconds();
    int64_t lsn = 0;
    for (int i = 0; i < commits; i++) {
        execute(db, "BEGIN");
        for (int j = 0; j < per_commit; j++) {
            lsn++;
            const int64_t words[8] = {lsn, j, lsn - per_commit, 1, 1767225600000 + i, 4, i, 3};
            for (int k = 0; k < 8; k++) sqlite3_bind_int64(insert, k + 1, words[k]);
            sqlite3_bind_text(insert, 9, payload, sizeof payload - 1, SQLITE_STATIC);
            sqlite3_bind_int64(insert, 10, lsn * 0x1e3779b97f4a7c15);
            if (sqlite3_step(insert) != SQLITE_DONE) bench_die("%s", sqlite3_errmsg(db));
            sqlite3_reset(insert);
        }
        execute(db, "COMMIT");
    }
    const double took = bench_seconds() - begin;
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return (double)lsn / took;
}

/* The same through the log; every commit is waited for, as 1,000 tasks that each await their own do. */
static double log_rows(const BenchPlace *place, int commits, int per_commit)
{
    static TfyLogTask tasks[4096];
    static char paths[4096][16];
    char error[TFY_ERROR_TEXT];
    TfyLog *log;
    if (tfy__log_open(&log, &(TfyLogOptions){.path = place->path}, error) != 0) bench_die("%s", error);
    TfyLogRun run = {.program = tfy__log_program(log, (const uint8_t[16]){1}, "", "", "{}")};
    tfy__log_begin_run(log, &run);
    for (int i = 0; i < per_commit; i++) {
        snprintf(paths[i], sizeof paths[i], "%d", i + 1);
        tasks[i] = (TfyLogTask){.tid = tfy__log_next_tid(log, NULL), .run = &run, .path = paths[i]};
        tfy__log_add_task(log, &tasks[i]);
    }
    if (tfy__log_sync(log) != 0) bench_die("a sync failed");
    const double begin = bench_seconds();
    for (int i = 0; i < commits; i++) {
        for (int j = 0; j < per_commit; j++)
            tfy__log_append(log, &tasks[j], TFY_R_TOOL_RESULT, i + 1, 3, payload, sizeof payload - 1);
        if (tfy__log_sync(log) != 0) bench_die("a sync failed");
    }
    const double took = bench_seconds() - begin;
    if (tfy__log_close(log, false) != 0) bench_die("the log cannot be closed");
    return (double)commits * per_commit / took;
}

static void compare(int commits, int per_commit, double limit)
{
    double ratios[BENCH_ROUNDS], bare = 0, ours = 0;
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        BenchPlace place;
        bench_place(&place);
        bare = bare_rows(&place, commits, per_commit);
        ours = log_rows(&place, commits, per_commit);
        ratios[round] = ours / bare;
        bench_clear(&place);
    }
    char name[80];
    snprintf(name, sizeof name, "log: %d records per commit against bare SQLite", per_commit);
    fprintf(stderr, "bench: %s: %.0f rows/s (bare %.0f rows/s) in the last round\n", name, ours, bare);
    bench_report(name, bench_median(ratios), ">=", limit);
}

int main(void)
{
    compare(200, 1, 0.6);
    compare(200, 100, 0.6);
    compare(200, 1000, 0.6);
    return 0;
}
