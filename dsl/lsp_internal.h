/* lsp_internal.h: what the files of the language server share.
 *
 * lsp.c reads, queues and dispatches; lsp_document.c keeps the texts, their positions and their analyses;
 * lsp_workspace.c finds the files that are not open; the other files answer. Positions of the protocol count lines
 * from 0 and characters in UTF-16 units; inside, everything is a global byte offset (source.h). */
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

/* The position that was asked for last in an analysis: the next one is often not far behind it. */
typedef struct LspCursor {
    const Source *source; /* NULL: none was */
    uint32_t line_start;  /* of its line, in the source */
    uint32_t off;         /* in the source */
    size_t character;     /* in UTF-16 units */
} LspCursor;

/* One text understood. Lives until the text changes or another one is asked about. */
typedef struct LspAnalysis {
    const LspDocument *document; /* NULL: nothing is analysed */
    Arena arena;
    SourceSet sources;
    DiagList parse_diags; /* mistakes of form */
    /* mistakes of meaning; published only when the form is right, or they would be cascades */
    DiagList check_diags;
    Source *source;
    LspCursor *cursor;
    Module *module;
    Program *program;
} LspAnalysis;

/* A text that is not there yet: what a rename would make of a file. */
typedef struct LspProposal {
    const char *path; /* as realpath gives it, or as the document has it */
    const char *text;
    size_t len;
    struct LspProposal *next;
} LspProposal;

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
    json_t *folders;             /* array of paths of the workspace's folders */
    bool label_offsets;          /* the client takes a parameter's place in its signature, not only its text */
    LIST(LspProposal) proposals; /* they count before documents and files */
    char *refusal;               /* why the request that is handled cannot be done; NULL: it can, or is malformed */
};

/* Codes of the protocol's errors. */
enum {
    LSP_PARSE_ERROR = -32700,
    LSP_INVALID_REQUEST = -32600,
    LSP_METHOD_NOT_FOUND = -32601,
    LSP_INVALID_PARAMS = -32602,
    LSP_NOT_INITIALIZED = -32002,
    LSP_REQUEST_CANCELLED = -32800,
    LSP_REQUEST_FAILED = -32803,
};

/* ---- lsp.c ---- */
void lsp_send(LspServer *server, json_t *message);                      /* takes the message */
void lsp_notify(LspServer *server, const char *method, json_t *params); /* takes params */
/* For a request that makes sense and cannot be done: the sentence is its answer. NULL, to be returned. */
json_t *lsp_refuse(LspServer *server, const char *format, ...) __attribute__((format(printf, 2, 3)));

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
/* How many UTF-16 units the bytes are. */
size_t lsp_units(const char *text, size_t len);
json_t *lsp_text(const char *text);
json_t *lsp_range(const LspAnalysis *analysis, Span span);
json_t *lsp_location(const LspAnalysis *analysis, Span span);

/* The analysis of the document that params name (NULL: too large), and in *off the global offset of params.position.
 * False: there is no such place. */
bool lsp_analysis_at(LspServer *server, const json_t *params, const LspAnalysis **analysis, uint32_t *off);

/* The real path of a file, or a copy of the path where there is none; malloc'ed. */
char *lsp_real_path(const char *path);

/* ---- lsp_workspace.c ---- */
enum {
    LSP_FILES_MAX = 2000,     /* files of a workspace that are read for one request */
    LSP_ENTRIES_MAX = 100000, /* names of files and directories that are inspected for it */
    LSP_DEPTH_MAX = 16,       /* directories in directories */
};
/* Keeps the folders that the client names in `initialize`. */
void lsp_keep_folders(LspServer *server, const json_t *params);
/* Calls `each` for every program that may matter: the open documents, the files of `asked` (NULL: none), then the .tfy
 * files in the workspace's folders. What is passed is gone when the call returns. */
typedef void LspEachFile(void *state, const LspDocument *file);
void lsp_each_file(LspServer *server, const LspAnalysis *asked, LspEachFile *each, void *state);

/* ---- lsp_diagnostic.c ---- */
/* A diagnostic as it was published. */
json_t *lsp_diagnostic(const LspAnalysis *analysis, const Diag *diag);
/* The mistakes that are shown: of form, or of meaning where the form is right. */
const DiagList *lsp_shown_diags(const LspAnalysis *analysis);
void lsp_publish(LspServer *server, LspDocument *document);

/* ---- lsp_signature.c ---- */
/* A parameter in a signature: its name, and where it is in the text. */
typedef struct LspParam {
    const char *name;
    Span place; /* bytes of the text */
} LspParam;

/* A text that grows at its end. */
typedef struct LspText {
    Arena *arena;
    char *text;
    uint32_t len, cap;
    LspParam *params; /* in the order of the text */
    uint32_t param_count, param_cap;
} LspText;

LspText lsp_text_new(Arena *arena);
void lsp_add(LspText *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lsp_add_decl(LspText *to, const Decl *decl);
void lsp_add_builtin(LspText *to, const Builtin *builtin, const Type *receiver);
/* A type or error as it is declared, and as it is made: "type Step { name: string }", "Step(name: string)". */
void lsp_add_record(LspText *to, const Type *type);
void lsp_add_call(LspText *to, const Type *type);
void lsp_add_case(LspText *to, const TypeCase *type_case);
const char *lsp_type_name(const Type *type);
/* "tool git(args: list<string>) -> string once"; "" for what has none. */
const char *lsp_decl_signature(Arena *arena, const Decl *decl);
/* receiver: what a method is called on, or NULL. */
const char *lsp_builtin_signature(Arena *arena, const Builtin *builtin, const Type *receiver);

/* ---- lsp_token.c ---- */
/* {tokenTypes, tokenModifiers}: what the numbers in the answers mean. */
json_t *lsp_token_legend(void);

/* ---- answers: a new reference; NULL: the parameters make no sense ---- */
json_t *lsp_hover(LspServer *server, const json_t *params);
json_t *lsp_definition(LspServer *server, const json_t *params);
json_t *lsp_formatting(LspServer *server, const json_t *params);
json_t *lsp_document_symbol(LspServer *server, const json_t *params);
json_t *lsp_completion(LspServer *server, const json_t *params);
json_t *lsp_signature_help(LspServer *server, const json_t *params);
json_t *lsp_code_action(LspServer *server, const json_t *params);
json_t *lsp_semantic_tokens(LspServer *server, const json_t *params);
json_t *lsp_code_lens(LspServer *server, const json_t *params);
json_t *lsp_workspace_symbol(LspServer *server, const json_t *params);
json_t *lsp_references(LspServer *server, const json_t *params);
json_t *lsp_prepare_rename(LspServer *server, const json_t *params);
json_t *lsp_rename(LspServer *server, const json_t *params);

#endif
