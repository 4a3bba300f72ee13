/* tools.c: see tools.h. */
#include "mcp/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/content.h"
#include "mcp/schema.h"
#include "value/json.h"

#define PAGES_MOST TFY_MCP_TOOLS_MOST /* a page may be empty */

struct TfyMcpListing {
    TfyMcp *client;
    TfyMcpCall *call; /* the page that is asked for */
    json_t *tools;    /* until now */
    int pages;
    TfyMcpListed *listed;
    void *arg;
};

static const char *name_of(const json_t *tool)
{
    return json_string_value(json_object_get(tool, "name"));
}

/* ---- listing ---- */

static void free_listing(TfyMcpListing *listing)
{
    json_decref(listing->tools);
    free(listing);
}

void tfy__mcp_list_stop(TfyMcpListing *listing)
{
    tfy__mcp_cancel(listing->call, NULL);
    free_listing(listing);
}

static void end_listing(TfyMcpListing *listing, json_t *tools, const char *why, const TfyMcpEnd *failed)
{
    TfyMcpListed *listed = listing->listed;
    void *arg = listing->arg;
    json_incref(tools);
    free_listing(listing);
    listed(arg, tools, why, failed);
    json_decref(tools);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(name_of(*(json_t *const *)a), name_of(*(json_t *const *)b));
}

/* The same tools in order; NULL: no memory. */
static json_t *sorted(const json_t *tools)
{
    const size_t count = json_array_size(tools);
    json_t **items = tfy__sys_malloc((count + 1) * sizeof *items), *list = json_array();
    for (size_t i = 0; items && i < count; i++) items[i] = json_array_get(tools, i);
    if (items && count) qsort(items, count, sizeof *items, by_name);
    for (size_t i = 0; items && i < count; i++) json_array_append(list, items[i]);
    free(items);
    return items ? list : (json_decref(list), NULL);
}

/* What is wrong with a sorted list; "": nothing. */
static void find_double(const json_t *tools, char *why)
{
    for (size_t i = 1; i < json_array_size(tools); i++) {
        const char *name = name_of(json_array_get(tools, i));
        if (strcmp(name, name_of(json_array_get(tools, i - 1))) == 0)
            snprintf(why, TFY_ERROR_TEXT, "the server lists the tool '%.128s' twice", name);
    }
}

static bool is_name(const json_t *name)
{
    const char *text = json_string_value(name);
    const size_t len = text ? strlen(text) : 0;
    return len && len <= TFY_MCP_NAME_MOST && len == json_string_length(name);
}

static void tell_left_out(const TfyMcp *client, const char *name, const char *wrong)
{
    char text[TFY_ERROR_TEXT];
    const TfyMcpSpec *spec = tfy__mcp_spec(client);
    snprintf(text, sizeof text, "the tool '%.128s' is left out: %s", name, wrong);
    if (spec->events.log) spec->events.log(spec->arg, true, text, strlen(text));
}

/* Takes one page. False: why says what is wrong with it. */
static bool take_page(TfyMcpListing *listing, const json_t *page, char *why)
{
    const bool headers = tfy__mcp_spec(listing->client)->url;
    size_t i;
    json_t *tool;
    json_array_foreach(page, i, tool)
    {
        char wrong[TFY_MCP_WHY] = "";
        if (!is_name(json_object_get(tool, "name"))) {
            snprintf(why, TFY_ERROR_TEXT, "the server lists a tool without a name of 1 to %d bytes", TFY_MCP_NAME_MOST);
            return false;
        }
        if (json_array_size(listing->tools) == TFY_MCP_TOOLS_MOST) {
            snprintf(why, TFY_ERROR_TEXT, "the server has more than %d tools", TFY_MCP_TOOLS_MOST);
            return false;
        }
        if (headers) tfy__mcp_headers_wrong(json_object_get(tool, "inputSchema"), wrong);
        if (*wrong)
            tell_left_out(listing->client, name_of(tool), wrong);
        else
            json_array_append(listing->tools, tool);
    }
    return true;
}

static bool ask_page(TfyMcpListing *listing, const char *cursor);

static void end_pages(TfyMcpListing *listing)
{
    char why[TFY_ERROR_TEXT] = "";
    json_t *given = sorted(listing->tools), *tools = given ? tfy__mcp_masked(given) : NULL;
    if (tools) find_double(tools, why);
    if (!tools) snprintf(why, sizeof why, "memory ran out");
    end_listing(listing, *why ? NULL : tools, why, NULL);
    json_decref(tools);
    json_decref(given);
}

