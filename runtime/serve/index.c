/* index.c: see index.h: the one that follows the log. A transaction is not synced: after a crash the file is older than the
 * log, or torn, and following the log mends the one, making it anew the other. */
#include "serve/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "cli/look/source_map.h"
#include "cli/look/timeline.h"
#include "core/loop.h"
#include "serve/index_file.h"
#include "serve/index_row.h"
#include "serve/tally.h"
#include "wal/history/fork.h"
#include "wal/rows/payload.h"

enum {
    PAGE = TFY_FRESH_MOST, /* records of one transaction */
    KNOWN = 4096,          /* tasks whose run is remembered, a power of two */
    WORDS_MOST = 4096      /* bytes of a run's words, before and after its end */
};

static const char schema[] =
    "CREATE TABLE run(id INTEGER PRIMARY KEY,uuid TEXT NOT NULL UNIQUE,root INT NOT NULL,program TEXT NOT NULL,"
    "version TEXT NOT NULL,workflow TEXT NOT NULL,started_by TEXT NOT NULL,labels TEXT,state TEXT NOT NULL,"
    "questions INT NOT NULL DEFAULT 0,doubts INT NOT NULL DEFAULT 0,stuck INT NOT NULL DEFAULT 0,"
    "difference TEXT,"
    "started_ms INT NOT NULL,ended_ms INT NOT NULL DEFAULT 0,tokens_in INT NOT NULL DEFAULT 0,"
    "tokens_out INT NOT NULL DEFAULT 0,cost INT NOT NULL DEFAULT -1,records INT NOT NULL DEFAULT 0,"
    "lsn INT NOT NULL DEFAULT 0,result TEXT,error TEXT,"
    "took INT AS(ended_ms-started_ms),tokens INT AS(tokens_in+tokens_out),diverged INT AS(difference IS NOT NULL));"
    "CREATE INDEX run_state ON run(state,id);"
    "CREATE INDEX run_workflow ON run(workflow,state,id);"
    "CREATE INDEX run_attention ON run(id) WHERE questions+doubts+stuck+diverged>0;"
    "CREATE INDEX run_ended ON run(ended_ms)WHERE ended_ms>0;"
    "CREATE INDEX run_took ON run(took)WHERE ended_ms>0;"
    "CREATE INDEX run_tokens ON run(tokens)WHERE tokens>0;"
    "CREATE INDEX run_cost ON run(cost)WHERE cost>=0;"
    "CREATE TABLE label(name TEXT,value TEXT,run INT,PRIMARY KEY(name,value,run))WITHOUT ROWID;"
    "CREATE TABLE waits(tid INTEGER PRIMARY KEY,run INT NOT NULL,doubt INT NOT NULL,lsn INT NOT NULL);"
    "CREATE INDEX waits_lsn ON waits(doubt,lsn);"
    "CREATE TABLE audit(lsn INTEGER PRIMARY KEY,run INT NOT NULL);"
    "CREATE VIRTUAL TABLE words USING fts5(text,content='',columnsize=0);"
    "CREATE VIRTUAL TABLE word USING fts5vocab(words,instance);";

typedef enum Statement {
    ADD_LABEL,
    ADD_WORDS,
    SEE_RECORDS,
    SPENT,
    END_RUN,
    ADD_WAIT,
    END_WAIT,
    COUNT_WAIT,
    STUCK,
    COUNT_STUCK,
    ADD_AUDIT,
    DROP_LABELS,
    DROP_RUN,
    KEEP_CURSOR,
    HAS_ENDED,
    OF_RUN,
    BEGINS,
    DIVERGED,
    MOVED,
    STATEMENTS
} Statement;

static const char *const texts[STATEMENTS] = {
    [ADD_LABEL] = "INSERT INTO label VALUES(?1,?2,?3)",
    [ADD_WORDS] = "INSERT INTO words(rowid,text)VALUES(?1,?2)",
    [SEE_RECORDS] = "UPDATE run SET records=records+?2,lsn=max(lsn,?3)WHERE id=?1",
    [SPENT] = ("UPDATE run SET tokens_in=tokens_in+?2,tokens_out=tokens_out+?3,"
               "cost=CASE WHEN ?4<0 THEN cost WHEN cost<0 THEN ?4 ELSE cost+?4 END WHERE id=?1"),
    [END_RUN] = ("UPDATE run SET state=?2,ended_ms=?3,result=?4,error=?5,questions=0,doubts=0,stuck=0,"
                 "difference=NULL WHERE id=?1"),
    [ADD_WAIT] = "INSERT OR REPLACE INTO waits VALUES(?1,?2,?3,?4)",
    [END_WAIT] = "DELETE FROM waits WHERE tid=?1 RETURNING doubt",
    [COUNT_WAIT] = "UPDATE run SET questions=max(0,questions+?2),doubts=max(0,doubts+?3)WHERE id=?1",
    [STUCK] = "UPDATE run SET stuck=?2 WHERE id=?1 AND stuck<>?2",
    [COUNT_STUCK] = "SELECT count(*)FROM run WHERE questions+doubts+stuck+diverged>0 AND stuck>0",
    [ADD_AUDIT] = "INSERT OR REPLACE INTO audit VALUES(?1,?2)",
    [DROP_LABELS] = "DELETE FROM label WHERE run=?1",
    [DROP_RUN] = "DELETE FROM run WHERE uuid=?1 RETURNING id",
    [KEEP_CURSOR] = "UPDATE meta SET cursor=?1",
    [BEGINS] = "UPDATE run SET state='running' WHERE uuid=?1 AND state='queued'",
    [DIVERGED] = "UPDATE run SET difference=?2 WHERE uuid=?1 AND ended_ms=0",
    [MOVED] = "UPDATE run SET version=?2 WHERE id=?1",
    [HAS_ENDED] = "SELECT 1 FROM run WHERE uuid=?1 AND ended_ms>0",
    [OF_RUN] = "SELECT program,version,workflow FROM run WHERE id=?1",
};

