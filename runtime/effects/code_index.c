/* code_index.c: see code_index.h. */
#include "effects/code_index.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/check.h"
#include "base/grow.h"

void tfy__code_index_free(TfyCodeIndex *index)
{
    tfy__buffer_free(&index->text);
    tfy__index_free(&index->by_key);
    free(index->starts);
    free(index->keys);
    free(index->seen);
    free(index->files);
    free(index->symbols);
    free(index->uses);
    *index = (TfyCodeIndex){0};
}

/* ---- strings ---- */

static uint64_t key_of(const void *owner, uint32_t number)
{
    return ((const TfyCodeIndex *)owner)->keys[number - 1];
}

static bool is_text(const TfyCodeIndex *index, uint32_t string, const char *text, size_t len)
{
    const char *own = tfy__code_text(index, string);
    return strncmp(own, text, len) == 0 && !own[len];
}

static uint32_t add_string(TfyCodeIndex *index, uint64_t key, const char *text, size_t len)
{
    const uint32_t number = index->string_count + 1;
    if (!GROW(index->starts, index->start_cap, number, 256) || !GROW(index->keys, index->key_cap, number, 256) ||
        !tfy__index_reserve(&index->by_key, key_of, index)) {
        index->failed = true;
        return 0;
    }
    index->starts[number - 1] = (uint32_t)index->text.len;
    index->keys[number - 1] = key;
    tfy__buffer_add(&index->text, text, len);
    tfy__buffer_add(&index->text, "", 1);
    index->failed |= index->text.failed;
    if (index->text.failed) return 0;
    tfy__index_add(&index->by_key, number, key_of, index);
    return index->string_count = number;
}

/* Different strings with one hash get keys one after the other. */
uint32_t tfy__code_string(TfyCodeIndex *index, const char *text, size_t len)
{
    uint64_t key = XXH3_64bits(text, len);
    uint32_t found;
    while ((found = tfy__index_find(&index->by_key, key, key_of, index))) {
        if (is_text(index, found, text, len)) return found;
        key = tfy__mix(key + 1);
    }
    return add_string(index, key, text, len);
}

/* ---- files ---- */

uint32_t tfy__code_add_file(TfyCodeIndex *index, const char *path, const TfyCodeStamp *stamp)
{
    const uint32_t string = tfy__code_string(index, path, strlen(path)), number = index->file_count;
    if (!string || !GROW(index->files, index->file_cap, number + 1, 64)) {
        index->failed = true;
        return 0;
    }
    index->files[number] =
        (TfyCodeFile){.stamp = *stamp, .path = string, .symbol_at = index->symbol_count, .use_at = index->use_count};
    index->file_count++;
    return number;
}

void tfy__code_add_symbol(TfyCodeIndex *index, const TfyCodeSymbol *symbol)
{
    if (GROW(index->symbols, index->symbol_cap, index->symbol_count + 1, 256))
        index->symbols[index->symbol_count++] = *symbol;
    else
        index->failed = true;
}

/* On one line, what contains the others comes first. */
static int by_line(const void *a, const void *b, void *arg)
{
    const TfyCodeSymbol *one = a, *other = b;
    if (one->line != other->line) return one->line < other->line ? -1 : 1;
    const size_t depth = strlen(tfy__code_text(arg, one->scope)),
                 other_depth = strlen(tfy__code_text(arg, other->scope));
    if (depth != other_depth) return depth < other_depth ? -1 : 1;
    const int order = strcmp(tfy__code_text(arg, one->name), tfy__code_text(arg, other->name));
    return order ? order : strcmp(tfy__code_text(arg, one->kind), tfy__code_text(arg, other->kind));
}

void tfy__code_end_symbols(TfyCodeIndex *index, uint32_t file, uint32_t from)
{
    TfyCodeFile *of = &index->files[file];
    CHECK(from <= index->symbol_count);
    of->symbol_at = from;
    of->symbol_count = index->symbol_count - from;
    if (of->symbol_count) qsort_r(index->symbols + from, of->symbol_count, sizeof *index->symbols, by_line, index);
}

