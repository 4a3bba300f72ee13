/* send.c: what people do to runs of a shared database: it is put into the run's mail, and whoever has the run takes it. The sender
 * waits a moment for what becomes of it. If nobody has taken it by then it is in the database all the same, and the answer is 202:
 * it is taken when a worker has the run. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cluster/mail.h"
#include "serve/body.h"
#include "serve/changes.h"
#include "serve/of_run.h"
#include "serve/questions.h"
#include "serve/runs.h"
#include "serve/shared/reader.h"
#include "serve/shared/server.h"
#include "wal/store/pg_cluster.h"

enum { WAIT_MS = 2000 };

TfyCluster *tfy__shared_cluster_of(TfyRequest *request)
{
    TfySharedReader *shared = request->reader->shared;
    char error[TFY_ERROR_TEXT] = "";
    if (!shared->cluster &&
        tfy__pg_cluster_open(&shared->cluster, &(TfyPgOpen){.address = request->server->db}, error) != 0) {
        shared->cluster = NULL;
        tfy__lists_failed(request, TFY_STORE_AWAY, "");
    }
    return shared->cluster;
}

/* The run of the path, which the caller may change. */
static bool find(TfyRequest *request)
{
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !tfy__run_find(request, request->names.text[0]))
        return false;
    const TfyRunFound *run = request->run;
    const TfyAbout about = {run->program, run->workflow, run->by};
    return tfy__may(request->server, &request->caller, request->route->role, &about, &request->problem);
}

/* The code of tfy__mail_send; delivery has its text. Takes the letter. */
static int send_letter(TfyRequest *request, json_t *letter, TfyDelivery *delivery)
{
    const TfyMailWay way = {.log = request->reader->log, .cluster = tfy__shared_cluster_of(request)};
    const int64_t wait_ms = request->wait_s ? request->wait_s * 1000 : WAIT_MS;
    TfyBuffer via = {0};
    int code = TFY_E_IO;
    *delivery = (TfyDelivery){0};
    tfy__via_text(&request->caller, &via);
    if (!via.failed) json_object_set_new(letter, "via", json_loads(via.data, 0, NULL));
    if (way.cluster) code = tfy__mail_send(&way, letter, request->caller.name, wait_ms, delivery);
    tfy__buffer_free(&via);
    json_decref(letter);
    return code;
}

static void note_lsn(void *arg, const TfyRunShown *run)
{
    TfyRequest *request = arg;
    request->lsn = run->lsn;
    snprintf(request->lsn_of, sizeof request->lsn_of, "%s", run->id);
}

/* The run as it is with the change, or as it is while that is on its way. */
static void answer_sent(TfyRequest *request, int code)
{
    if (tfy__run_answer(request, request->run->id) && tfy__run_look_up(request, request->run->id, note_lsn, request) &&
        code == TFY_E_HELD)
        request->status = 202;
}

static TfyProblemKind kind_of(const TfyRequest *request, int code, TfyProblemKind state)
{
    switch (code) {
    case TFY_E_ABSENT: return request->run->ended ? TFY_PROBLEM_ENDED : TFY_PROBLEM_NOT_FOUND;
    case TFY_E_STATE: return request->run->ended ? TFY_PROBLEM_ENDED : state;
    case TFY_E_DIVERGED: return TFY_PROBLEM_CHANGED;
    case TFY_E_INVALID:
    case TFY_E_DATA: return TFY_PROBLEM_ARGUMENTS;
    case TFY_E_IO: return TFY_PROBLEM_DATABASE_AWAY;
    default: return TFY_PROBLEM_INTERNAL;
    }
}

/* state: what TFY_E_STATE means for it, unless the run has ended. value: the member that a value is in; NULL: it has none. */
static void refuse(TfyRequest *request, int code, const TfyDelivery *delivery, TfyProblemKind state, const char *member)
{
    const TfyProblemKind kind = kind_of(request, code, state);
    if (kind == TFY_PROBLEM_DATABASE_AWAY) request->retry_after_s = 1;
    if (kind == TFY_PROBLEM_ARGUMENTS && member) tfy__body_mistake(&request->problem, member, "%s", delivery->text);
    tfy__problem(&request->problem, kind, kind == TFY_PROBLEM_ENDED ? "run %.36s has ended" : "%s",
                 kind == TFY_PROBLEM_ENDED ? request->run->id : delivery->text);
}

static bool is_sent(int code)
{
    return code == TFY_OK || code == TFY_E_HELD;
}

/* The run may have ended since it was found. */
static void note_end(TfyRequest *request, int code)
{
    char id[37];
    snprintf(id, sizeof id, "%s", request->run->id);
    if (code == TFY_E_STATE || code == TFY_E_ABSENT) (void)tfy__run_find(request, id);
}

static void send(TfyRequest *request, json_t *(*write)(TfyRequest *request), TfyProblemKind state, const char *member)
{
    TfyDelivery delivery;
    json_t *letter = find(request) ? write(request) : NULL;
    if (!letter) return;
    const int code = send_letter(request, letter, &delivery);
    if (request->problem.kind) return;
    note_end(request, code);
    if (is_sent(code))
        answer_sent(request, code);
    else
        refuse(request, code, &delivery, state, member);
}

void tfy__shared_signal(TfyRequest *request)
{
    send(request, tfy__signal_letter, TFY_PROBLEM_ENDED, "$.value");
}

void tfy__shared_cancel(TfyRequest *request)
{
    send(request, tfy__cancel_letter, TFY_PROBLEM_ENDED, NULL);
}

void tfy__shared_resolve(TfyRequest *request)
{
    send(request, tfy__resolve_letter, TFY_PROBLEM_NOT_IN_DOUBT, "$.value");
}

void tfy__shared_answer(TfyRequest *request)
{
    TfyDelivery delivery;
    json_t *letter = find(request) ? tfy__answer_letter(request) : NULL;
    if (!letter) return;
    const int code = send_letter(request, letter, &delivery);
    if (request->problem.kind) return;
    note_end(request, code);
    if (is_sent(code))
        answer_sent(request, code);
    else if (code == TFY_E_STATE || code == TFY_E_ABSENT || code == TFY_E_DIVERGED)
        tfy__serve_unanswered(request);
    else if (code == TFY_E_INVALID)
        tfy__problem(&request->problem, TFY_PROBLEM_UNKNOWN_ANSWER, "%s", delivery.text);
    else
        refuse(request, code, &delivery, TFY_PROBLEM_ANSWERED, NULL);
}
