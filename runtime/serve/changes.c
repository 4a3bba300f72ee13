/* changes.c: see changes.h. They run in the loop, after of_run.c. */
#include "serve/changes.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/program/fork.h"
#include "cli/program/sent.h"
#include "serve/body.h"
#include "serve/of_run.h"
#include "serve/queue.h"
#include "serve/questions.h"
#include "serve/reach.h"
#include "serve/reader.h"
#include "serve/runs.h"
#include "serve/start.h"
#include "value/json.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

/* ---- the answer ---- */

/* In a reader: the run as it is with the change, once the index has that. A new run that it does not have yet is there all the
 * same: whoever asked knows where, and need not ask for another one. */
static void show_changed(TfyRequest *request)
{
    (void)request->server->lists->await(request->server, request->lsn);
    if (request->status == 201) snprintf(request->location, sizeof request->location, "/v1/runs/%s", request->run->id);
    if (tfy__run_answer(request, request->run->id) || request->problem.kind != TFY_PROBLEM_INDEX_BEHIND) return;
    request->retry_after_s = 0;
    snprintf(request->problem.detail, sizeof request->problem.detail,
             "run %s was made, but the lists do not have it yet", request->run->id);
}

/* The change is appended: its answer leaves when it is durable. */
static void changed(TfyRequest *request)
{
    request->lsn = tfy__log_last_lsn(tfy__loop_log(request->server->loop));
    request->then = show_changed;
    tfy__command_await(request, tfy__command_read);
}

static void ask_reader(TfyRequest *request, void (*then)(TfyRequest *request))
{
    request->then = then;
    tfy__readers_ask(request->server->readers, request);
}

static TfyProblemKind kind_of(const TfyRequest *request, int code, TfyProblemKind state)
{
    if (tfy__queue_holds(request->server->queue, request->run->id)) return TFY_PROBLEM_QUEUED;
    if (tfy__diverged_why(request->server->loop, request->run->id)) return TFY_PROBLEM_DIVERGED;
    switch (code) {
    case TFY_E_ABSENT: return request->run->ended ? TFY_PROBLEM_ENDED : TFY_PROBLEM_NOT_FOUND;
    case TFY_E_STATE: return state;
    case TFY_E_DIVERGED: return TFY_PROBLEM_CHANGED;
    case TFY_E_INVALID:
    case TFY_E_DATA: return TFY_PROBLEM_ARGUMENTS;
    case TFY_E_FULL: return TFY_PROBLEM_BUSY;
    default: return TFY_PROBLEM_INTERNAL;
    }
}

TfyProblemKind tfy__change_refusal(TfyRequest *request, int code, TfyProblemKind state, char *error)
{
    const TfyProblemKind kind = kind_of(request, code, state);
    if (kind == TFY_PROBLEM_QUEUED) snprintf(error, TFY_ERROR_TEXT, "run %s waits in the queue", request->run->id);
    if (kind == TFY_PROBLEM_ENDED) snprintf(error, TFY_ERROR_TEXT, "run %s has ended", request->run->id);
    return kind;
}

/* Why a change was refused. state: what TFY_E_STATE means for it. */
static void refused(TfyRequest *request, int code, TfyProblemKind state, char *error)
{
    const TfyProblemKind kind = tfy__change_refusal(request, code, state, error);
    if (kind == TFY_PROBLEM_BUSY) request->retry_after_s = 1;
    tfy__problem(&request->problem, kind, "%s", error);
    tfy__request_done(request);
}

static void refuse(TfyRequest *request)
{
    tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    tfy__request_done(request);
}

/* ---- arrivals ---- */

typedef int Arrive(TfyRequest *request, char *error);

