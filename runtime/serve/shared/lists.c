/* lists.c: see lists.h and reader.h: lists out of the tables of a shared database. A page of runs is found by its place in an
 * index, never by counting from the start: by number, or where a state or a workflow is wanted, by when they started. What else
 * is wanted is looked at for each run on the way, and the bound of the statement ends a walk that finds nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/look/event.h"
#include "serve/shared/reader.h"
#include "serve/shared/server.h"
#include "tfy.h"
#include "wal/rows/payload.h"
#include "wal/store/pg_overview.h"

enum { RESULT_MOST = 4096 /* bytes of a result that lists show, as in an index */ };

/* ---- a run ---- */

#define PROGRAM_OF_R                                                                                                   \
    "coalesce(r.program_name, (SELECT " TFY_PG_NAME_OF_P " FROM tfy.program p WHERE p.id = r.program), '')"
#define NAME_OF_R "(" PROGRAM_OF_R " || '.' || coalesce(r.workflow, ''))"

/* Whether question q is open: its task has not gone on. Records that are no task's own (record.h) do not count, nor does an
 * answer, which removes the question itself. */
#define IS_OPEN                                                                                                        \
    "NOT EXISTS (SELECT 1 FROM tfy.record w WHERE w.run = q.run AND w.lsn > q.lsn AND w.task = q.task"                 \
    " AND w.type NOT IN (8, 23, 24, 33, 34, 35, 40, 41, 42))"
_Static_assert(TFY_R_SHUTDOWN_MARKER == 8 && TFY_R_APPROVAL == 23 && TFY_R_SIGNAL == 24 && TFY_R_SNAPSHOT == 33 &&
                   TFY_R_COMPACTED == 34 && TFY_R_MOVED == 35 && TFY_R_CLAIMED == 40 && TFY_R_TEXT == 41 &&
                   TFY_R_SECRET == 42,
               "the numbers in IS_OPEN");
#define ASKS_R "EXISTS (SELECT 1 FROM tfy.question q WHERE q.run = r.id AND " IS_OPEN ")"
#define IN_DOUBT                                                                                                       \
    "EXISTS (SELECT 1 FROM (SELECT DISTINCT ON (d.task) d.type FROM tfy.record d WHERE d.run = r.id"                   \
    " AND d.type IN (30, 31) ORDER BY d.task, d.lsn DESC) AS d WHERE d.type = 30)"
_Static_assert(TFY_R_IN_DOUBT == 30 && TFY_R_RESOLVED == 31 && TFY_R_TASK_COMPLETE == 7, "the numbers of these");

#define COLUMNS                                                                                                        \
    "r.id, r.uuid::text, " PROGRAM_OF_R ","                                                                            \
    " (SELECT substr(encode(p.hash, 'hex'), 1, 12) FROM tfy.program p WHERE p.id = r.program),"                        \
    " coalesce(r.workflow, ''), coalesce(r.by, ''), r.labels::text, r.state, r.claims, r.started, r.ended,"            \
    " r.tokens_in, r.tokens_out, r.cost, r.error, r.held, r.state < 12 AND " ASKS_R ", r.state < 12 AND " IN_DOUBT "," \
    " (SELECT max(w.lsn) FROM tfy.record w WHERE w.run = r.id),"                                                       \
    " CASE WHEN r.state >= 12 THEN (SELECT CASE WHEN octet_length(w.payload) <= 8192 THEN w.payload END"               \
    " FROM tfy.record w WHERE w.run = r.id AND w.type = 7 ORDER BY w.lsn DESC LIMIT 1) END"
enum {
    AT_ID,
    AT_UUID,
    AT_PROGRAM,
    AT_VERSION,
    AT_WORKFLOW,
    AT_BY,
    AT_LABELS,
    AT_STATE,
    AT_CLAIMS,
    AT_STARTED,
    AT_ENDED,
    AT_IN,
    AT_OUT,
    AT_COST,
    AT_ERROR,
    AT_HELD,
    AT_ASKS,
    AT_DOUBT,
    AT_LSN,
    AT_END,
    AT_MORE /* columns of one list alone */
};