static void on_page(void *arg, const TfyMcpEnd *end)
{
    TfyMcpListing *listing = arg;
    const json_t *page = json_object_get(end->result, "tools");
    const char *cursor = json_string_value(json_object_get(end->result, "nextCursor"));
    char why[TFY_ERROR_TEXT] = "";
    listing->call = NULL;
    if (end->how != TFY_MCP_ANSWERED)
        snprintf(why, sizeof why, "%s", end->message);
    else if (!json_is_array(page))
        snprintf(why, sizeof why, "the server answered tools/list without a list of tools");
    else if (++listing->pages > PAGES_MOST)
        snprintf(why, sizeof why, "the server has more than %d pages of tools", PAGES_MOST);
    else if (take_page(listing, page, why) && !cursor)
        end_pages(listing);
    else if (!*why && !ask_page(listing, cursor))
        snprintf(why, sizeof why, "memory ran out");
    if (*why) end_listing(listing, NULL, why, end->how == TFY_MCP_ANSWERED ? NULL : end);
}

static bool ask_page(TfyMcpListing *listing, const char *cursor)
{
    json_t *params = cursor ? json_pack("{s:s}", "cursor", cursor) : NULL;
    listing->call = tfy__mcp_request(
        listing->client, &(TfyMcpRequest){.method = "tools/list", .params = params, .ended = on_page, .arg = listing});
    json_decref(params);
    return listing->call;
}

TfyMcpListing *tfy__mcp_list(TfyMcp *client, TfyMcpListed *listed, void *arg)
{
    TfyMcpListing *listing = tfy__sys_calloc(1, sizeof *listing);
    if (!listing) return NULL;
    *listing = (TfyMcpListing){.client = client, .tools = json_array(), .listed = listed, .arg = arg};
    if (ask_page(listing, NULL)) return listing;
    free_listing(listing);
    return NULL;
}

/* ---- the file ---- */

void tfy__mcp_tools_wrong(const json_t *tools, char why[TFY_ERROR_TEXT])
{
    size_t i;
    json_t *tool;
    *why = '\0';
    json_array_foreach(tools, i, tool)
    {
        const json_t *output = json_object_get(tool, "outputSchema");
        char wrong[TFY_MCP_WHY];
        tfy__mcp_schema_wrong(json_object_get(tool, "inputSchema"), wrong);
        if (!*wrong && output) tfy__mcp_schema_wrong(output, wrong);
        if (!*wrong) continue;
        snprintf(why, TFY_ERROR_TEXT, "the tool '%.128s' cannot be used: %s", name_of(tool), wrong);
        return;
    }
}

static json_t *text_or(const json_t *text, const char *otherwise)
{
    return json_is_string(text) ? json_incref((json_t *)text) : json_string(otherwise);
}

json_t *tfy__mcp_tools_file(const TfyMcp *client, const json_t *tools, int64_t time_ms)
{
    const json_t *server = tfy__mcp_server(client);
    const char *revision = tfy__mcp_revision(client);
    TfyBuffer time = {0};
    tfy__write_time(&time, time_ms);
    json_t *file =
        json_pack("{s:{s:o, s:o}, s:s, s:s, s:O}", "server", "name", text_or(json_object_get(server, "name"), ""),
                  "version", text_or(json_object_get(server, "version"), ""), "revision", revision ? revision : "",
                  "time", time.failed ? "" : time.data, "tools", tools);
    tfy__buffer_free(&time);
    if (file && tfy__mcp_is_keyed(client)) json_object_set_new(file, "keyed", json_true());
    return file;
}

bool tfy__mcp_is_tools_file(const json_t *file)
{
    const json_t *tools = json_object_get(file, "tools");
    size_t i;
    json_t *tool;
    if (!json_is_array(tools)) return false;
    json_array_foreach(tools, i, tool)
    {
        if (!is_name(json_object_get(tool, "name"))) return false;
        if (i && strcmp(name_of(json_array_get(tools, i - 1)), name_of(tool)) >= 0) return false;
    }
    return true;
}

static bool same(const json_t *a, const json_t *b, const char *member)
{
    const json_t *x = json_object_get(a, member), *y = json_object_get(b, member);
    return x == y || json_equal(x, y);
}

static void compare_tool(const json_t *kept, const json_t *live,
                         void (*differs)(void *arg, const char *name, TfyMcpChange change), void *arg)
{
    if (!same(kept, live, "inputSchema") || !same(kept, live, "outputSchema"))
        differs(arg, name_of(kept), TFY_MCP_OTHER_SCHEMA);
    if (!same(kept, live, "description") || !same(kept, live, "title")) differs(arg, name_of(kept), TFY_MCP_OTHER_TEXT);
}

void tfy__mcp_tools_compare(const json_t *kept, const json_t *live,
                            void (*differs)(void *arg, const char *name, TfyMcpChange change), void *arg)
{
    size_t i = 0, j = 0;
    while (i < json_array_size(kept) || j < json_array_size(live)) {
        const json_t *old = json_array_get(kept, i), *now = json_array_get(live, j);
        const int order = !old ? 1 : !now ? -1 : strcmp(name_of(old), name_of(now));
        if (order < 0) differs(arg, name_of(old), TFY_MCP_GONE);
        if (order > 0) differs(arg, name_of(now), TFY_MCP_NEW);
        if (order == 0) compare_tool(old, now, differs, arg);
        i += order <= 0;
        j += order >= 0;
    }
}