/* Has it arrive with its sender. digest: of the question that is answered; NULL: of any. Returns its code. */
static int arrive(TfyRequest *request, Arrive *how, const char *digest, char *error)
{
    TfyLoop *loop = request->server->loop;
    TfyBuffer via = {0};
    *error = '\0';
    tfy__via_text(&request->caller, &via);
    const TfySender sender = {.via = via.data, .digest = digest, .unsynced = true};
    tfy__arrive_from(loop, &sender);
    const int code = via.failed ? TFY_E_NOMEM : how(request, error);
    tfy__arrive_from(loop, NULL);
    tfy__buffer_free(&via);
    return code;
}

static const char *text_of(const TfyRequest *request, const char *name)
{
    return json_string_value(json_object_get(request->json, name));
}

/* malloc'ed; NULL: it is not given. */
static char *value_of(const TfyRequest *request)
{
    const json_t *value = json_object_get(request->json, "value");
    return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
}

/* ---- signals ---- */

static int signal_arrives(TfyRequest *request, char *error)
{
    char *value = value_of(request);
    const int code = tfy__arrive_signal(request->server->loop, request->run->id, text_of(request, "name"), value,
                                        text_of(request, "id"), request->caller.name, error);
    free(value);
    return code;
}

/* In a reader: the run has ended; a signal that is sent again may have come before that. */
static void look_sent(TfyRequest *request)
{
    TfyHistory *history = NULL;
    char text[TFY_ERROR_TEXT];
    const bool sent = tfy__history_read_stored(request->reader->log, request->run->id, &history, text) == TFY_OK &&
                      tfy__sent_before(history, text_of(request, "id"), text);
    tfy__history_free(history);
    if (sent)
        show_changed(request);
    else
        tfy__problem(&request->problem, TFY_PROBLEM_ENDED, "run %s has ended", request->run->id);
}

bool tfy__change_signal_fits(TfyRequest *request)
{
    static const TfyMemberOf members[] = {
        {"name", JSON_STRING}, {"value", JSON_NULL}, {"id", JSON_STRING}, {NULL, JSON_NULL}};
    return tfy__body_fits(request->json, members, &request->problem) &&
           (text_of(request, "name") || tfy__body_mistake(&request->problem, "$.name", "a signal has a name"));
}

int tfy__change_signal(TfyRequest *request, char *error)
{
    return arrive(request, signal_arrives, NULL, error);
}

void tfy__serve_signal(TfyRequest *request)
{
    char error[TFY_ERROR_TEXT];
    if (!tfy__change_signal_fits(request)) {
        tfy__request_done(request);
        return;
    }
    const int code = tfy__change_signal(request, error);
    if (code == TFY_OK) {
        changed(request);
    } else if (text_of(request, "id") && request->run->ended) {
        ask_reader(request, look_sent);
    } else {
        if (code == TFY_E_DATA || code == TFY_E_INVALID) tfy__body_mistake(&request->problem, "$.value", "%s", error);
        refused(request, code, TFY_PROBLEM_ENDED, error);
    }
}

/* ---- cancelling ---- */

static int cancel_arrives(TfyRequest *request, char *error)
{
    return tfy__arrive_kill(request->server->loop, request->run->id, text_of(request, "task"),
                            json_is_true(json_object_get(request->json, "force")), request->caller.name, error);
}

int tfy__change_cancel(TfyRequest *request, char *error)
{
    return arrive(request, cancel_arrives, NULL, error);
}

static bool cancel_fits(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{"task", JSON_STRING}, {"force", JSON_TRUE}, {NULL, JSON_NULL}};
    return tfy__body_fits(request->json, members, &request->problem);
}

void tfy__serve_cancel(TfyRequest *request)
{
    char error[TFY_ERROR_TEXT];
    if (!cancel_fits(request)) {
        tfy__request_done(request);
        return;
    }
    const int code = tfy__change_cancel(request, error);
    if (code == TFY_OK)
        changed(request);
    else
        refused(request, code, TFY_PROBLEM_ENDED, error);
}

/* ---- a step of the path: /{task}/{step} ---- */

