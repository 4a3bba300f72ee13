/* lsp_reference.c: every place in the workspace that means one declaration.
 *
 * Each file is checked as the main file of a program of its own, and only what is in that file is noted, so a file that
 * many programs import is looked at once. Files in which the name does not occur are not checked at all. */
#include "lsp_reference.h"

#include <stdlib.h>
#include <string.h>

static Span declared_at(const Located *at)
{
    return at->kind == LOC_DECL ? at->decl->name.span : at->target;
}

static bool same_text(const LspAnalysis *analysis, Span span, const char *name, size_t len)
{
    return span.len == len && memcmp(source_text(&analysis->sources, span), name, len) == 0;
}

/* ---- one file ---- */

typedef struct Uses {
    const LspAnalysis *analysis;
    Span target; /* in this analysis */
    const char *name;
    uint32_t *offs; /* global offsets */
    uint32_t count, cap;
} Uses;

/* The path of an import is passed for its name; only places where the name is written count. */
static void note_use(void *state, const Located *at)
{
    Uses *uses = state;
    Span declared = declared_at(at);
    if (declared.off != uses->target.off || !declared.len) return;
    if (!same_text(uses->analysis, at->span, uses->name, strlen(uses->name))) return;
    uses->offs = arena_grow(uses->analysis->sources.arena, uses->offs, &uses->cap, uses->count + 1, sizeof *uses->offs);
    uses->offs[uses->count++] = at->span.off;
}

static int by_offset(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static void sort_uses(Uses *uses)
{
    uint32_t kept = 0;
    if (uses->count) qsort(uses->offs, uses->count, sizeof *uses->offs, by_offset);
    for (uint32_t i = 0; i < uses->count; i++)
        if (!kept || uses->offs[kept - 1] != uses->offs[i]) uses->offs[kept++] = uses->offs[i];
    uses->count = kept;
}

/* The file of an analysis that a real path names, or NULL. */
static const Source *source_at(const LspAnalysis *analysis, const char *path)
{
    for (const Source *source = analysis->sources.first; source; source = source->next) {
        char *real = lsp_real_path(source->name);
        bool same = strcmp(real, path) == 0;
        free(real);
        if (same) return source;
    }
    return NULL;
}

static Uses uses_in(const LspAnalysis *analysis, const LspTarget *target)
{
    Uses uses = {.analysis = analysis, .name = target->name};
    const Source *source = source_at(analysis, target->path);
    size_t len = strlen(target->name);
    if (!source || target->off + len > source->len) return uses;
    uses.target = (Span){source->base + target->off, (uint32_t)len};
    locate_names(analysis->program, analysis->source, note_use, &uses);
    sort_uses(&uses);
    return uses;
}

static json_t *ranges_of(const LspAnalysis *analysis, const Uses *uses)
{
    json_t *ranges = json_array();
    for (uint32_t i = 0; i < uses->count; i++)
        json_array_append_new(ranges, lsp_range(analysis, (Span){uses->offs[i], uses->target.len}));
    return ranges;
}

static const Diag *first_error(const DiagList *list)
{
    const Diag *diag = list->first;
    while (diag && diag->level != DIAG_ERROR) diag = diag->next;
    return diag;
}

void lsp_find_uses(LspServer *server, Arena *arena, const LspDocument *document, const LspTarget *target,
                   LspFileUses *found)
{
    LspAnalysis analysis;
    lsp_analysis_init(&analysis, server, document, document->text, document->len);
    Uses uses = uses_in(&analysis, target);
    *found = (LspFileUses){.count = uses.count, .errors = lsp_shown_diags(&analysis)->errors};
    found->offs = arena_alloc(arena, (uses.count + 1) * sizeof *found->offs);
    for (uint32_t i = 0; i < uses.count; i++) found->offs[i] = uses.offs[i] - analysis.source->base;
    found->ranges = ranges_of(&analysis, &uses);
    const Diag *error = first_error(lsp_shown_diags(&analysis));
    if (error) {
        LineCol where = source_line_col(&analysis.sources, error->span.off);
        const char *slash = strrchr(where.source->name, '/'), *name = slash ? slash + 1 : where.source->name;
        found->error = arena_printf(arena, "%s:%u: %s", name, where.line, error->message);
    }
    lsp_analysis_deinit(&analysis);
}

/* ---- the workspace ---- */

static bool mentions(const LspDocument *file, const char *name)
{
    return name && memmem(file->text, file->len, name, strlen(name));
}

static void search_file(void *state, const LspDocument *file)
{
    LspSearch *search = state;
    if (!mentions(file, search->target.name) && !mentions(file, search->also)) return;
    LspFileUses *found = arena_new(&search->arena, LspFileUses);
    lsp_find_uses(search->server, &search->arena, file, &search->target, found);
    char *real = lsp_real_path(file->path);
    found->path = arena_strndup(&search->arena, real, strlen(real));
    found->uri = arena_strndup(&search->arena, file->uri, strlen(file->uri));
    found->text = arena_strndup(&search->arena, file->text, file->len);
    found->len = file->len;
    free(real);
    LIST_APPEND(&search->files, found, next);
}

bool lsp_target_of(const LspAnalysis *analysis, const Located *at, Arena *arena, LspTarget *target)
{
    Span declared = declared_at(at);
    const Source *source = declared.len ? source_of(&analysis->sources, declared.off) : NULL;
    if (at->kind == LOC_NONE || !source ||
        !same_text(analysis, declared, source_text(&analysis->sources, at->span), at->span.len))
        return false;
    char *real = lsp_real_path(source->name);
    *target = (LspTarget){.path = arena_strndup(arena, real, strlen(real)), .off = declared.off - source->base};
    target->name = arena_strndup(arena, source_text(&analysis->sources, declared), declared.len);
    free(real);
    return true;
}

void lsp_search(LspSearch *search, LspServer *server, const LspAnalysis *asked)
{
    search->server = server;
    lsp_each_file(server, asked, search_file, search);
}

void lsp_search_deinit(LspSearch *search)
{
    for (LspFileUses *file = search->files.first; file; file = file->next) json_decref(file->ranges);
    arena_deinit(&search->arena);
}

/* ---- the request ---- */

static json_t *locations_of(const LspSearch *search, bool declaration)
{
    json_t *list = json_array(), *range;
    size_t i;
    for (const LspFileUses *file = search->files.first; file; file = file->next) {
        bool declares = strcmp(file->path, search->target.path) == 0;
        json_array_foreach(file->ranges, i, range)
        {
            if (!declaration && declares && file->offs[i] == search->target.off) continue;
            json_array_append_new(list, json_pack("{s:s, s:O}", "uri", file->uri, "range", range));
        }
    }
    return list;
}

json_t *lsp_references(LspServer *server, const json_t *params)
{
    const LspAnalysis *analysis;
    uint32_t off;
    LspSearch search = {0};
    if (!lsp_analysis_at(server, params, &analysis, &off)) return NULL;
    Located at = analysis ? locate_at(analysis->program, off) : (Located){0};
    arena_init(&search.arena, 0);
    json_t *list = json_null();
    if (analysis && lsp_target_of(analysis, &at, &search.arena, &search.target)) {
        lsp_search(&search, server, analysis);
        const json_t *context = json_object_get(params, "context");
        list = locations_of(&search, !json_is_false(json_object_get(context, "includeDeclaration")));
    }
    lsp_search_deinit(&search);
    return list;
}
