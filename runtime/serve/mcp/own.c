/* own.c: two tools of the server's own, for older clients, which know no tasks: how a run is, and its end. */
#include <stdio.h>
#include <string.h>

#include "mcp/server/content.h"
#include "serve/mcp/turn.h"

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static json_t *own_tool(const char *name, const char *description, bool reads)
{
    return json_pack("{s:s, s:s, s:{s:s, s:{s:{s:s, s:s}}, s:[s]}, s:{s:b}}", "name", name, "description", description,
                     "inputSchema", "type", "object", "properties", "run", "type", "string", "description",
                     "the run's id", "required", "run", "annotations", "readOnlyHint", reads);
}

void tfy__mcp_add_own(json_t *tools)
{
    json_array_append_new(tools, own_tool("run_status", "The result of a run that had not ended, or how it is.", true));
    json_array_append_new(tools, own_tool("run_cancel", "Cancels a run.", false));
}

/* ---- run_status ---- */

static void on_questions(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *heard = tfy__turn_heard(request), *question = json_array_get(json_object_get(heard, "questions"), 0);
    char said[400];
    snprintf(said, sizeof said, "Run %s waits for a person: %.200s (tfy approve %.8s)", turn->run,
             text_of(question, "question"), turn->run);
    json_decref(heard);
    tfy__turn_finish(turn, tfy__mcp_said(said, false));
}

static void on_status(TfyMcpTurn *turn, TfyRequest *request)
{
    char said[80];
    turn->run_json = tfy__turn_heard(request);
    const json_t *run = turn->run_json;
    if (!run) {
        tfy__turn_refuse_for(turn, &request->problem);
        return;
    }
    turn->found =
        tfy__host_find_workflow(turn->host, &turn->peer->caller, text_of(run, "program"), text_of(run, "workflow"));
    snprintf(said, sizeof said, "Run %s is still working.", turn->run);
    if (json_is_string(json_object_get(run, "ended")))
        tfy__run_whole(turn, tfy__turn_finish_ended);
    else if (turn->client.samples && tfy__samples_any(turn->host, turn->run))
        tfy__call_go_on(turn);
    else if (strcmp(text_of(run, "attention"), "question") == 0)
        tfy__questions_ask(turn, on_questions);
    else
        tfy__turn_finish(turn, tfy__mcp_said(said, false));
}

/* ---- run_cancel ---- */

static void on_cancelled(TfyMcpTurn *turn, TfyRequest *request)
{
    char said[80];
    snprintf(said, sizeof said, "Run %s %s.", turn->run, request->problem.kind ? "had ended" : "is cancelled");
    if (request->problem.kind && request->problem.kind != TFY_PROBLEM_ENDED)
        tfy__turn_refuse_for(turn, &request->problem);
    else
        tfy__turn_finish(turn, tfy__mcp_said(said, false));
}

bool tfy__mcp_call_own(TfyMcpTurn *turn, const char *name, const json_t *args)
{
    const char *run = text_of(args, "run");
    const bool status = strcmp(name, "run_status") == 0, cancel = strcmp(name, "run_cancel") == 0;
    if (turn->client.modern || (!status && !cancel)) return false;
    if (strlen(run) != 36 || strspn(run, "0123456789abcdef-") != 36) {
        tfy__turn_finish(turn, tfy__mcp_said("There is no such run.", true));
        return true;
    }
    snprintf(turn->run, sizeof turn->run, "%s", run);
    if (status)
        tfy__run_get(turn, on_status);
    else
        tfy__run_cancel(turn, on_cancelled);
    return true;
}
