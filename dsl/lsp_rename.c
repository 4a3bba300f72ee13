/* lsp_rename.c: another name for a declaration, in every file that uses it.
 *
 * A rename is tried before it is answered: the new texts are checked, and the rename is refused when a program has a
 * mistake that it did not have, or when the new name means something else somewhere, or more places than before. So a
 * rename never changes what a program does, whatever the rules for names are. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "grammar.h"
#include "lsp_reference.h"

static json_t *refuse_place(LspServer *server, const LspAnalysis *analysis, const Located *at)
{
    const char *name = source_text(&analysis->sources, at->span);
    int len = (int)at->span.len;
    if (at->kind == LOC_DECL && at->decl->is_server)
        return lsp_refuse(server, "this server is named like the file of its tools, %s.mcp.json", at->decl->name.text);
    if (at->kind == LOC_DECL && at->decl->module->of_server)
        return lsp_refuse(server, "'%.*s' is named by its server", len, name);
    if (at->kind == LOC_DECL && at->decl->kind == DECL_IMPORT)
        return lsp_refuse(server, "this module is named after its file; write 'as NAME' after the import first");
    return lsp_refuse(server, "'%.*s' belongs to the language", len, name);
}

json_t *lsp_prepare_rename(LspServer *server, const json_t *params)
{
    const LspAnalysis *analysis;
    uint32_t off;
    LspTarget target;
    if (!lsp_analysis_at(server, params, &analysis, &off)) return NULL;
    Located at = analysis ? locate_at(analysis->program, off) : (Located){0};
    if (at.kind == LOC_NONE) return json_null();
    if (!lsp_target_of(analysis, &at, analysis->sources.arena, &target)) return refuse_place(server, analysis, &at);
    return json_pack("{s:o, s:o}", "range", lsp_range(analysis, at.span), "placeholder", lsp_text(target.name));
}

static bool is_name(const char *text)
{
    for (const char *at = text; *at; at++)
        if (!isalpha((unsigned char)*at) && *at != '_' && (at == text || !isdigit((unsigned char)*at))) return false;
    return *text && strcmp(text, "_") != 0 && token_word_kind(text, strlen(text)) == TOK_ID;
}

/* ---- the new texts ---- */

/* Returns the new text of every use: the new name after the part of the path before it; NUL-terminated. */
static char *renamed_text(Arena *arena, const LspFileUses *file, size_t old_len, const char *name, size_t *len)
{
    size_t new_len = strlen(name), at = 0;
    *len = file->len + file->count * new_len - file->count * old_len;
    char *text = arena_alloc(arena, *len + 1), *to = text;
    for (uint32_t i = 0; i < file->count; i++) {
        memcpy(to, file->text + at, file->offs[i] - at);
        to += file->offs[i] - at;
        memcpy(to, name, new_len);
        to += new_len;
        at = file->offs[i] + old_len;
    }
    memcpy(to, file->text + at, file->len - at);
    CHECK(to + (file->len - at) == text + *len);
    return text;
}

/* Where an offset of the old text is in the new one: each use before it has moved it. */
static uint32_t moved(const LspFileUses *file, uint32_t off, size_t old_len, size_t new_len)
{
    uint32_t before = 0;
    while (before < file->count && file->offs[before] < off) before++;
    return off + before * (uint32_t)new_len - before * (uint32_t)old_len;
}

static void propose(LspSearch *search, const char *name)
{
    for (const LspFileUses *file = search->files.first; file; file = file->next) {
        if (!file->count) continue;
        LspProposal *proposal = arena_new(&search->arena, LspProposal);
        proposal->path = file->path;
        proposal->text = renamed_text(&search->arena, file, strlen(search->target.name), name, &proposal->len);
        LIST_APPEND(&search->server->proposals, proposal, next);
    }
}

static const LspProposal *proposal_for(const LspSearch *search, const char *path)
{
    for (const LspProposal *proposal = search->server->proposals.first; proposal; proposal = proposal->next)
        if (strcmp(proposal->path, path) == 0) return proposal;
    return NULL;
}

