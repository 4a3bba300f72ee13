/* json_read.c: JSON texts as this program writes them, read several times as fast as by jansson, which takes every byte
 * through its decoder. What is written in another way is left to jansson, from the start: blanks, numbers other than
 * integers, escapes by number, names that are not plain, very deep values, and every error. So both read the same, and
 * only jansson refuses. */
#include <stdlib.h>
#include <string.h>

#include "base/sys_memory.h"
#include "value/json.h"

enum { DEPTH_MOST = 64, DIGITS_MOST = 18 }; /* so many digits cannot overflow */

typedef struct Reader {
    const char *at, *end;
    int depth;
} Reader;

static bool takes(Reader *reader, char c)
{
    if (reader->at >= reader->end || *reader->at != c) return false;
    reader->at++;
    return true;
}

static json_t *unescaped(const char *text, size_t len)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char *out = tfy__sys_malloc(len);
    size_t n = 0;
    bool ok = out;
    for (size_t i = 0; ok && i < len; i++) {
        const char *letter = text[i] == '\\' ? memchr(letters, text[++i], sizeof letters - 1) : &text[i];
        ok = letter;
        if (ok) out[n++] = letter == &text[i] ? *letter : bytes[letter - letters];
    }
    json_t *json = ok ? json_stringn(out, n) : NULL;
    free(out);
    return json;
}

static json_t *read_text(Reader *reader)
{
    const char *from = ++reader->at, *at = from, *end = reader->end;
    unsigned char seen = 0;
    bool escaped = false;
    for (; at < end && *at != '"'; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c < ' ') return NULL;
        seen |= c;
        if (c != '\\') continue;
        escaped = true;
        if (++at == end) return NULL;
    }
    if (at == end) return NULL;
    reader->at = at + 1;
    if (escaped) return unescaped(from, (size_t)(at - from));
    return seen & 0x80 ? json_stringn(from, (size_t)(at - from)) : json_stringn_nocheck(from, (size_t)(at - from));
}

/* What follows must be a comma or the end of a list or an object, so neither a fraction nor further digits are lost. */
static json_t *read_int(Reader *reader)
{
    const bool negative = takes(reader, '-');
    const char *from = reader->at, *at = from;
    int64_t value = 0;
    for (; at < reader->end && *at >= '0' && *at <= '9' && at - from < DIGITS_MOST; at++)
        value = 10 * value + (*at - '0');
    reader->at = at;
    if (at == from || (*from == '0' && (negative || at > from + 1))) return NULL;
    return json_integer(negative ? -value : value);
}

static json_t *read_word(Reader *reader, const char *word, json_t *json)
{
    const size_t len = strlen(word);
    if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, word, len) != 0) return NULL;
    reader->at += len;
    return json;
}

static json_t *read_value(Reader *reader);

static json_t *read_list(Reader *reader)
{
    json_t *list = json_array();
    bool ok = list;
    reader->at++;
    if (ok && takes(reader, ']')) return list;
    do ok = ok && json_array_append_new(list, read_value(reader)) == 0;
    while (ok && takes(reader, ','));
    if (ok && takes(reader, ']')) return list;
    json_decref(list);
    return NULL;
}

/* A name and its colon. */
static bool read_name(Reader *reader, const char **name, size_t *len)
{
    if (!takes(reader, '"')) return false;
    const char *at = reader->at;
    while (at < reader->end && *at >= ' ' && *at <= '~' && *at != '"' && *at != '\\') at++;
    *name = reader->at;
    *len = (size_t)(at - reader->at);
    reader->at = at;
    return takes(reader, '"') && takes(reader, ':');
}

static json_t *read_object(Reader *reader)
{
    json_t *object = json_object();
    const char *name;
    size_t len;
    bool ok = object;
    reader->at++;
    if (ok && takes(reader, '}')) return object;
    do
        ok = ok && read_name(reader, &name, &len) &&
             json_object_setn_new_nocheck(object, name, len, read_value(reader)) == 0;
    while (ok && takes(reader, ','));
    if (ok && takes(reader, '}')) return object;
    json_decref(object);
    return NULL;
}

static json_t *read_nested(Reader *reader)
{
    if (reader->depth == DEPTH_MOST) return NULL;
    reader->depth++;
    json_t *json = *reader->at == '{' ? read_object(reader) : read_list(reader);
    reader->depth--;
    return json;
}

static json_t *read_value(Reader *reader)
{
    if (reader->at >= reader->end) return NULL;
    switch (*reader->at) {
    case '"': return read_text(reader);
    case '{':
    case '[': return read_nested(reader);
    case 't': return read_word(reader, "true", json_true());
    case 'f': return read_word(reader, "false", json_false());
    case 'n': return read_word(reader, "null", json_null());
    default: return read_int(reader);
    }
}

json_t *tfy__json_read(const char *text, size_t len, json_error_t *error)
{
    Reader reader = {.at = text, .end = text + len};
    json_t *json = len && (*text == '{' || *text == '[') ? read_nested(&reader) : NULL;
    if (json && reader.at == reader.end) return json;
    json_decref(json);
    return json_loadb(text, len, JSON_ALLOW_NUL, error);
}