typedef struct Row {
    const TfyPgApi *api;
    const TfyPgResult *result;
    int row;
} Row;

static const char *text_at(const Row *row, int at)
{
    return row->api->getisnull(row->result, row->row, at) ? NULL : row->api->getvalue(row->result, row->row, at);
}

static int64_t number_at(const Row *row, int at)
{
    return tfy__pg_word(row->api, row->result, row->row, at);
}

/* A run that nobody has claimed yet waits for a worker. */
static const char *state_of(const Row *row)
{
    switch (number_at(row, AT_STATE)) {
    case TFY_TASK_COMPLETED: return "completed";
    case TFY_TASK_FAILED: return "failed";
    case TFY_TASK_CANCELLED: return "cancelled";
    default: return number_at(row, AT_CLAIMS) ? "running" : "queued";
    }
}

/* The result in its last record; NULL: none, or a long one. */
static char *result_of(const Row *row)
{
    const char *payload = text_at(row, AT_END);
    size_t len = 0;
    if (!payload) return NULL;
    TfyLogRecord record = tfy__record_of_payload(payload);
    const char *value = tfy__record_raw(&record, TFY_P_VALUE, &len);
    return value && len <= RESULT_MOST ? strndup(value, len) : NULL;
}

static void show_row(const Row *row, TfyShowRun *show, void *arg)
{
    const char *labels = text_at(row, AT_LABELS);
    const bool ended = number_at(row, AT_STATE) >= TFY_TASK_COMPLETED;
    json_t *json = labels ? json_loads(labels, 0, NULL) : NULL;
    char *result = result_of(row);
    const TfyRunShown shown = {
        .id = text_at(row, AT_UUID),
        .program = text_at(row, AT_PROGRAM),
        .version = text_at(row, AT_VERSION) ? text_at(row, AT_VERSION) : "",
        .workflow = text_at(row, AT_WORKFLOW),
        .by = text_at(row, AT_BY),
        .labels = json,
        .state = state_of(row),
        .attention = ended                      ? NULL
                     : text_at(row, AT_HELD)    ? "held"
                     : number_at(row, AT_ASKS)  ? "question"
                     : number_at(row, AT_DOUBT) ? "in_doubt"
                                                : NULL,
        .held = ended ? NULL : text_at(row, AT_HELD),
        .started_ms = number_at(row, AT_STARTED),
        .ended_ms = number_at(row, AT_ENDED),
        .tokens_in = number_at(row, AT_IN),
        .tokens_out = number_at(row, AT_OUT),
        .cost = number_at(row, AT_COST),
        .records = number_at(row, AT_LSN),
        .lsn = number_at(row, AT_LSN),
        .result = result,
        .error = text_at(row, AT_ERROR),
    };
    show(arg, &shown);
    json_decref(json);
    free(result);
}

/* ---- lists of runs ---- */

static const char *lacks(const TfyServer *server, const TfyRunsWanted *wanted)
{
    (void)server;
    if (wanted->words) return "a shared database has no index of words; filter by state, workflow, label or time";
    if (wanted->order != TFY_BY_START) return "a shared database has its runs in the order of their start alone";
    return NULL;
}

static void write_state(TfySharedQuery *query, const char *state)
{
    static const struct {
        const char *name, *condition;
    } states[] = {{"queued", " AND r.state = 1 AND r.claims = 0"},
                  {"running", " AND r.state = 1 AND r.claims > 0"},
                  {"completed", " AND r.state = 12"},
                  {"failed", " AND r.state = 13"},
                  {"cancelled", " AND r.state = 14"}};
    _Static_assert(TFY_TASK_READY == 1 && TFY_TASK_COMPLETED == 12 && TFY_TASK_FAILED == 13 && TFY_TASK_CANCELLED == 14,
                   "the numbers of states");
    for (size_t i = 0; state && i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i].name, state) == 0) tfy__buffer_text(&query->sql, states[i].condition);
}

