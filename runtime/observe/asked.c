/* asked.c: see asked.h. */
#include "observe/asked.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

enum { WORD_MOST = 160, WORD_HEAD = 80, WORD_TAIL = 40 };

/* How a shell reads a word. */
static const char *quote_of(const char *word, size_t len)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)word[i] < ' ' || word[i] == 0x7f) return "$'";
    return len && strspn(word, plain) == len ? "" : "'";
}

/* One piece of a word, within its quotes. */
static void add_piece(TfyBuffer *out, const char *text, size_t len, const char *quote)
{
    static const char letters[] = "\n\t\r\\'";
    static const char *const in_dollar[] = {"\\n", "\\t", "\\r", "\\\\", "\\'"};
    for (size_t i = 0, from = 0; i <= len; i++) {
        const char *letter = i < len && text[i] ? strchr(letters, text[i]) : NULL;
        const bool is_broken = letter && letter < letters + 3, is_escaped = letter && quote[0] == '$';
        if (i < len && !is_broken && !is_escaped && !(letter && *letter == '\'' && *quote)) continue;
        tfy__buffer_shown(out, text + from, i - from);
        from = i + 1;
        if (i < len) tfy__buffer_text(out, is_broken || is_escaped ? in_dollar[letter - letters] : "'\\''");
    }
}

/* What is shown of a word: all of it, or its two ends. */
typedef struct Word {
    const char *head, *tail; /* tail NULL: head is all */
    size_t head_len, tail_len, bytes;
    char digest[17]; /* its first 8 bytes */
} Word;

/* A word that was too long for the record: [HEAD, bytes in all, "sha256 of all", TAIL]. */
static Word read_word(const json_t *json)
{
    const json_t *cut = json_is_array(json) ? json : NULL, *text = cut ? json_array_get(cut, 0) : json;
    const json_t *tail = json_array_get(cut, 3);
    Word word = {.head = "", .tail = json_string_value(tail)};
    if (json_is_string(text)) word.head = json_string_value(text);
    word.bytes = word.head_len = json_is_string(text) ? json_string_length(text) : 0;
    if (!word.tail) return word;
    word.tail_len = json_string_length(tail);
    word.bytes = (size_t)json_integer_value(json_array_get(cut, 1));
    const char *digest = json_string_value(json_array_get(cut, 2));
    snprintf(word.digest, sizeof word.digest, "%s", digest ? digest : "");
    return word;
}

static void cut_word(Word *word)
{
    unsigned char digest[TFY_SHA256_SIZE];
    if (word->head_len + word->tail_len <= WORD_MOST) return;
    if (!word->tail) {
        tfy__sha256(word->head, word->head_len, digest);
        for (size_t i = 0; i < 8; i++) snprintf(word->digest + 2 * i, 3, "%02x", digest[i]);
        word->tail = word->head;
        word->tail_len = word->head_len;
    }
    if (word->tail_len > WORD_TAIL) word->tail += word->tail_len - WORD_TAIL, word->tail_len = WORD_TAIL;
    if (word->head_len > WORD_HEAD) word->head_len = WORD_HEAD;
    while (word->head_len && ((unsigned char)word->head[word->head_len] & 0xc0) == 0x80) word->head_len--;
    while (word->tail_len && ((unsigned char)word->tail[0] & 0xc0) == 0x80) word->tail++, word->tail_len--;
}

static void add_word(TfyBuffer *out, const json_t *json, const char *quote, bool details)
{
    Word word = read_word(json);
    if (!quote) quote = quote_of(word.head, word.head_len);
    if (!details) cut_word(&word);
    tfy__buffer_text(out, quote);
    add_piece(out, word.head, word.head_len, quote);
    if (word.tail) {
        tfy__buffer_printf(out, "…(%zu bytes, sha256 %s)…", word.bytes, word.digest);
        add_piece(out, word.tail, word.tail_len, quote);
    }
    tfy__buffer_text(out, *quote ? "'" : "");
}

static bool is_label(const json_t *row, const char *label)
{
    const char *text = json_string_value(json_array_get(row, 0));
    return text && strcmp(text, label) == 0;
}

/* notify(text: "hello", n: 3) */
static void add_call(TfyBuffer *out, const json_t *row, bool details)
{
    const size_t count = json_array_size(row);
    add_word(out, json_array_get(row, 1), "", details);
    tfy__buffer_char(out, '(');
    for (size_t i = 2; i < count; i++) {
        if (i > 2) tfy__buffer_text(out, ", ");
        add_word(out, json_array_get(row, i), "", details);
    }
    tfy__buffer_char(out, ')');
}

/* Behind an argv: "   (no sandbox)", "   (sandbox builds, readonly)". */
static void add_sandbox(TfyBuffer *out, const json_t *row)
{
    const size_t count = json_array_size(row);
    if (!is_label(row, "sandbox")) return;
    tfy__buffer_text(out, count > 1 ? "   (sandbox " : "   (no sandbox");
    for (size_t i = 1; i < count; i++) {
        if (i > 1) tfy__buffer_text(out, ", ");
        add_word(out, json_array_get(row, i), "", true);
    }
    tfy__buffer_char(out, ')');
}

static void add_label(TfyBuffer *out, const json_t *label)
{
    const size_t from = out->len;
    add_word(out, label, "", true);
    do tfy__buffer_char(out, ' ');
    while (!out->failed && out->len < from + 10);
}

static void add_rows(TfyBuffer *out, const char *indent, const json_t *rows, const char *quote, bool details)
{
    const json_t *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        if (is_label(row, "sandbox")) continue; /* it stands behind the argv */
        tfy__buffer_text(out, indent);
        add_label(out, json_array_get(row, 0));
        if (is_label(row, "calls")) {
            add_call(out, row, details);
        } else {
            const char *plain = is_label(row, "sends") ? "" : quote;
            for (size_t word = 1; word < json_array_size(row); word++) {
                if (word > 1) tfy__buffer_char(out, ' ');
                add_word(out, json_array_get(row, word), plain, details);
            }
        }
        if (is_label(row, "runs")) add_sandbox(out, json_array_get(rows, i + 1));
        tfy__buffer_char(out, '\n');
    }
}

void tfy__asked_lines(TfyBuffer *out, const char *indent, const json_t *call, const json_t *origins, bool details)
{
    add_rows(out, indent, call, NULL, details);
    add_rows(out, indent, origins, "", true);
}

void tfy__asked_why(TfyBuffer *out, const char *indent, const json_t *origins)
{
    const json_t *row = json_array_get(origins, 0);
    const char *from = json_string_value(json_array_get(row, 1)), *end = from ? strrchr(from, ',') : NULL;
    if (!from) return;
    tfy__buffer_printf(out, "%s--yes does not answer this: '", indent);
    add_word(out, json_array_get(row, 0), "", true);
    tfy__buffer_text(out, "' comes ");
    tfy__buffer_shown(out, from, end ? (size_t)(end - from) : strlen(from));
    tfy__buffer_char(out, '\n');
}
