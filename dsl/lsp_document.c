/* lsp_document.c: the texts that are open, positions in them, and their analyses. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lsp_internal.h"

/* ---- positions ---- */

/* Messages quote the source and may have cut a character in two. */
json_t *lsp_text(const char *text)
{
    json_t *string = json_string(text);
    if (string) return string;
    char *plain = strdup(text);
    for (char *at = plain; at && *at; at++)
        if ((unsigned char)*at >= 0x80) *at = '?';
    string = json_string(plain);
    free(plain);
    return string;
}

/* The bytes of the code point at text, and its UTF-16 units in *units. A broken byte counts as one character. */
static size_t point_size(const char *text, size_t len, size_t *units)
{
    unsigned char lead = (unsigned char)*text;
    size_t want = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    *units = want == 4 ? 2 : 1;
    return want <= len ? want : 1;
}

static bool read_count(const json_t *object, const char *key, size_t *count)
{
    const json_t *number = json_object_get(object, key);
    if (!json_is_integer(number) || json_integer_value(number) < 0) return false;
    *count = (size_t)json_integer_value(number);
    return true;
}

/* Beyond a line's end means its end, beyond the last line the end of the text; between the halves of a pair means
 * before it. */
bool lsp_offset_of(const char *text, size_t len, const json_t *position, size_t *offset)
{
    size_t line, character, size, units;
    if (!read_count(position, "line", &line) || !read_count(position, "character", &character)) return false;
    const char *at = text, *end = text + len;
    for (; line; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) break;
        at = newline + 1;
    }
    if (line) at = end;
    while (at < end && *at != '\n' && !(*at == '\r' && at + 1 < end && at[1] == '\n')) {
        size = point_size(at, (size_t)(end - at), &units);
        if (units > character) break;
        character -= units;
        at += size;
    }
    *offset = (size_t)(at - text);
    return true;
}

size_t lsp_units(const char *text, size_t len)
{
    size_t units, count = 0;
    for (size_t at = 0; at < len; count += units) at += point_size(text + at, len - at, &units);
    return count;
}

/* A file may be one long line with a name at every second byte, so the way to the last position is not gone again. */
static json_t *position_of(const LspAnalysis *analysis, uint32_t off)
{
    LspCursor *cursor = analysis->cursor;
    const Source *source = source_of(&analysis->sources, off);
    uint32_t start, line = source_line_of(&analysis->sources, off, &start), local = off - source->base;
    if (cursor->source != source || cursor->line_start != start || cursor->off > local)
        *cursor = (LspCursor){.source = source, .line_start = start, .off = start};
    cursor->character += lsp_units(source->text + cursor->off, local - cursor->off);
    cursor->off = local;
    return json_pack("{s:I, s:I}", "line", (json_int_t)line - 1, "character", (json_int_t)cursor->character);
}

json_t *lsp_range(const LspAnalysis *analysis, Span span)
{
    const Source *source = source_of(&analysis->sources, span.off);
    uint32_t end = span.off + span.len, last = source->base + source->len;
    return json_pack("{s:o, s:o}", "start", position_of(analysis, span.off), "end",
                     position_of(analysis, end < last ? end : last));
}

json_t *lsp_location(const LspAnalysis *analysis, Span span)
{
    const Source *source = source_of(&analysis->sources, span.off);
    json_t *uri = source == analysis->source ? json_string(analysis->document->uri) : lsp_uri_of_path(source->name);
    return json_pack("{s:o, s:o}", "uri", uri, "range", lsp_range(analysis, span));
}

/* ---- documents ---- */

LspDocument *lsp_document_find(const LspServer *server, const char *uri)
{
    for (LspDocument *document = server->documents.first; document; document = document->next)
        if (strcmp(document->uri, uri) == 0) return document;
    return NULL;
}

LspDocument *lsp_document_of(const LspServer *server, const json_t *params)
{
    const char *uri = json_string_value(json_object_get(json_object_get(params, "textDocument"), "uri"));
    return uri ? lsp_document_find(server, uri) : NULL;
}

static char *copy_bytes(const char *bytes, size_t len)
{
    char *copy = malloc(len + 1);
    if (!copy) abort();
    memcpy(copy, bytes, len);
    copy[len] = 0;
    return copy;
}

/* Whatever was understood of a text ends with the text, and what was said of those that may import it is old. */
static void note_change(LspServer *server)
{
    lsp_analysis_deinit(&server->analysis);
    for (LspDocument *document = server->documents.first; document; document = document->next)
        document->changed = document->changed || document->imports;
}

static void set_text(LspServer *server, LspDocument *document, char *text, size_t len)
{
    free(document->text);
    document->text = text;
    document->len = len;
    document->changed = true;
    note_change(server);
}

void lsp_did_open(LspServer *server, const json_t *params)
{
    const json_t *item = json_object_get(params, "textDocument"), *text = json_object_get(item, "text");
    const char *uri = json_string_value(json_object_get(item, "uri"));
    if (!uri || !json_is_string(text)) return;
    LspDocument *document = lsp_document_find(server, uri);
    if (!document) {
        document = calloc(1, sizeof *document);
        if (!document) abort();
        document->uri = copy_bytes(uri, strlen(uri));
        document->path = lsp_path_of_uri(uri);
        if (!document->path) document->path = copy_bytes(uri, strlen(uri));
        LIST_PREPEND(&server->documents, document, next);
    }
    document->version = json_integer_value(json_object_get(item, "version"));
    size_t len = json_string_length(text);
    set_text(server, document, copy_bytes(json_string_value(text), len), len);
}