/* 0: it is not a number from 1 on, and the problem says so. */
static int64_t step_of(TfyRequest *request)
{
    const char *text = request->names.text[2];
    const size_t len = strlen(text);
    const bool number = len > 0 && len < 18 && len == strspn(text, "0123456789");
    const int64_t step = number ? strtoll(text, NULL, 10) : 0;
    if (!step) tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "'%.40s' is not the number of a step", text);
    return step;
}

static int resolve_arrives(TfyRequest *request, char *error)
{
    char *value = value_of(request);
    const int code = tfy__arrive_resolve(request->server->loop, request->run->id, request->names.text[1],
                                         strtoll(request->names.text[2], NULL, 10), text_of(request, "how"), value,
                                         request->caller.name, error);
    free(value);
    return code;
}

static bool has_resolution(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{"how", JSON_STRING}, {"value", JSON_NULL}, {NULL, JSON_NULL}};
    return tfy__body_fits(request->json, members, &request->problem) && step_of(request) &&
           (text_of(request, "how") ||
            tfy__body_mistake(&request->problem, "$.how", "a step is resolved with done, retry or fail"));
}

void tfy__serve_resolve(TfyRequest *request)
{
    char error[TFY_ERROR_TEXT] = "";
    const int code = has_resolution(request) ? arrive(request, resolve_arrives, NULL, error) : TFY_E_INVALID;
    if (code == TFY_OK) {
        changed(request);
        return;
    }
    if (!request->problem.kind && (code == TFY_E_DATA || code == TFY_E_INVALID))
        tfy__body_mistake(&request->problem, code == TFY_E_DATA ? "$.value" : "$.how", "%s", error);
    refused(request, code, TFY_PROBLEM_NOT_IN_DOUBT, error);
}

/* ---- answers ---- */

static const char *answer_of(const TfyRequest *request)
{
    const json_t *answer = json_object_get(request->json, "answer");
    return json_is_boolean(answer) ? json_is_true(answer) ? "yes" : "no" : json_string_value(answer);
}

static int answer_arrives(TfyRequest *request, char *error)
{
    return tfy__arrive_approval(request->server->loop, request->run->id, request->names.text[1],
                                strtoll(request->names.text[2], NULL, 10), answer_of(request), request->caller.name,
                                text_of(request, "why"), error);
}

static bool has_answer(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{"answer", JSON_NULL}, {"why", JSON_STRING}, {NULL, JSON_NULL}};
    return tfy__body_fits(request->json, members, &request->problem) && step_of(request) &&
           (answer_of(request) ||
            tfy__body_mistake(&request->problem, "$.answer", "an answer is a text, or true or false"));
}

/* What If-Match names, without its quotes. */
static void take_digest(const TfyRequest *request, char digest[20])
{
    const char *seen = request->as_seen ? request->as_seen : "";
    snprintf(digest, 20, "%.*s", (int)strcspn(seen + (*seen == '"'), "\""), seen + (*seen == '"'));
}

void tfy__serve_answer(TfyRequest *request)
{
    char error[TFY_ERROR_TEXT] = "", digest[20];
    take_digest(request, digest);
    const int code =
        has_answer(request) ? arrive(request, answer_arrives, request->as_seen ? digest : NULL, error) : TFY_E_INVALID;
    if (code == TFY_OK) {
        changed(request);
    } else if (request->problem.kind) {
        tfy__request_done(request);
    } else if (tfy__diverged_why(request->server->loop, request->run->id)) {
        refused(request, code, TFY_PROBLEM_DIVERGED, error);
    } else if (code == TFY_E_STATE || code == TFY_E_ABSENT) {
        ask_reader(request, tfy__serve_unready);
    } else if (code == TFY_E_DIVERGED) {
        ask_reader(request, tfy__serve_unanswered);
    } else {
        if (code == TFY_E_INVALID) tfy__problem(&request->problem, TFY_PROBLEM_UNKNOWN_ANSWER, "%s", error);
        refused(request, code, TFY_PROBLEM_ANSWERED, error);
    }
}

