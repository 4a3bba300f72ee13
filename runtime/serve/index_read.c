/* index_read.c: see index.h: questions, the audit, versions, one run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/index_file.h"
#include "serve/index_query.h"
#include "tfy.h"

/* ---- a run ---- */

static const char *column_text(sqlite3_stmt *row, int at)
{
    return (const char *)sqlite3_column_text(row, at);
}

void tfy__query_show_run(sqlite3_stmt *row, void (*show)(void *arg, const TfyRunShown *run), void *arg)
{
    const char *labels = column_text(row, 6);
    json_t *json = labels ? json_loads(labels, 0, NULL) : NULL;
    const TfyRunShown shown = {
        .id = column_text(row, 1),
        .program = column_text(row, 2),
        .version = column_text(row, 3),
        .workflow = column_text(row, 4),
        .by = column_text(row, 5),
        .labels = json,
        .state = column_text(row, 7),
        .attention = sqlite3_column_type(row, 20) != SQLITE_NULL ? "diverged"
                     : sqlite3_column_int64(row, 8)              ? "question"
                     : sqlite3_column_int64(row, 9)              ? "in_doubt"
                     : sqlite3_column_int64(row, 10)             ? "deadlock"
                                                                 : NULL,
        .started_ms = sqlite3_column_int64(row, 11),
        .ended_ms = sqlite3_column_int64(row, 12),
        .tokens_in = sqlite3_column_int64(row, 13),
        .tokens_out = sqlite3_column_int64(row, 14),
        .cost = sqlite3_column_int64(row, 15),
        .records = sqlite3_column_int64(row, 16),
        .lsn = sqlite3_column_int64(row, 17),
        .result = column_text(row, 18),
        .error = column_text(row, 19),
        .difference = column_text(row, 20),
    };
    show(arg, &shown);
    json_decref(json);
}

/* ---- questions ---- */

typedef struct Asked {
    int64_t lsn;
    void (*show)(void *arg, int64_t lsn, const TfyRunShown *run);
    void *arg;
} Asked;

static void show_asked(void *arg, const TfyRunShown *run)
{
    const Asked *asked = arg;
    asked->show(asked->arg, asked->lsn, run);
}

static int show_questions(sqlite3_stmt *row, uint32_t limit, Asked *asked, int64_t *next)
{
    uint32_t count = 0;
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        if (count++ == limit) {
            *next = asked->lsn;
            return TFY_OK;
        }
        asked->lsn = sqlite3_column_int64(row, TFY_RUN_COLUMN_COUNT);
        tfy__query_show_run(row, show_asked, asked);
    }
    return code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
}

int tfy__index_questions(TfyIndexReader *reader, const TfyQuestionsWanted *wanted,
                         void (*show)(void *arg, int64_t lsn, const TfyRunShown *run), void *arg, int64_t *next)
{
    TfyQuery query = {.count = 0};
    Asked asked = {.show = show, .arg = arg};
    int code;
    *next = 0;
    tfy__buffer_text(&query.sql,
                     "SELECT " TFY_RUN_COLUMNS ",q.lsn FROM waits q CROSS JOIN run r ON r.id=q.run WHERE q.doubt=0");
    tfy__query_number(&query, "q.lsn>?", wanted->above);
    tfy__query_text(&query, "r.uuid=?", wanted->run);
    tfy__query_only(&query, "r.program||'.'||r.workflow", wanted->only);
    tfy__buffer_text(&query.sql, " ORDER BY q.lsn");
    sqlite3_stmt *row = tfy__query_open(reader, &query, &code);
    if (row) code = show_questions(row, wanted->limit, &asked, next);
    sqlite3_finalize(row);
    tfy__buffer_free(&query.sql);
    return code;
}

/* ---- the audit ---- */

int tfy__index_audit(TfyIndexReader *reader, const char *only, int64_t below, uint32_t limit,
                     void (*show)(void *arg, int64_t lsn), void *arg, int64_t *next)
{
    TfyQuery query = {.count = 0};
    int64_t last = 0;
    uint32_t count = 0;
    int code;
    *next = 0;
    tfy__buffer_text(&query.sql, "SELECT a.lsn FROM audit a LEFT JOIN run r ON r.id=a.run "
                                 "WHERE 1");
    tfy__query_number(&query, "a.lsn<?", below ? below : INT64_MAX);
    tfy__query_only(&query, "r.program||'.'||r.workflow", only);
    tfy__buffer_text(&query.sql, " ORDER BY a.lsn DESC");
    sqlite3_stmt *row = tfy__query_open(reader, &query, &code);
    if (row) {
        while ((code = sqlite3_step(row)) == SQLITE_ROW && count++ < limit) {
            last = sqlite3_column_int64(row, 0);
            show(arg, last);
        }
        if (code == SQLITE_ROW) *next = last;
        code = code == SQLITE_ROW || code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
    }
    sqlite3_finalize(row);
    tfy__buffer_free(&query.sql);
    return code;
}

