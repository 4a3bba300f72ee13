/* start.c: see start.h. */
#include "serve/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "serve/arguments.h"
#include "serve/body.h"
#include "serve/reach.h"
#include "serve/queue.h"
#include "serve/runs.h"
#include "wal/log/run_id.h"
#include "wal/rows/payload.h"

void tfy__starting_free(TfyStarting *starting)
{
    if (!starting) return;
    tfy__buffer_free(&starting->args);
    free(starting);
}

/* ---- which workflow ---- */

static const TfyServed *find_program(TfyRequest *request, const char *name)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL};
    uint32_t count = 0;
    const TfyServed *found = tfy__served_named(request->server, name);
    if (found) return found;
    const TfyCatalog *catalog = tfy__catalog(request->server);
    for (; count < MOST && count < catalog->count; count++) names[count] = catalog->served[count]->name;
    tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "there is no program '%.80s'%s", name,
                 tfy__meant(name, names).text);
    return NULL;
}

static const TfyWorkflow *find_workflow(TfyRequest *request, const TfyServed *of, const char *name)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL};
    const TfyWorkflow *found = tfy__served_workflow(of, name);
    if (found) return found;
    for (uint32_t i = 0; i < of->program->workflow_count && i < MOST; i++) names[i] = of->program->workflows[i]->name;
    tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "%s has no workflow '%.80s'%s", of->name, name,
                 tfy__meant(name, names).text);
    return NULL;
}

/* ---- labels ---- */

static bool labels_fit(const json_t *labels, bool ours, TfyProblem *problem)
{
    const char *name;
    json_t *value;
    bool fit = json_object_size(labels) <= TFY_LABELS_MOST;
    if (!fit) tfy__body_mistake(problem, "$.labels", "there are more than %d", TFY_LABELS_MOST);
    json_object_foreach((json_t *)labels, name, value)
    {
        char path[128];
        snprintf(path, sizeof path, "$.labels.%.100s", name);
        if (!tfy__label_name_fits(name))
            fit = tfy__body_mistake(problem, path, "a name has 1 to %d of a-z, 0-9, '_', '.' and '-'",
                                    TFY_LABEL_NAME_MOST);
        else if (strncmp(name, "tfy.", 4) == 0 && !ours)
            fit = tfy__body_mistake(problem, path, "names that start with 'tfy.' are the server's own");
        else if (!json_is_string(value) || json_string_length(value) > TFY_LABEL_MOST)
            fit = tfy__body_mistake(problem, path, "it is not a text of at most %d bytes", TFY_LABEL_MOST);
    }
    return fit;
}

/* ---- its place in the queue ---- */

static bool place_fits(const json_t *json, TfyProblem *problem)
{
    const json_t *concurrency = json_object_get(json, "concurrency");
    const json_int_t priority = json_integer_value(json_object_get(json, "priority"));
    const size_t len = json_string_length(concurrency);
    if (concurrency && (len < 1 || len > TFY_CONCURRENCY_MOST || strlen(json_string_value(concurrency)) != len))
        return tfy__body_mistake(problem, "$.concurrency", "it is not a text of 1 to %d bytes", TFY_CONCURRENCY_MOST);
    return (priority >= -TFY_PRIORITY_MOST && priority <= TFY_PRIORITY_MOST) ||
           tfy__body_mistake(problem, "$.priority", "it is not a number from %d to %d", -TFY_PRIORITY_MOST,
                             TFY_PRIORITY_MOST);
}

/* ---- what its first record says besides ---- */

void tfy__start_put_facts(void *arg, TfyBuffer *members)
{
    const TfyStartFacts *facts = arg;
    tfy__put_text(members, TFY_P_BY, facts->caller->name);
    tfy__put(members, TFY_P_VIA);
    tfy__via_text(facts->caller, members);
    if (json_object_size(facts->labels)) tfy__put_tree(members, TFY_P_LABELS, facts->labels);
    tfy__put_text(members, TFY_P_PROGRAM_NAME, facts->program);
    if (facts->priority) tfy__put_int(members, TFY_P_PRIORITY, facts->priority);
    if (facts->concurrency) tfy__put_text(members, TFY_P_CONCURRENCY, facts->concurrency);
    if (facts->per_key) tfy__put_int(members, TFY_P_PER_KEY, facts->per_key);
    tfy__put_true(members, TFY_P_QUEUED, facts->queued);
}

/* ---- starting ---- */

static bool exists(TfyServer *server, const TfyServed *of, const TfyWorkflow *workflow, const char *key)
{
    uint8_t uuid[16];
    TfyLogRun row;
    if (!key) return false;
    tfy__run_id_of("", of->program->name, workflow->name, key, uuid);
    return tfy__log_find_run(tfy__loop_log(server->loop), uuid, &row) == TFY_OK;
}