/* ---- as requests ---- */

/* What it does, with the members of the body that are given. */
static json_t *request_of(TfyRequest *request, const char *what, const char *const *members)
{
    json_t *made = json_pack("{s:s, s:s}", "do", what, "run", request->run->id);
    for (; *members; members++) {
        json_t *value = json_object_get(request->json, *members);
        if (value) json_object_set(made, *members, value);
    }
    if (!made) tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    return made;
}

static json_t *with_step(TfyRequest *request, json_t *made)
{
    json_object_set_new(made, "task", json_string(request->names.text[1]));
    json_object_set_new(made, "step", json_integer(strtoll(request->names.text[2], NULL, 10)));
    return made;
}

json_t *tfy__signal_letter(TfyRequest *request)
{
    if (!tfy__change_signal_fits(request)) return NULL;
    return request_of(request, "signal", (const char *const[]){"name", "value", "id", NULL});
}

json_t *tfy__cancel_letter(TfyRequest *request)
{
    if (!cancel_fits(request)) return NULL;
    return request_of(request, "kill", (const char *const[]){"task", "force", NULL});
}

json_t *tfy__resolve_letter(TfyRequest *request)
{
    if (!has_resolution(request)) return NULL;
    return with_step(request, request_of(request, "resolve", (const char *const[]){"how", "value", NULL}));
}

json_t *tfy__answer_letter(TfyRequest *request)
{
    char digest[20];
    if (!has_answer(request)) return NULL;
    json_t *made = with_step(request, request_of(request, "approve", (const char *const[]){"why", NULL}));
    json_object_set_new(made, "answer", json_string(answer_of(request)));
    take_digest(request, digest);
    if (request->as_seen) json_object_set_new(made, "digest", json_string(digest));
    return made;
}

/* ---- a run from a step of this one ---- */

/* The process goes on with the new run at once. */
static int fork_it(TfyRequest *request, char *error)
{
    TfyLoop *loop = request->server->loop;
    TfyLog *log = tfy__loop_log(loop);
    TfyHistory *history = NULL;
    TfyBuffer via = {0};
    char made[37];
    tfy__via_text(&request->caller, &via);
    json_object_set_new(request->json, "by", json_string(request->caller.name));
    json_object_set_new(request->json, "via", via.failed ? json_object() : json_loads(via.data, 0, NULL));
    tfy__buffer_free(&via);
    int code = tfy__log_sync(log); /* a fork may use every record that people can see */
    if (code == TFY_OK) code = tfy__history_read_stored(log, request->run->id, &history, error);
    if (code == TFY_OK) code = tfy__fork_request(log, history, request->json, NULL, made, error);
    tfy__history_free(history);
    if (code != TFY_OK) return code;
    snprintf(request->run->id, sizeof request->run->id, "%s", made);
    code = tfy__resume(loop, made, error);
    const TfyQueued begun = {.program = request->run->program,
                             .workflow = request->run->workflow,
                             .run = made,
                             .lsn = tfy__log_last_lsn(log)};
    if (code == TFY_OK) tfy__queue_add(request->server->queue, &begun, TFY_ADMIT_NOW);
    return code == TFY_E_DIVERGED ? TFY_OK : code; /* it is made, and set aside */
}

void tfy__serve_fork(TfyRequest *request)
{
    static const TfyMemberOf members[] = {
        {"task", JSON_STRING}, {"step", JSON_INTEGER}, {"value", JSON_NULL}, {NULL, JSON_NULL}};
    char error[TFY_ERROR_TEXT] = "";
    const bool fits = tfy__body_fits(request->json, members, &request->problem);
    const int code = fits ? fork_it(request, error) : TFY_E_INVALID;
    request->status = 201;
    if (code == TFY_OK) {
        changed(request);
        return;
    }
    request->run->ended = false;
    if (fits && (code == TFY_E_DATA || code == TFY_E_INVALID))
        tfy__body_mistake(&request->problem, code == TFY_E_DATA ? "$.value" : "$.step", "%s", error);
    refused(request, code, TFY_PROBLEM_COMPACTED, error);
}

