/* lsp_format.c: the canonical text, as the smallest stretch of lines to replace, so that the cursor stays where it
 * was. */
#include <string.h>

#include "format.h"
#include "lsp_internal.h"

/* How many bytes of whole lines two texts start with alike. */
static size_t common_head(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t same = 0, lines = 0;
    for (; same < a_len && same < b_len && a[same] == b[same]; same++)
        if (a[same] == '\n') lines = same + 1;
    return lines;
}

/* The same of their ends, within what the head leaves. */
static size_t common_tail(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t same = 0, lines = 0;
    for (; same < a_len && same < b_len && a[a_len - 1 - same] == b[b_len - 1 - same]; same++)
        if (same && a[a_len - 1 - same] == '\n') lines = same;
    return same == a_len || same == b_len ? (a_len == b_len ? same : lines) : lines;
}

static json_t *edit_of(const LspAnalysis *analysis, const char *text, size_t len)
{
    const char *old = analysis->source->text;
    size_t old_len = analysis->source->len;
    size_t head = common_head(old, old_len, text, len);
    size_t tail = common_tail(old + head, old_len - head, text + head, len - head);
    if (old_len == len && head + tail == len) return json_array();
    Span span = {analysis->source->base + (uint32_t)head, (uint32_t)(old_len - head - tail)};
    return json_pack("[{s:o, s:s%}]", "range", lsp_range(analysis, span), "newText", text + head, len - head - tail);
}

/* A text that cannot be parsed is left alone: its diagnostics say why. */
json_t *lsp_formatting(LspServer *server, const json_t *params)
{
    const LspDocument *document = lsp_document_of(server, params);
    if (!document) return NULL;
    const LspAnalysis *analysis = lsp_analyse(server, document);
    if (!analysis) return json_array();
    DiagList diags;
    SourceSet sources;
    size_t len;
    Arena *arena = analysis->sources.arena;
    source_set_init(&sources, arena);
    diag_init(&diags, arena, &sources);
    Source *source = source_add(&sources, document->path, document->text, document->len);
    const char *text = format_source(&sources, source, arena, &diags, &len);
    return text ? edit_of(analysis, text, len) : json_array();
}
