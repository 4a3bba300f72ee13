/* fuzz_tools.c: a NAME.mcp.json of arbitrary bytes, alone and as the file of a program's server: reader, checker, dump. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp_file.h"
#include "module.h"
#include "type.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *bundle_of(const uint8_t *data, size_t size)
{
    static const char program[] = "mcp fake = exec [\"fake\"]\n"
                                  "tool by_hand(text: string) -> McpResult pure = mcp \"fake\" \"echo\"\n"
                                  "workflow main() -> json { let x = yield fake.echo(\"x\")\n return json [x] }\n";
    json_t *bundle =
        json_pack("{s:[{s:s, s:s, s:{s:i}}, {s:s, s:s%}]}", "modules", "file", "p.tfy", "text", program, "imports",
                  "fake.mcp.json", 1, "file", "fake.mcp.json", "text", (const char *)data, size);
    char *text = bundle ? json_dumps(bundle, JSON_COMPACT) : NULL; /* NULL: no UTF-8 */
    json_decref(bundle);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *sink;
    Arena arena;
    SourceSet sources;
    DiagList diags;
    const char *problem = NULL;
    if (!sink) sink = fopen("/dev/null", "w");
    arena_init(&arena, 0);
    source_set_init(&sources, &arena);
    diag_init(&diags, &arena, &sources);
    mcp_file_read(&sources, source_add(&sources, "x.mcp.json", (const char *)data, size), &arena, &diags);
    char *text = bundle_of(data, size);
    Module *module = text ? module_load_bundle(&sources, text, strlen(text), &arena, &diags, &problem) : NULL;
    Program *program = module ? check_program(module, &sources, &arena, &diags) : NULL;
    if (diags.errors)
        diag_print(&diags, sink, false);
    else if (program)
        program_dump(program, sink);
    free(text);
    arena_deinit(&arena);
    return 0;
}
