/* mcp.c: tfy mcp tools, tfy mcp call: MCP servers for people and tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/make/mcp_talk.h"
#include "effects/known.h"
#include "mcp/content.h"
#include "mcp/tools.h"

#define NAME_WIDE   32 /* columns of names, at most */
#define ROUNDS_MOST 8  /* in which a server may ask for more */

/* ---- tools ---- */

typedef struct Tools {
    TfyMcpTalk talk;
    bool json;
} Tools;

/* What the server says of a tool, which nobody checks. */
static void put_hints(TfyBuffer *out, const json_t *tool)
{
    static const char *const hints[][2] = {{"readOnlyHint", "reads only"},
                                           {"destructiveHint", "destructive"},
                                           {"idempotentHint", "idempotent"},
                                           {"openWorldHint", "open world"}};
    const json_t *given = json_object_get(tool, "annotations");
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (!json_is_true(json_object_get(given, hints[i][0]))) continue;
        tfy__buffer_printf(out, "%s%s", out->len ? ", " : "", hints[i][1]);
    }
    if (!out->len) tfy__buffer_char(out, '-');
}

static int name_width(const json_t *tools)
{
    size_t i, widest = 0;
    json_t *tool;
    json_array_foreach(tools, i, tool)
    {
        const size_t len = strlen(tfy__json_text(tool, "name"));
        if (len > widest) widest = len;
    }
    return widest < NAME_WIDE ? (int)widest : NAME_WIDE;
}

static void print_tools(const json_t *tools)
{
    const int width = name_width(tools);
    size_t i;
    json_t *tool;
    json_array_foreach(tools, i, tool)
    {
        const char *about = tfy__json_text(tool, "description");
        TfyBuffer hints = {0};
        put_hints(&hints, tool);
        printf("%-*s  %-24s  %.*s\n", width, tfy__json_text(tool, "name"), hints.failed ? "" : hints.data,
               (int)strcspn(about, "\r\n"), about);
        tfy__buffer_free(&hints);
    }
}

static void on_tools(void *arg, json_t *tools, const char *why, const TfyMcpEnd *failed)
{
    Tools *command = arg;
    TfyMcpTalk *talk = &command->talk;
    if (failed)
        tfy__mcp_talk_failed(talk, "tools/list", failed);
    else if (!tools)
        tfy__mcp_talk_end(talk, tfy__fail(EXIT_DATA, "%s", why));
    else if (command->json)
        tfy__report_print(json_incref(tools), 2);
    else
        print_tools(tools);
    if (tools) tfy__mcp_talk_end(talk, tfy__flush_stdout(EXIT_DONE));
}

int tfy__cmd_mcp_tools(const TfyArgs *args)
{
    Tools command = {.json = args->option[OPT_JSON]};
    int status = tfy__mcp_talk_open(&command.talk, args, 0);
    TfyMcpListing *listing = status == EXIT_DONE ? tfy__mcp_list(command.talk.client, on_tools, &command) : NULL;
    if (listing) status = tfy__mcp_talk_run(&command.talk);
    if (listing && !command.talk.done) tfy__mcp_list_stop(listing);
    tfy__mcp_talk_close(&command.talk);
    return status;
}

/* ---- call ---- */

typedef struct Call {
    TfyMcpTalk talk;
    const char *tool;
    json_t *params; /* name and arguments */
    json_t *schema; /* of the arguments; NULL: not known */
    bool json;
    int rounds;
    TfyMcpListing *listing; /* under way */
} Call;

static bool ask_server(Call *call, json_t *answers, const char *state);

/* The answers to what a server wants to know before it goes on; NULL after a message. */
static json_t *answer_all(Call *call, const json_t *requests)
{
    const char *name;
    json_t *request, *answers = json_object();
    json_object_foreach((json_t *)(uintptr_t)requests, name, request)
    {
        const char *method = tfy__json_text(request, "method");
        if (strcmp(method, "elicitation/create") == 0) {
            json_object_set_new(answers, name, tfy__mcp_talk_ask(&call->talk, json_object_get(request, "params")));
            continue;
        }
        tfy__say("the server asks for '%s', which this command does not offer", method);
        json_decref(answers);
        return NULL;
    }
    return answers;
}

static void go_on(Call *call, const json_t *result)
{
    const json_t *state = json_object_get(result, "requestState");
    if (++call->rounds > ROUNDS_MOST) {
        tfy__mcp_talk_end(&call->talk, tfy__fail(EXIT_DATA, "the server asked more than %d times", ROUNDS_MOST));
        return;
    }
    json_t *answers = answer_all(call, json_object_get(result, "inputRequests"));
    if (!answers)
        tfy__mcp_talk_end(&call->talk, EXIT_DATA);
    else if (!ask_server(call, answers, json_string_value(state)))
        tfy__mcp_talk_end(&call->talk, tfy__fail(EXIT_BUG, "memory ran out"));
    json_decref(answers);
}

static void print_result(const Call *call, const json_t *result, bool failed)
{
    const json_t *structured = json_object_get(result, "structuredContent");
    TfyBuffer text = {0};
    if (call->json) {
        const json_t *shown = structured ? structured : json_object_get(result, "content");
        json_t *masked = shown ? tfy__mcp_masked(shown) : NULL;
        tfy__report_print(masked ? masked : json_array(), 2);
        return;
    }
    tfy__mcp_text(&text, result);
    tfy__known_mask_in(&text, false);
    if (failed)
        tfy__say("'%s' failed: %s", call->tool, text.len ? text.data : "it does not say why");
    else if (text.len)
        fwrite(text.data, 1, text.len, stdout);
    if (!failed && text.len && text.data[text.len - 1] != '\n') putchar('\n');
    tfy__buffer_free(&text);
}

