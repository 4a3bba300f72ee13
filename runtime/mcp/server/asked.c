/* asked.c: see asked.h. */
#include "mcp/server/asked.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "value/json.h"

#define META "io.modelcontextprotocol/"

static const char *const revisions[] = {TFY_MCP_NEWEST, "2025-11-25", "2025-06-18"};
enum { REVISIONS = sizeof revisions / sizeof *revisions, FIRST_OLDER = 1 };

bool tfy__refusal_set(TfyMcpRefusal *refusal, int status, int code, const char *format, ...)
{
    va_list args;
    if (refusal->code) return false;
    refusal->code = code;
    refusal->status = status;
    va_start(args, format);
    vsnprintf(refusal->why, sizeof refusal->why, format, args);
    va_end(args);
    return false;
}

void tfy__refusal_write(TfyBuffer *out, const json_t *id, TfyMcpRefusal *refusal)
{
    tfy__buffer_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id)
        tfy__encode_json(out, id);
    else
        tfy__buffer_text(out, "null");
    tfy__buffer_printf(out, ",\"error\":{\"code\":%d,\"message\":", refusal->code);
    tfy__buffer_json_string(out, refusal->why, strlen(refusal->why));
    if (refusal->data) tfy__buffer_text(out, ",\"data\":");
    if (refusal->data) tfy__encode_json(out, refusal->data);
    tfy__buffer_text(out, "}}");
    json_decref(refusal->data);
    refusal->data = NULL;
}

int tfy__mcp_level(const char *name)
{
    static const char *const names[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};
    for (int i = 0; name && i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

/* ---- what a client can do ---- */

/* An elicitation without a named kind is a form. */
static void take_capabilities(const json_t *capabilities, TfyMcpClient *client)
{
    const json_t *elicitation = json_object_get(capabilities, "elicitation");
    client->elicits = json_is_object(elicitation) &&
                      (!json_object_size(elicitation) || json_is_object(json_object_get(elicitation, "form")));
    const json_t *sampling = json_object_get(capabilities, "sampling");
    client->samples = json_is_object(sampling);
    client->samples_tools = json_is_object(json_object_get(sampling, "tools"));
    client->tasks = json_is_object(json_object_get(json_object_get(capabilities, "extensions"), TFY_MCP_TASKS));
}

bool tfy__mcp_is_modern(const json_t *params)
{
    return json_object_get(json_object_get(params, "_meta"), META "protocolVersion");
}

static bool refuse_revision(const char *named, TfyMcpRefusal *refusal)
{
    tfy__refusal_set(refusal, 400, TFY_MCP_NO_VERSION, "this server does not speak revision %.40s", named);
    refusal->data =
        json_pack("{s:[s,s,s], s:s}", "supported", revisions[0], revisions[1], revisions[2], "requested", named);
    return false;
}

bool tfy__mcp_client_of(const json_t *params, TfyMcpClient *client, TfyMcpRefusal *refusal)
{
    const json_t *meta = json_object_get(params, "_meta"),
                 *capabilities = json_object_get(meta, META "clientCapabilities");
    const char *revision = json_string_value(json_object_get(meta, META "protocolVersion"));
    *client = (TfyMcpClient){.modern = true, .revision = TFY_MCP_NEWEST};
    if (!revision)
        return tfy__refusal_set(refusal, 400, TFY_MCP_INVALID_PARAMS, "_meta has no %sprotocolVersion", META);
    if (!json_is_object(capabilities))
        return tfy__refusal_set(refusal, 400, TFY_MCP_INVALID_PARAMS, "_meta has no %sclientCapabilities", META);
    if (strcmp(revision, TFY_MCP_NEWEST) != 0) return refuse_revision(revision, refusal);
    take_capabilities(capabilities, client);
    client->level = tfy__mcp_level(json_string_value(json_object_get(meta, META "logLevel")));
    client->levels = client->level >= 0;
    return true;
}

void tfy__mcp_client_greets(const json_t *params, TfyMcpClient *client)
{
    const char *named = json_string_value(json_object_get(params, "protocolVersion"));
    *client = (TfyMcpClient){.revision = revisions[FIRST_OLDER]};
    for (int i = FIRST_OLDER; named && i < REVISIONS; i++)
        if (strcmp(revisions[i], named) == 0) client->revision = revisions[i];
    take_capabilities(json_object_get(params, "capabilities"), client);
    client->tasks = false; /* the extension is of the newest revision */
}
