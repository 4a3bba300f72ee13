#include "bare.h"

#include <sqlite3.h>
#include <stdatomic.h>

#include "bench.h"

/* ---- counting commits ---- */

enum { TIMES = 1 << 12 };

static atomic_llong commits;         /* of our own loop: the writer's thread makes them */
static _Atomic(double) times[TIMES]; /* of the newest ones, by their number */

static int count_commit(void *state)
{
    (void)state;
    atomic_store(&times[atomic_load(&commits) % TIMES], bench_seconds());
    atomic_fetch_add(&commits, 1);
    return 0;
}

static int hook_connection(sqlite3 *db, const char **error, const struct sqlite3_api_routines *api)
{
    (void)error, (void)api;
    sqlite3_commit_hook(db, count_commit, NULL);
    return SQLITE_OK;
}

void bare_count_commits(void)
{
    sqlite3_auto_extension((void (*)(void))hook_connection);
}

int64_t bare_commits(void)
{
    return atomic_load(&commits);
}

size_t bare_between_commits(int64_t first, double *between)
{
    const int64_t count = bare_commits() - first - 1;
    if (count < 1 || count >= TIMES) bench_die("there were %lld commits", (long long)count + 1);
    for (int64_t i = first; i < first + count; i++)
        *between++ = atomic_load(&times[(i + 1) % TIMES]) - atomic_load(&times[i % TIMES]);
    return (size_t)count;
}

/* ---- rows ---- */

enum { COLUMNS = 10, PAYLOAD = 8 }; /* lsn, tid, prev, v, ts, type, step, point, payload, chain */

typedef struct Row {
    int64_t words[COLUMNS];
    char *payload;
    int payload_len;
} Row;

struct BareRows {
    Row *rows;
    int64_t count, cap;
};

static void check(sqlite3 *db, int code)
{
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) bench_die("sqlite: %s", sqlite3_errmsg(db));
}

static void read_row(BareRows *rows, sqlite3_stmt *from)
{
    if (rows->count == rows->cap) {
        rows->cap = rows->cap ? rows->cap * 2 : 4096;
        rows->rows = realloc(rows->rows, (size_t)rows->cap * sizeof *rows->rows);
        if (!rows->rows) bench_die("no memory");
    }
    Row *row = &rows->rows[rows->count++];
    for (int i = 0; i < COLUMNS; i++) row->words[i] = i == PAYLOAD ? 0 : sqlite3_column_int64(from, i);
    row->payload = strdup((const char *)sqlite3_column_text(from, PAYLOAD));
    row->payload_len = sqlite3_column_bytes(from, PAYLOAD);
}

BareRows *bare_read(const char *path)
{
    BareRows *rows = calloc(1, sizeof *rows);
    sqlite3 *db;
    sqlite3_stmt *from;
    if (!rows || sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        bench_die("%s cannot be opened", path);
    check(db, sqlite3_prepare_v2(db, "SELECT lsn,tid,prev,v,ts,type,step,point,payload,chain FROM wal ORDER BY lsn", -1,
                                 &from, NULL));
    while (sqlite3_step(from) == SQLITE_ROW) read_row(rows, from);
    sqlite3_finalize(from);
    sqlite3_close(db);
    return rows;
}

int64_t bare_row_count(const BareRows *rows)
{
    return rows->count;
}

void bare_free(BareRows *rows)
{
    for (int64_t i = 0; i < rows->count; i++) free(rows->rows[i].payload);
    free(rows->rows);
    free(rows);
}

/* ---- the loop ---- */

static void insert_row(sqlite3 *db, sqlite3_stmt *to, const Row *row)
{
    for (int i = 0; i < COLUMNS; i++)
        if (i != PAYLOAD) sqlite3_bind_int64(to, i + 1, row->words[i]);
    sqlite3_bind_text(to, PAYLOAD + 1, row->payload, row->payload_len, SQLITE_STATIC);
    check(db, sqlite3_step(to));
    sqlite3_reset(to);
}

static void step(sqlite3 *db, sqlite3_stmt *statement)
{
    check(db, sqlite3_step(statement));
    sqlite3_reset(statement);
}

struct BareLoop {
    const BareRows *rows;
    sqlite3 *db;
    sqlite3_stmt *begin, *insert, *commit;
    int64_t at, done, commits;
};

BareLoop *bare_open(const BareRows *rows, const char *path, int64_t commit_count)
{
    BareLoop *loop = calloc(1, sizeof *loop);
    if (!loop || sqlite3_open(path, &loop->db) != SQLITE_OK) bench_die("%s cannot be opened", path);
    sqlite3 *db = loop->db;
    check(db,
          sqlite3_exec(
              db,
              "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=3000;"
              "CREATE TABLE wal(lsn INTEGER PRIMARY KEY, tid INT, prev INT, v INT, ts INT, type INT, step INT, point "
              "INT, payload TEXT, chain INT)",
              NULL, NULL, NULL));
    check(db, sqlite3_prepare_v2(db, "BEGIN IMMEDIATE", -1, &loop->begin, NULL));
    check(db, sqlite3_prepare_v2(db, "INSERT INTO wal VALUES(?,?,?,?,?,?,?,?,?,?)", -1, &loop->insert, NULL));
    check(db, sqlite3_prepare_v2(db, "COMMIT", -1, &loop->commit, NULL));
    loop->rows = rows;
    loop->commits = commit_count;
    return loop;
}

void bare_commit(BareLoop *loop)
{
    const int64_t end = loop->rows->count * ++loop->done / loop->commits;
    step(loop->db, loop->begin);
    while (loop->at < end) insert_row(loop->db, loop->insert, &loop->rows->rows[loop->at++]);
    step(loop->db, loop->commit);
}

void bare_close(BareLoop *loop)
{
    sqlite3_finalize(loop->begin);
    sqlite3_finalize(loop->insert);
    sqlite3_finalize(loop->commit);
    sqlite3_close(loop->db);
    free(loop);
}

double bare_insert(const BareRows *rows, const char *path, int64_t commit_count)
{
    BareLoop *loop = bare_open(rows, path, commit_count);
    const double begin = bench_seconds();
    for (int64_t i = 0; i < commit_count; i++) bare_commit(loop);
    const double took = bench_seconds() - begin;
    bare_close(loop);
    return took;
}
