/* bulk.c: see bulk.h. */
#include "serve/bulk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/body.h"
#include "serve/changes.h"
#include "serve/of_run.h"
#include "serve/reader.h"
#include "serve/runs.h"
#include "wal/log/run_id.h"

enum { RUNS_MOST = 1000, KEY_MOST = TFY_RUN_NAME_MAX - 37 };

/* One of the changes. It gets the request with the run in its place; a code, and error says why. */
typedef struct Change {
    const char *name;
    int (*make)(TfyRequest *request, char *error);
} Change;

/* A request on its way through the loop. */
typedef struct TfyBulk {
    const Change *change;
    TfyRunFound *runs; /* RUNS_MOST */
    int count, at;
    bool dry;
    json_int_t done;
    json_t *refused;            /* [{"run", "status", "detail"}, …]; owned */
    json_t *started;            /* [{"of", "run"}, …]; owned */
    json_t *whole;              /* the body; owned while request->json is a part of it */
    char next[TFY_CURSOR_SIZE]; /* the cursor; "": these are all */
} TfyBulk;

void tfy__bulk_free(TfyBulk *bulk)
{
    if (!bulk) return;
    json_decref(bulk->refused);
    json_decref(bulk->started);
    json_decref(bulk->whole);
    free(bulk->runs);
    free(bulk);
}

/* ---- the changes ---- */

/* With a key, a request that comes again starts nothing again: each run has a key of its own. */
static int start_again(TfyRequest *request, char *error)
{
    char key[TFY_RUN_NAME_MAX + 1], of[37], run[37];
    snprintf(of, sizeof of, "%s", request->run->id);
    snprintf(key, sizeof key, "%.*s/%s", KEY_MOST, request->key ? request->key : "", of);
    const int code = tfy__change_again(request, request->key ? key : NULL, run, error);
    if (code != TFY_OK) return code;
    json_array_append_new(request->bulk->started, json_pack("{s:s, s:s}", "of", of, "run", run));
    return TFY_OK;
}

static const Change changes[] = {
    {"cancel", tfy__change_cancel}, {"signal", tfy__change_signal}, {"again", start_again}, {NULL, NULL}};

static const Change *change_named(const char *name)
{
    const Change *change = changes;
    while (change->name && strcmp(change->name, name) != 0) change++;
    return change->name ? change : NULL;
}

/* ---- which runs ---- */

static void refuse_run(TfyBulk *bulk, const char *run, TfyProblemKind kind, const char *detail)
{
    json_array_append_new(
        bulk->refused, json_pack("{s:s, s:i, s:s}", "run", run, "status", tfy__problem_status(kind), "detail", detail));
}

/* Chooses the run, if the caller may change it. */
static void choose(void *arg, const TfyRunShown *shown)
{
    TfyRequest *request = arg;
    TfyBulk *bulk = request->bulk;
    TfyProblem problem = {0};
    const TfyAbout about = {shown->program, shown->workflow, shown->by};
    if (!tfy__may(request->server, &request->caller, request->route->role, &about, &problem)) {
        refuse_run(bulk, shown->id, problem.kind, problem.detail);
    } else if (bulk->count < RUNS_MOST) {
        tfy__run_found_note(&bulk->runs[bulk->count++], shown);
    }
    tfy__problem_clear(&problem);
}

/* Those that the body names. One that is not there is refused by itself; none is changed while that cannot be known. */
static bool choose_named(TfyRequest *request, const json_t *names)
{
    const json_t *name;
    size_t i;
    if (json_array_size(names) > RUNS_MOST || !json_array_size(names))
        return tfy__body_mistake(&request->problem, "$.runs", "it has 1 to %d ids", RUNS_MOST);
    json_array_foreach(names, i, name)
    {
        char path[32];
        snprintf(path, sizeof path, "$.runs[%zu]", i);
        if (!json_is_string(name)) return tfy__body_mistake(&request->problem, path, "it is not the id of a run");
        if (tfy__run_look_up(request, json_string_value(name), choose, request)) continue;
        if (request->problem.kind == TFY_PROBLEM_INDEX_BEHIND) return false;
        refuse_run(request->bulk, json_string_value(name), request->problem.kind, request->problem.detail);
        tfy__problem_clear(&request->problem);
    }
    return true;
}

