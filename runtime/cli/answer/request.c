/* request.c: see request.h. */
#include "cli/answer/request.h"
#include "cli/answer/offline.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/fork.h"
#include "cli/cluster/mail.h"
#include "cli/program/owner.h"

#include "base/steady.h"
#include "value/json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 10000 /* the default that the help gives for --timeout */

bool tfy__request_text(json_t *request, const char *name, const char *text)
{
    if (!text || json_object_set_new(request, name, json_string(text)) == 0) return true;
    tfy__say("'%s' is not UTF-8", text);
    return false;
}

bool tfy__request_json(json_t *request, const char *name, const char *text, const char *what)
{
    json_error_t error;
    json_t *value = text ? json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error) : NULL;
    if (text && !value) {
        tfy__say("%s: %s; text is written with its quotes, '\"text\"'", what, error.text);
        return false;
    }
    if (value) json_object_set_new(request, name, value);
    return true;
}

json_t *tfy__request_new(const TfyArgs *args, const char *what)
{
    json_t *request = json_pack("{s:s}", "do", what);
    if (tfy__request_text(request, "run", args->words[0]) && tfy__request_text(request, "task", args->option[OPT_TASK]))
        return request;
    json_decref(request);
    return NULL;
}

/* Makes one attempt. */
static int send_once(const char *db_path, const json_t *request, const char *by, TfyDelivery *delivery)
{
    *delivery = (TfyDelivery){0};
    const int code = tfy__owner_request(db_path, request, &delivery->live, delivery->run, delivery->text);
    if (delivery->live) return code;
    *delivery->text = '\0';
    return tfy__offline_request(db_path, request, by, delivery->run, delivery->text);
}

/* No single event reports both a free lock and a new socket, so the command polls. Pauses differ, so that several
 * waiting commands do not stay in step. */
static void pause_between(int attempt)
{
    const long longest = attempt < 5 ? 4 << attempt : 100, ms = 1 + (attempt * 31L + getpid()) % longest;
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

static bool forks(const json_t *request)
{
    return strcmp(json_string_value(json_object_get(request, "do")), "fork") == 0;
}

int tfy__request_send(const TfyArgs *args, const json_t *request, TfyDelivery *delivery)
{
    const char *given = args->option[OPT_TIMEOUT], *db_path = tfy__db_path(args);
    int64_t patience = WAIT_MS;
    char by[64];
    if (given && (!tfy__read_duration(given, strlen(given), &patience) || patience < 0)) {
        snprintf(delivery->text, sizeof delivery->text, "--timeout takes a time such as 10s or 0s, not '%.60s'", given);
        return TFY_E_INVALID;
    }
    tfy__user_name(geteuid(), by, sizeof by);
    if (tfy__db_is_shared(args))
        return forks(request) ? tfy__cluster_fork(db_path, request, delivery)
                              : tfy__mail_request(db_path, request, by, patience, delivery);
    const int64_t end = tfy__steady_ms() + patience;
    int code = send_once(db_path, request, by, delivery);
    for (int attempt = 0; code == TFY_E_HELD && tfy__steady_ms() < end; attempt++) {
        pause_between(attempt);
        code = send_once(db_path, request, by, delivery);
    }
    return code;
}