/* Few runs wait for anybody, so these are found first. */
static void write_attention(TfySharedQuery *query, const char *attention)
{
#define OF_QUESTION "(r.id IN (SELECT run FROM tfy.question) AND " ASKS_R ")"
#define OF_DOUBT    "(r.id IN (SELECT run FROM tfy.record WHERE type IN (30, 31)) AND " IN_DOUBT ")"
    if (!attention) return;
    tfy__buffer_text(&query->sql, " AND r.state = 1 AND ");
    if (strcmp(attention, "question") == 0)
        tfy__buffer_text(&query->sql, OF_QUESTION);
    else if (strcmp(attention, "in_doubt") == 0)
        tfy__buffer_text(&query->sql, OF_DOUBT);
    else if (strcmp(attention, "held") == 0)
        tfy__buffer_text(&query->sql, "r.held IS NOT NULL");
    else if (strcmp(attention, "any") == 0)
        tfy__buffer_text(&query->sql, "(r.held IS NOT NULL OR " OF_QUESTION " OR " OF_DOUBT ")");
    else
        tfy__buffer_text(&query->sql,
                         "false"); /* no run of a shared database is in a deadlock or diverges: it is held */
#undef OF_QUESTION
#undef OF_DOUBT
}

static void write_wanted(TfySharedQuery *query, const TfyRunsWanted *wanted)
{
    write_state(query, wanted->state);
    write_attention(query, wanted->attention);
    tfy__shared_query_text(query, " AND r.workflow = ", wanted->workflow);
    tfy__shared_query_text(query, " AND " PROGRAM_OF_R " = ", wanted->program);
    if (wanted->version) {
        tfy__shared_query_text(
            query, " AND r.program IN (SELECT id FROM tfy.program WHERE substr(encode(hash, 'hex'), 1, 12) = ",
            wanted->version);
        tfy__buffer_char(&query->sql, ')');
    }
    tfy__shared_query_text(query, " AND r.by = ", wanted->by);
    tfy__shared_query_text(query, " AND r.labels->>", wanted->label);
    tfy__shared_query_text(query, " = ", wanted->label_value);
    if (wanted->before_ms) tfy__shared_query_number(query, " AND r.started < ", wanted->before_ms);
    if (wanted->after_ms) tfy__shared_query_number(query, " AND r.started >= ", wanted->after_ms);
    tfy__shared_query_only(query, NAME_OF_R, wanted->only);
}

/* A page is chosen before anything is looked up for its runs. */
static void write_page(TfySharedQuery *query, const TfyRunsWanted *wanted)
{
    const bool timed = wanted->state || wanted->workflow;
    const char *way = wanted->ascending ? "ASC" : "DESC";
    tfy__buffer_text(&query->sql, "SELECT " COLUMNS " FROM (SELECT * FROM tfy.run r WHERE true");
    write_wanted(query, wanted);
    if (wanted->behind.at && timed) {
        tfy__shared_query_number(query, wanted->ascending ? " AND (r.started, r.id) > (" : " AND (r.started, r.id) < (",
                                 wanted->behind.value);
        tfy__shared_query_number(query, ", ", wanted->behind.at);
        tfy__buffer_char(&query->sql, ')');
    } else if (wanted->behind.at) {
        tfy__shared_query_number(query, wanted->ascending ? " AND r.id > " : " AND r.id < ", wanted->behind.at);
    }
    tfy__buffer_printf(&query->sql, timed ? " ORDER BY r.started %s, r.id %s" : " ORDER BY r.id %s", way, way);
    tfy__buffer_printf(&query->sql, " LIMIT %u) AS r", wanted->limit + 1);
    tfy__buffer_printf(&query->sql, timed ? " ORDER BY r.started %s, r.id %s" : " ORDER BY r.id %s", way, way);
}