/* ---- versions ---- */

int tfy__index_live(TfyIndexReader *reader, const char *only,
                    void (*show)(void *arg, const char *program, const char *version, int64_t live), void *arg)
{
    TfyQuery query = {.count = 0};
    int code;
    tfy__buffer_text(&query.sql, "SELECT program,version,count(*) FROM run r WHERE state IN('queued','running')");
    tfy__query_only(&query, "r.program||'.'||r.workflow", only);
    tfy__buffer_text(&query.sql, " GROUP BY program,version ORDER BY max(id) DESC");
    sqlite3_stmt *row = tfy__query_open(reader, &query, &code);
    if (row) {
        while ((code = sqlite3_step(row)) == SQLITE_ROW)
            show(arg, column_text(row, 0), column_text(row, 1), sqlite3_column_int64(row, 2));
        code = code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
    }
    sqlite3_finalize(row);
    tfy__buffer_free(&query.sql);
    return code;
}

/* ---- what waits ---- */

int tfy__index_waiting(TfyIndexReader *reader, TfyWaiting *waiting)
{
    TfyQuery query = {.count = 0};
    int code;
    *waiting = (TfyWaiting){0};
    tfy__buffer_text(&query.sql, "SELECT doubt,count(*),min(lsn)FROM waits GROUP BY doubt");
    sqlite3_stmt *row = tfy__query_open(reader, &query, &code);
    while (row && (code = sqlite3_step(row)) == SQLITE_ROW) {
        if (sqlite3_column_int64(row, 0)) {
            waiting->doubts = sqlite3_column_int64(row, 1);
        } else {
            waiting->questions = sqlite3_column_int64(row, 1);
            waiting->oldest_lsn = sqlite3_column_int64(row, 2);
        }
    }
    if (row) code = code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
    sqlite3_finalize(row);
    tfy__buffer_free(&query.sql);
    return code;
}

/* ---- one run ---- */

int tfy__index_run(TfyIndexReader *reader, const char *id, void (*show)(void *arg, const TfyRunShown *run), void *arg)
{
    sqlite3_stmt *row = NULL;
    char beyond[40];
    int code = TFY_E_IO;
    snprintf(beyond, sizeof beyond, "%.36s~", id);
    if (sqlite3_prepare_v2(reader->db, "SELECT " TFY_RUN_COLUMNS " FROM run r WHERE uuid>=?1 AND uuid<?2 LIMIT 2", -1,
                           &row, NULL) == SQLITE_OK &&
        sqlite3_bind_text(row, 1, id, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_text(row, 2, beyond, -1, SQLITE_STATIC) == SQLITE_OK) {
        code = sqlite3_step(row) == SQLITE_ROW ? TFY_OK : TFY_E_ABSENT;
        if (code == TFY_OK) tfy__query_show_run(row, show, arg);
        if (code == TFY_OK && sqlite3_step(row) == SQLITE_ROW) {
            tfy__query_show_run(row, show, arg);
            code = TFY_E_INVALID;
        }
    }
    sqlite3_finalize(row);
    return code;
}

/* ---- opening ---- */

TfyIndexReader *tfy__index_reader_open(const char *db_path, char *error)
{
    TfyIndexReader *reader = calloc(1, sizeof *reader);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!reader) return NULL;
    snprintf(reader->path, sizeof reader->path, "%s-index", db_path);
    if (tfy__index_file_open(reader->path, true, &reader->db) == SQLITE_OK) return reader;
    snprintf(error, TFY_ERROR_TEXT, "the index %.300s cannot be read: %s", reader->path, sqlite3_errmsg(reader->db));
    tfy__index_reader_close(reader);
    return NULL;
}

void tfy__index_reader_rest(TfyIndexReader *reader)
{
    sqlite3_db_release_memory(reader->db);
}

void tfy__index_reader_close(TfyIndexReader *reader)
{
    if (!reader) return;
    sqlite3_close(reader->db);
    free(reader);
}

static bool read_meta(TfyIndexReader *reader, TfyIndexMeta *meta)
{
    return tfy__index_file_meta(reader->db, meta) == SQLITE_OK && llabs(meta->version) == TFY_INDEX_VERSION;
}

int64_t tfy__index_made(TfyIndexReader *reader)
{
    TfyIndexMeta meta;
    return read_meta(reader, &meta) ? meta.made : 0;
}

int64_t tfy__index_cursor(TfyIndexReader *reader)
{
    TfyIndexMeta meta;
    return read_meta(reader, &meta) ? meta.cursor : TFY_E_IO;
}