/* One entry of contentChanges: a new text, or one for a range of the old. */
static bool change_text(LspServer *server, LspDocument *document, const json_t *change)
{
    const json_t *text = json_object_get(change, "text"), *range = json_object_get(change, "range");
    size_t from = 0, to = document->len;
    if (!json_is_string(text)) return false;
    if (range) {
        if (!lsp_offset_of(document->text, document->len, json_object_get(range, "start"), &from) ||
            !lsp_offset_of(document->text, document->len, json_object_get(range, "end"), &to) || from > to)
            return false;
    }
    CHECK(from <= to && to <= document->len);
    size_t added = json_string_length(text), len = from + added + (document->len - to);
    char *joined = malloc(len + 1);
    if (!joined) abort();
    memcpy(joined, document->text, from);
    memcpy(joined + from, json_string_value(text), added);
    memcpy(joined + from + added, document->text + to, document->len - to);
    joined[len] = 0;
    set_text(server, document, joined, len);
    return true;
}

void lsp_did_change(LspServer *server, const json_t *params)
{
    LspDocument *document = lsp_document_of(server, params);
    const json_t *changes = json_object_get(params, "contentChanges"), *change;
    size_t i;
    if (!document) return;
    document->version = json_integer_value(json_object_get(json_object_get(params, "textDocument"), "version"));
    json_array_foreach(changes, i, change)
    {
        if (!change_text(server, document, change)) return;
    }
}

static void free_document(LspDocument *document)
{
    free(document->uri);
    free(document->path);
    free(document->text);
    free(document);
}

/* A text that is not open has no diagnostics: the client drops them when it receives an empty list. */
void lsp_did_close(LspServer *server, const json_t *params)
{
    LspDocument *document = lsp_document_of(server, params);
    if (!document) return;
    lsp_notify(server, "textDocument/publishDiagnostics",
               json_pack("{s:s, s:[]}", "uri", document->uri, "diagnostics"));
    const bool was_open = LIST_REMOVE(&server->documents, document, next);
    CHECK(was_open);
    free_document(document);
    note_change(server); /* from now on its file counts */
}

void lsp_documents_free(LspServer *server)
{
    for (LspDocument *document; (document = LIST_TAKE(&server->documents, next));) free_document(document);
}

char *lsp_real_path(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : copy_bytes(path, strlen(path));
}

/* ---- analyses ---- */

/* A file that is imported: the text of the open document it is, else what is on the disk. Only plain files are
 * read: a pipe would stop the server. */
static int find_held(void *state, const char *path, const char **text, size_t *len)
{
    const LspServer *server = state;
    char real[PATH_MAX], other[PATH_MAX];
    struct stat st;
    if (!realpath(path, real)) return errno == ENOENT ? EIO : errno;
    for (const LspProposal *proposal = server->proposals.first; proposal; proposal = proposal->next) {
        if (strcmp(real, proposal->path) != 0) continue;
        *text = proposal->text;
        *len = proposal->len;
        return 0;
    }
    for (const LspDocument *document = server->documents.first; document; document = document->next) {
        if (!realpath(document->path, other) || strcmp(real, other) != 0) continue;
        *text = document->text;
        *len = document->len;
        return document->len > SOURCE_MAX ? EFBIG : 0;
    }
    if (stat(real, &st) != 0) return errno;
    return S_ISDIR(st.st_mode) ? EISDIR : !S_ISREG(st.st_mode) ? EINVAL : st.st_size > LSP_TEXT_MAX ? EFBIG : ENOENT;
}

void lsp_analysis_init(LspAnalysis *a, LspServer *server, const LspDocument *document, const char *text, size_t len)
{
    *a = (LspAnalysis){.document = document};
    arena_init(&a->arena, 0);
    a->cursor = arena_new(&a->arena, LspCursor);
    source_set_init(&a->sources, &a->arena);
    a->sources.overlay = find_held;
    a->sources.overlay_state = server;
    diag_init(&a->parse_diags, &a->arena, &a->sources);
    diag_init(&a->check_diags, &a->arena, &a->sources);
    a->source = source_add(&a->sources, document->path, text, len);
    a->module = module_load(&a->sources, a->source, server->paths, &a->arena, &a->parse_diags);
    a->program = check_program(a->module, &a->sources, &a->arena, &a->check_diags);
}

void lsp_analysis_deinit(LspAnalysis *analysis)
{
    if (analysis->document) arena_deinit(&analysis->arena);
    *analysis = (LspAnalysis){0};
}

const LspAnalysis *lsp_analyse(LspServer *server, const LspDocument *document)
{
    if (document->len > LSP_TEXT_MAX) return NULL;
    if (server->analysis.document == document) return &server->analysis;
    lsp_analysis_deinit(&server->analysis);
    lsp_analysis_init(&server->analysis, server, document, document->text, document->len);
    return &server->analysis;
}

bool lsp_analysis_at(LspServer *server, const json_t *params, const LspAnalysis **analysis, uint32_t *off)
{
    const LspDocument *document = lsp_document_of(server, params);
    size_t local;
    if (!document || !lsp_offset_of(document->text, document->len, json_object_get(params, "position"), &local))
        return false;
    *analysis = lsp_analyse(server, document);
    if (*analysis) *off = (*analysis)->source->base + (uint32_t)local;
    return true;
}