static int runs(TfyReader *reader, const TfyRunsWanted *wanted, TfyShowRun *show, void *arg, TfyPlace *next)
{
    const TfyPgApi *api = reader->shared->link.api;
    TfySharedQuery query;
    TfyPgResult *result;
    *next = (TfyPlace){0};
    tfy__shared_query_start(&query);
    write_page(&query, wanted);
    const int code = tfy__shared_ask(reader->shared, &query, "list runs", &result);
    tfy__shared_query_free(&query);
    if (code) return code;
    Row row = {.api = api, .result = result};
    for (int count = api->ntuples(result); row.row < count && row.row < (int)wanted->limit; row.row++) {
        show_row(&row, show, arg);
        if (row.row + 1 == (int)wanted->limit && row.row + 1 < count)
            *next = (TfyPlace){.at = number_at(&row, AT_ID), .value = number_at(&row, AT_STARTED)};
    }
    api->clear(result);
    return TFY_OK;
}

/* ---- one run ---- */

/* The least and the greatest uuid that starts so; false: none does. */
static bool bound_id(const char *id, char least[37], char greatest[37])
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t i = 0;
    for (; id[i]; i++) {
        if (i >= sizeof shape - 1 || (shape[i] == '-') != (id[i] == '-')) return false;
        least[i] = greatest[i] = id[i];
    }
    for (; i < sizeof shape - 1; i++) {
        least[i] = shape[i] == '-' ? '-' : '0';
        greatest[i] = shape[i] == '-' ? '-' : 'f';
    }
    least[i] = greatest[i] = '\0';
    return true;
}

