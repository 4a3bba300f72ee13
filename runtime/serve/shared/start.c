/* start.c: a run that starts in a shared database, as `tfy start` does it: a loop without a log says what the first record would be,
 * and the run is put into its queue with it. The run's uuid is made here before anything is sent, from the Idempotency-Key or at
 * random, and the database has one run of a uuid. So what is sent again after a lost answer is the same run, and a client that
 * repeats its key after a crash of this process finds the run that it started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/arguments.h"
#include "serve/body.h"
#include "serve/changes.h"
#include "serve/of_run.h"
#include "serve/reach.h"
#include "serve/runs.h"
#include "serve/shared/reader.h"
#include "serve/shared/server.h"
#include "serve/start.h"
#include "wal/rows/payload.h"

enum { TRIES = 3, TRY_MS = 100 };

/* ---- which program ---- */

typedef struct Deployed {
    int64_t id; /* its row; 0: there is none */
    uint8_t hash[16];
} Deployed;

static int note_program(void *state, const TfyStoreProgram *program)
{
    Deployed *deployed = state;
    deployed->id = program->id;
    memcpy(deployed->hash, program->hash, sizeof deployed->hash);
    return 0;
}

/* False: the problem says that the database is away. */
static bool find_deployed(TfyRequest *request, Deployed *deployed)
{
    TfyCluster *cluster = tfy__shared_cluster_of(request);
    *deployed = (Deployed){0};
    if (!cluster) return false;
    int code = cluster->ops->deployed(cluster, request->names.text[0], note_program, deployed);
    if (code == TFY_STORE_AWAY) /* its connection may have ended long ago */
        code = cluster->ops->deployed(cluster, request->names.text[0], note_program, deployed);
    return code == 0 || code == TFY_E_ABSENT ||
           tfy__lists_failed(request, tfy__shared_code(code), "the program cannot be looked up");
}

/* What was deployed a moment ago is loaded first. */
static bool choose(TfyRequest *request, Deployed *deployed)
{
    if (!find_deployed(request, deployed)) return false;
    const TfyServed *served = tfy__served_named(request->server, request->names.text[0]);
    const bool known = served && memcmp(served->program->hash, deployed->hash, sizeof deployed->hash) == 0;
    if (deployed->id && !known) tfy__shared_look(request->server);
    if (!tfy__start_fits(request)) return false;
    served = request->starting->of;
    return memcmp(served->program->hash, deployed->hash, sizeof deployed->hash) == 0 ||
           tfy__problem(&request->problem, TFY_PROBLEM_NOT_POSSIBLE,
                        "the version of %.80s that is deployed does not compile here", served->name);
}

/* ---- its first record ---- */

/* A loop for the program; NULL: the problem says why there is none. */
static TfyLoop *loop_of(TfyRequest *request, const TfyProgram *program)
{
    TfySharedReader *shared = request->reader->shared;
    char error[TFY_ERROR_TEXT] = "";
    if (shared->program == program) return shared->loop;
    if (shared->loop) (void)tfy_close(shared->loop);
    shared->loop = NULL;
    shared->program = NULL;
    if (tfy_open(&shared->loop, program, &(TfyOptions){.quiet = true}, error) == TFY_OK)
        shared->program = program;
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "%s", error);
    return shared->program ? shared->loop : NULL;
}

static bool write_birth(TfyRequest *request, const char *args, TfyBirth *birth)
{
    TfyStarting *starting = request->starting;
    TfyLoop *loop = loop_of(request, starting->of->program);
    char error[TFY_ERROR_TEXT] = "";
    TfyNarrowed narrowed;
    TfyStartFacts facts = {.caller = &request->caller,
                           .labels = json_object_get(request->json, "labels"),
                           .program = starting->of->name,
                           .narrower = request->json,
                           .problem = &request->problem,
                           .priority = json_integer_value(json_object_get(request->json, "priority"))};
    if (!loop || !tfy__reach_narrow(tfy__reach_of(request->server->config, starting->of->name), facts.narrower,
                                    &narrowed, &request->problem))
        return false;
    const TfyStart how = {.id = request->key,
                          .ceiling = &narrowed.ceiling,
                          .facts = tfy__start_put_facts,
                          .arg = &facts,
                          .run = starting->run,
                          .birth = birth};
    const int code = tfy__submit_start(loop, starting->of->program, starting->workflow->name, args, &how, NULL, error);
    if (code == TFY_OK) return true;
    if (code == TFY_E_INVALID && !request->problem.kind)
        tfy__arguments_mistakes(loop, starting->workflow, json_object_get(request->json, "args"), &request->problem);
    return tfy__problem(&request->problem, code == TFY_E_INVALID ? TFY_PROBLEM_ARGUMENTS : TFY_PROBLEM_INTERNAL, "%s",
                        error);
}

/* ---- sending ---- */

static int open_submitter(TfyRequest *request)
{
    TfySharedReader *shared = request->reader->shared;
    char error[TFY_ERROR_TEXT] = "";
    if (shared->submitter) return 0;
    const int code = tfy__pg_submitter_open(&shared->submitter, request->server->db, error);
    if (code) shared->submitter = NULL;
    return code ? TFY_STORE_AWAY : 0;
}

