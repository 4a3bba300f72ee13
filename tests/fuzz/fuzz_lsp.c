/* fuzz_lsp.c: the language server on arbitrary bytes.
 *
 * The first byte chooses. Odd: the rest is what arrives, in pieces of that size. Even: the rest is a text, and behind its last 0xff what an
 * editor does with it, three bytes for each act (which, line, column), so that requests meet texts of every kind. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lsp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each act may mean an analysis. */
enum { ACT_MAX = 20 };

static const char uri[] = "file:///fuzz.tfy";

static void send_message(LspServer *server, const char *method, json_t *params)
{
    char head[64];
    json_t *message = json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", method, "params", params);
    if (strstr(method, "/did")) json_object_del(message, "id");
    char *body = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (!body) return;
    snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", strlen(body));
    lsp_server_feed(server, head, strlen(head));
    lsp_server_feed(server, body, strlen(body));
    free(body);
}

static json_t *place(const uint8_t *act)
{
    return json_pack("{s:i, s:i}", "line", act[1], "character", act[2]);
}

static void ask(LspServer *server, const char *method, const uint8_t *act)
{
    send_message(server, method, json_pack("{s:{s:s}, s:o}", "textDocument", "uri", uri, "position", place(act)));
}

/* The requests that came later share a number. */
static void ask_more(LspServer *server, const uint8_t *act)
{
    static const char *const methods[] = {"signatureHelp", "references",          "prepareRename", "rename",
                                          "codeAction",    "semanticTokens/full", "codeLens"};
    static const char *const names[] = {"x", "main", "print", "a b", ""};
    char method[64];
    int which = act[0] >> 3 & 7;
    if (which == 7) {
        send_message(server, "workspace/symbol", json_pack("{s:s}", "query", names[act[1] % 5]));
        return;
    }
    snprintf(method, sizeof method, "textDocument/%s", methods[which]);
    json_t *end = json_pack("{s:i, s:i}", "line", act[1] + (act[0] >> 6) * 99, "character", act[2]);
    send_message(server, method,
                 json_pack("{s:{s:s}, s:o, s:s, s:{s:o, s:o}}", "textDocument", "uri", uri, "position", place(act),
                           "newName", names[act[2] % 5], "range", "start", place(act), "end", end));
}

/* Takes away up to 15 lines from there, or puts a piece of a program there. */
static void change(LspServer *server, const uint8_t *act)
{
    static const char *const pieces[] = {"", "}", "\n", "yield ", ".", "x.y", "😀", "\""};
    json_t *to = json_pack("{s:i, s:i}", "line", act[1] + (act[0] >> 6), "character", act[2]);
    send_message(server, "textDocument/didChange",
                 json_pack("{s:{s:s, s:i}, s:[{s:{s:o, s:o}, s:s}]}", "textDocument", "uri", uri, "version", 2,
                           "contentChanges", "range", "start", place(act), "end", to, "text", pieces[act[0] >> 3 & 7]));
}

static void act_on(LspServer *server, const uint8_t *act)
{
    switch (act[0] & 7) {
    case 0: ask(server, "textDocument/hover", act); break;
    case 1: ask(server, "textDocument/definition", act); break;
    case 2: ask(server, "textDocument/completion", act); break;
    case 3: ask(server, "textDocument/documentSymbol", act); break;
    case 4: ask(server, "textDocument/formatting", act); break;
    case 5: change(server, act); break;
    case 6: ask_more(server, act); break;
    default: lsp_server_work(server); break;
    }
}

static void edit(LspServer *server, const uint8_t *data, size_t size)
{
    size_t len = size;
    while (len && data[len - 1] != 0xff) len--;
    const uint8_t *acts = data + len, *end = data + size;
    if (len) len--;
    json_t *text = json_stringn((const char *)data, len);
    if (!text) return;
    send_message(server, "textDocument/didOpen",
                 json_pack("{s:{s:s, s:i, s:o}}", "textDocument", "uri", uri, "version", 1, "text", text));
    for (int i = 0; i < ACT_MAX && end - acts >= 3; i++, acts += 3) act_on(server, acts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *sink;
    if (!sink) sink = fopen("/dev/null", "w");
    if (!size) return 0;
    LspServer *server = lsp_server_new(sink, NULL);
    send_message(server, "initialize", json_object());
    if (data[0] & 1) {
        for (size_t at = 1, step = data[0]; at < size; at += step)
            lsp_server_feed(server, (const char *)data + at, size - at < step ? size - at : step);
    } else {
        edit(server, data + 1, size - 1);
    }
    lsp_server_work(server);
    lsp_server_free(server);
    return 0;
}