/* What runs have in common; kept until the indexer is closed. */
typedef struct Kind {
    TfyLink link; /* in TfyIndexer.kinds */
    char program[TFY_TALLY_NAME], version[13], workflow[TFY_TALLY_NAME];
} Kind;

/* Of a task: the row id of its run, and where it is. */
typedef struct Known {
    int64_t tid, run, root;
    int64_t started_ms; /* of the run */
    TfyRunRow *fresh;   /* the row of the run, which is still to be written; NULL: it is, or another task is its root */
    const Kind *kind;
    int64_t since_ms; /* when what its next record ends began; 0: unknown */
    uint32_t point;   /* of its newest step; 0: unknown */
    bool bounded;     /* a timeout runs, and not a sleep */
    bool may_wait;    /* it has a row in waits, as far as is known */
    int64_t records;  /* of this page; the run's row has them at its end … */
    int64_t lsn;      /* … and the newest */
} Known;

struct TfyIndexer {
    sqlite3 *db;
    TfyLog *log;   /* whose records are read … */
    bool words;    /* those of runs are kept, to be searched for */
    TfyLog *names; /* … and whose programs and earlier records are looked up meanwhile */
    sqlite3_stmt *statements[STATEMENTS];
    _Atomic int64_t cursor;
    Known known[KNOWN];
    Known *seen[PAGE]; /* those with records of this page; one that was given to another task is here twice */
    int seen_count;
    TfyRunRows fresh;   /* the runs that started in this page, and whose rows are still to be written */
    int64_t stuck;      /* runs that are, at most; -1: unknown */
    TfyTable kinds;     /* of Kind, owned */
    TfyTallies tallies; /* of the page that is being followed */
    int64_t program;    /* the row whose version and name these are */
    char version[13], name[128];
    int code; /* of the page that is being followed */
    int count;
    int64_t newest;
};

/* ---- statements ---- */

