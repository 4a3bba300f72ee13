/* servers.c: see servers.h. */
#include "mcp/servers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "effects/http_client.h"
#include "effects/http_parts.h"
#include "effects/output.h"
#include "effects/process.h"
#include "effects/sandbox.h"
#include "effects/secret_source.h"

/* ---- servers ---- */

static void free_words(char **words)
{
    for (char **word = words; word && *word; word++) {
        explicit_bzero(*word, strlen(*word));
        free(*word);
    }
    free(words);
}

static void free_server(TfyMcpOpen *server)
{
    if (server->listing) tfy__mcp_list_stop(server->listing);
    tfy__mcp_close(server->client);
    tfy__invocation_free(&server->invocation);
    free_words(server->argv);
    free_words(server->env);
    free_words(server->headers);
    if (server->url) explicit_bzero(server->url, strlen(server->url));
    free(server->url);
    free(server->login_words);
    json_decref(server->tools);
    json_decref((json_t *)(uintptr_t)server->spec.capabilities);
    free(server);
}

/* NULL: no memory. */
static char **copy_words(const char *const *words)
{
    size_t count = 0;
    while (words[count]) count++;
    char **copy = tfy__sys_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = tfy__sys_printf("%s", words[i]);
        if (copy[i]) continue;
        free_words(copy);
        return NULL;
    }
    return copy;
}

/* A line of the server's stderr, or of the client about it. */
static void on_log(void *arg, bool own, const char *text, size_t len)
{
    TfyMcpOpen *server = arg;
    if (own)
        tfy__report_text(server->loop, "tfy: %s: %.*s\n", server->of->name, (int)len, text);
    else
        snprintf(server->last, sizeof server->last, "%.*s", (int)tfy__utf8_fit(text, len, TFY_MCP_LAST_MOST - 1), text);
}

static void on_notified(void *arg, const char *method, const json_t *params)
{
    TfyMcpOpen *server = arg;
    (void)params;
    if (strcmp(method, "notifications/tools/list_changed") != 0) return;
    json_decref(server->tools);
    server->tools = NULL;
}

/* ---- opening one; the helpers return false after the call has failed ---- */

static bool starve(TfyCall *call)
{
    tfy__call_starved(call);
    return false;
}

/* Its process, as the program declares it. */
static bool take_words(TfyMcpOpen *server, TfyCall *call)
{
    const TfyMcpServer *of = server->of;
    TfyValue argv = {.o = NULL}, env = {.o = NULL}, cwd = {.o = NULL};
    if (!of->argv(call->task, NULL, &argv) || (of->env && !of->env(call->task, NULL, &env)) ||
        (of->cwd && !of->cwd(call->task, NULL, &cwd))) {
        tfy__output_panicked(call);
        return false;
    }
    if (!tfy__invocation_build(&server->invocation, call, argv.o, env.o, cwd.o, NULL)) return false;
    server->argv = copy_words(server->invocation.argv);
    server->env = copy_words((const char *const *)server->invocation.env);
    return (server->argv && server->env) || starve(call);
}

static bool take_headers(TfyMcpOpen *server, TfyCall *call, const TfyObj *map)
{
    const int64_t count = map ? tfy_map_len(map) : 0;
    server->headers = tfy__sys_calloc((size_t)count + 1, sizeof *server->headers);
    for (int64_t i = 0; server->headers && i < count; i++) {
        server->headers[i] = tfy__http_header_line(call, &server->invocation.secrets, tfy_map_key_at(map, i).o,
                                                   tfy_map_value_at(map, i).o);
        if (!server->headers[i]) return false;
    }
    return server->headers || starve(call);
}

/* What a person types behind "tfy mcp login"; NULL: no memory. */
static char *login_words(const TfyMcpServer *of)
{
    TfyBuffer words = {0};
    tfy__buffer_printf(&words, "%s ", of->name);
    tfy__buffer_shell_word(&words, of->file);
    if (!words.failed) return words.data;
    tfy__buffer_free(&words);
    return NULL;
}

/* Its address, and what is sent with each request. */
static bool take_address(TfyMcpOpen *server, TfyCall *call)
{
    const TfyMcpServer *of = server->of;
    TfyValue url = {.o = NULL}, headers = {.o = NULL};
    size_t len;
    if (!of->url(call->task, NULL, &url) || (of->env && !of->env(call->task, NULL, &headers))) {
        tfy__output_panicked(call);
        return false;
    }
    const char *text = tfy__secrets_fill(&server->invocation.secrets, call, url.o, &len);
    if (!text) {
        tfy__secrets_fail(call, &server->invocation.secrets);
        return false;
    }
    char *shown = memchr(text, 0, len) ? NULL : tfy__http_public_url(text);
    free(shown);
    if (!shown) {
        tfy__call_tool_error(call, EINVAL, "the server '%s' needs an address that starts with http:// or https://",
                             of->name);
        return false;
    }
    server->url = tfy__sys_printf("%s", text);
    server->login_words = login_words(of);
    return server->url && server->login_words ? take_headers(server, call, headers.o) : starve(call);
}

static bool open_client(TfyMcpOpen *server, TfyCall *call)
{
    json_t *able = json_pack("{s:{s:{}, s:{}}, s:{s:{}}}", "elicitation", "form", "url", "extensions",
                             "io.modelcontextprotocol/tasks");
    server->spec = (TfyMcpSpec){.name = server->of->name,
                                .argv = (const char *const *)server->argv,
                                .env = (const char *const *)server->env,
                                .cwd_fd = server->invocation.cwd_fd,
                                .confined = server->argv ? &server->invocation.confined : NULL,
                                .url = server->url,
                                .headers = (const char *const *)server->headers,
                                .logins = server->of->logins,
                                .login_words = server->login_words,
                                .capabilities = able,
                                .events = {.log = on_log, .notified = on_notified},
                                .arg = server};
    server->client = tfy__mcp_open(server->loop, &server->spec);
    return (able && server->client) || starve(call);
}

static TfyMcpOpen *new_server(TfyCall *call)
{
    TfyMcpOpen *server = tfy__sys_calloc(1, sizeof *server);
    if (!server) {
        tfy__call_starved(call);
        return NULL;
    }
    server->loop = call->loop;
    server->of = call->tool->mcp->server;
    server->invocation.cwd_fd = -1;
    if ((server->of->argv ? take_words(server, call) : take_address(server, call)) && open_client(server, call)) {
        tfy__secrets_used(call, &server->invocation.secrets);
        return server;
    }
    free_server(server);
    return NULL;
}

TfyMcpOpen *tfy__mcp_server_known(const TfyCall *call)
{
    TfyMcpOpen *server = *tfy__effect_slot(call->loop, TFY_M_MCP);
    while (server && server->of != call->site->tool->mcp->server) server = server->next;
    return server;
}

TfyMcpOpen *tfy__mcp_server_of(TfyCall *call)
{
    TfyMcpOpen **place = (TfyMcpOpen **)tfy__effect_slot(call->loop, TFY_M_MCP), *server = tfy__mcp_server_known(call);
    if (server) return server;
    server = new_server(call);
    if (!server) return NULL;
    server->next = *place;
    return *place = server;
}

void tfy__mcp_servers_close(TfyLoop *loop)
{
    TfyMcpOpen **place = (TfyMcpOpen **)tfy__effect_slot(loop, TFY_M_MCP);
    for (TfyMcpOpen *server; (server = *place);) {
        *place = server->next;
        free_server(server);
    }
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
    tfy__secret_close(loop);
}
