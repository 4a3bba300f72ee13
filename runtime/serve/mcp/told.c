/* told.c: what a run says while a client waits for it: what it logs, where the client wants that, and how far it is: what
 * it says itself (`progress`), or, in a program that says nothing, the steps that are done. */
#include <stdio.h>
#include <string.h>

#include "cli/look/event.h"
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

/* Clients may rely on it that progress only grows. words NULL: there are none. */
static void tell_done(TfyMcpTurn *turn, int64_t done, int64_t total, const char *words)
{
    if (done < turn->progress) return;
    turn->progress = done < INT64_MAX ? done + 1 : done;
    json_t *params =
        json_pack("{s:O, s:I, s:s*}", "progressToken", token_of(turn), "progress", (json_int_t)done, "message", words);
    if (total > 0) json_object_set_new(params, "total", json_integer(total));
    tfy__turn_say(turn, "notifications/progress", params);
    json_decref(params);
}

static void tell_progress(TfyMcpTurn *turn, const TfyPayload *payload)
{
    if (!token_of(turn) || !tfy__payload_get(payload, TFY_P_DONE)) return;
    tell_done(turn, tfy__payload_int(payload, TFY_P_DONE), tfy__payload_int(payload, TFY_P_TOTAL),
              words_of(tfy__payload_text(payload, TFY_P_TEXT)));
}

/* Whether the program ever says how far it is, at a point such as "main/progress/1". */
static bool says_progress(const TfyMcpTurn *turn)
{
    const TfyProgram *program = turn->found.served ? turn->found.served->program : NULL;
    for (uint32_t i = 0; program && i < program->point_count; i++)
        if (program->points[i] && strstr(program->points[i]->id, "/progress/")) return true;
    return !program;
}

/* A step is done: it is called by the label of its point, else by what it calls, as in "main/charge/1". */
static void tell_step(TfyMcpTurn *turn, const TfyEvent *event)
{
    const char *point = token_of(turn) && !says_progress(turn) ? tfy__event_point(event) : NULL,
               *end = point ? strrchr(point, '/') : NULL;
    char name[80];
    if (!point) return;
    if (!end || !strchr("0123456789", end[1])) end = point + strlen(point);
    const char *start = end;
    while (start > point && start[-1] != '/') start--;
    snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
    tell_done(turn, turn->progress ? turn->progress : 1, 0, name);
}

void tfy__turn_told(TfyMcpTurn *turn, const TfyEvent *event)
{
    const TfyLogRecord *record = event->record;
    TfyPayload payload;
    if (turn->answer && (record->type == TFY_R_TOOL_RESULT || record->type == TFY_R_LLM_PLAN)) tell_step(turn, event);
    if (record->type != TFY_R_OUTPUT || !turn->answer) return;
    tfy__payload_open(&payload, record);
    const char *to = tfy__payload_text(&payload, TFY_P_TO);
    if (to && strcmp(to, "log") == 0) tell_log(turn, &payload);
    if (to && strcmp(to, "pal") == 0) tell_progress(turn, &payload);
    tfy__payload_close(&payload);
}