static sqlite3_stmt *statement(TfyIndexer *indexer, Statement which)
{
    sqlite3_stmt *stmt = indexer->statements[which];
    if (!stmt && sqlite3_prepare_v3(indexer->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK)
        indexer->code = TFY_E_IO;
    return indexer->statements[which] = stmt;
}

static void text(sqlite3_stmt *stmt, int at, const char *bytes)
{
    if (bytes)
        sqlite3_bind_text(stmt, at, bytes, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(stmt, at);
}

/* Runs a statement that was bound, to its end. *out gets the first column of its first row; NULL: it has none. Returns
 * whether there was a row. */
static bool run(TfyIndexer *indexer, Statement which, int64_t *out)
{
    sqlite3_stmt *stmt = indexer->statements[which];
    int code = sqlite3_step(stmt);
    const bool row = code == SQLITE_ROW;
    if (row && out) *out = sqlite3_column_int64(stmt, 0);
    while (code == SQLITE_ROW) code = sqlite3_step(stmt);
    if (code != SQLITE_DONE) indexer->code = TFY_E_IO;
    sqlite3_reset(stmt);
    return row;
}

/* Up to four numbers. */
static bool change(TfyIndexer *indexer, Statement which, const int64_t *numbers, int count, int64_t *out)
{
    sqlite3_stmt *stmt = statement(indexer, which);
    for (int i = 0; stmt && i < count; i++) sqlite3_bind_int64(stmt, i + 1, numbers[i]);
    return stmt && run(indexer, which, out);
}
#define CHANGE(indexer, which, ...)                                                                                    \
    change(indexer, which, (const int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),  \
           NULL)

/* Has the rows of runs that started in this page, so that they can be changed. */
static void write_fresh(TfyIndexer *indexer)
{
    if (tfy__run_rows_write(&indexer->fresh, indexer->db) != SQLITE_OK) indexer->code = TFY_E_IO;
}

/* ---- runs ---- */

static bool is_kind(const Kind *kind, const char *program, const char *version, const char *workflow)
{
    return strcmp(kind->program, program) == 0 && strcmp(kind->version, version) == 0 &&
           strcmp(kind->workflow, workflow) == 0;
}

/* NULL: memory ran out. */
static const Kind *kind_of(TfyIndexer *indexer, const char *program, const char *version, const char *workflow)
{
    Kind key = {.program = ""};
    snprintf(key.program, sizeof key.program, "%s", program);
    snprintf(key.version, sizeof key.version, "%s", version);
    snprintf(key.workflow, sizeof key.workflow, "%s", workflow);
    uint64_t hash = XXH3_64bits(key.program, strlen(key.program));
    hash = XXH3_64bits_withSeed(key.version, strlen(key.version), hash);
    hash = XXH3_64bits_withSeed(key.workflow, strlen(key.workflow), hash);
    for (TfyLink *link = tfy__table_find(&indexer->kinds, hash); link; link = tfy__table_next(link)) {
        const Kind *kind = TABLE_ITEM(link, Kind, link);
        if (is_kind(kind, key.program, key.version, key.workflow)) return kind;
    }
    Kind *kind = tfy__table_reserve(&indexer->kinds) ? malloc(sizeof *kind) : NULL;
    if (!kind) return NULL;
    *kind = key;
    tfy__table_add(&indexer->kinds, &kind->link, hash);
    return kind;
}

static const char *column(sqlite3_stmt *row, int at)
{
    const char *text = (const char *)sqlite3_column_text(row, at);
    return text ? text : "";
}

static const Kind *kind_of_run(TfyIndexer *indexer, int64_t id)
{
    sqlite3_stmt *row = statement(indexer, OF_RUN);
    const Kind *kind = NULL;
    if (!row) return NULL;
    write_fresh(indexer);
    sqlite3_bind_int64(row, 1, id);
    if (sqlite3_step(row) == SQLITE_ROW) kind = kind_of(indexer, column(row, 0), column(row, 1), column(row, 2));
    sqlite3_reset(row);
    return kind;
}

/* The row of a run is changed once in a page for each of its tasks, not for each record. */
static void note_record(TfyIndexer *indexer, Known *known, int64_t lsn)
{
    if (!known->records++) indexer->seen[indexer->seen_count++] = known;
    known->lsn = lsn;
}

static void keep_records(TfyIndexer *indexer, Known *known)
{
    TfyRunRow *fresh = known->fresh;
    if (known->records && fresh) {
        fresh->records += known->records;
        fresh->lsn = known->lsn > fresh->lsn ? known->lsn : fresh->lsn;
    } else if (known->records) {
        write_fresh(indexer);
        CHANGE(indexer, SEE_RECORDS, known->run, known->records, known->lsn);
    }
    known->records = 0;
}

/* The place of a task, whose former one is let go. */
static Known *known_anew(TfyIndexer *indexer, int64_t tid, const TfyLogRun *row)
{
    Known *known = &indexer->known[tid & (KNOWN - 1)];
    keep_records(indexer, known);
    if (known->fresh) tfy__run_row_leave(known->fresh);
    *known = (Known){.tid = tid, .run = row->id, .root = row->root, .started_ms = row->started_ms, .may_wait = true};
    return known;
}

static Known *known_of(TfyIndexer *indexer, int64_t tid)
{
    Known *known = &indexer->known[tid & (KNOWN - 1)];
    TfyLogRun row;
    if (known->tid == tid) return known;
    if (tfy__log_seen_run(indexer->log, tid, &row) != TFY_OK) return NULL;
    known = known_anew(indexer, tid, &row);
    known->kind = kind_of_run(indexer, row.id);
    return known;
}

static void read_program(TfyIndexer *indexer, int64_t program)
{
    char hash[33], *layout = NULL;
    if (indexer->program == program || tfy__log_program_hash(indexer->names, program, hash, &layout) != TFY_OK) return;
    TfySourceMap map = {.layout = json_loads(layout, 0, NULL)};
    indexer->program = program;
    snprintf(indexer->version, sizeof indexer->version, "%.12s", hash);
    tfy__source_program(&map, indexer->name, sizeof indexer->name);
    tfy__source_map_free(&map);
    free(layout);
}

/* The counts of its workflow, in the hour of the record. */
static TfyCounts *of_run(TfyIndexer *indexer, const Known *known, const TfyLogRecord *record)
{
    return tfy__tally(&indexer->tallies, TFY_TALLY_RUNS, record->ts_ms, known->kind->program, known->kind->workflow,
                      "");
}

static void add_words(TfyIndexer *indexer, int64_t id, bool after, const char *bytes, size_t len)
{
    sqlite3_stmt *stmt = indexer->words ? statement(indexer, ADD_WORDS) : NULL;
    if (!stmt || !len) return;
    sqlite3_bind_int64(stmt, 1, 2 * id + after);
    sqlite3_bind_text(stmt, 2, bytes, (int)(len < WORDS_MOST ? len : WORDS_MOST), SQLITE_STATIC);
    run(indexer, ADD_WORDS, NULL);
}

static void add_labels(TfyIndexer *indexer, int64_t id, const json_t *labels, TfyBuffer *words)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)labels, name, value)
    {
        sqlite3_stmt *stmt = statement(indexer, ADD_LABEL);
        if (!stmt) return;
        text(stmt, 1, name);
        text(stmt, 2, json_string_value(value));
        sqlite3_bind_int64(stmt, 3, id);
        run(indexer, ADD_LABEL, NULL);
        tfy__buffer_printf(words, " %s", json_string_value(value) ? json_string_value(value) : "");
    }
}

