/* lsp_reference.h: the search for every place that means one declaration, which references and renames share. */
#ifndef DSL_LSP_REFERENCE_H
#define DSL_LSP_REFERENCE_H

#include "lsp_internal.h"

/* A declaration, in terms that every analysis understands. */
typedef struct LspTarget {
    const char *path; /* real path of its file */
    uint32_t off;     /* of its name, in the file */
    const char *name;
} LspTarget;

/* What one file has to do with it. */
typedef struct LspFileUses {
    const char *path, *uri, *text;
    size_t len;     /* bytes of the text */
    uint32_t *offs; /* where the name is, in the text, ascending */
    uint32_t count;
    json_t *ranges;    /* the same as ranges of the protocol */
    uint32_t errors;   /* mistakes in the program that the file is the main file of */
    const char *error; /* the first of them, with its place; NULL: there is none */
    struct LspFileUses *next;
} LspFileUses;

typedef struct LspSearch {
    LspServer *server;
    Arena arena;
    LspTarget target;
    const char *also; /* files that hold this text are in the result too; NULL: nothing */
    LIST(LspFileUses) files;
} LspSearch;

/* False: the name is the language's, or is not written where it is declared (the alias of an import without `as`). */
bool lsp_target_of(const LspAnalysis *analysis, const Located *at, Arena *arena, LspTarget *target);
/* Fills search->files; its arena, target and also are set. Ends with lsp_search_deinit. */
void lsp_search(LspSearch *search, LspServer *server, const LspAnalysis *asked);
void lsp_search_deinit(LspSearch *search);

/* The uses in one text. All but path, uri, text and len are set. */
void lsp_find_uses(LspServer *server, Arena *arena, const LspDocument *document, const LspTarget *target,
                   LspFileUses *found);

#endif