/* ---- uses ---- */

static bool begins_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool is_in_word(unsigned char c)
{
    return begins_word(c) || (c >= '0' && c <= '9');
}

const char *tfy__code_word(const char *at, const char *end, const char **word)
{
    while (at < end) {
        const char *start = at;
        while (at < end && is_in_word((unsigned char)*at)) at++;
        if (at > start && begins_word((unsigned char)*start)) {
            *word = start;
            return at;
        }
        if (at == start) at++; /* else it is a number with its suffix */
    }
    return NULL;
}

size_t tfy__code_line(const char *at, const char *end, char text[TFY_CODE_TEXT])
{
    size_t len = 0;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    while (at < stop && (unsigned char)*at <= ' ') at++;
    for (; at < stop && len < TFY_CODE_TEXT; at++) text[len++] = (unsigned char)*at < ' ' || *at == 0x7f ? ' ' : *at;
    for (; at < stop && len && ((unsigned char)*at & 0xC0) == 0x80; at--) len--; /* no part of a character */
    while (len && text[len - 1] == ' ') len--;
    return len;
}

static void add_use(TfyCodeIndex *index, TfyCodeFile *file, uint32_t name)
{
    const uint32_t before = index->seen_cap;
    if (!GROW(index->seen, index->seen_cap, name, 256) ||
        !GROW(index->uses, index->use_cap, index->use_count + 1, 256)) {
        index->failed = true;
        return;
    }
    memset(index->seen + before, 0, (index->seen_cap - before) * sizeof *index->seen);
    const uint32_t at = index->seen[name - 1];
    if (at > file->use_at && at <= index->use_count && index->uses[at - 1].name == name) {
        index->uses[at - 1].count++;
        return;
    }
    index->uses[index->use_count++] = (TfyCodeUse){name, 1};
    index->seen[name - 1] = index->use_count;
    file->use_count++;
}

void tfy__code_add_uses(TfyCodeIndex *index, const char *text, size_t len)
{
    const char *word, *end = text + len;
    CHECK(index->file_count);
    for (const char *at = text; !index->failed && (at = tfy__code_word(at, end, &word));) {
        if (at - word < 2 || at - word > TFY_CODE_NAME) continue;
        const uint32_t name = tfy__code_string(index, word, (size_t)(at - word));
        if (name) add_use(index, &index->files[index->file_count - 1], name);
    }
}

/* ---- copies ---- */

static uint32_t copy_string(TfyCodeIndex *index, const TfyCodeIndex *from, uint32_t string, uint32_t *strings)
{
    const char *text = tfy__code_text(from, string);
    if (string && !strings[string]) strings[string] = tfy__code_string(index, text, strlen(text));
    return string ? strings[string] : 0;
}

void tfy__code_copy_file(TfyCodeIndex *index, const TfyCodeIndex *from, const TfyCodeFile *file, uint32_t *strings)
{
    const uint32_t number = tfy__code_add_file(index, tfy__code_text(from, file->path), &file->stamp);
    if (index->failed || !GROW(index->uses, index->use_cap, index->use_count + file->use_count, 256)) {
        index->failed = true;
        return;
    }
    for (uint32_t i = 0; i < file->use_count; i++) {
        const TfyCodeUse *use = &from->uses[file->use_at + i];
        index->uses[index->use_count++] = (TfyCodeUse){copy_string(index, from, use->name, strings), use->count};
    }
    index->files[number].language = copy_string(index, from, file->language, strings);
    index->files[number].use_count = file->use_count;
    for (uint32_t i = 0; i < file->symbol_count; i++) {
        TfyCodeSymbol copy = from->symbols[file->symbol_at + i];
        uint32_t *const texts[] = {&copy.name, &copy.kind, &copy.scope, &copy.signature, &copy.text};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            *texts[k] = copy_string(index, from, *texts[k], strings);
        tfy__code_add_symbol(index, &copy);
    }
    index->files[number].symbol_count = index->symbol_count - index->files[number].symbol_at;
}