/* Who started it; malloc'ed, or NULL. Only the payload of a fork is read whole. */
static char *starter_of(const TfyLogRecord *birth)
{
    TfyPayload payload;
    if (!tfy__record_has(birth, TFY_P_FORK_OF)) return tfy__record_text(birth, TFY_P_BY);
    tfy__payload_open(&payload, birth);
    const char *by = tfy__fork_starter(&payload);
    char *copy = by ? strdup(by) : NULL;
    tfy__payload_close(&payload);
    return copy;
}

/* What its first record says of a run. */
typedef struct Birth {
    char *name, *workflow; /* owned; NULL: it does not say */
    json_t *labels;        /* owned; NULL: it has none */
} Birth;

static Birth read_birth(const TfyLogRecord *record)
{
    size_t len = 0;
    const char *labels = tfy__record_raw(record, TFY_P_LABELS, &len);
    return (Birth){.name = tfy__record_text(record, TFY_P_PROGRAM_NAME),
                   .workflow = tfy__record_text(record, TFY_P_WORKFLOW),
                   .labels = labels ? json_loadb(labels, len, 0, NULL) : NULL};
}

static void free_birth(Birth *birth)
{
    free(birth->name);
    free(birth->workflow);
    json_decref(birth->labels);
}

static void add_words_of(TfyIndexer *indexer, int64_t id, const Birth *birth, const TfyLogRecord *record)
{
    TfyBuffer words = {0};
    size_t len = 0;
    const char *args = tfy__record_raw(record, TFY_P_ARGS, &len);
    if (args) tfy__buffer_add(&words, args, len);
    add_labels(indexer, id, birth->labels, &words);
    add_words(indexer, id, false, words.data, words.len);
    tfy__buffer_free(&words);
}

/* Its row, to be written at the end of the page. */
static void make_fresh(TfyIndexer *indexer, Known *known, const TfyLogRun *row, const TfyLogRecord *record)
{
    size_t len = 0;
    const char *labels = tfy__record_raw(record, TFY_P_LABELS, &len);
    TfyRunRow *fresh = known->kind ? tfy__run_row(&indexer->fresh, &known->fresh) : NULL;
    if (!fresh) {
        indexer->code = TFY_E_NOMEM;
        return;
    }
    tfy__uuid_text(row->uuid, fresh->uuid);
    fresh->id = row->id;
    fresh->root = row->root;
    fresh->started_ms = row->started_ms;
    fresh->program = known->kind->program;
    fresh->version = known->kind->version;
    fresh->workflow = known->kind->workflow;
    fresh->by = starter_of(record);
    fresh->labels = labels ? strndup(labels, len) : NULL;
    fresh->state = tfy__record_flag(record, TFY_P_QUEUED) ? "queued" : "running";
}

static void add_run(TfyIndexer *indexer, const TfyLogRecord *record)
{
    TfyLogRun row;
    if (tfy__log_seen_run(indexer->log, record->tid, &row) != TFY_OK) return;
    read_program(indexer, row.program);
    Birth birth = read_birth(record);
    Known *known = known_anew(indexer, record->tid, &row);
    known->may_wait = false;
    known->kind = kind_of(indexer, birth.name ? birth.name : indexer->name, indexer->version,
                          birth.workflow ? birth.workflow : "");
    make_fresh(indexer, known, &row, record);
    if (known->kind) of_run(indexer, known, record)->begun++;
    add_words_of(indexer, row.id, &birth, record);
    free_birth(&birth);
}

/* How a run ended. */
typedef struct End {
    const char *state;         /* static */
    const char *value, *error; /* in the record, as JSON; NULL: none */
    size_t value_len, error_len;
} End;

static End read_end(const TfyLogRecord *record)
{
    End end = {.state = tfy__record_flag(record, TFY_P_OK)          ? "completed"
                        : tfy__record_flag(record, TFY_P_CANCELLED) ? "cancelled"
                                                                    : "failed"};
    end.value = tfy__record_raw(record, TFY_P_VALUE, &end.value_len);
    end.error = tfy__record_raw(record, TFY_P_ERROR, &end.error_len);
    return end;
}