static void on_result(void *arg, const TfyMcpEnd *end)
{
    Call *call = arg;
    TfyMcpTalk *talk = &call->talk;
    const char *type = tfy__json_text(end->result, "resultType");
    const bool failed = json_is_true(json_object_get(end->result, "isError"));
    if (end->how != TFY_MCP_ANSWERED) {
        tfy__mcp_talk_failed(talk, call->tool, end);
    } else if (strcmp(type, "input_required") == 0) {
        go_on(call, end->result);
    } else if (*type && strcmp(type, "complete") != 0) {
        tfy__mcp_talk_end(talk, tfy__fail(EXIT_DATA, "the server answered with a result of kind '%s'", type));
    } else {
        print_result(call, end->result, failed);
        tfy__mcp_talk_end(talk, tfy__flush_stdout(failed ? EXIT_RUN_FAILED : EXIT_DONE));
    }
}

static void on_progress(void *arg, const json_t *params)
{
    Call *call = arg;
    const char *message = tfy__json_text(params, "message");
    tfy__mcp_talk_heard(&call->talk);
    if (*message && isatty(STDERR_FILENO)) tfy__say("%s", message);
}

static bool ask_server(Call *call, json_t *answers, const char *state)
{
    json_t *params = json_copy(call->params);
    if (answers) json_object_set(params, "inputResponses", answers);
    if (state) json_object_set_new(params, "requestState", json_string(state));
    const TfyMcpRequest request = {.method = "tools/call",
                                   .params = params,
                                   .schema = call->schema,
                                   .once = true,
                                   .ended = on_result,
                                   .progress = on_progress,
                                   .arg = call};
    const bool asked = tfy__mcp_request(call->talk.client, &request);
    json_decref(params);
    return asked;
}

static const char *tool_candidate(const void *state, int index)
{
    const json_t *tool = json_array_get(state, (size_t)index);
    return tool ? tfy__json_text(tool, "name") : NULL;
}

static const json_t *find_tool(const json_t *tools, const char *name)
{
    size_t i;
    json_t *tool;
    json_array_foreach(tools, i, tool)
    {
        if (strcmp(tfy__json_text(tool, "name"), name) == 0) return tool;
    }
    return NULL;
}

static void on_listed(void *arg, json_t *tools, const char *why, const TfyMcpEnd *failed)
{
    Call *call = arg;
    TfyMcpTalk *talk = &call->talk;
    const json_t *tool = find_tool(tools, call->tool);
    const char *meant = tools ? tfy__nearest(call->tool, tool_candidate, tools) : NULL;
    call->listing = NULL;
    if (failed)
        tfy__mcp_talk_failed(talk, "tools/list", failed);
    else if (!tools)
        tfy__mcp_talk_end(talk, tfy__fail(EXIT_DATA, "%s", why));
    else if (!tool && meant)
        tfy__mcp_talk_end(
            talk, tfy__fail(EXIT_MISSING, "the server has no tool '%s'; did you mean '%s'?", call->tool, meant));
    else if (!tool)
        tfy__mcp_talk_end(talk, tfy__fail(EXIT_MISSING, "the server has no tool '%s'", call->tool));
    else if (!(call->schema = json_incref(json_object_get(tool, "inputSchema")), ask_server(call, NULL, NULL)))
        tfy__mcp_talk_end(talk, tfy__fail(EXIT_BUG, "memory ran out"));
}

/* Over HTTP the tool's schema says which headers a call has. */
static bool start_call(Call *call)
{
    if (!call->talk.spec.url) return ask_server(call, NULL, NULL);
    call->listing = tfy__mcp_list(call->talk.client, on_listed, call);
    return call->listing;
}

static int read_arguments(Call *call, const TfyArgs *args)
{
    json_error_t error;
    json_t *arguments = json_loads(args->words[1], JSON_REJECT_DUPLICATES, &error);
    call->tool = args->words[0];
    if (json_is_object(arguments)) {
        call->params = json_pack("{s:s, s:o}", "name", call->tool, "arguments", arguments);
        return call->params ? EXIT_DONE : tfy__fail(EXIT_USAGE, "'%s' is not UTF-8", call->tool);
    }
    json_decref(arguments);
    return tfy__fail(EXIT_USAGE, "the arguments of '%s' are a JSON object, such as '{\"name\": \"ann\"}', not '%.60s'",
                     call->tool, args->words[1]);
}

int tfy__cmd_mcp_call(const TfyArgs *args)
{
    Call call = {.json = args->option[OPT_JSON]};
    int status = read_arguments(&call, args);
    if (status == EXIT_DONE) status = tfy__mcp_talk_open(&call.talk, args, 2);
    if (status == EXIT_DONE)
        status = start_call(&call) ? tfy__mcp_talk_run(&call.talk) : tfy__fail(EXIT_BUG, "memory ran out");
    if (call.listing) tfy__mcp_list_stop(call.listing);
    tfy__mcp_talk_close(&call.talk);
    json_decref(call.params);
    json_decref(call.schema);
    return status;
}
