/* check_origin.c: see check_origin.h. */
#include "check_origin.h"

#include <string.h>

static const char *line_text(Arena *arena, const SourceSet *sources, Span span)
{
    const LineCol at = source_line_col(sources, span.off);
    return at.source == sources->first ? arena_printf(arena, "line %u", at.line)
                                       : arena_printf(arena, "line %u of %s", at.line, at.source->name);
}

const char *check_origin_text(Arena *arena, const Origin *origin)
{
    return origin->name ? arena_printf(arena, "%s '%s'", origin->says, origin->name) : origin->says;
}

const char *check_origin_words(Arena *arena, const SourceSet *sources, const Origin *origin)
{
    static const char comes[] = "it comes ";
    while (origin->before) origin = origin->before;
    const char *text = check_origin_text(arena, origin), *line = line_text(arena, sources, origin->span);
    if (strncmp(text, comes, sizeof comes - 1) == 0)
        return arena_printf(arena, "%s, %s", text + sizeof comes - 1, line);
    return arena_printf(arena, "from '%.*s', which is declared untrusted, %s", (int)origin->span.len,
                        source_text(sources, origin->span), line);
}