static void note_end(TfyIndexer *indexer, const Known *known, const TfyLogRecord *record, const End *end)
{
    const bool has_value = end->value && end->value_len <= WORDS_MOST,
               has_error = end->error && end->error_len <= WORDS_MOST;
    TfyRunRow *fresh = known->fresh;
    if (fresh) {
        fresh->state = end->state;
        fresh->ended_ms = record->ts_ms;
        fresh->result = has_value ? strndup(end->value, end->value_len) : NULL;
        fresh->error = has_error ? strndup(end->error, end->error_len) : NULL;
        return;
    }
    sqlite3_stmt *stmt = statement(indexer, END_RUN);
    if (!stmt) return;
    sqlite3_bind_int64(stmt, 1, known->run);
    text(stmt, 2, end->state);
    sqlite3_bind_int64(stmt, 3, record->ts_ms);
    sqlite3_bind_text(stmt, 4, has_value ? end->value : NULL, (int)end->value_len, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 5, has_error ? end->error : NULL, (int)end->error_len, SQLITE_STATIC);
    run(indexer, END_RUN, NULL);
}

static void end_run(TfyIndexer *indexer, const Known *known, const TfyLogRecord *record)
{
    const End end = read_end(record);
    note_end(indexer, known, record, &end);
    add_words(indexer, known->run, true, end.error ? end.error : end.value, end.error ? end.error_len : end.value_len);
    if (!known->kind) return;
    TfyCounts *counts = of_run(indexer, known, record);
    counts->ended++;
    counts->failed += strcmp(end.state, "failed") == 0;
    counts->cancelled += strcmp(end.state, "cancelled") == 0;
    tfy__tally_took(counts, record->ts_ms - known->started_ms);
}

/* ---- what waits for people ---- */

static void wait_ends(TfyIndexer *indexer, Known *known, int64_t tid)
{
    int64_t doubt = 0;
    if (!known->may_wait) return;
    known->may_wait = false;
    if (change(indexer, END_WAIT, (const int64_t[]){tid}, 1, &doubt)) {
        write_fresh(indexer);
        CHANGE(indexer, COUNT_WAIT, known->run, doubt ? 0 : -1, doubt ? -1 : 0);
    }
}

static void wait_begins(TfyIndexer *indexer, Known *known, const TfyLogRecord *record, bool doubt)
{
    known->may_wait = true;
    write_fresh(indexer);
    CHANGE(indexer, ADD_WAIT, record->tid, known->run, doubt, record->lsn);
    CHANGE(indexer, COUNT_WAIT, known->run, !doubt, doubt);
}

/* Hardly any run is ever stuck. */
static void see_stuck(TfyIndexer *indexer, const Known *known, const TfyLogRecord *record)
{
    const bool stuck = record->type == TFY_R_SHUTDOWN_MARKER && tfy__record_has(record, TFY_P_GRAPH);
    if (!stuck && !indexer->stuck) return;
    write_fresh(indexer);
    CHANGE(indexer, STUCK, known->run, stuck);
    indexer->stuck += (stuck ? 1 : -1) * sqlite3_changes(indexer->db);
}

/* Records in a task's chain that are not the task's: it may wait on. */
static bool is_others(const TfyLogRecord *record)
{
    return record->type == TFY_R_SIGNAL || tfy__record_is_nobodys(record);
}

/* ---- records ---- */

static int64_t number(const TfyPayload *payload, TfyMember member, int64_t usual)
{
    return tfy__payload_get(payload, member) ? tfy__payload_int(payload, member) : usual;
}

/* cost below 0: nothing has a price. */
static void add_spent(TfyCounts *counts, int64_t in, int64_t out, int64_t cost)
{
    counts->tokens_in += in;
    counts->tokens_out += out;
    counts->cost += cost > 0 ? cost : 0;
}

static void spent(TfyIndexer *indexer, const Known *known, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const int64_t in = number(&payload, TFY_P_PROMPT_TOKENS, 0), out = number(&payload, TFY_P_COMPLETION_TOKENS, 0),
                  cost = number(&payload, TFY_P_COST, -1), ms = number(&payload, TFY_P_MS, -1);
    write_fresh(indexer);
    CHANGE(indexer, SPENT, known->run, in, out, cost);
    const char *entry = tfy__payload_text(&payload, TFY_P_ENTRY), *model = tfy__payload_text(&payload, TFY_P_MODEL);
    const Kind *kind = known->kind;
    if (kind) add_spent(of_run(indexer, known, record), in, out, cost);
    if (kind && (entry || model)) {
        TfyCounts *counts = tfy__tally(&indexer->tallies, TFY_TALLY_MODELS, record->ts_ms, kind->program,
                                       kind->workflow, entry ? entry : model);
        add_spent(counts, in, out, cost);
        counts->begun++;
        counts->ended++;
        counts->failed += tfy__payload_get(&payload, TFY_P_ERROR) != NULL;
        if (ms >= 0) tfy__tally_took(counts, ms);
    }
    tfy__payload_close(&payload);
}

