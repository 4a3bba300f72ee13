/* mail.c: see mail.h. */
#include "cli/cluster/mail.h"

#include "cli/cluster/cluster.h"
#include "cli/look/db.h"
#include "cli/program/sent.h"
#include "base/steady.h"
#include "wal/history/history.h"
#include "wal/store/pg_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { ID_BYTES = 16, PAUSE_FIRST_MS = 10, PAUSE_MOST_MS = 200 };

/* One request on its way. */
typedef struct Sending {
    TfyCluster *cluster;
    TfyMail mail;              /* n: 0 until it is in the database */
    char id[2 * ID_BYTES + 1]; /* a random one */
    int64_t until_ms;          /* by the steady clock */
    int64_t pause_ms;          /* the next one */
    const char *held;          /* why its run is held, as it was read; NULL: it is not */
    TfyDelivery *delivery;
} Sending;

static int refuse(TfyDelivery *delivery, int code, const char *why)
{
    snprintf(delivery->text, sizeof delivery->text, "%s", why);
    return code;
}

/* ---- which run ---- */

/* Whether the run has had a signal of this id: then the request is done, and the text says what became of it. */
static int look_sent(TfyLog *log, const char *id, TfyDelivery *delivery, bool *sent)
{
    TfyHistory *history = NULL;
    char text[TFY_ERROR_TEXT] = "";
    *sent = false;
    const int code = tfy__history_read_stored(log, delivery->run, &history, text);
    if (code == TFY_OK) *sent = tfy__sent_before(history, id, text);
    tfy__history_free(history);
    return code || *sent ? refuse(delivery, code, text) : TFY_OK;
}

/* *sent: nothing is left to do. */
static int find_run(TfyLog *log, const json_t *request, Sending *sending, bool *sent)
{
    TfyLogRun run;
    const char *id = json_string_value(json_object_get(request, "id"));
    TfyDelivery *delivery = sending->delivery;
    int code = tfy__history_find(log, json_string_value(json_object_get(request, "run")), &run, delivery->text);
    if (code == TFY_OK) {
        sending->mail.run = run.id;
        if (run.turn == TFY_RUN_HELD) sending->held = tfy__db_held_why(&run);
        tfy__uuid_text(run.uuid, delivery->run);
        if (id) code = look_sent(log, id, delivery, sent);
    }
    return code;
}

/* ---- sending ---- */

static int name_mail(Sending *sending, const json_t *request)
{
    uint8_t random[ID_BYTES];
    const char *id = json_string_value(json_object_get(request, "id")),
               *what = json_string_value(json_object_get(request, "do"));
    sending->mail.id = id;
    if (id || strcmp(what, "signal") == 0) return TFY_OK;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return refuse(sending->delivery, TFY_E_IO, "the kernel gives no random numbers");
    for (int i = 0; i < ID_BYTES; i++) sprintf(sending->id + 2 * i, "%02x", random[i]);
    sending->mail.id = sending->id;
    return TFY_OK;
}

/* False: the time is over. */
static bool pause_between(Sending *sending)
{
    const int64_t rest_ms = sending->until_ms - tfy__steady_ms();
    const int64_t ms = rest_ms < sending->pause_ms ? rest_ms : sending->pause_ms;
    if (ms <= 0) return false;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
    sending->pause_ms = sending->pause_ms * 2 < PAUSE_MOST_MS ? sending->pause_ms * 2 : PAUSE_MOST_MS;
    return true;
}

/* What is not known to be in the database is sent again, if that does no harm. */
static bool may_repeat(const Sending *sending, int64_t n)
{
    return n == TFY_STORE_AWAY || (n == TFY_STORE_UNKNOWN && sending->mail.id);
}

static int refuse_sending(Sending *sending, int64_t n)
{
    TfyDelivery *delivery = sending->delivery;
    if (n == TFY_E_STATE || n == TFY_E_ABSENT) {
        snprintf(delivery->text, sizeof delivery->text, "run %s %s", delivery->run,
                 n == TFY_E_STATE ? "has already ended" : "is not there any more");
    } else if (n == TFY_STORE_UNKNOWN) {
        snprintf(delivery->text, sizeof delivery->text,
                 "the signal may have been sent, and may not (%.200s); with --id it could be sent again without harm",
                 sending->cluster->error);
    } else {
        snprintf(delivery->text, sizeof delivery->text, "%s", sending->cluster->error);
    }
    return tfy__cluster_code(n);
}

