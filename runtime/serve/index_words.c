/* index_words.c: see index_query.h: what somebody searches for. FTS5 gathers all rows of all words that start alike before it
 * has the first of them: a third of a second when a million runs have one. It walks rows of whole words from the newest
 * on. So the start of a word is written as the words that it is the start of, when they are few. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "serve/index_query.h"
#include "tfy.h"

enum { CONTINUED_MOST = 16, WORD_MOST = 64 /* bytes of a word that is looked up */ };

/* Whether FTS5 has the word as it is, but for its case: one token of ASCII. */
static bool is_plain(const char *word, size_t len)
{
    size_t i = 0;
    while (i < len && isascii((unsigned char)word[i]) && isalnum((unsigned char)word[i])) i++;
    return i == len && len < WORD_MOST;
}

static void quote(TfyBuffer *out, const char *word, size_t len)
{
    tfy__buffer_char(out, '"');
    tfy__buffer_add(out, word, len);
    tfy__buffer_char(out, '"');
}

/* Writes all words that start so, with OR between them. False: they are many, or unknown. */
static bool write_continued(TfyIndexReader *reader, const char *start, TfyBuffer *out)
{
    sqlite3_stmt *row = NULL;
    TfyBuffer from = {0};
    int count = 0;
    const size_t len = strlen(start);
    bool few =
        sqlite3_prepare_v2(reader->db, "SELECT term FROM word WHERE term>=? LIMIT 1", -1, &row, NULL) == SQLITE_OK;
    tfy__buffer_text(&from, start);
    while (few && !from.failed) {
        sqlite3_bind_text(row, 1, from.data, -1, SQLITE_STATIC);
        const int code = sqlite3_step(row);
        const char *term = code == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
        if (!term || strncmp(term, start, len) != 0) {
            few = code == SQLITE_ROW || code == SQLITE_DONE;
            break;
        }
        tfy__buffer_text(out, count ? " OR " : "");
        quote(out, term, strlen(term));
        tfy__buffer_reset(&from);
        tfy__buffer_printf(&from, "%s\x01", term); /* before whatever else starts with it, and behind all its rows */
        sqlite3_reset(row);
        few = ++count < CONTINUED_MOST;
    }
    if (few && !count) quote(out, start, len); /* nothing has it */
    sqlite3_finalize(row);
    tfy__buffer_free(&from);
    return few;
}

static void write_last(TfyIndexReader *reader, const char *word, size_t len, TfyBuffer *out)
{
    char start[WORD_MOST];
    TfyBuffer continued = {0};
    bool few = false;
    if (is_plain(word, len)) {
        for (size_t i = 0; i <= len; i++) start[i] = i < len ? (char)tolower((unsigned char)word[i]) : '\0';
        few = write_continued(reader, start, &continued) && !continued.failed;
    }
    if (few) {
        tfy__buffer_printf(out, "(%s)", continued.data);
    } else {
        quote(out, word, len);
        tfy__buffer_char(out, '*');
    }
    tfy__buffer_free(&continued);
}

bool tfy__query_words(TfyIndexReader *reader, const char *words, TfyBuffer *out)
{
    static const char apart[] = " \t\n\r\"";
    const char *word = words + strspn(words, apart);
    if (!*word) return false;
    for (;;) {
        const size_t len = strcspn(word, apart);
        const char *next = word + len + strspn(word + len, apart);
        if (!*next) {
            write_last(reader, word, len, out);
            return true;
        }
        quote(out, word, len);
        tfy__buffer_text(out, " AND ");
        word = next;
    }
}