static int one_run(TfyReader *reader, const char *id, TfyShowRun *show, void *arg)
{
    const TfyPgApi *api = reader->shared->link.api;
    TfySharedQuery query;
    TfyPgResult *result;
    char least[37], greatest[37];
    if (!bound_id(id, least, greatest)) return TFY_E_ABSENT;
    tfy__shared_query_start(&query);
    tfy__buffer_text(&query.sql, "SELECT " COLUMNS " FROM tfy.run r WHERE");
    tfy__shared_query_text(&query, " r.uuid >= ", least);
    tfy__shared_query_text(&query, "::text::uuid AND r.uuid <= ", greatest);
    tfy__buffer_text(&query.sql, "::text::uuid ORDER BY r.uuid LIMIT 2");
    int code = tfy__shared_ask(reader->shared, &query, "find a run", &result);
    tfy__shared_query_free(&query);
    if (code) return code;
    Row row = {.api = api, .result = result};
    const int count = api->ntuples(result);
    for (; row.row < count; row.row++) show_row(&row, show, arg);
    api->clear(result);
    return count == 0 ? TFY_E_ABSENT : count == 1 ? TFY_OK : TFY_E_INVALID;
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

static int questions(TfyReader *reader, const TfyQuestionsWanted *wanted,
                     void (*show)(void *arg, int64_t lsn, const TfyRunShown *run), void *arg, int64_t *next)
{
    const TfyPgApi *api = reader->shared->link.api;
    TfySharedQuery query;
    TfyPgResult *result;
    *next = 0;
    tfy__shared_query_start(&query);
    tfy__buffer_text(&query.sql, "SELECT " COLUMNS ", q.lsn, q.n FROM tfy.question q JOIN tfy.run r ON r.id = q.run"
                                 " WHERE r.state < 12 AND " IS_OPEN);
    tfy__shared_query_number(&query, " AND q.n > ", wanted->above);
    tfy__shared_query_text(&query, " AND r.uuid = ", wanted->run);
    if (wanted->run) tfy__buffer_text(&query.sql, "::text::uuid");
    tfy__shared_query_only(&query, NAME_OF_R, wanted->only);
    tfy__buffer_printf(&query.sql, " ORDER BY q.n LIMIT %u", wanted->limit + 1);
    const int code = tfy__shared_ask(reader->shared, &query, "list questions", &result);
    tfy__shared_query_free(&query);
    if (code) return code;
    Row row = {.api = api, .result = result};
    for (int count = api->ntuples(result); row.row < count && row.row < (int)wanted->limit; row.row++) {
        Asked asked = {.lsn = number_at(&row, AT_MORE), .show = show, .arg = arg};
        show_row(&row, show_asked, &asked);
        if (row.row + 1 == (int)wanted->limit && row.row + 1 < count) *next = number_at(&row, AT_MORE + 1);
    }
    api->clear(result);
    return TFY_OK;
}

static int record(TfyReader *reader, const char *run, int64_t lsn, int (*see)(void *arg, const TfyEvent *event),
                  void *arg)
{
    uint8_t uuid[16];
    TfyLogRun row;
    if (!tfy__uuid_read(run, uuid)) return TFY_E_ABSENT;
    const int code = tfy__log_find_run(reader->log, uuid, &row);
    return code ? code : tfy__events_see_of(reader->events, row.id, lsn, see, arg);
}

/* ---- versions ---- */

static int live(TfyReader *reader, const char *only,
                void (*show)(void *arg, const char *program, const char *version, int64_t live), void *arg)
{
    const TfyPgApi *api = reader->shared->link.api;
    TfySharedQuery query;
    TfyPgResult *result;
    tfy__shared_query_start(&query);
    tfy__buffer_text(&query.sql,
                     "SELECT " PROGRAM_OF_R ", (SELECT substr(encode(p.hash, 'hex'), 1, 12) FROM tfy.program p"
                     " WHERE p.id = r.program), count(*) FROM tfy.run r WHERE r.state = 1");
    tfy__shared_query_only(&query, NAME_OF_R, only);
    tfy__buffer_text(&query.sql, " GROUP BY 1, 2 ORDER BY max(r.id) DESC");
    const int code = tfy__shared_ask(reader->shared, &query, "count runs", &result);
    tfy__shared_query_free(&query);
    if (code) return code;
    Row row = {.api = api, .result = result};
    for (int count = api->ntuples(result); row.row < count; row.row++)
        if (text_at(&row, 1)) show(arg, text_at(&row, 0), text_at(&row, 1), number_at(&row, 2));
    api->clear(result);
    return TFY_OK;
}

/* Nobody counts at which points runs are. */
static int points(TfyReader *reader, const char *program, const char *version,
                  void (*show)(void *arg, uint32_t from, uint32_t to, const struct TfyCounts *counts), void *arg)
{
    return TFY_OK;
}

/* ---- opening ---- */

static bool open_reader(TfyReader *reader, char *error)
{
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    TfySharedReader *shared = reader->shared = calloc(1, sizeof *shared);
    return shared &&
           tfy__pg_reach(&shared->link, &shared->address, reader->server->db, TFY_SHARED_PATIENCE_MS, error) == TFY_OK;
}

static void close_reader(TfyReader *reader)
{
    TfySharedReader *shared = reader->shared;
    if (!shared) return;
    if (shared->cluster) shared->cluster->ops->close(shared->cluster);
    tfy__pg_submitter_close(shared->submitter);
    if (shared->loop) (void)tfy_close(shared->loop);
    tfy__pg_leave(&reader->shared->link, &reader->shared->address);
    free(reader->shared);
}

static void rest(TfyReader *reader)
{
}

/* What is committed is in the tables. */
static bool await(TfyServer *server, int64_t lsn)
{
    return true;
}

static bool await_all(TfyServer *server)
{
    return true;
}

static int64_t behind(TfyServer *server)
{
    return 0;
}

static int64_t made(TfyReader *reader)
{
    int64_t number;
    memcpy(&number, reader->server->uuid, sizeof number);
    return number & INT64_MAX;
}

const TfyLists tfy__shared_lists = {
    .open = open_reader,
    .close = close_reader,
    .rest = rest,
    .await = await,
    .await_all = await_all,
    .behind = behind,
    .made = made,
    .lacks = lacks,
    .runs = runs,
    .run = one_run,
    .questions = questions,
    .live = live,
    .points = points,
    .record = record,
};
