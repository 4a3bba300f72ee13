/* json_read.c: JSON texts, read several times as fast as by jansson, which takes every byte through its decoder. What is
 * rare is left to jansson: fractions, very long numbers and escapes by number one by one, and very deep values and every
 * error from the start of the text. So both read the same, and only jansson refuses. */
#include <stdlib.h>
#include <string.h>

#include "base/sys_memory.h"
#include "value/json.h"

enum { DEPTH_MOST = 64, DIGITS_MOST = 18 }; /* so many digits cannot overflow */

typedef struct Reader {
    const char *at, *end;
    size_t flags; /* jansson's */
    int depth;
} Reader;

static void skip_blanks(Reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
}

/* What stands behind blanks. */
static bool takes(Reader *reader, char c)
{
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != c) return false;
    reader->at++;
    return true;
}

/* A number or a text, from its first byte to where the reader is. */
static json_t *read_by_jansson(const Reader *reader, const char *from)
{
    return json_loadb(from, (size_t)(reader->at - from), reader->flags | JSON_DECODE_ANY, NULL);
}

/* NULL: not only escapes by letters, or an error. */
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

/* The reader is at its opening quote. */
static json_t *read_text(Reader *reader)
{
    const char *from = reader->at + 1, *at = from, *end = reader->end;
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
    const size_t len = (size_t)(at - from);
    reader->at = at + 1;
    if (!escaped) return seen & 0x80 ? json_stringn(from, len) : json_stringn_nocheck(from, len);
    json_t *json = unescaped(from, len);
    return json ? json : read_by_jansson(reader, from - 1);
}

/* What follows must be a comma or the end of a list or an object: the caller refuses further digits. */
static json_t *read_number(Reader *reader)
{
    const char *from = reader->at, *at = from + (*from == '-'), *digits = at, *end = reader->end;
    int64_t value = 0;
    for (; at < end && *at >= '0' && *at <= '9' && at - digits < DIGITS_MOST; at++) value = 10 * value + (*at - '0');
    const bool rest = at < end && *at && strchr("0123456789+-.eE", *at);
    reader->at = at;
    if (!rest && at > digits && (*digits != '0' || at - from == 1)) return json_integer(*from == '-' ? -value : value);
    while (reader->at < end && *reader->at && strchr("0123456789+-.eE", *reader->at)) reader->at++;
    return read_by_jansson(reader, from);
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

/* A name that stands for itself; false: another one, at which the reader still is. */
static bool takes_plain_name(Reader *reader, const char **name, size_t *len)
{
    const char *from = reader->at + 1, *at = from;
    while (at < reader->end && *at >= ' ' && *at <= '~' && *at != '"' && *at != '\\') at++;
    if (at == reader->end || *at != '"') return false;
    *name = from;
    *len = (size_t)(at - from);
    reader->at = at + 1;
    return true;
}

static bool read_member(Reader *reader, json_t *object)
{
    const char *name = NULL;
    size_t len = 0;
    json_t *text = NULL;
    if (!takes(reader, '"')) return false;
    reader->at--;
    if (!takes_plain_name(reader, &name, &len) && (text = read_text(reader))) {
        name = json_string_value(text);
        len = json_string_length(text);
        if (memchr(name, '\0', len)) name = NULL; /* jansson has no such names */
    }
    const bool twice = name && reader->flags & JSON_REJECT_DUPLICATES && json_object_getn(object, name, len);
    const bool ok = name && !twice && takes(reader, ':') &&
                    json_object_setn_new_nocheck(object, name, len, read_value(reader)) == 0;
    json_decref(text);
    return ok;
}

static json_t *read_object(Reader *reader)
{
    json_t *object = json_object();
    bool ok = object;
    reader->at++;
    if (ok && takes(reader, '}')) return object;
    do ok = ok && read_member(reader, object);
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
    skip_blanks(reader);
    if (reader->at == reader->end) return NULL;
    switch (*reader->at) {
    case '"': return read_text(reader);
    case '{':
    case '[': return read_nested(reader);
    case 't': return read_word(reader, "true", json_true());
    case 'f': return read_word(reader, "false", json_false());
    case 'n': return read_word(reader, "null", json_null());
    default: return read_number(reader);
    }
}

json_t *tfy__json_read(const char *text, size_t len, size_t flags, json_error_t *error)
{
    Reader reader = {.at = text, .end = text + len, .flags = flags};
    json_t *json = read_value(&reader);
    skip_blanks(&reader);
    const bool fits = flags & JSON_DECODE_ANY || json_is_object(json) || json_is_array(json);
    if (json && fits && reader.at == reader.end) return json;
    json_decref(json);
    return json_loadb(text, len, flags, error);
}
