/* runs.c: see runs.h. */
#include "serve/runs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "serve/openapi.h"
#include "serve/queue.h"
#include "serve/reader.h"
#include "serve/start.h"
#include "value/json.h"
#include "wal/log/log.h"
#include "wal/rows/payload.h"

enum { LIMIT_USUAL = 50, LIMIT_MOST = 200 };

/* ---- as JSON ---- */

static const char *known(const char *text)
{
    return text && *text ? text : NULL;
}

static void add_time(TfyBuffer *out, const char *name, int64_t ms)
{
    tfy__buffer_printf(out, ",\"%s\":", name);
    if (!ms) {
        tfy__buffer_text(out, "null");
        return;
    }
    tfy__buffer_char(out, '"');
    tfy__write_time(out, ms);
    tfy__buffer_char(out, '"');
}

static void add_labels(TfyBuffer *out, const json_t *labels)
{
    char *text = json_object_size(labels) ? json_dumps(labels, JSON_COMPACT) : NULL;
    tfy__buffer_printf(out, ",\"labels\":%s", text ? text : "{}");
    free(text);
}

void tfy__run_shown(const TfyRunShown *run, TfyBuffer *out)
{
    tfy__buffer_printf(out, "{\"id\":\"%s\"", run->id);
    tfy__answer_text(out, "program", known(run->program));
    tfy__answer_text(out, "version", known(run->version));
    tfy__answer_text(out, "workflow", known(run->workflow));
    tfy__answer_text(out, "state", run->state);
    tfy__answer_text(out, "attention", run->attention);
    tfy__answer_text(out, "by", known(run->by));
    add_time(out, "started", run->started_ms);
    add_time(out, "ended", run->ended_ms);
    add_labels(out, run->labels);
    tfy__buffer_printf(out, ",\"tokens\":{\"in\":%lld,\"out\":%lld},\"cost\":", (long long)run->tokens_in,
                       (long long)run->tokens_out);
    if (run->cost < 0)
        tfy__buffer_text(out, "null");
    else
        tfy__buffer_printf(out, "%.6f", (double)run->cost / 1e6);
    tfy__buffer_printf(out, ",\"records\":%lld", (long long)run->records);
    if (run->result) tfy__buffer_printf(out, ",\"result\":%s", run->result);
    if (run->error) tfy__buffer_printf(out, ",\"error\":%s", run->error);
    if (run->difference) tfy__answer_text(out, "difference", run->difference);
    if (run->held) tfy__answer_text(out, "held", run->held);
    tfy__buffer_char(out, '}');
}

/* ---- waiting for the index ---- */

static bool index_has(TfyRequest *request, int64_t lsn)
{
    if (request->server->lists->await(request->server, lsn)) return true;
    request->retry_after_s = 1;
    return false;
}

static bool index_has_all(TfyRequest *request)
{
    if (request->server->lists->await_all(request->server)) return true;
    request->retry_after_s = 1;
    return false;
}

/* A reader that has just written sees what it wrote. */
bool tfy__index_awaited(TfyRequest *request)
{
    return !request->after || index_has(request, request->after) ||
           tfy__problem(&request->problem, TFY_PROBLEM_INDEX_BEHIND, "the lists do not have record %lld yet",
                        (long long)request->after);
}

/* ---- one run ---- */

typedef struct Search {
    TfyRequest *request;
    void (*show)(void *arg, const TfyRunShown *run);
    void *arg;
    uint32_t count, hidden; /* runs that the caller sees, and others */
    bool behind;            /* the index lacks records that were durable when the search began */
    char ids[2][37];
} Search;

static void see(void *arg, const TfyRunShown *run)
{
    Search *search = arg;
    if (!tfy__may_see(&search->request->caller, run->program, run->workflow)) {
        search->hidden++;
        return;
    }
    if (search->count < 2) snprintf(search->ids[search->count], sizeof search->ids[0], "%s", run->id);
    if (search->count++ == 0) search->show(search->arg, run);
}

static bool is_id(const char *text)
{
    const size_t len = strlen(text);
    return len >= 4 && len <= 36 && len == strspn(text, "0123456789abcdef-");
}

static int look_up_now(Search *search, const char *id)
{
    if (!is_id(id)) return TFY_E_ABSENT;
    const int code = search->request->reader->lists->run(search->request->reader, id, see, search);
    return search->hidden && (code == TFY_OK || code == TFY_E_INVALID) ? search->count ? TFY_OK : TFY_E_ABSENT : code;
}

/* Whoever starts a run may ask for it at once, before the index has it; and an index that is made anew has few for a while. */
static int look_up(Search *search, const char *id)
{
    const int code = look_up_now(search, id);
    if (code != TFY_E_ABSENT || search->hidden || !is_id(id)) return code;
    search->behind = !index_has_all(search->request);
    return look_up_now(search, id);
}

