/* told.c: what a run says while a client waits for it: what it logs, where the client wants that, and how far it has come: the
 * text of an event that reads "3/10" or "42 %", also with words behind it. */
#include <stdlib.h>

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

typedef struct Progress {
    double done, total;
    const char *words;
} Progress;

static bool read_progress(const char *text, Progress *out)
{
    char *end;
    out->done = strtod(text, &end);
    if (end == text || !(out->done >= 0)) return false;
    while (*end == ' ') end++;
    if (*end == '%') {
        out->total = 100;
        end++;
    } else if (*end == '/') {
        const char *total = end + 1;
        out->total = strtod(total, &end);
        if (end == total || !(out->total > 0)) return false;
    } else {
        return false;
    }
    if (*end && *end != ' ') return false;
    out->words = end + strspn(end, " ");
    return true;
}

/* Clients may rely on it that progress only grows. */
static void tell_progress(TfyMcpTurn *turn, const TfyPayload *payload)
{
    const char *text = tfy__payload_text(payload, TFY_P_TEXT), *stage = tfy__payload_text(payload, TFY_P_STAGE);
    Progress progress;
    if (!token_of(turn) || !text || !read_progress(text, &progress) || progress.done < turn->progress) return;
    turn->progress = progress.done + 1e-9;
    if (*progress.words) stage = progress.words;
    json_t *params = json_pack("{s:O, s:f, s:f, s:s*}", "progressToken", token_of(turn), "progress", progress.done,
                               "total", progress.total, "message", stage);
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
