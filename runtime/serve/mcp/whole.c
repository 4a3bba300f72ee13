/* whole.c: the result or the error of a run that is too long for the index, out of its last record. */
#include <stdio.h>
#include <string.h>

#include "serve/mcp/turn.h"

static void finish(TfyMcpTurn *turn)
{
    void (*whole)(TfyMcpTurn * turn) = turn->whole;
    turn->whole = NULL;
    whole(turn);
}

static void take_payload(TfyMcpTurn *turn, const json_t *payload)
{
    json_t *value = json_object_get(payload, "value"), *error = json_object_get(payload, "error");
    if (value) json_object_set(turn->run_json, "result", value);
    if (error) json_object_set(turn->run_json, "error", error);
}

static void on_record(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *record = tfy__turn_heard(request);
    take_payload(turn, json_object_get(record, "payload"));
    json_decref(record);
    finish(turn);
}

/* A long payload is left out of the list, and its address stands for it. */
static void on_records(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *heard = tfy__turn_heard(request), *record = json_array_get(json_object_get(heard, "records"), 0);
    const char *href = json_string_value(json_object_get(record, "href"));
    if (href) {
        tfy__turn_ask(turn, &(TfyInside){.method = TFY_GET, .target = href}, on_record);
    } else {
        take_payload(turn, json_object_get(record, "payload"));
        finish(turn);
    }
    json_decref(heard);
}

void tfy__run_whole(TfyMcpTurn *turn, void (*then)(TfyMcpTurn *turn))
{
    const json_t *run = turn->run_json;
    char target[96];
    const bool ended = json_is_string(json_object_get(run, "ended")),
               there = json_object_get(run, "result") || json_object_get(run, "error");
    turn->whole = then;
    if (!ended || there) {
        finish(turn);
        return;
    }
    snprintf(target, sizeof target, "/v1/runs/%s/records?type=TaskComplete&limit=1", turn->run);
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_GET, .target = target}, on_records);
}