static bool refuse_run(const Search *search, const char *id, int code)
{
    TfyProblem *problem = &search->request->problem;
    if (code == TFY_E_INVALID)
        return tfy__problem(problem, TFY_PROBLEM_AMBIGUOUS, "%s and %s start with it", search->ids[0], search->ids[1]);
    if (code == TFY_E_ABSENT && search->behind)
        return tfy__problem(problem, TFY_PROBLEM_INDEX_BEHIND, "the lists do not have all runs yet, nor '%.60s'", id);
    if (code == TFY_E_ABSENT)
        return tfy__problem(problem, TFY_PROBLEM_NOT_FOUND, "there is no run '%.60s'; gc may have removed it", id);
    return tfy__lists_failed(search->request, code, "the index cannot be read");
}

bool tfy__run_look_up(TfyRequest *request, const char *id, void (*show)(void *arg, const TfyRunShown *run), void *arg)
{
    Search search = {.request = request, .show = show, .arg = arg};
    const int code = look_up(&search, id);
    return code == TFY_OK || refuse_run(&search, id, code);
}

static void show_run(void *arg, const TfyRunShown *run)
{
    TfyRequest *request = arg;
    request->ended = run->ended_ms;
    if (strcmp(run->state, "queued") == 0) snprintf(request->queued, sizeof request->queued, "%s", run->id);
    tfy__run_shown(run, &request->answer);
    snprintf(request->etag, sizeof request->etag, "\"%lld%s\"", (long long)run->lsn,
             run->difference ? "d"
             : run->held     ? "h"
                             : "");
}

bool tfy__run_answer(TfyRequest *request, const char *id)
{
    if (tfy__run_look_up(request, id, show_run, request)) return true;
    tfy__buffer_reset(&request->answer);
    request->etag[0] = '\0';
    return false;
}

static void show_id(void *arg, const TfyRunShown *run)
{
    snprintf(arg, 37, "%s", run->id);
}

bool tfy__find_run_id(TfyRequest *request, const char *given, char id[37])
{
    Search search = {.request = request, .show = show_id, .arg = id};
    uint8_t uuid[16];
    TfyLogRun row;
    const bool whole = tfy__uuid_read(given, uuid);
    int code = whole ? look_up_now(&search, given) : look_up(&search, given);
    if (whole && code == TFY_E_ABSENT && !search.hidden) {
        code = tfy__log_find_run(request->reader->log, uuid, &row);
        snprintf(id, 37, "%s", given);
    }
    return code == TFY_OK || refuse_run(&search, given, code);
}

/* In the loop, which has the queue. */
static void add_place(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    if (!loop) {
        tfy__command_refuse(request);
        return;
    }
    const int64_t place = tfy__queue_place(request->server->queue, request->queued);
    if (place) {
        request->answer.len--; /* the brace at its end */
        tfy__buffer_printf(&request->answer, ",\"place\":%lld}", (long long)place);
    }
    tfy__request_done(request);
}

static void pass_place(TfyRequest *request)
{
    if (tfy__command_post(request->server, add_place, request) != TFY_OK) tfy__command_refuse(request);
}

/* The place of a queued run changes without a record, so it is always said anew. */
void tfy__serve_run(TfyRequest *request)
{
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !tfy__index_awaited(request) ||
        !tfy__run_answer(request, request->names.text[0]))
        return;
    if (*request->queued && request->server->queue) {
        request->pass = pass_place;
        return;
    }
    if (!request->match || strcmp(request->match, request->etag) != 0) return;
    request->status = 304;
    tfy__buffer_reset(&request->answer);
}

/* ---- a start whose run is there already ---- */

static bool is_same(const TfyRequest *request)
{
    const TfyStarting *starting = request->starting;
    TfyLogRun row;
    TfyLogOutline outline = {0};
    size_t len = 0;
    bool same = false;
    if (tfy__log_find_run(request->reader->log, starting->uuid, &row) == TFY_OK &&
        tfy__log_outline(request->reader->log, &row, &outline) == TFY_OK) {
        const TfyLogRecord birth = tfy__record_of_payload(outline.birth);
        const char *args = tfy__record_raw(&birth, TFY_P_ARGS, &len);
        same = args && len == starting->args.len && memcmp(args, starting->args.data, len) == 0;
    }
    tfy__log_outline_free(&outline);
    return same;
}

static void hold(TfyRequest *request)
{
    tfy__tail_hold(request->server->tail, request);
}

