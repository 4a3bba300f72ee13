/* listen.c: who wants to hear of changes: subscriptions/listen of the newest revision, a request that is answered when the
 * server ends; and the standing stream of an older client, with what it subscribes to. */
#include <stdlib.h>

#include "serve/mcp/turn.h"

#define RUNS "tfy://run/"

enum { ID = 36 };

/* A client of an older revision that hears. */
typedef struct TfyMcpStanding {
    struct TfyMcpStanding *prev, *next;
    TfyMcpPeer *peer;
    TfyMcpAnswer *answer;
} Standing;

/* ---- what is wanted ---- */

static bool wants(const json_t *filter, const char *what)
{
    return json_is_true(json_object_get(filter, what));
}

static bool has_text(const json_t *list, const char *text)
{
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)list, i, one)
    {
        const char *given = json_string_value(one);
        if (given && strcmp(given, text) == 0) return true;
    }
    return false;
}

/* Whether a list has the address of a run, or of its output. */
static bool has_run(const json_t *addresses, const char *run)
{
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)addresses, i, one)
    {
        const char *given = json_string_value(one);
        if (given && strncmp(given, RUNS, sizeof RUNS - 1) == 0 && strncmp(given + sizeof RUNS - 1, run, ID) == 0)
            return true;
    }
    return false;
}

/* ---- subscriptions/listen ---- */

static void keep(json_t *kept, const json_t *asked, const char *what, json_type type)
{
    json_t *value = json_object_get(asked, what);
    const bool fits = type == JSON_ARRAY ? json_is_array(value) : json_is_true(value);
    if (fits) json_object_set(kept, what, value);
}

/* Each notification says which request it is for. */
static void say(TfyMcpTurn *turn, const char *method, json_t *params)
{
    json_object_set_new(params, "_meta",
                        json_pack("{s:O}", "io.modelcontextprotocol/subscriptionId", turn->message.id));
    tfy__turn_say(turn, method, params);
    json_decref(params);
}

void tfy__mcp_listen(TfyMcpTurn *turn)
{
    const json_t *asked = json_object_get(turn->message.params, "notifications");
    json_t *kept = json_object();
    keep(kept, asked, "toolsListChanged", JSON_TRUE);
    keep(kept, asked, "promptsListChanged", JSON_TRUE);
    keep(kept, asked, "resourceSubscriptions", JSON_ARRAY);
    keep(kept, asked, "taskIds", JSON_ARRAY);
    turn->listens = kept;
    turn->changed = json_object();
    turn->said_ms = tfy__monotonic_ms();
    tfy__host_follow_from_now(turn->host);
    say(turn, "notifications/subscriptions/acknowledged", json_pack("{s:O}", "notifications", kept));
}

/* A task that has another status than was said. */
static void on_task(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *run = tfy__turn_heard(request), *task = run ? tfy__task_of(turn->host, run) : NULL;
    const char *id = json_string_value(json_object_get(task, "taskId"));
    json_t *status = json_object_get(task, "status");
    if (id && !json_equal(json_object_get(turn->changed, id), status)) {
        json_object_set(turn->changed, id, status);
        say(turn, "notifications/tasks", json_incref(task));
    }
    json_decref(task);
    json_decref(run);
}

static void hear_run(TfyMcpTurn *turn, const char *run)
{
    char text[96];
    if (has_run(json_object_get(turn->listens, "resourceSubscriptions"), run)) {
        snprintf(text, sizeof text, RUNS "%s", run);
        say(turn, "notifications/resources/updated", json_pack("{s:s}", "uri", text));
    }
    snprintf(text, sizeof text, "/v1/runs/%s", run);
    if (has_text(json_object_get(turn->listens, "taskIds"), run))
        tfy__turn_ask(turn, &(TfyInside){.method = TFY_GET, .target = text, .after = turn->host->cursor}, on_task);
}

/* ---- older clients ---- */

bool tfy__mcp_stand(TfyMcpHost *host, TfyMcpPeer *peer, TfyMcpAnswer *answer)
{
    Standing *standing = calloc(1, sizeof *standing);
    if (!standing) return false;
    standing->peer = peer;
    standing->answer = answer;
    tfy__peer_keep(peer);
    LIST2_APPEND(&host->standings, standing, prev, next);
    return true;
}

void tfy__mcp_unstand(TfyMcpHost *host, const TfyMcpPeer *peer, const TfyMcpAnswer *answer, bool ends)
{
    for (Standing *standing = host->standings.first, *next; standing; standing = next) {
        next = standing->next;
        if ((peer && standing->peer != peer) || (answer && standing->answer != answer)) continue;
        LIST2_REMOVE(&host->standings, standing, prev, next);
        if (ends) standing->answer->end(standing->answer, 200, NULL, 0);
        tfy__mcp_peer_free(standing->peer);
        free(standing);
    }
}

static void say_to(const Standing *standing, const char *method, const json_t *params)
{
    TfyBuffer text = {0};
    tfy__mcp_write_notification(&text, method, params);
    if (!text.failed) standing->answer->say(standing->answer, text.data, text.len);
    tfy__buffer_free(&text);
}

void tfy__mcp_beat_standings(TfyMcpHost *host)
{
    for (Standing *standing = host->standings.first; standing; standing = standing->next)
        standing->answer->say(standing->answer, NULL, 0);
}

static void subscribe(TfyMcpTurn *turn, bool on)
{
    TfyMcpPeer *peer = turn->peer;
    json_t *address = json_object_get(turn->message.params, "uri"), *one;
    size_t i;
    if (!peer->subscribed) peer->subscribed = json_array();
    json_array_foreach(peer->subscribed, i, one)
    {
        if (!json_equal(one, address)) continue;
        json_array_remove(peer->subscribed, i);
        break;
    }
    if (on && json_is_string(address)) json_array_append(peer->subscribed, address);
    tfy__host_follow_from_now(turn->host);
    tfy__turn_finish(turn, json_object());
}

void tfy__mcp_subscribe(TfyMcpTurn *turn)
{
    subscribe(turn, true);
}

void tfy__mcp_unsubscribe(TfyMcpTurn *turn)
{
    subscribe(turn, false);
}

/* ---- what happens ---- */

bool tfy__anybody_listens(const TfyMcpHost *host)
{
    for (const TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next)
        if (turn->listens && turn->answer) return true;
    for (const Standing *standing = host->standings.first; standing; standing = standing->next)
        if (json_array_size(standing->peer->subscribed)) return true;
    return false;
}

void tfy__run_changed(TfyMcpHost *host, const char *run)
{
    for (TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next)
        if (turn->listens && turn->answer) hear_run(turn, run);
    for (Standing *standing = host->standings.first; standing; standing = standing->next) {
        if (!has_run(standing->peer->subscribed, run)) continue;
        json_t *params = json_pack("{s:o}", "uri", json_sprintf(RUNS "%s", run));
        say_to(standing, "notifications/resources/updated", params);
        json_decref(params);
    }
}

/* A deploy has changed what there is. */
void tfy__offers_changed(TfyMcpHost *host)
{
    for (TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next) {
        if (!turn->listens || !turn->answer) continue;
        if (wants(turn->listens, "toolsListChanged")) say(turn, "notifications/tools/list_changed", json_object());
        if (wants(turn->listens, "promptsListChanged")) say(turn, "notifications/prompts/list_changed", json_object());
    }
    for (Standing *standing = host->standings.first; standing; standing = standing->next) {
        if (!standing->peer->greeted) continue;
        say_to(standing, "notifications/tools/list_changed", NULL);
        say_to(standing, "notifications/prompts/list_changed", NULL);
    }
}
