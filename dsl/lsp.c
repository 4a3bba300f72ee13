/* lsp.c: the server's loop, its queue and the table of methods. */
#include "lsp.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lsp_internal.h"

/* Beyond this the queue is worked off before more is read, so a client that writes without end costs no more than
 * this. */
enum { QUEUE_BYTES_MAX = 1 << 20, READ_SIZE = 1 << 16 };

/* ---- writing ---- */

void lsp_send(LspServer *server, json_t *message)
{
    char *body = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (!body) return;
    fprintf(server->out, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    fflush(server->out);
    free(body);
}

void lsp_notify(LspServer *server, const char *method, json_t *params)
{
    lsp_send(server, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

static void answer(LspServer *server, json_t *id, json_t *result)
{
    lsp_send(server, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

static void answer_error(LspServer *server, json_t *id, int code, const char *message)
{
    json_t *error = json_pack("{s:i, s:o}", "code", code, "message", lsp_text(message));
    lsp_send(server,
             json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id ? json_incref(id) : json_null(), "error", error));
}

json_t *lsp_refuse(LspServer *server, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    free(server->refusal);
    if (vasprintf(&server->refusal, format, args) < 0) abort();
    va_end(args);
    return NULL;
}

/* ---- the methods ---- */

static json_t *capabilities_of(void)
{
    static const char *const plain[] = {"documentFormattingProvider", "hoverProvider",      "definitionProvider",
                                        "documentSymbolProvider",     "referencesProvider", "workspaceSymbolProvider"};
    json_t *sync = json_pack("{s:b, s:i}", "openClose", true, "change", 2);
    json_t *complete = json_pack("{s:[s]}", "triggerCharacters", ".");
    json_t *signature = json_pack("{s:[s, s]}", "triggerCharacters", "(", ",");
    json_t *tokens = json_pack("{s:o, s:b}", "legend", lsp_token_legend(), "full", true);
    json_t *capabilities =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:{s:[s]}, s:{s:b}, s:{s:b}}", "positionEncoding", "utf-16",
                  "textDocumentSync", sync, "completionProvider", complete, "signatureHelpProvider", signature,
                  "semanticTokensProvider", tokens, "codeActionProvider", "codeActionKinds", "quickfix",
                  "renameProvider", "prepareProvider", true, "codeLensProvider", "resolveProvider", false);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) json_object_set_new(capabilities, plain[i], json_true());
    return capabilities;
}

/* What a client can show of a signature. */
static bool takes_label_offsets(const json_t *params)
{
    static const char *const way[] = {"capabilities",         "textDocument",         "signatureHelp",
                                      "signatureInformation", "parameterInformation", "labelOffsetSupport"};
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) params = json_object_get(params, way[i]);
    return json_is_true(params);
}

static json_t *initialize(LspServer *server, const json_t *params)
{
    server->state = LSP_RUNNING;
    server->label_offsets = takes_label_offsets(params);
    lsp_keep_folders(server, params);
    json_t *capabilities = capabilities_of();
    return json_pack("{s:o, s:{s:s, s:s}}", "capabilities", capabilities, "serverInfo", "name", "tfyc", "version",
                     TFY_VERSION);
}

static json_t *shut_down(LspServer *server, const json_t *params)
{
    (void)params;
    server->state = LSP_SHUT_DOWN;
    return json_null();
}

static void exit_server(LspServer *server, const json_t *params)
{
    (void)params;
    server->orderly = server->state == LSP_SHUT_DOWN;
    server->state = LSP_EXITED;
}

/* Exactly one of request and notification is set. */
typedef struct Method {
    const char *name;
    json_t *(*request)(LspServer *server, const json_t *params);
    void (*notification)(LspServer *server, const json_t *params);
} Method;

static const Method methods[] = {
    {"initialize", initialize, NULL},
    {"shutdown", shut_down, NULL},
    {"exit", NULL, exit_server},
    {"textDocument/didOpen", NULL, lsp_did_open},
    {"textDocument/didChange", NULL, lsp_did_change},
    {"textDocument/didClose", NULL, lsp_did_close},
    {"textDocument/hover", lsp_hover, NULL},
    {"textDocument/definition", lsp_definition, NULL},
    {"textDocument/formatting", lsp_formatting, NULL},
    {"textDocument/documentSymbol", lsp_document_symbol, NULL},
    {"textDocument/completion", lsp_completion, NULL},
    {"textDocument/signatureHelp", lsp_signature_help, NULL},
    {"textDocument/codeAction", lsp_code_action, NULL},
    {"textDocument/codeLens", lsp_code_lens, NULL},
    {"textDocument/references", lsp_references, NULL},
    {"textDocument/prepareRename", lsp_prepare_rename, NULL},
    {"textDocument/rename", lsp_rename, NULL},
    {"textDocument/semanticTokens/full", lsp_semantic_tokens, NULL},
    {"workspace/symbol", lsp_workspace_symbol, NULL},
};

static const Method *find_method(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0) return &methods[i];
    return NULL;
}

/* What the state of the conversation says against a request; NULL: nothing. */
static const char *out_of_turn(const LspServer *server, const Method *method, int *code)
{
    bool first = method && method->request == initialize;
    *code = LSP_INVALID_REQUEST;
    switch (server->state) {
    case LSP_STARTING: *code = LSP_NOT_INITIALIZED; return first ? NULL : "the first request is 'initialize'";
    case LSP_RUNNING: return first ? "'initialize' was sent before" : NULL;
    default: return "the server was shut down";
    }
}

