/* code_tags.c: see code_tags.h. */
#include "effects/code_tags.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { LINE_MOST = 1 << 16 }; /* bytes of one line of the answer: a longer one is left out */

/* No options from files or the environment; every definition with its kind, line, end, signature and scope. Data and
 * differences between files define nothing. */
const char *const tfy__tags_words[] = {
    "ctags",        "--options=NONE",         "--quiet", "--_interactive=sandbox", "--fields=+neSsKlf",
    "--fields=-kt", "--languages=-JSON,Diff", NULL};

void tfy__tags_free(TfyTags *tags)
{
    tfy__buffer_free(&tags->input);
    free(tags->requests);
    *tags = (TfyTags){0};
}

void tfy__tags_reset(TfyTags *tags)
{
    tfy__buffer_reset(&tags->input);
    tags->count = tags->done = 0;
}

bool tfy__tags_ask(TfyTags *tags, uint32_t file, const char *path, const char *text, size_t len)
{
    TfyBuffer *input = &tags->input;
    const size_t begin = input->len;
    if (!GROW(tags->requests, tags->cap, tags->count + 1, 64)) return false;
    tfy__buffer_text(input, "{\"command\":\"generate-tags\",\"filename\":");
    tfy__buffer_json_string(input, path, strlen(path));
    tfy__buffer_printf(input, ",\"size\":%zu}\n", len);
    tags->requests[tags->count++] = (TfyTagsRequest){.file = file, .begin = begin, .at = input->len, .len = len};
    tfy__buffer_add(input, text, len);
    return !input->failed;
}

/* ---- one definition ---- */

/* Words, keys and headings inside of documents are no definitions that code could use, and these kinds say nothing. */
static bool is_noise(const char *kind)
{
    static const char *const kinds[] = {"heredoc", "local", "parameter", "unknown"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0) return true;
    return false;
}

static bool is_shown(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) return false;
    return len > 0;
}

/* A text of the tag, cut to what is kept; 0: it has none that can be shown. */
static uint32_t member_of(TfyCodeIndex *index, const json_t *tag, const char *name)
{
    const json_t *member = json_object_get(tag, name);
    const char *text = json_string_value(member);
    size_t len = json_string_length(member);
    if (!text || !is_shown(text, len)) return 0;
    if (len > TFY_CODE_TEXT)
        for (len = TFY_CODE_TEXT; len && ((unsigned char)text[len] & 0xC0) == 0x80;) len--;
    return tfy__code_string(index, text, len);
}

static uint32_t line_text(TfyCodeIndex *index, const char *at, const char *end)
{
    char text[TFY_CODE_TEXT];
    const size_t len = tfy__code_line(at, end, text);
    return len ? tfy__code_string(index, text, len) : 0;
}

/* What is added to a request's file. */
typedef struct Taking {
    TfyTags *tags;
    TfyCodeIndex *index;
    uint32_t from; /* the first symbol of the file */
} Taking;

static void take_tag(const Taking *taking, const json_t *tag)
{
    TfyCodeIndex *index = taking->index;
    const json_t *name = json_object_get(tag, "name");
    const char *kind = json_string_value(json_object_get(tag, "kind"));
    const json_int_t line = json_integer_value(json_object_get(tag, "line"));
    const json_int_t end = json_integer_value(json_object_get(tag, "end"));
    if (!json_is_string(name) || !kind || line < 1 || line > INT32_MAX || is_noise(kind)) return;
    if (json_string_length(name) > TFY_CODE_NAME || index->symbol_count - taking->from >= TFY_CODE_SYMBOLS) return;
    TfyCodeSymbol symbol = {.name = member_of(index, tag, "name"),
                            .kind = member_of(index, tag, "kind"),
                            .scope = member_of(index, tag, "scope"),
                            .signature = member_of(index, tag, "signature"),
                            .local = json_is_true(json_object_get(tag, "file")),
                            .line = (uint32_t)line,
                            .end = end >= line && end <= INT32_MAX ? (uint32_t)end : (uint32_t)line};
    if (!symbol.name || !symbol.kind) return;
    tfy__code_add_symbol(index, &symbol);
    TfyCodeFile *file = &index->files[taking->tags->requests[taking->tags->done].file];
    if (!file->language) file->language = member_of(index, tag, "language");
}

/* ---- one file ---- */

/* Gives each symbol, by line, the text of its line; one that is in no line is left out. */
static void set_texts(const Taking *taking, const TfyTagsRequest *request)
{
    TfyCodeIndex *index = taking->index;
    TfyCodeFile *file = &index->files[request->file];
    const char *at = taking->tags->input.data + request->at, *end = at + request->len;
    uint32_t line = 1, kept = 0;
    for (uint32_t i = 0; i < file->symbol_count; i++) {
        TfyCodeSymbol *symbol = &index->symbols[taking->from + i];
        for (const char *next; at && line < symbol->line; line++)
            at = (next = memchr(at, '\n', (size_t)(end - at))) ? next + 1 : NULL;
        if (!at) break;
        symbol->text = line_text(index, at, end);
        kept++;
    }
    file->symbol_count = kept;
    index->symbol_count = taking->from + kept;
}

static void end_request(Taking *taking)
{
    TfyTags *tags = taking->tags;
    const TfyTagsRequest *request = &tags->requests[tags->done++];
    tfy__code_end_symbols(taking->index, request->file, taking->from);
    set_texts(taking, request);
    taking->from = taking->index->symbol_count;
}

static bool is_word(const json_t *line, const char *name, const char *word)
{
    const char *text = json_string_value(json_object_get(line, name));
    return text && strcmp(text, word) == 0;
}

/* *met: it is a line of universal-ctags. */
static void take_line(Taking *taking, const char *text, size_t len, bool *met)
{
    json_t *line = len <= LINE_MOST ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (is_word(line, "_type", "program") && is_word(line, "name", "Universal Ctags")) *met = true;
    if (is_word(line, "_type", "tag")) take_tag(taking, line);
    if (is_word(line, "_type", "completed")) end_request(taking);
    json_decref(line);
}

bool tfy__tags_take(TfyTags *tags, TfyCodeIndex *index, const char *answer, size_t len)
{
    Taking taking = {.tags = tags, .index = index, .from = index->symbol_count};
    bool met = false;
    for (const char *at = answer, *end = answer + len, *stop; tags->done < tags->count; at = stop + 1) {
        if (!(stop = memchr(at, '\n', (size_t)(end - at)))) break;
        take_line(&taking, at, (size_t)(stop - at), &met);
    }
    index->symbol_count = taking.from; /* without those of a request that was cut */
    if (met && tags->done < tags->count) tags->done++;
    return met;
}