/* ---- steps ---- */

/* Whether it ends a step, and does not only begin or interrupt one. */
static bool ends_step(const TfyLogRecord *record)
{
    switch (record->type) {
    case TFY_R_STEP_START:
    case TFY_R_LLM_REQUEST:
    case TFY_R_TASK_YIELD:
    case TFY_R_TASK_WAIT_IO:
    case TFY_R_RETRY:
    case TFY_R_IN_DOUBT:
    case TFY_R_OUTPUT: return false;
    default: return record->point && record->step && tfy__record_is_of_step(record);
    }
}

/* The record before this one of the task; it may have been removed. That of a child's first is in its parent's chain. */
static int see_before(void *arg, const TfyLogRecord *record)
{
    TfyLogRecord *before = arg;
    if (record->lsn == before->lsn) {
        before->ts_ms = record->ts_ms;
        before->point = record->tid == before->tid ? record->point : 0;
    }
    return 1;
}

static void learn_place(TfyIndexer *indexer, Known *known, const TfyLogRecord *record)
{
    TfyLogRecord before = {.lsn = record->prev, .tid = record->tid};
    if (record->prev) (void)tfy__log_see(indexer->names, record->prev, see_before, &before);
    known->since_ms = before.ts_ms;
    known->point = before.point;
}

static void count_step(TfyIndexer *indexer, Known *known, const TfyLogRecord *record)
{
    const Kind *kind = known->kind;
    char name[TFY_TALLY_NAME];
    const bool timeout = record->type == TFY_R_TIMER_FIRED && known->bounded;
    const int64_t own = record->type == TFY_R_LLM_PLAN ? tfy__record_int(record, TFY_P_MS) : 0,
                  took = known->since_ms ? record->ts_ms - known->since_ms : 0;
    snprintf(name, sizeof name, "%s/%u", kind->version, record->point);
    TfyCounts *counts = tfy__tally(&indexer->tallies, TFY_TALLY_POINTS, record->ts_ms, kind->program, "", name);
    counts->begun++;
    counts->ended++;
    counts->failed += timeout || tfy__record_has(record, TFY_P_ERROR);
    tfy__tally_took(counts, own > 0 && own < took ? own : took);
    snprintf(name, sizeof name, "%s/%u/%u", kind->version, known->point, record->point);
    tfy__tally(&indexer->tallies, TFY_TALLY_WAYS, record->ts_ms, kind->program, "", name)->begun++;
    known->point = record->point;
}

/* What a task's time since its newest record was for, as tfy stats has it. */
static void follow_step(TfyIndexer *indexer, Known *known, const TfyLogRecord *record)
{
    if (!known->kind || tfy__record_is_apart(record)) return;
    if (!known->since_ms && record->type != TFY_R_INSTRUCTION_START) learn_place(indexer, known, record);
    if (ends_step(record)) count_step(indexer, known, record);
    const int64_t due_ms = tfy__record_pause_ms(record);
    known->bounded = tfy__record_bounds(record, known->bounded);
    known->since_ms = due_ms > record->ts_ms ? due_ms : record->ts_ms;
}

/* Runs that retention removed. */
static void drop_runs(TfyIndexer *indexer, const TfyLogRecord *record)
{
    TfyPayload payload;
    const json_t *uuid;
    size_t i;
    tfy__payload_open(&payload, record);
    const char *why = tfy__payload_text(&payload, TFY_P_WHY);
    const bool gone = why && strcmp(why, "compacted") != 0;
    write_fresh(indexer);
    json_array_foreach(gone ? tfy__payload_get(&payload, TFY_P_RUNS) : NULL, i, uuid)
    {
        sqlite3_stmt *stmt = statement(indexer, DROP_RUN);
        int64_t id;
        if (!stmt) break;
        text(stmt, 1, json_string_value(uuid));
        if (run(indexer, DROP_RUN, &id)) CHANGE(indexer, DROP_LABELS, id);
    }
    tfy__payload_close(&payload);
}

/* It continues with another version of its program, which has other points. */
static void move_run(TfyIndexer *indexer, int64_t id, const TfyLogRecord *record)
{
    sqlite3_stmt *stmt = statement(indexer, MOVED);
    TfyPayload payload;
    char version[13] = "";
    tfy__payload_open(&payload, record);
    const char *to = tfy__payload_text(&payload, TFY_P_TO);
    if (to) snprintf(version, sizeof version, "%.12s", to);
    tfy__payload_close(&payload);
    if (!*version || !stmt) return; /* to another directory */
    write_fresh(indexer);
    sqlite3_bind_int64(stmt, 1, id);
    text(stmt, 2, version);
    run(indexer, MOVED, NULL);
    for (size_t i = 0; i < KNOWN; i++) {
        Known *known = &indexer->known[i];
        if (known->run != id) continue;
        keep_records(indexer, known);
        *known = (Known){0};
    }
}