/* The members of a filter are the parameters of the list of runs, and are read as these. */
static bool take_filter(TfyRequest *request, const json_t *filter)
{
    const char *name;
    json_t *value;
    request->parameter_count = 0;
    if (!json_object_size(filter)) return tfy__body_mistake(&request->problem, "$.filter", "it names nothing");
    json_object_foreach((json_t *)filter, name, value)
    {
        char path[128];
        snprintf(path, sizeof path, "$.filter.%.100s", name);
        if (!json_is_string(value)) return tfy__body_mistake(&request->problem, path, "it is not a text");
        if (strcmp(name, "limit") == 0 || strcmp(name, "cursor") == 0)
            return tfy__body_mistake(&request->problem, path,
                                     "%d runs at most are changed at once; 'next' has the others", RUNS_MOST);
        if (request->parameter_count < TFY_PARAMETERS_MAX - 1)
            request->parameters[request->parameter_count++] = (TfyParameter){name, json_string_value(value)};
    }
    const char *next = json_string_value(json_object_get(request->json, "next"));
    if (next) request->parameters[request->parameter_count++] = (TfyParameter){"cursor", next};
    return true;
}

/* What the reader of parameters refuses is a mistake of the body here. */
static bool wanted_of(TfyRequest *request, TfyRunsWanted *wanted)
{
    if (tfy__runs_wanted(request, wanted)) return true;
    char detail[sizeof request->problem.detail];
    snprintf(detail, sizeof detail, "%s", request->problem.detail);
    if (request->problem.kind != TFY_PROBLEM_BAD_REQUEST) return false;
    tfy__problem_clear(&request->problem);
    return tfy__body_mistake(&request->problem, "$.filter", "%s", detail);
}

static bool choose_filtered(TfyRequest *request, const json_t *filter)
{
    TfyRunsWanted wanted;
    TfyPlace next;
    if (!take_filter(request, filter) || !wanted_of(request, &wanted)) return false;
    wanted.limit = RUNS_MOST;
    if (request->reader->lists->runs(request->reader, &wanted, choose, request, &next) != TFY_OK)
        return tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the index cannot be read");
    if (next.at)
        tfy__cursor_text(request, tfy__runs_list(&wanted), next, request->bulk->next, sizeof request->bulk->next);
    return true;
}

/* ---- the answer ---- */

static void answer(TfyRequest *request)
{
    const TfyBulk *bulk = request->bulk;
    tfy__request_json(request, 200,
                      json_pack("{s:s, s:i, s:I, s:O, s:O, s:s?}", "do", bulk->change->name, "chosen", bulk->count,
                                "done", bulk->done, "refused", bulk->refused, "started", bulk->started, "next",
                                *bulk->next ? bulk->next : NULL));
}

/* ---- in the loop ---- */

static void end(TfyRequest *request)
{
    const TfyBulk *bulk = request->bulk;
    answer(request);
    if (!bulk->done) {
        tfy__request_done(request);
        return;
    }
    request->lsn = tfy__log_last_lsn(tfy__loop_log(request->server->loop));
    tfy__command_await(request, tfy__command_answer);
}

static void change_one(TfyRequest *request)
{
    TfyBulk *bulk = request->bulk;
    char error[TFY_ERROR_TEXT] = "", run[37];
    request->run = &bulk->runs[bulk->at++];
    snprintf(run, sizeof run, "%s", request->run->id);
    const int code = bulk->change->make(request, error);
    if (code == TFY_OK) {
        bulk->done++;
    } else {
        const TfyProblemKind kind = tfy__change_refusal(request, code, TFY_PROBLEM_ENDED, error);
        refuse_run(bulk, run, kind, error);
    }
    request->run = NULL;
}

