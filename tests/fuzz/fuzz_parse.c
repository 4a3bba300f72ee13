/* fuzz_parse.c: the lexer and the parser on any bytes.
 *
 * Besides not crashing, it holds that a text without errors has a tree without bad nodes that prints, and that messages point into
 * the text. */
#include <assert.h>
#include <stdlib.h>

#include "parse.h"
#include "token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *open_sink(void)
{
    static FILE *sink;
    if (!sink) sink = fopen("/dev/null", "w");
    if (!sink) abort();
    return sink;
}

static void check_diags(const DiagList *diags, const Source *source)
{
    for (const Diag *diag = diags->first; diag; diag = diag->next) {
        assert(diag->span.off >= source->base && diag->span.off + diag->span.len <= source->base + source->len);
        assert(diag->message[0]);
    }
}

static void check_blocks(const Decl *decls)
{
    for (const Decl *decl = decls; decl; decl = decl->next)
        for (const Stmt *stmt = decl->block ? decl->block->stmts : NULL; stmt; stmt = stmt->next)
            assert(stmt->kind != ST_BAD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena;
    SourceSet sources;
    DiagList diags;
    arena_init(&arena, 0);
    source_set_init(&sources, &arena);
    diag_init(&diags, &arena, &sources);
    Source *source = source_add(&sources, "fuzz.tfy", (const char *)data, size);
    Module *module = parse_module(&sources, source, &arena, &diags);
    check_diags(&diags, source);
    if (!diags.errors) check_blocks(module->decls);
    ast_dump(module, open_sink());
    diag_print(&diags, open_sink(), true);
    diag_print_json(&diags, open_sink());
    arena_deinit(&arena);
    return 0;
}