/* What somebody did to a run, for the audit. */
static bool is_audited(const TfyLogRecord *record)
{
    switch (record->type) {
    case TFY_R_APPROVAL:
    case TFY_R_RESOLVED: return true;
    case TFY_R_SIGNAL: return tfy__record_has(record, TFY_P_BY) && !tfy__record_is(record, TFY_P_BY, "");
    default: return false;
    }
}

static void follow_task(TfyIndexer *indexer, const TfyLogRecord *record)
{
    if (record->type == TFY_R_INSTRUCTION_START) add_run(indexer, record);
    Known *known = known_of(indexer, record->tid);
    if (!known) return; /* its run was removed since */
    follow_step(indexer, known, record);
    note_record(indexer, known, record->lsn);
    if (is_audited(record)) CHANGE(indexer, ADD_AUDIT, record->lsn, known->run);
    if (!is_others(record)) wait_ends(indexer, known, record->tid);
    switch (record->type) {
    case TFY_R_LLM_PLAN: spent(indexer, known, record); break;
    case TFY_R_STEP_START:
        if (tfy__record_has(record, TFY_P_QUESTION)) wait_begins(indexer, known, record, false);
        break;
    case TFY_R_IN_DOUBT: wait_begins(indexer, known, record, true); break;
    case TFY_R_TASK_COMPLETE: end_run(indexer, known, record); break;
    case TFY_R_MOVED: move_run(indexer, known->run, record); return;
    default: break;
    }
    see_stuck(indexer, known, record);
}

static int follow(void *state, const TfyLogRecord *record)
{
    TfyIndexer *indexer = state;
    if (indexer->count == PAGE || indexer->code) return 1;
    if (record->tid)
        follow_task(indexer, record);
    else if (record->type == TFY_R_COMPACTED)
        drop_runs(indexer, record);
    else if (record->type == TFY_R_ADMIN)
        CHANGE(indexer, ADD_AUDIT, record->lsn, 0);
    indexer->newest = record->lsn;
    indexer->count++;
    return 0;
}

