/* speak.c: what a client says: greetings, lists, and whom the rest goes to. */
#include <stdlib.h>
#include <string.h>

#include "serve/mcp/turn.h"

/* ---- what the server is ---- */

static json_t *capabilities(const TfyMcpClient *client)
{
    json_t *all = json_pack("{s:{s:b}, s:{s:b}, s:{s:b}, s:{}}", "tools", "listChanged", 1, "prompts", "listChanged", 1,
                            "resources", "subscribe", 1, "completions");
    json_t *extensions = json_pack("{s:{}}", TFY_MCP_CALL_KEY);
    if (client->modern)
        json_object_set_new(extensions, TFY_MCP_TASKS, json_object());
    else
        json_object_set_new(all, "logging", json_object());
    json_object_set_new(all, "extensions", extensions);
    return all;
}

static void discover(TfyMcpTurn *turn)
{
    tfy__turn_finish(turn, json_pack("{s:[s,s,s], s:o, s:i, s:s}", "supportedVersions", TFY_MCP_NEWEST, "2025-11-25",
                                     "2025-06-18", "capabilities", capabilities(&turn->client), "ttlMs", 0,
                                     "cacheScope", "private"));
}

static void initialize(TfyMcpTurn *turn)
{
    TfyMcpPeer *peer = turn->peer;
    tfy__mcp_client_greets(turn->message.params, &peer->client);
    peer->greeted = true;
    peer->client.levels = true; /* until it says otherwise */
    peer->client.level = tfy__mcp_level("info");
    turn->client = peer->client;
    tfy__turn_finish(turn,
                     json_pack("{s:s, s:o, s:{s:s, s:s}}", "protocolVersion", peer->client.revision, "capabilities",
                               capabilities(&peer->client), "serverInfo", "name", "tfy", "version", tfy_version()));
}

static void ping(TfyMcpTurn *turn)
{
    tfy__turn_finish(turn, json_object());
}

static void set_level(TfyMcpTurn *turn)
{
    const int level = tfy__mcp_level(json_string_value(json_object_get(turn->message.params, "level")));
    TfyMcpRefusal refusal = {.code = 0};
    if (level < 0) {
        tfy__refusal_set(&refusal, 200, TFY_MCP_INVALID_PARAMS, "that is not a level");
        tfy__turn_refuse(turn, &refusal);
        return;
    }
    turn->peer->client.levels = true;
    turn->peer->client.level = level;
    tfy__turn_finish(turn, json_object());
}

/* ---- methods ---- */

typedef enum Revisions { BOTH, MODERN, OLDER } Revisions;

static const struct Method {
    const char *name;
    Revisions of;
    bool unsaid; /* an older client may ask before it has greeted */
    void (*serve)(TfyMcpTurn *turn);
} methods[] = {
    {"initialize", OLDER, true, initialize},
    {"ping", OLDER, true, ping},
    {"logging/setLevel", OLDER, false, set_level},
    {"server/discover", MODERN, false, discover},
    {"tools/list", BOTH, false, tfy__mcp_list_tools},
    {"tools/call", BOTH, false, tfy__mcp_call},
    {"prompts/list", BOTH, false, tfy__mcp_list_prompts},
    {"prompts/get", BOTH, false, tfy__mcp_get_prompt},
    {"resources/list", BOTH, false, tfy__mcp_list_resources},
    {"resources/templates/list", BOTH, false, tfy__mcp_list_templates},
    {"resources/read", BOTH, false, tfy__mcp_read_resource},
    {"completion/complete", BOTH, false, tfy__mcp_complete},
    {"resources/subscribe", OLDER, false, tfy__mcp_subscribe},
    {"resources/unsubscribe", OLDER, false, tfy__mcp_unsubscribe},
    {"subscriptions/listen", MODERN, false, tfy__mcp_listen},
    {"tasks/get", MODERN, false, tfy__mcp_task_get},
    {"tasks/update", MODERN, false, tfy__mcp_task_update},
    {"tasks/cancel", MODERN, false, tfy__mcp_task_cancel},
};

static const struct Method *method_named(const char *name, bool modern)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0 && methods[i].of != (modern ? OLDER : MODERN)) return &methods[i];
    return NULL;
}

/* ---- requests ---- */