/* ---- a run with the same arguments ---- */

/* What bounded the run bounds the next one. What the configuration has narrowed since holds instead. */
static void copy_reach(TfyRequest *request, json_t *body, const json_t *ceiling)
{
    static const char *const names[] = {"sandbox", "network", "budget"};
    const TfyReach *reach = tfy__reach_of(request->server->config, request->run->program);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *one = json_object(), *value = json_object_get(ceiling, names[i]);
        TfyProblem widens = {0};
        TfyNarrowed narrowed;
        if (value) json_object_set(one, names[i], value);
        if (value && tfy__reach_narrow(reach, one, &narrowed, &widens)) json_object_set(body, names[i], value);
        tfy__problem_clear(&widens);
        json_decref(one);
    }
}

json_t *tfy__again_letter(TfyRequest *request, TfyLog *log)
{
    TfyLogRun row;
    TfyLogOutline outline = {0};
    TfyPayload payload;
    char error[TFY_ERROR_TEXT];
    json_t *body = NULL;
    if (tfy__history_find(log, request->run->id, &row, error) == TFY_OK &&
        tfy__log_outline(log, &row, &outline) == TFY_OK) {
        const TfyLogRecord birth = tfy__record_of_payload(outline.birth);
        tfy__payload_open(&payload, &birth);
        body = json_pack("{s:O?, s:O?}", "args", tfy__payload_get(&payload, TFY_P_ARGS), "labels",
                         tfy__payload_get(&payload, TFY_P_LABELS));
        if (body) copy_reach(request, body, tfy__payload_get(&payload, TFY_P_CEILING));
        tfy__payload_close(&payload);
    }
    tfy__log_outline_free(&outline);
    if (json_is_null(json_object_get(body, "labels"))) json_object_del(body, "labels");
    return body;
}

static int start_copy(TfyRequest *request, const json_t *body, const char *key, char run[37], char *error)
{
    const TfyServed *of = tfy__served_named(request->server, request->run->program);
    const TfyWorkflow *workflow = of ? tfy__served_workflow(of, request->run->workflow) : NULL;
    char *args = json_dumps(json_object_get(body, "args"), JSON_COMPACT);
    TfyStartFacts facts = {.caller = &request->caller,
                           .labels = json_object_get(body, "labels"),
                           .program = request->run->program,
                           .narrower = body,
                           .problem = &request->problem};
    int code = TFY_E_ABSENT;
    snprintf(error, TFY_ERROR_TEXT, "there is no workflow %.128s.%.128s", request->run->program,
             request->run->workflow);
    if (workflow && args) code = tfy__start_run(request->server, of, workflow, args, key, &facts, run, error);
    free(args);
    return code == TFY_E_STATE && key ? TFY_OK : code; /* this request has come before */
}

int tfy__change_again(TfyRequest *request, const char *key, char run[37], char *error)
{
    json_t *body = tfy__again_letter(request, tfy__loop_log(request->server->loop));
    snprintf(error, TFY_ERROR_TEXT, "run %s cannot be read", request->run->id);
    const int code = body ? start_copy(request, body, key, run, error) : TFY_E_IO;
    json_decref(body);
    return code;
}

void tfy__serve_again(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{NULL, JSON_NULL}};
    if (!tfy__body_fits(request->json, members, &request->problem)) {
        tfy__request_done(request);
        return;
    }
    json_t *body = tfy__again_letter(request, tfy__loop_log(request->server->loop));
    if (!body) {
        refuse(request);
        return;
    }
    json_decref(request->json);
    request->json = body;
    request->ours = true;
    request->names = (TfyRouteNames){.text = {request->run->program, request->run->workflow}, .count = 2};
    tfy__serve_start(request);
}