int tfy__start_run(TfyServer *server, const TfyServed *of, const TfyWorkflow *workflow, const char *args,
                   const char *key, TfyStartFacts *facts, char run[37], char *error)
{
    TfyQueued place = {.program = of->name,
                       .workflow = workflow->name,
                       .run = run,
                       .concurrency = facts->concurrency,
                       .per_key = facts->per_key,
                       .priority = facts->priority};
    const TfyAdmission admission = tfy__queue_ask(server->queue, &place);
    if (admission == TFY_ADMIT_NOT && exists(server, of, workflow, key)) return TFY_E_STATE;
    if (admission == TFY_ADMIT_NOT) {
        snprintf(error, TFY_ERROR_TEXT, "the queue of %.80s.%.80s is full", of->name, workflow->name);
        return TFY_E_FULL;
    }
    facts->queued = admission == TFY_ADMIT_LATER;
    TfyNarrowed narrowed;
    if (!tfy__reach_narrow(tfy__reach_of(server->config, of->name), facts->narrower, &narrowed, facts->problem))
        return TFY_E_INVALID;
    const TfyStart start = {.queued = facts->queued,
                            .id = key,
                            .ceiling = &narrowed.ceiling,
                            .facts = tfy__start_put_facts,
                            .arg = facts,
                            .run = run};
    const int code = tfy__submit_start(server->loop, of->program, workflow->name, args, &start, NULL, error);
    if (code != TFY_OK) return code;
    place.lsn = tfy__log_last_lsn(tfy__loop_log(server->loop));
    place.asked_ms = tfy__wall_ms(server->loop);
    tfy__queue_add(server->queue, &place, admission);
    return TFY_OK;
}

/* ---- on its way ---- */

static uint64_t hash_of(const char run[37])
{
    return XXH3_64bits(run, 36);
}

static TfyStarting *on_its_way(TfyServer *server, const char run[37])
{
    TfyLink *link = tfy__table_find(&server->starting, hash_of(run));
    while (link && strcmp(TABLE_ITEM(link, TfyStarting, link)->run, run) != 0) link = tfy__table_next(link);
    return TABLE_ITEM(link, TfyStarting, link);
}

/* The run is durable: a reader shows it, once the index has it. */
static void read_it(TfyRequest *request)
{
    request->after = tfy__log_durable_lsn(tfy__loop_log(request->server->loop));
    request->then = tfy__serve_started;
    tfy__readers_ask(request->server->readers, request);
}

static void on_durable(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    TfyStarting *starting = request->starting;
    if (request->key) tfy__table_remove(&request->server->starting, &starting->link);
    for (TfyRequest *follower = starting->followers, *next; follower; follower = next) {
        next = follower->next;
        if (loop)
            read_it(follower);
        else
            tfy__command_refuse(follower);
    }
    starting->followers = NULL;
    if (!loop) {
        tfy__problem(&request->problem, TFY_PROBLEM_DRAINING,
                     "ask again once it runs again: nobody knows whether it started");
        tfy__buffer_reset(&request->answer);
    }
    if (loop && request->wait_s)
        tfy__tail_hold(request->server->tail, request);
    else
        tfy__request_done(request);
}

/* The run as it is now: it has one record. */
static void answer_started(TfyRequest *request)
{
    const TfyStarting *starting = request->starting;
    const json_t *labels = json_object_get(request->json, "labels");
    const TfyRunShown shown = {.id = starting->run,
                               .program = starting->of->name,
                               .version = starting->of->version,
                               .workflow = starting->workflow->name,
                               .state = starting->queued ? "queued" : "running",
                               .by = request->caller.name,
                               .started_ms = starting->started_ms,
                               .labels = labels,
                               .cost = -1,
                               .records = 1};
    tfy__run_shown(&shown, &request->answer);
    request->status = 201;
    snprintf(request->location, sizeof request->location, "/v1/runs/%s", starting->run);
    snprintf(request->etag, sizeof request->etag, "\"%lld\"", (long long)request->lsn);
}

