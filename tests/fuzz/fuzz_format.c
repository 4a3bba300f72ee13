/* fuzz_format.c: the formatter on any bytes.
 *
 * Besides not crashing, it holds that every text without errors can be formatted, which means to the same program, and that formatting
 * the result again changes nothing. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NULL when the text has mistakes. */
static char *format_text(const char *text, size_t size, size_t *len, Arena *arena)
{
    SourceSet sources;
    DiagList diags;
    source_set_init(&sources, arena);
    diag_init(&diags, arena, &sources);
    Source *source = source_add(&sources, "fuzz.tfy", text, size);
    char *formatted = format_source(&sources, source, arena, &diags, len);
    assert(formatted || diags.errors);
    return formatted;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena;
    size_t once_len, twice_len;
    arena_init(&arena, 0);
    char *once = format_text((const char *)data, size, &once_len, &arena);
    if (once) {
        char *twice = format_text(once, once_len, &twice_len, &arena);
        assert(twice && twice_len == once_len && memcmp(once, twice, once_len) == 0);
    }
    arena_deinit(&arena);
    return 0;
}