void tfy__serve_started(TfyRequest *request)
{
    const char *run = request->starting->run;
    if (!is_same(request)) {
        tfy__problem(&request->problem, TFY_PROBLEM_KEY_REUSED, "run %s has this key and other arguments", run);
        return;
    }
    if (!tfy__index_awaited(request) || !tfy__run_answer(request, run)) return;
    request->replayed = true;
    request->status = 200;
    snprintf(request->location, sizeof request->location, "/v1/runs/%s", run);
    if (request->wait_s) request->pass = hold;
}

static void show_anew(void *arg, const TfyRunShown *run)
{
    TfyRequest *request = arg;
    tfy__buffer_reset(&request->answer);
    show_run(request, run);
}

/* A run that has not ended is answered as it was when the wait began, but for what it has done since. One that the lists do
 * not have yet has started all the same. */
void tfy__serve_waited(TfyRequest *request)
{
    if (tfy__run_look_up(request, request->starting->run, show_anew, request)) {
        if (request->ended) request->status = 200;
    } else if (request->problem.kind == TFY_PROBLEM_INDEX_BEHIND) {
        tfy__problem_clear(&request->problem);
        request->retry_after_s = 0;
    }
}

/* ---- lists ---- */

const char *const tfy__runs_parameters[] = {"q",         "state", "program", "version", "workflow", "label.", "by",
                                            "attention", "after", "before",  "sort",    "limit",    "cursor", NULL};

/* In the order of TfyRunsOrder, the descending one first. */
static const char *const sorts[] = {"-started", "started", "-ended", "ended", "-took", "took",
                                    "-tokens",  "tokens",  "-cost",  "cost",  NULL};

char tfy__runs_list(const TfyRunsWanted *wanted)
{
    static const char letters[] = "rRsStTuUvV";
    return letters[2 * wanted->order + wanted->ascending];
}

static void read_order(TfyRequest *request, TfyRunsWanted *wanted)
{
    const char *given = tfy__request_parameter(request, "sort");
    for (int i = 0; given && sorts[i]; i++) {
        if (strcmp(sorts[i], given) != 0) continue;
        wanted->order = (TfyRunsOrder)(i / 2);
        wanted->ascending = i % 2;
    }
}

typedef struct Page {
    TfyBuffer *out;
    uint32_t count;
} Page;

static void show_in_page(void *arg, const TfyRunShown *run)
{
    Page *page = arg;
    if (page->count++) tfy__buffer_char(page->out, ',');
    tfy__run_shown(run, page->out);
}

bool tfy__runs_wanted(TfyRequest *request, TfyRunsWanted *wanted)
{
    static const char *const states[] = {"queued", "running", "completed", "failed", "cancelled", NULL};
    static const char *const attentions[] = {"any", "question", "in_doubt", "deadlock", "diverged", "held", NULL};
    int64_t limit;
    *wanted = (TfyRunsWanted){.words = tfy__request_parameter(request, "q"),
                              .state = tfy__request_parameter(request, "state"),
                              .attention = tfy__request_parameter(request, "attention"),
                              .program = tfy__request_parameter(request, "program"),
                              .version = tfy__request_parameter(request, "version"),
                              .workflow = tfy__request_parameter(request, "workflow"),
                              .by = tfy__request_parameter(request, "by"),
                              .only = request->caller.only};
    tfy__request_label(request, &wanted->label, &wanted->label_value);
    if (!tfy__request_known(request, tfy__runs_parameters) ||
        !tfy__request_number(request, "limit", LIMIT_USUAL, 1, LIMIT_MOST, &limit) ||
        !tfy__request_choice(request, "state", states) || !tfy__request_choice(request, "attention", attentions) ||
        !tfy__request_choice(request, "sort", sorts) || !tfy__request_time(request, "after", &wanted->after_ms) ||
        !tfy__request_time(request, "before", &wanted->before_ms))
        return false;
    wanted->limit = (uint32_t)limit;
    read_order(request, wanted);
    const char *lacks = request->server->lists->lacks(request->server, wanted);
    if (lacks) return tfy__problem(&request->problem, TFY_PROBLEM_SQLITE_ONLY, "%s", lacks);
    if (wanted->words && !request->server->searches)
        return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST,
                            "this server keeps no words to search for; its configuration says \"search\": false");
    return tfy__cursor_read(request, tfy__runs_list(wanted), &wanted->behind);
}

void tfy__serve_runs(TfyRequest *request)
{
    TfyRunsWanted wanted;
    Page page = {.out = &request->answer};
    TfyPlace next;
    if (!tfy__index_awaited(request) || !tfy__runs_wanted(request, &wanted)) return;
    tfy__buffer_text(&request->answer, "{\"runs\":[");
    const int code = request->reader->lists->runs(request->reader, &wanted, show_in_page, &page, &next);
    if (code == TFY_OK)
        tfy__cursor_write(request, tfy__runs_list(&wanted), next);
    else
        tfy__lists_failed(request, code, "the index cannot be read");
}