static int put(Sending *sending)
{
    const TfyClusterOps *ops = sending->cluster->ops;
    int64_t owner, n = ops->mail(sending->cluster, &sending->mail, &owner);
    while (may_repeat(sending, n) && pause_between(sending)) n = ops->mail(sending->cluster, &sending->mail, &owner);
    if (n <= 0) return refuse_sending(sending, n);
    ops->notify(sending->cluster, sending->mail.run);
    sending->mail.n = n;
    sending->pause_ms = PAUSE_FIRST_MS;
    return TFY_OK;
}

/* ---- the verdict ---- */

typedef struct Verdict {
    int64_t n;
    bool given;
    int code;
    char *text; /* TFY_ERROR_TEXT bytes */
} Verdict;

static int see_verdict(void *state, const TfyMail *mail)
{
    Verdict *verdict = state;
    if (mail->n != verdict->n || !mail->verdict) return 0;
    verdict->given = true;
    verdict->code = mail->code;
    snprintf(verdict->text, TFY_ERROR_TEXT, "%s", mail->code ? mail->verdict : "");
    return 1;
}

static int wait_for_verdict(Sending *sending)
{
    const TfyMail *mail = &sending->mail;
    TfyDelivery *delivery = sending->delivery;
    TfyCluster *cluster = sending->cluster;
    Verdict verdict = {.n = mail->n, .text = delivery->text};
    int code = 0;
    if (sending->held) sending->until_ms = 0; /* nobody will take it now */
    do {
        code = cluster->ops->see_mail(cluster, mail->run, mail->n - 1, false, see_verdict, &verdict);
    } while (!verdict.given && (!code || code == TFY_STORE_AWAY) && pause_between(sending));
    delivery->live = verdict.given;
    if (verdict.given) return verdict.code;
    if (code < 0) return refuse(delivery, tfy__cluster_code(code), cluster->error);
    if (sending->held)
        snprintf(delivery->text, sizeof delivery->text,
                 "accepted, but run %s is held (%s): nobody takes it before 'tfy release %s'", delivery->run,
                 sending->held, delivery->run);
    else
        snprintf(delivery->text, sizeof delivery->text,
                 "accepted; nobody has taken it yet. A worker takes it as soon as one executes run %s", delivery->run);
    return TFY_E_HELD;
}

/* ---- the request ---- */

int tfy__mail_send(const TfyMailWay *way, const json_t *request, const char *by, int64_t patience_ms,
                   TfyDelivery *delivery)
{
    Sending sending = {.cluster = way->cluster,
                       .mail = {.sender = by},
                       .until_ms = tfy__steady_ms() + patience_ms,
                       .pause_ms = PAUSE_FIRST_MS,
                       .delivery = delivery};
    bool sent = false;
    *delivery = (TfyDelivery){0};
    int code = find_run(way->log, request, &sending, &sent);
    if (code || sent) return code;
    char *body = json_dumps(request, JSON_COMPACT);
    if (!body) return refuse(delivery, TFY_E_NOMEM, "");
    sending.mail.body = body;
    code = name_mail(&sending, request);
    if (code == TFY_OK) code = put(&sending);
    if (code == TFY_OK) code = wait_for_verdict(&sending);
    free(body);
    return code;
}

int tfy__mail_request(const char *address, const json_t *request, const char *by, int64_t patience_ms,
                      TfyDelivery *delivery)
{
    TfyMailWay way = {.log = NULL};
    *delivery = (TfyDelivery){0};
    int code = tfy__shared_log_open(address, &way.log, delivery->text);
    if (code) return code;
    code = tfy__pg_cluster_open(&way.cluster, &(TfyPgOpen){.address = address}, delivery->text);
    code = code ? tfy__cluster_code(code) : tfy__mail_send(&way, request, by, patience_ms, delivery);
    if (way.cluster) way.cluster->ops->close(way.cluster);
    tfy__log_close(way.log, false);
    return code;
}
