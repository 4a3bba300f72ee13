/* lsp_internal.h: what the files of the language server share.
 *
 * lsp.c reads, queues and dispatches; lsp_document.c keeps the texts, their positions and their analyses;
 * lsp_hover.c, lsp_symbol.c and lsp_complete.c answer. Positions of the protocol count lines from 0 and characters
 * in UTF-16 units; inside, everything is a global byte offset (source.h). */
#ifndef DSL_LSP_INTERNAL_H
#define DSL_LSP_INTERNAL_H

#include <jansson.h>

#include "../runtime/base/list.h"
#include "bug.h"
#include "locate.h"
#include "lsp.h"
#include "lsp_read.h"
#include "module.h"
#include "parse.h"
#include "token.h"
#include "type.h"

/* Texts beyond this are kept but not analysed: no one writes them, and an editor waits for an answer at every key. */
#define LSP_TEXT_MAX (2u << 20)

/* A text that is open in the editor. */
typedef struct LspDocument {
    char *uri; /* as the client wrote it; malloc'ed */
    /* of its file, or the URI where that names none; malloc'ed */
    char *path;
    char *text;         /* len bytes and a NUL; malloc'ed */
    size_t len;         /* bytes */
    json_int_t version; /* the client's number of this text */
    bool changed;       /* diagnostics of this text are not published yet */
    bool imports;       /* its last diagnostics depend on other files */
    struct LspDocument *next;
} LspDocument;

/* One text understood. Lives until the text changes or another one is asked about. */
typedef struct LspAnalysis {
    const LspDocument *document; /* NULL: nothing is analysed */
    Arena arena;
    SourceSet sources;
    DiagList parse_diags; /* mistakes of form */
    /* mistakes of meaning; published only when the form is right, or they would be cascades */
    DiagList check_diags;
    Source *source;
    Module *module;
    Program *program;
} LspAnalysis;

typedef enum LspState { LSP_STARTING, LSP_RUNNING, LSP_SHUT_DOWN, LSP_EXITED } LspState;

struct LspServer {
    FILE *out;
    const ModulePaths *paths; /* where imported files are looked for too; NULL: nowhere */
    LspReader reader;
    LspState state;
    bool orderly;                /* `exit` came after `shutdown` */
    json_t *queue;               /* array of messages that wait */
    size_t queued_bytes;         /* their bodies' bytes */
    LIST(LspDocument) documents; /* newest first */
    LspAnalysis analysis;        /* the last one made */
};

/* Codes of the protocol's errors. */
enum {
    LSP_PARSE_ERROR = -32700,
    LSP_INVALID_REQUEST = -32600,
    LSP_METHOD_NOT_FOUND = -32601,
    LSP_INVALID_PARAMS = -32602,
    LSP_NOT_INITIALIZED = -32002,
    LSP_REQUEST_CANCELLED = -32800,
};

/* ---- lsp.c ---- */
void lsp_send(LspServer *server, json_t *message);                      /* takes the message */
void lsp_notify(LspServer *server, const char *method, json_t *params); /* takes params */

/* ---- lsp_uri.c ---- */
/* The path in a file: URI; NULL for every other. Malloc'ed. */
char *lsp_path_of_uri(const char *uri);
/* A file: URI of the path of a file that exists. */
json_t *lsp_uri_of_path(const char *path);

/* ---- lsp_document.c ---- */
LspDocument *lsp_document_find(const LspServer *server, const char *uri);
/* The document that params.textDocument.uri names, or NULL. */
LspDocument *lsp_document_of(const LspServer *server, const json_t *params);
void lsp_did_open(LspServer *server, const json_t *params);
void lsp_did_change(LspServer *server, const json_t *params);
void lsp_did_close(LspServer *server, const json_t *params);
void lsp_documents_free(LspServer *server);

/* NULL when the text is too large. */
const LspAnalysis *lsp_analyse(LspServer *server, const LspDocument *document);
/* Analyses a text that differs from the document's: what completion inspects. Ends with lsp_analysis_deinit. */
void lsp_analysis_init(LspAnalysis *analysis, LspServer *server, const LspDocument *document, const char *text,
                       size_t len);
void lsp_analysis_deinit(LspAnalysis *analysis);

/* The byte in `text` that {line, character} means, clamped to the text; false when it is not a position. */
bool lsp_offset_of(const char *text, size_t len, const json_t *position, size_t *offset);
json_t *lsp_text(const char *text);
json_t *lsp_range(const LspAnalysis *analysis, Span span);
json_t *lsp_location(const LspAnalysis *analysis, Span span);

/* The analysis of the document that params name (NULL: too large), and in *off the global offset of params.position.
 * False: there is no such place. */
bool lsp_analysis_at(LspServer *server, const json_t *params, const LspAnalysis **analysis, uint32_t *off);

/* ---- lsp_diagnostic.c ---- */
void lsp_publish(LspServer *server, LspDocument *document);

/* ---- lsp_hover.c ---- */
/* "tool git(args: list<string>) -> string once"; "" for what has none. */
const char *lsp_decl_signature(Arena *arena, const Decl *decl);
/* receiver: what a method is called on, or NULL. */
const char *lsp_builtin_signature(Arena *arena, const Builtin *builtin, const Type *receiver);

/* ---- answers: a new reference; NULL: the parameters make no sense ---- */
json_t *lsp_hover(LspServer *server, const json_t *params);
json_t *lsp_definition(LspServer *server, const json_t *params);
json_t *lsp_formatting(LspServer *server, const json_t *params);
json_t *lsp_document_symbol(LspServer *server, const json_t *params);
json_t *lsp_completion(LspServer *server, const json_t *params);

#endif