int tfy__indexer_follow(TfyIndexer *indexer)
{
    indexer->code = indexer->count = indexer->seen_count = 0;
    indexer->newest = indexer->cursor;
    if (sqlite3_exec(indexer->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) return TFY_E_IO;
    if (indexer->stuck < 0 && statement(indexer, COUNT_STUCK)) run(indexer, COUNT_STUCK, &indexer->stuck);
    int code = tfy__log_see(indexer->log, indexer->cursor + 1, follow, indexer);
    if (code < 0 && !indexer->code) indexer->code = code;
    for (int i = 0; i < indexer->seen_count; i++)
        if (indexer->seen[i]->fresh) keep_records(indexer, indexer->seen[i]);
    write_fresh(indexer);
    for (int i = 0; i < indexer->seen_count; i++) keep_records(indexer, indexer->seen[i]);
    if (indexer->count) CHANGE(indexer, KEEP_CURSOR, indexer->newest);
    if (!indexer->code && tfy__tallies_keep(&indexer->tallies, indexer->db) != SQLITE_OK) indexer->code = TFY_E_IO;
    if (indexer->code || sqlite3_exec(indexer->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        sqlite3_exec(indexer->db, "ROLLBACK", NULL, NULL, NULL);
        tfy__run_rows_drop(&indexer->fresh);
        memset(indexer->known, 0, sizeof indexer->known);
        indexer->stuck = -1;
        tfy__tallies_drop(&indexer->tallies);
        return indexer->code ? indexer->code : TFY_E_IO;
    }
    indexer->cursor = indexer->newest;
    return indexer->count;
}

bool tfy__indexer_has_ended(TfyIndexer *indexer, const char *uuid)
{
    sqlite3_stmt *stmt = statement(indexer, HAS_ENDED);
    if (!stmt) return false;
    text(stmt, 1, uuid);
    return run(indexer, HAS_ENDED, NULL);
}

bool tfy__indexer_begins(TfyIndexer *indexer, const char *uuid)
{
    sqlite3_stmt *stmt = statement(indexer, BEGINS);
    if (!stmt) return false;
    text(stmt, 1, uuid);
    indexer->code = 0;
    run(indexer, BEGINS, NULL);
    return !indexer->code;
}

bool tfy__indexer_diverged(TfyIndexer *indexer, const char *uuid, const char *why)
{
    sqlite3_stmt *stmt = statement(indexer, DIVERGED);
    if (!stmt) return false;
    text(stmt, 1, uuid);
    text(stmt, 2, why);
    indexer->code = 0;
    run(indexer, DIVERGED, NULL);
    return !indexer->code;
}

int64_t tfy__indexer_cursor(const TfyIndexer *indexer)
{
    return indexer->cursor;
}

/* ---- opening ---- */

static bool make(TfyIndexer *indexer, const char *path)
{
    sqlite3_stmt *stmt = NULL;
    char boot[40];
    tfy__index_file_boot(boot);
    if (tfy__index_file_open(path, false, &indexer->db) != SQLITE_OK) return false;
    bool ok = sqlite3_exec(indexer->db, schema, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_exec(indexer->db, tfy__tally_schema, NULL, NULL, NULL) == SQLITE_OK;
    ok = ok && sqlite3_prepare_v2(indexer->db, "INSERT INTO meta VALUES(?1,?2,abs(random()),0,?3)", -1, &stmt, NULL) ==
                   SQLITE_OK;
    if (ok) {
        sqlite3_bind_blob(stmt, 1, tfy__log_uuid(indexer->log), 16, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, indexer->words ? TFY_INDEX_VERSION : -TFY_INDEX_VERSION);
        text(stmt, 3, boot);
        ok = sqlite3_step(stmt) == SQLITE_DONE;
    }
    sqlite3_finalize(stmt);
    indexer->cursor = 0;
    return ok;
}

/* Which runs are set aside is known to this process alone. */
static bool forget_diverged(TfyIndexer *indexer)
{
    static const char converge[] =
        "UPDATE run SET difference=NULL WHERE questions+doubts+stuck+diverged>0 AND diverged>0";
    return sqlite3_exec(indexer->db, converge, NULL, NULL, NULL) == SQLITE_OK;
}

/* A file that is whole, and of this log and version, and not ahead of it. */
static bool take(TfyIndexer *indexer, const char *path)
{
    TfyIndexMeta meta;
    if (access(path, F_OK) != 0 || tfy__index_file_open(path, false, &indexer->db) != SQLITE_OK) return false;
    if (tfy__index_file_meta(indexer->db, &meta) != SQLITE_OK) return false;
    indexer->cursor = meta.cursor;
    return meta.version == (indexer->words ? TFY_INDEX_VERSION : -TFY_INDEX_VERSION) &&
           memcmp(meta.db, tfy__log_uuid(indexer->log), 16) == 0 && meta.cursor <= tfy__log_last_lsn(indexer->log) &&
           tfy__index_file_is_whole(indexer->db, &meta) && forget_diverged(indexer);
}

static void remove_files(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char name[4096];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (snprintf(name, sizeof name, "%s%s", path, ends[i]) < (int)sizeof name) unlink(name);
}

static bool open_logs(TfyIndexer *indexer, const char *db_path, char *error)
{
    const TfyLogOptions options = {.path = db_path, .read_only = true, .existing = true};
    return tfy__log_open(&indexer->log, &options, error) == TFY_OK &&
           tfy__log_open(&indexer->names, &options, error) == TFY_OK;
}

/* Takes the file that is there, or makes it anew. */
static bool open_file(TfyIndexer *indexer, const char *db_path, char *error)
{
    char path[4096];
    snprintf(path, sizeof path, "%s-index", db_path);
    if (take(indexer, path)) return true;
    sqlite3_close(indexer->db);
    indexer->db = NULL;
    remove_files(path);
    if (make(indexer, path)) return true;
    snprintf(error, TFY_ERROR_TEXT, "the index %.300s cannot be made: %s", path,
             indexer->db ? sqlite3_errmsg(indexer->db) : strerror(errno));
    return false;
}

TfyIndexer *tfy__indexer_open(const char *db_path, bool words, char *error)
{
    TfyIndexer *indexer = calloc(1, sizeof *indexer);
    if (indexer) indexer->stuck = -1;
    if (indexer) indexer->words = words;
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (indexer && open_logs(indexer, db_path, error) && open_file(indexer, db_path, error)) return indexer;
    tfy__indexer_close(indexer);
    return NULL;
}

void tfy__indexer_rest(TfyIndexer *indexer)
{
    sqlite3_db_release_memory(indexer->db);
    tfy__log_rest(indexer->log);
    tfy__log_rest(indexer->names);
}

void tfy__indexer_close(TfyIndexer *indexer)
{
    if (!indexer) return;
    tfy__tallies_drop(&indexer->tallies);
    tfy__run_rows_close(&indexer->fresh);
    for (TfyLink *link = tfy__table_walk(&indexer->kinds, NULL), *next; link; link = next) {
        next = tfy__table_walk(&indexer->kinds, link);
        free(TABLE_ITEM(link, Kind, link));
    }
    tfy__table_free(&indexer->kinds);
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(indexer->statements[i]);
    sqlite3_close(indexer->db);
    if (indexer->names) tfy__log_close(indexer->names, false);
    if (indexer->log) tfy__log_close(indexer->log, false);
    free(indexer);
}
