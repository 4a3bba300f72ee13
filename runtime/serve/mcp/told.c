/* told.c: what a run says while a client waits for it: what it logs, where the client wants that, and how far it is
 * (`progress`). */
#include <string.h>

#include "serve/mcp/turn.h"
#include "wal/rows/payload.h"

/* What the client calls the request whose progress it wants to hear; NULL: it does not. */
static json_t *token_of(const TfyMcpTurn *turn)
{
    return json_object_get(json_object_get(turn->message.params, "_meta"), "progressToken");
}

bool tfy__wants_told(const TfyMcpTurn *turn)
{
    return turn->client.levels || token_of(turn);
}

/* ---- the log ---- */

static void tell_log(TfyMcpTurn *turn, const TfyPayload *payload)
{
    const char *text = tfy__payload_text(payload, TFY_P_TEXT), *level = tfy__payload_text(payload, TFY_P_LEVEL);
    if (level && strcmp(level, "warn") == 0) level = "warning";
    if (tfy__mcp_level(level) < 0) level = "info";
    if (!turn->client.levels || tfy__mcp_level(level) < turn->client.level) return;
    json_t *params = json_pack("{s:s, s:s, s:s}", "level", level, "logger", turn->found.offer->workflow->name, "data",
                               text ? text : "");
    tfy__turn_say(turn, "notifications/message", params);
    json_decref(params);
}

/* ---- progress ---- */

/* The words of a progress stand behind its numbers. */
static const char *words_of(const char *text)
{
    const char *blank = text ? strchr(text, ' ') : NULL;
    return blank ? blank + 1 : NULL;
}

/* Clients may rely on it that progress only grows. */
static void tell_progress(TfyMcpTurn *turn, const TfyPayload *payload)
{
    const int64_t done = tfy__payload_int(payload, TFY_P_DONE), total = tfy__payload_int(payload, TFY_P_TOTAL);
    if (!token_of(turn) || !tfy__payload_get(payload, TFY_P_DONE) || done < turn->progress) return;
    turn->progress = done < INT64_MAX ? done + 1 : done;
    json_t *params = json_pack("{s:O, s:I, s:s*}", "progressToken", token_of(turn), "progress", (json_int_t)done,
                               "message", words_of(tfy__payload_text(payload, TFY_P_TEXT)));
    if (total > 0) json_object_set_new(params, "total", json_integer(total));
    tfy__turn_say(turn, "notifications/progress", params);
    json_decref(params);
}

void tfy__turn_told(TfyMcpTurn *turn, const TfyLogRecord *record)
{
    TfyPayload payload;
    if (record->type != TFY_R_OUTPUT || !turn->answer) return;
    tfy__payload_open(&payload, record);
    const char *to = tfy__payload_text(&payload, TFY_P_TO);
    if (to && strcmp(to, "log") == 0) tell_log(turn, &payload);
    if (to && strcmp(to, "pal") == 0) tell_progress(turn, &payload);
    tfy__payload_close(&payload);
}