static bool starts(TfyRequest *request, const char *args)
{
    TfyServer *server = request->server;
    TfyStarting *starting = request->starting;
    char error[TFY_ERROR_TEXT] = "";
    TfyStartFacts facts = {.caller = &request->caller,
                           .labels = json_object_get(request->json, "labels"),
                           .program = starting->of->name,
                           .narrower = request->json,
                           .problem = &request->problem,
                           .concurrency = json_string_value(json_object_get(request->json, "concurrency")),
                           .priority = json_integer_value(json_object_get(request->json, "priority"))};
    const int code =
        tfy__start_run(server, starting->of, starting->workflow, args, request->key, &facts, starting->run, error);
    if (code == TFY_OK) {
        request->lsn = tfy__log_last_lsn(tfy__loop_log(server->loop));
        starting->started_ms = tfy__wall_ms(server->loop);
        starting->queued = facts.queued;
        return true;
    }
    if (code == TFY_E_STATE && request->key) return false;
    if (code == TFY_E_INVALID && !request->problem.kind)
        tfy__arguments_mistakes(server->loop, starting->workflow, json_object_get(request->json, "args"),
                                &request->problem);
    if (code == TFY_E_FULL) {
        tfy__problem(&request->problem, TFY_PROBLEM_BUSY, "%s", error);
        request->retry_after_s = 1;
    }
    tfy__problem(&request->problem, code == TFY_E_INVALID ? TFY_PROBLEM_ARGUMENTS : TFY_PROBLEM_INTERNAL, "%s", error);
    return false;
}

bool tfy__start_fits(TfyRequest *request)
{
    static const TfyMemberOf members[] = {
        {"args", JSON_OBJECT},    {"labels", JSON_OBJECT},  {"concurrency", JSON_STRING}, {"priority", JSON_INTEGER},
        {"sandbox", JSON_STRING}, {"network", JSON_STRING}, {"budget", JSON_STRING},      {NULL, JSON_NULL}};
    tfy__starting_free(request->starting);
    TfyStarting *starting = request->starting = calloc(1, sizeof *starting);
    if (!starting) return tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    starting->of = find_program(request, request->names.text[0]);
    starting->workflow = starting->of ? find_workflow(request, starting->of, request->names.text[1]) : NULL;
    if (!starting->workflow) return false;
    const TfyAbout about = {starting->of->name, starting->workflow->name, NULL};
    if (!tfy__may(request->server, &request->caller, TFY_ROLE_OPERATOR, &about, &request->problem)) return false;
    if (request->key && !tfy__run_name_fits(request->key))
        return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST,
                            "an Idempotency-Key has 1 to %d visible ASCII characters", TFY_RUN_NAME_MAX);
    return tfy__request_known(request, (const char *const[]){NULL}) &&
           tfy__body_fits(request->json, members, &request->problem) &&
           labels_fit(json_object_get(request->json, "labels"), request->ours, &request->problem) &&
           place_fits(request->json, &request->problem) &&
           tfy__arguments_known(starting->workflow, json_object_get(request->json, "args"), &request->problem);
}

/* The uuid that the key stands for. */
static void name_it(TfyRequest *request)
{
    TfyStarting *starting = request->starting;
    if (!request->key) return;
    tfy__run_id_of("", starting->of->program->name, starting->workflow->name, request->key, starting->uuid);
    tfy__uuid_text(starting->uuid, starting->run);
}

/* The arguments as a record has them, to be compared with those of the run that is there. */
static bool keep_args(TfyRequest *request, const char *args)
{
    TfyStarting *starting = request->starting;
    char error[TFY_ERROR_TEXT];
    if (tfy__encode_arguments(request->server->loop, starting->workflow, args, &starting->args, error) == TFY_OK)
        return true;
    tfy__arguments_mistakes(request->server->loop, starting->workflow, json_object_get(request->json, "args"),
                            &request->problem);
    return tfy__problem(&request->problem, TFY_PROBLEM_ARGUMENTS, "%s", error);
}

/* On the way to the disk: others with its key find it. */
static bool remember(TfyRequest *request)
{
    TfyTable *table = &request->server->starting;
    if (request->key && !tfy__table_reserve(table)) return false;
    if (tfy__when_durable(request->server->loop, on_durable, request) != TFY_OK) return false;
    if (request->key) tfy__table_add(table, &request->starting->link, hash_of(request->starting->run));
    return true;
}

/* Another request with its key has started the run, or is about to. */
static void find_started(TfyRequest *request, TfyStarting *other, const char *args)
{
    if (!keep_args(request, args)) {
        tfy__request_done(request);
    } else if (other) {
        request->next = other->followers;
        other->followers = request;
    } else {
        read_it(request);
    }
}

static void start(TfyRequest *request, const char *args)
{
    TfyStarting *other = request->key ? on_its_way(request->server, request->starting->run) : NULL;
    if (other || !starts(request, args)) {
        if (request->problem.kind)
            tfy__request_done(request);
        else
            find_started(request, other, args);
        return;
    }
    answer_started(request);
    if (remember(request)) return;
    tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    tfy__request_done(request);
}

void tfy__serve_start(TfyRequest *request)
{
    const json_t *given = json_object_get(request->json, "args");
    char *args = given ? json_dumps(given, JSON_COMPACT) : strdup("{}");
    if (!args) tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    if (args && tfy__start_fits(request)) {
        name_it(request);
        start(request, args);
    } else {
        tfy__request_done(request);
    }
    free(args);
}