static void handle_request(LspServer *server, const char *name, json_t *id, const json_t *params)
{
    int code;
    const Method *method = find_method(name);
    const char *objection = out_of_turn(server, method, &code);
    if (objection) {
        answer_error(server, id, code, objection);
    } else if (!method || !method->request) {
        answer_error(server, id, LSP_METHOD_NOT_FOUND, "this server has no such request");
    } else {
        json_t *result = method->request(server, params);
        if (result)
            answer(server, id, result);
        else if (server->refusal)
            answer_error(server, id, LSP_REQUEST_FAILED, server->refusal);
        else
            answer_error(server, id, LSP_INVALID_PARAMS, "the parameters do not fit the request");
        free(server->refusal);
        server->refusal = NULL;
    }
}

static void handle_notification(LspServer *server, const char *name, const json_t *params)
{
    const Method *method = find_method(name);
    bool in_turn = server->state == LSP_RUNNING || (method && method->notification == exit_server);
    if (method && method->notification && in_turn) method->notification(server, params);
}

static void handle(LspServer *server, json_t *message)
{
    json_t *id = json_object_get(message, "id");
    const json_t *method = json_object_get(message, "method");
    if (json_object_get(message, "result") || json_object_get(message, "error"))
        return; /* an answer; this server asks nothing */
    if (!json_is_string(method) || (id && !json_is_integer(id) && !json_is_string(id)))
        answer_error(server, NULL, LSP_INVALID_REQUEST, "this is not a message of the protocol");
    else if (id)
        handle_request(server, json_string_value(method), id, json_object_get(message, "params"));
    else
        handle_notification(server, json_string_value(method), json_object_get(message, "params"));
}

/* ---- the queue ---- */

/* A request that still waits is answered at once and forgotten; one that was answered before is left alone. */
static void cancel(LspServer *server, const json_t *message)
{
    json_t *id = json_object_get(json_object_get(message, "params"), "id"), *waiting;
    size_t i;
    json_array_foreach(server->queue, i, waiting)
    {
        if (!id || !json_equal(json_object_get(waiting, "id"), id)) continue;
        answer_error(server, id, LSP_REQUEST_CANCELLED, "cancelled");
        json_array_remove(server->queue, i);
        return;
    }
}

static void queue_body(LspServer *server, const char *body, size_t len)
{
    json_t *message = json_loadb(body, len, JSON_ALLOW_NUL, NULL);
    const char *method = json_string_value(json_object_get(message, "method"));
    if (!message) {
        answer_error(server, NULL, LSP_PARSE_ERROR, "a message is not JSON");
    } else if (!json_is_object(message)) {
        answer_error(server, NULL, LSP_INVALID_REQUEST, "a message is not an object");
    } else if (method && strcmp(method, "$/cancelRequest") == 0) {
        cancel(server, message);
    } else {
        json_array_append(server->queue, message);
        server->queued_bytes += len;
    }
    json_decref(message);
}

void lsp_server_feed(LspServer *server, const char *bytes, size_t len)
{
    const char *body;
    size_t body_len;
    LspReadResult result;
    lsp_reader_feed(&server->reader, bytes, len);
    while ((result = lsp_reader_next(&server->reader, &body, &body_len)) != LSP_READ_MORE) {
        switch (result) {
        case LSP_READ_MESSAGE: queue_body(server, body, body_len); break;
        case LSP_READ_TOO_LARGE:
            answer_error(server, NULL, LSP_INVALID_REQUEST, "a message is too large and was passed over");
            break;
        default: answer_error(server, NULL, LSP_PARSE_ERROR, "a message has no Content-Length that makes sense"); break;
        }
    }
}

void lsp_server_work(LspServer *server)
{
    json_t *message;
    size_t i;
    json_array_foreach(server->queue, i, message)
    {
        if (server->state != LSP_EXITED) handle(server, message);
    }
    json_array_clear(server->queue);
    server->queued_bytes = 0;
    for (LspDocument *document = server->documents.first; document && server->state == LSP_RUNNING;
         document = document->next) {
        if (!document->changed) continue;
        document->changed = false;
        lsp_publish(server, document);
    }
}

/* ---- the loop ---- */

LspServer *lsp_server_new(FILE *out, const ModulePaths *paths)
{
    LspServer *server = calloc(1, sizeof *server);
    if (!server) abort();
    server->out = out;
    server->paths = paths;
    server->queue = json_array();
    server->folders = json_array();
    return server;
}

void lsp_server_free(LspServer *server)
{
    lsp_reader_deinit(&server->reader);
    lsp_analysis_deinit(&server->analysis);
    lsp_documents_free(server);
    json_decref(server->queue);
    json_decref(server->folders);
    free(server);
}

bool lsp_server_has_exited(const LspServer *server)
{
    return server->state == LSP_EXITED;
}

static bool more_has_arrived(int in)
{
    struct pollfd fd = {.fd = in, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

int lsp_serve(int in, FILE *out, const ModulePaths *paths)
{
    LspServer *server = lsp_server_new(out, paths);
    char bytes[READ_SIZE];
    while (!lsp_server_has_exited(server)) {
        ssize_t got = read(in, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        lsp_server_feed(server, bytes, (size_t)got);
        if (server->queued_bytes > QUEUE_BYTES_MAX || !more_has_arrived(in)) lsp_server_work(server);
    }
    lsp_server_work(server);
    int status = server->orderly ? 0 : 1;
    lsp_server_free(server);
    return status;
}
