/* lists.c: what there is: tools, prompts, resources; prompts and resources as they are got; completions. */
#include <stdio.h>
#include <stdlib.h>

#include "mcp/server/content.h"
#include "serve/mcp/turn.h"

#define RUNS "tfy://run/"

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* ---- lists ---- */

json_t *tfy__cacheable(json_t *result)
{
    json_object_set_new(result, "ttlMs", json_integer(0));
    json_object_set_new(result, "cacheScope", json_string("private"));
    return result;
}

static void finish_cacheable(TfyMcpTurn *turn, json_t *result)
{
    tfy__turn_finish(turn, turn->client.modern ? tfy__cacheable(result) : result);
}

static json_t *list_of(TfyMcpTurn *turn, TfyMcpOffered as)
{
    return tfy__host_list(turn->host, &turn->peer->caller, as);
}

void tfy__mcp_list_tools(TfyMcpTurn *turn)
{
    json_t *tools = list_of(turn, TFY_MCP_TOOL);
    if (!turn->client.modern) tfy__mcp_add_own(tools);
    finish_cacheable(turn, json_pack("{s:o}", "tools", tools));
}

void tfy__mcp_list_prompts(TfyMcpTurn *turn)
{
    finish_cacheable(turn, json_pack("{s:o}", "prompts", list_of(turn, TFY_MCP_PROMPT)));
}

/* Those with variables in their address, or those without. */
static json_t *resources_of(TfyMcpTurn *turn, bool templates)
{
    json_t *all = list_of(turn, TFY_MCP_RESOURCE), *chosen = json_array(), *one;
    size_t i;
    json_array_foreach(all, i, one) if (!json_object_get(one, "uri") == templates) json_array_append(chosen, one);
    json_decref(all);
    return chosen;
}

void tfy__mcp_list_templates(TfyMcpTurn *turn)
{
    json_t *templates = resources_of(turn, true);
    json_array_append_new(templates, json_pack("{s:s, s:s, s:s, s:s}", "uriTemplate", RUNS "{id}", "name", "run",
                                               "description", "How a run is.", "mimeType", "application/json"));
    json_array_append_new(templates,
                          json_pack("{s:s, s:s, s:s, s:s}", "uriTemplate", RUNS "{id}/output", "name", "output",
                                    "description", "What a run has printed.", "mimeType", "text/plain"));
    finish_cacheable(turn, json_pack("{s:o}", "resourceTemplates", templates));
}

/* The newest runs of what is offered. */
static void on_runs(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *heard = tfy__turn_heard(request), *resources = resources_of(turn, false), *run;
    size_t i;
    json_array_foreach(json_object_get(heard, "runs"), i, run)
    {
        const char *workflow = text_of(run, "workflow"), *id = text_of(run, "id");
        if (!tfy__host_find_workflow(turn->host, &turn->peer->caller, text_of(run, "program"), workflow).served)
            continue;
        json_array_append_new(resources, json_pack("{s:o, s:o, s:o, s:s}", "uri", json_sprintf(RUNS "%s", id), "name",
                                                   json_sprintf("%s %.8s", workflow, id), "description",
                                                   json_sprintf("A run of %s: %s.", workflow, text_of(run, "state")),
                                                   "mimeType", "application/json"));
    }
    json_decref(heard);
    finish_cacheable(turn, json_pack("{s:o}", "resources", resources));
}

void tfy__mcp_list_resources(TfyMcpTurn *turn)
{
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_GET, .target = "/v1/runs?limit=50"}, on_runs);
}

/* ---- prompts ---- */

static void refuse_unknown(TfyMcpTurn *turn, const char *what, const char *name, json_t *data)
{
    TfyMcpRefusal refusal = {.data = data};
    tfy__refusal_set(&refusal, 200, TFY_MCP_INVALID_PARAMS, "there is no %s '%.160s'", what, name);
    tfy__turn_refuse(turn, &refusal);
}

