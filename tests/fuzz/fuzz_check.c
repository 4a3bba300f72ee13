/* fuzz_check.c: lexer, parser and checker on arbitrary bytes. A program that passes is dumped too, which touches what lowering relies on:
 * every declaration has its type, every variable its own. */
#include <stdint.h>

#include "parse.h"
#include "type.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *sink;
    Arena arena;
    SourceSet sources;
    DiagList diags;
    if (!sink) sink = fopen("/dev/null", "w");
    arena_init(&arena, 0);
    source_set_init(&sources, &arena);
    diag_init(&diags, &arena, &sources);
    Source *source = source_add(&sources, "fuzz.tfy", (const char *)data, size);
    Module *module = parse_module(&sources, source, &arena, &diags);
    Program *program = check_program(module, &sources, &arena, &diags);
    if (diags.errors)
        diag_print(&diags, sink, false);
    else
        program_dump(program, sink);
    arena_deinit(&arena);
    return 0;
}