/* Again after a lost answer: it is the same run. A run that an earlier try has put there is new all the same. */
static int put(TfyRequest *request, TfyBirth *birth, bool *known)
{
    const TfyClusterOps *ops = request->reader->shared->cluster->ops;
    TfyCluster *cluster = request->reader->shared->cluster;
    const json_int_t priority = json_integer_value(json_object_get(request->json, "priority"));
    TfyPgSubmit run = {.row = birth->row, .birth = birth->payload.data};
    const char *pool = json_string_value(json_object_get(request->json, "pool"));
    int64_t code = TFY_STORE_AWAY;
    bool unknown = false;
    for (int i = 0; i < TRIES && (code == TFY_STORE_AWAY || code == TFY_STORE_UNKNOWN); i++) {
        if (i) nanosleep(&(struct timespec){.tv_nsec = TRY_MS * 1000000}, NULL);
        code = open_submitter(request);
        if (!code) code = ops->queue(cluster, pool ? pool : "default", birth->row.program);
        const TfyPgBegin begin = {.queue = code, .priority = priority};
        if (code > 0) code = tfy__pg_submit(request->reader->shared->submitter, &begin, &run, 1);
        unknown |= code == TFY_STORE_UNKNOWN;
    }
    if (code == 0) ops->notify(cluster, run.row.id);
    *known = run.known && !(unknown && !request->key);
    return (int)code;
}

/* ---- the answer ---- */

static bool same_args(TfyRequest *request, const TfyBirth *birth)
{
    TfyLogRun row;
    TfyLogOutline outline = {0};
    size_t a_len = 0, b_len = 0;
    bool same = false;
    if (tfy__log_find_run(request->reader->log, birth->row.uuid, &row) == TFY_OK &&
        tfy__log_outline(request->reader->log, &row, &outline) == TFY_OK) {
        const TfyLogRecord there = tfy__record_of_payload(outline.birth),
                           here = tfy__record_of_payload(birth->payload.data);
        const char *a = tfy__record_raw(&there, TFY_P_ARGS, &a_len), *b = tfy__record_raw(&here, TFY_P_ARGS, &b_len);
        same = a && b && a_len == b_len && memcmp(a, b, a_len) == 0;
    }
    tfy__log_outline_free(&outline);
    return same;
}

static void wait_or_answer(TfyRequest *request)
{
    tfy__shared_hold(request);
}

static void answer(TfyRequest *request, const TfyBirth *birth, bool known)
{
    const char *run = request->starting->run;
    if (known && !same_args(request, birth)) {
        tfy__problem(&request->problem, TFY_PROBLEM_KEY_REUSED, "run %s has this key and other arguments", run);
        return;
    }
    if (!tfy__run_answer(request, run)) return;
    request->status = known || (request->wait_s && request->ended) ? 200 : 201;
    request->replayed = known;
    request->lsn = 1;
    snprintf(request->lsn_of, sizeof request->lsn_of, "%s", run);
    snprintf(request->location, sizeof request->location, "/v1/runs/%s", run);
    if (request->wait_s && !request->ended) request->pass = wait_or_answer;
}

static void start(TfyRequest *request, const char *args)
{
    Deployed deployed;
    TfyBirth birth = {.payload = {0}};
    bool known = false;
    if (json_object_get(request->json, "concurrency")) {
        tfy__problem(&request->problem, TFY_PROBLEM_SQLITE_ONLY,
                     "runs of a shared database do not wait for each other");
        return;
    }
    if (!choose(request, &deployed) || !write_birth(request, args, &birth)) {
        tfy__buffer_free(&birth.payload);
        return;
    }
    birth.row.program = deployed.id;
    birth.row.root = 1; /* the loop counts tasks over all runs, the database in each run */
    const int code = put(request, &birth, &known);
    if (code == 0)
        answer(request, &birth, known);
    else
        tfy__lists_failed(request, tfy__shared_code(code), "the run cannot be started");
    tfy__buffer_free(&birth.payload);
}

void tfy__shared_start(TfyRequest *request)
{
    const json_t *given = json_object_get(request->json, "args");
    char *args = given ? json_dumps(given, JSON_COMPACT) : strdup("{}");
    if (args)
        start(request, args);
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    free(args);
}

void tfy__shared_again(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{NULL, JSON_NULL}};
    if (!tfy__body_fits(request->json, members, &request->problem) || !tfy__run_find(request, request->names.text[0]))
        return;
    const TfyRunFound *run = request->run;
    const TfyAbout about = {run->program, run->workflow, run->by};
    if (!tfy__may(request->server, &request->caller, request->route->role, &about, &request->problem)) return;
    json_t *body = tfy__again_letter(request, request->reader->log);
    if (!body) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "run %s cannot be read", run->id);
        return;
    }
    json_decref(request->json);
    request->json = body;
    request->ours = true;
    request->names = (TfyRouteNames){.text = {request->run->program, request->run->workflow}, .count = 2};
    tfy__shared_start(request);
}