static void change_next(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    if (!tfy__command_may(loop, request)) return;
    if (request->bulk->at == request->bulk->count) {
        end(request);
        return;
    }
    change_one(request);
    if (tfy__command_post(request->server, change_next, request) != TFY_OK) tfy__command_refuse(request);
}

static void pass_to_loop(TfyRequest *request)
{
    if (tfy__command_post(request->server, change_next, request) != TFY_OK) tfy__command_refuse(request);
}

/* ---- the route ---- */

static bool body_fits(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{"do", JSON_STRING},     {"runs", JSON_ARRAY},   {"filter", JSON_OBJECT},
                                          {"next", JSON_STRING},   {"dry_run", JSON_TRUE}, {"force", JSON_TRUE},
                                          {"signal", JSON_OBJECT}, {NULL, JSON_NULL}};
    const json_t *json = request->json;
    TfyProblem *problem = &request->problem;
    const char *what = json_string_value(json_object_get(json, "do"));
    if (!tfy__body_fits(json, members, problem)) return false;
    if (!what || !change_named(what)) return tfy__body_mistake(problem, "$.do", "it is cancel, signal or again");
    if (!json_object_get(json, "runs") == !json_object_get(json, "filter"))
        return tfy__body_mistake(problem, "$", "either runs or a filter says which runs");
    if (json_object_get(json, "runs") && json_object_get(json, "next"))
        return tfy__body_mistake(problem, "$.next", "it belongs to a filter");
    if ((strcmp(what, "signal") == 0) == !json_object_get(json, "signal"))
        return tfy__body_mistake(problem, "$.signal", "it is what signal sends, and belongs to nothing else");
    if (json_object_get(json, "force") && strcmp(what, "cancel") != 0)
        return tfy__body_mistake(problem, "$.force", "it belongs to cancel");
    if (request->key && (!tfy__run_name_fits(request->key) || strlen(request->key) > KEY_MOST))
        return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST,
                            "the Idempotency-Key of many starts has 1 to %d visible ASCII characters", KEY_MOST);
    return true;
}

/* What a signal has is read as that of a single one is; its mistakes are in a part of this body. */
static bool take_signal(TfyRequest *request)
{
    json_t *signal = json_object_get(request->json, "signal"), *mistake;
    size_t i;
    if (!signal) return true;
    request->bulk->whole = request->json;
    request->json = json_incref(signal);
    if (tfy__change_signal_fits(request)) return true;
    json_array_foreach(request->problem.errors, i, mistake)
    {
        const char *path = json_string_value(json_object_get(mistake, "path"));
        json_object_set_new(mistake, "path", json_sprintf("$.signal%s", path + 1));
    }
    return false;
}

static bool prepare(TfyRequest *request)
{
    TfyBulk *bulk = request->bulk = calloc(1, sizeof *bulk);
    const json_t *json = request->json, *filter = json_object_get(json, "filter");
    if (bulk) bulk->runs = calloc(RUNS_MOST, sizeof *bulk->runs);
    if (!bulk || !bulk->runs || !(bulk->refused = json_array()) || !(bulk->started = json_array()))
        return tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    bulk->change = change_named(json_string_value(json_object_get(json, "do")));
    bulk->dry = json_is_true(json_object_get(json, "dry_run"));
    return (filter ? choose_filtered(request, filter) : choose_named(request, json_object_get(json, "runs"))) &&
           take_signal(request);
}

void tfy__serve_bulk(TfyRequest *request)
{
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !body_fits(request) ||
        !tfy__index_awaited(request) || !prepare(request))
        return;
    if (request->bulk->dry)
        answer(request);
    else
        request->pass = pass_to_loop;
}