/* Who asks, and in which revision. */
static bool take_client(TfyMcpTurn *turn, TfyMcpRefusal *refusal)
{
    const json_t *params = turn->message.params;
    const bool discovers = strcmp(turn->message.method, "server/discover") == 0;
    const struct Method *older = method_named(turn->message.method, false);
    turn->client = turn->peer->client;
    if (discovers || tfy__mcp_is_modern(params)) return tfy__mcp_client_of(params, &turn->client, refusal);
    if (turn->peer->greeted || (older && older->unsaid)) return true;
    turn->client.modern = true; /* what it lacks is told as the newest revision has it */
    return tfy__mcp_client_of(params, &turn->client, refusal);
}

static void begin(TfyMcpTurn *turn)
{
    TfyMcpRefusal refusal = {.code = 0};
    if (turn->host->quits) {
        tfy__refusal_set(&refusal, 503, TFY_MCP_INTERNAL, "the server ends; ask it again");
        tfy__turn_refuse(turn, &refusal);
        return;
    }
    const struct Method *method =
        take_client(turn, &refusal) ? method_named(turn->message.method, turn->client.modern) : NULL;
    if (method) {
        method->serve(turn);
        return;
    }
    tfy__refusal_set(&refusal, 404, TFY_MCP_NO_METHOD, "there is no method '%.80s'", turn->message.method);
    tfy__turn_refuse(turn, &refusal);
}

static void take_request(TfyMcpHost *host, TfyMcpPeer *peer, TfyMcpMessage *message, TfyMcpAnswer *answer)
{
    TfyMcpTurn *turn = calloc(1, sizeof *turn);
    if (!turn) {
        tfy__mcp_message_free(message);
        answer->end(answer, 500, NULL, 0);
        return;
    }
    turn->host = host;
    turn->peer = peer;
    tfy__peer_keep(peer);
    turn->answer = answer;
    turn->message = *message;
    LIST2_APPEND(&host->turns, turn, prev, next);
    begin(turn);
}

/* ---- all else ---- */

static bool are_same(const json_t *a, const json_t *b)
{
    return json_equal((json_t *)a, (json_t *)b);
}

static void cancel(TfyMcpHost *host, const TfyMcpPeer *peer, const json_t *params)
{
    const json_t *id = json_object_get(params, "requestId");
    for (TfyMcpTurn *turn = host->turns.first; id && turn; turn = turn->next) {
        if (turn->peer != peer || !turn->answer || !are_same(turn->message.id, id)) continue;
        tfy__call_cancelled(turn);
        return;
    }
}

/* The answer of a client to what it was asked. One that nobody waits for is ignored. */
static void take_reply(TfyMcpHost *host, const TfyMcpPeer *peer, const TfyMcpMessage *message)
{
    const char *id = json_string_value(message->id);
    for (TfyMcpTurn *turn = host->turns.first; id && turn; turn = turn->next) {
        if (turn->peer != peer || !turn->answer) continue;
        for (TfyMcpPut *put = turn->put.first; put; put = put->next) {
            if (put->over || strcmp(put->id, id) != 0) continue;
            tfy__call_replied(turn, put, message);
            return;
        }
    }
}

static void refuse_text(const TfyMcpMessage *message, TfyMcpAnswer *answer)
{
    TfyBuffer text = {0};
    TfyMcpRefusal refusal = {.code = 0};
    const bool json = message->json || message->kind == TFY_MCP_TOO_DEEP;
    tfy__refusal_set(&refusal, 400, json ? TFY_MCP_INVALID_REQUEST : TFY_MCP_PARSE_ERROR, "that is not a message: %s",
                     message->why);
    tfy__refusal_write(&text, message->id, &refusal);
    answer->end(answer, refusal.status, text.failed ? NULL : text.data, text.len);
    tfy__buffer_free(&text);
}

void tfy__mcp_spoken(TfyMcpHost *host, TfyMcpPeer *peer, TfyMcpMessage *message, TfyMcpAnswer *answer)
{
    if (message->kind == TFY_MCP_REQUEST) {
        take_request(host, peer, message, answer);
        return;
    }
    if (message->kind == TFY_MCP_NONE || message->kind == TFY_MCP_TOO_DEEP) {
        refuse_text(message, answer);
    } else {
        if (message->kind == TFY_MCP_RESULT || message->kind == TFY_MCP_ERROR) take_reply(host, peer, message);
        if (message->kind == TFY_MCP_NOTIFICATION && strcmp(message->method, "notifications/cancelled") == 0)
            cancel(host, peer, message->params);
        answer->end(answer, 202, NULL, 0);
    }
    tfy__mcp_message_free(message);
}
