/* query.c: see reader.h: statements of lists. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cli.h"
#include "serve/shared/reader.h"

void tfy__shared_query_start(TfySharedQuery *query)
{
    *query = (TfySharedQuery){.text_count = 0};
    tfy__pg_ask_text(&query->ask, NULL, NULL);
}

void tfy__shared_query_free(TfySharedQuery *query)
{
    tfy__buffer_free(&query->sql);
    for (int i = 0; i < query->text_count; i++) tfy__buffer_free(&query->texts[i]);
    query->text_count = 0;
}

static void place(TfySharedQuery *query, const char *before)
{
    tfy__buffer_printf(&query->sql, "%s$%d", before, query->ask.count);
}

void tfy__shared_query_text(TfySharedQuery *query, const char *before, const char *value)
{
    if (!value) return;
    tfy__pg_ask_bytes(&query->ask, value, strlen(value), TFY_PG_TEXT);
    place(query, before);
}

void tfy__shared_query_number(TfySharedQuery *query, const char *before, int64_t value)
{
    tfy__pg_ask_word(&query->ask, value);
    place(query, before);
}

/* ---- globs ---- */

/* A set in brackets; NULL: it has no end, and nothing fits it. */
static const char *write_set(TfyBuffer *out, const char *glob)
{
    const char *at = glob + 1 + (glob[1] == '^');
    const char *end = *at ? strchr(at + 1, ']') : NULL;
    if (!end) return NULL;
    tfy__buffer_text(out, at == glob + 1 ? "[" : "[^");
    for (; at < end; at++) {
        if (*at == '\\') tfy__buffer_char(out, '\\');
        tfy__buffer_char(out, *at);
    }
    tfy__buffer_char(out, ']');
    return end;
}

/* The same as a regular expression of the whole text. */
static void write_glob(TfyBuffer *out, const char *glob)
{
    tfy__buffer_text(out, "^(?:");
    for (const char *at = glob; *at; at++) {
        if (*at == '[' && !(at = write_set(out, at))) {
            tfy__buffer_reset(out);
            tfy__buffer_text(out, "x^");
            return;
        }
        if (*at == ']' || *at == '[') continue;
        if (*at == '*')
            tfy__buffer_text(out, ".*");
        else if (*at == '?')
            tfy__buffer_char(out, '.');
        else
            tfy__buffer_printf(out, isalnum((unsigned char)*at) || *at == '_' ? "%c" : "\\%c", *at);
    }
    tfy__buffer_text(out, ")$");
}

void tfy__shared_query_only(TfySharedQuery *query, const char *name, const char *only)
{
    char globs[TFY_ONLY_SIZE];
    bool any = false;
    snprintf(globs, sizeof globs, "%s", only ? only : "");
    for (char *rest = globs, *glob; (glob = strtok_r(rest, " ", &rest)) && query->text_count < TFY_ONLY_MOST;) {
        TfyBuffer *text = &query->texts[query->text_count++];
        write_glob(text, glob);
        tfy__buffer_printf(&query->sql, "%s%s", any ? " OR " : " AND (", name);
        tfy__shared_query_text(query, " ~ ", text->failed ? "x^" : text->data);
        any = true;
    }
    if (any) tfy__buffer_char(&query->sql, ')');
}

/* ---- asking ---- */

typedef struct Answer {
    int number; /* of the statement */
    TfyPgResult *result;
} Answer;

static int keep_answer(void *state, int number, TfyPgResult *result, bool *kept)
{
    Answer *answer = state;
    if (number != answer->number) return 0;
    answer->result = result;
    *kept = true;
    return 0;
}

static int ask_once(TfyPgLink *link, const TfyPgAsk *ask, TfyPgResult **result)
{
    Answer answer = {.result = NULL};
    int code = tfy__pg_link_open(link);
    if (!code) code = tfy__pg_queue_begin(link, "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY");
    if (!code) code = tfy__pg_queue_text(link, "SELECT set_config('statement_timeout', '4s', true)", "bound a list");
    answer.number = link->queued;
    if (!code) code = tfy__pg_queue(link, ask);
    if (!code) code = tfy__pg_queue_text(link, "COMMIT", "end a list");
    if (!code) code = tfy__pg_sync(link, keep_answer, &answer);
    tfy__pg_unqueue(link);
    if (code && answer.result) link->api->clear(answer.result);
    *result = code ? NULL : answer.result;
    return code;
}

int tfy__shared_code(int code)
{
    if (code == TFY_STORE_UNKNOWN || code == TFY_PG_AGAIN || code == TFY_STORE_FULL) return TFY_STORE_AWAY;
    return !code || code == TFY_STORE_AWAY || code == TFY_E_NOMEM ? code : TFY_E_IO;
}

int tfy__shared_ask(TfySharedReader *reader, TfySharedQuery *query, const char *what, TfyPgResult **result)
{
    TfyPgLink *link = &reader->link;
    *result = NULL;
    if (query->sql.failed) return TFY_E_NOMEM;
    query->ask.text = query->sql.data;
    query->ask.what = what;
    int code = ask_once(link, &query->ask, result);
    /* The connection has ended since it was used last, as after a restart of the server. */
    if (code == TFY_STORE_UNKNOWN || code == TFY_PG_AGAIN) code = ask_once(link, &query->ask, result);
    code = tfy__shared_code(code);
    if (code && code != TFY_STORE_AWAY) tfy__say("%s", link->error);
    return code;
}