/* ---- the trial ---- */

static LspTarget moved_target(const LspSearch *search, const char *name)
{
    LspTarget target = search->target;
    for (const LspFileUses *file = search->files.first; file; file = file->next)
        if (strcmp(file->path, target.path) == 0)
            target.off = moved(file, target.off, strlen(target.name), strlen(name));
    target.name = name;
    return target;
}

static bool same_places(const LspSearch *search, const LspFileUses *before, const LspFileUses *after, const char *name)
{
    if (before->count != after->count) return false;
    for (uint32_t i = 0; i < before->count; i++)
        if (moved(before, before->offs[i], strlen(search->target.name), strlen(name)) != after->offs[i]) return false;
    return true;
}

/* False: refused. */
static bool try_file(LspSearch *search, const LspFileUses *before, const LspTarget *target)
{
    const LspProposal *proposal = proposal_for(search, before->path);
    LspDocument file = {.uri = (char *)before->uri, .path = (char *)before->path};
    file.text = (char *)(proposal ? proposal->text : before->text);
    file.len = proposal ? proposal->len : before->len;
    LspFileUses after;
    lsp_find_uses(search->server, &search->arena, &file, target, &after);
    json_decref(after.ranges);
    if (after.errors > before->errors)
        lsp_refuse(search->server, "'%s' cannot be used here: %s", target->name, after.error);
    else if (!same_places(search, before, &after, target->name))
        lsp_refuse(search->server, "'%s' means something else already where this name is used", target->name);
    return !search->server->refusal;
}

static bool try_rename(LspSearch *search, const char *name)
{
    for (const LspFileUses *file = search->files.first; file; file = file->next) {
        if (!file->count || !file->errors) continue;
        lsp_refuse(search->server, "a use may be missed while a program has mistakes; mend this one first: %s",
                   file->error);
        return false;
    }
    bool good = true;
    propose(search, name);
    LspTarget target = moved_target(search, name);
    for (const LspFileUses *file = search->files.first; file && good; file = file->next)
        good = try_file(search, file, &target);
    search->server->proposals.first = search->server->proposals.last = NULL; /* they are the search's */
    return good;
}

/* ---- the request ---- */

static json_t *edits_of(const LspSearch *search, const char *name)
{
    json_t *changes = json_object(), *range;
    size_t i;
    for (const LspFileUses *file = search->files.first; file; file = file->next) {
        json_t *edits = json_array();
        json_array_foreach(file->ranges, i, range)
            json_array_append_new(edits, json_pack("{s:O, s:s}", "range", range, "newText", name));
        if (file->count) json_object_set(changes, file->uri, edits);
        json_decref(edits);
    }
    return json_pack("{s:o}", "changes", changes);
}

static json_t *rename_to(LspServer *server, const LspAnalysis *analysis, const Located *at, const char *name)
{
    LspSearch search = {.also = name};
    json_t *result = NULL;
    arena_init(&search.arena, 0);
    if (!lsp_target_of(analysis, at, &search.arena, &search.target)) {
        refuse_place(server, analysis, at);
    } else if (strcmp(search.target.name, name) == 0) {
        result = json_pack("{s:{}}", "changes");
    } else {
        lsp_search(&search, server, analysis);
        if (try_rename(&search, name)) result = edits_of(&search, name);
    }
    lsp_search_deinit(&search);
    return result;
}

json_t *lsp_rename(LspServer *server, const json_t *params)
{
    const LspAnalysis *analysis;
    uint32_t off;
    const json_t *wanted = json_object_get(params, "newName");
    if (!json_is_string(wanted) || !lsp_analysis_at(server, params, &analysis, &off)) return NULL;
    const char *name = json_string_value(wanted);
    if (!is_name(name) || strlen(name) != json_string_length(wanted))
        return lsp_refuse(server, "'%.60s' cannot be a name", name);
    Located at = analysis ? locate_at(analysis->program, off) : (Located){0};
    if (at.kind == LOC_NONE) return lsp_refuse(server, "there is no name here");
    return rename_to(server, analysis, &at, name);
}