void tfy__mcp_get_prompt(TfyMcpTurn *turn)
{
    const char *name = text_of(turn->message.params, "name");
    turn->found = tfy__host_find(turn->host, &turn->peer->caller, TFY_MCP_PROMPT, name);
    if (!turn->found.served) {
        refuse_unknown(turn, "prompt", name, NULL);
        return;
    }
    json_t *args =
        tfy__mcp_prompt_args(turn->found.offer->workflow, json_object_get(turn->message.params, "arguments"));
    tfy__call_begin(turn, name, args);
    json_decref(args);
}

/* ---- resources ---- */

static void refuse_resource(TfyMcpTurn *turn)
{
    refuse_unknown(turn, "resource", turn->address, json_pack("{s:s}", "uri", turn->address));
}

static void finish_text(TfyMcpTurn *turn, const char *type, const char *text)
{
    finish_cacheable(
        turn, json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", turn->address, "mimeType", type, "text", text));
}

static void on_run(TfyMcpTurn *turn, TfyRequest *request)
{
    if (request->problem.kind || !request->answer.data)
        refuse_resource(turn);
    else
        finish_text(turn, "application/json", request->answer.data);
}

static void on_output(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *heard = tfy__turn_heard(request), *line;
    TfyBuffer text = {0};
    size_t i;
    json_array_foreach(json_object_get(heard, "output"), i, line)
        tfy__buffer_printf(&text, "%s\n", text_of(line, "text"));
    if (heard)
        finish_text(turn, "text/plain", text.data ? text.data : "");
    else
        refuse_resource(turn);
    tfy__buffer_free(&text);
    json_decref(heard);
}

/* tfy://run/ID, tfy://run/ID/output. False: it is not the address of a run. */
static bool reads_run(TfyMcpTurn *turn)
{
    enum { ID = 36 };
    const char *id = turn->address + sizeof RUNS - 1;
    char target[80];
    if (strncmp(turn->address, RUNS, sizeof RUNS - 1) != 0 || strspn(id, "0123456789abcdef-") != ID) return false;
    const bool output = strcmp(id + ID, "/output") == 0;
    if (id[ID] && !output) return false;
    snprintf(target, sizeof target, "/v1/runs/%.36s%s", id, output ? "/output?limit=2000" : "");
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_GET, .target = target}, output ? on_output : on_run);
    return true;
}

void tfy__mcp_read_resource(TfyMcpTurn *turn)
{
    json_t *args = NULL;
    turn->address = strdup(text_of(turn->message.params, "uri"));
    if (!turn->address) {
        tfy__turn_finish(turn, NULL);
        return;
    }
    if (reads_run(turn)) return;
    turn->found = tfy__host_find_resource(turn->host, &turn->peer->caller, turn->address, &args);
    if (turn->found.served)
        tfy__call_begin(turn, turn->address, args);
    else
        refuse_resource(turn);
    json_decref(args);
}

/* ---- completions ---- */

void tfy__mcp_complete(TfyMcpTurn *turn)
{
    const json_t *ref = json_object_get(turn->message.params, "ref"),
                 *argument = json_object_get(turn->message.params, "argument");
    json_t *args = NULL;
    TfyMcpFound found = strcmp(text_of(ref, "type"), "ref/prompt") == 0
                            ? tfy__host_find(turn->host, &turn->peer->caller, TFY_MCP_PROMPT, text_of(ref, "name"))
                            : tfy__host_find_resource(turn->host, &turn->peer->caller, text_of(ref, "uri"), &args);
    json_decref(args);
    json_t *values = found.served ? tfy__mcp_completions(found.offer->workflow, text_of(argument, "name"),
                                                         text_of(argument, "value"))
                                  : json_array();
    const json_int_t total = (json_int_t)json_array_size(values);
    tfy__turn_finish(turn,
                     json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", values, "total", total, "hasMore", 0));
}
