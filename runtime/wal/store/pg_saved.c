/* pg_saved.c: saved tables in PostgreSQL, in schema saved.
 *
 * The log writes its statements as SQLite reads them (log/saved.c): CREATE TABLE, ALTER TABLE … ADD COLUMN and INSERT, with
 * names in quotes, types of a few words and question marks. Here they are written anew: names get their schema, question
 * marks numbers, and a type becomes one of PostgreSQL's, or a domain of that name, from which see_columns reads it back.
 * Several sessions may make the same table at once. */
#include "base/check.h"
#include "wal/store/store_pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 63 /* bytes of a name in PostgreSQL, which cuts the rest off */ };

static const struct {
    const char *decl, *type, *known;
} types[] = {
    {"INT", "int8", "int8"},
    {"REAL", "float8", "float8"},
    {"TEXT", "text", "text"},
    {"BLOB", "bytea", "bytea"},
    {"BOOL INT", "tfy.\"BOOL INT\"", "BOOL INT"},
    {"TIME INT", "tfy.\"TIME INT\"", "TIME INT"},
    {"DURATION INT", "tfy.\"DURATION INT\"", "DURATION INT"},
    {"JSON TEXT", "tfy.\"JSON TEXT\"", "JSON TEXT"},
};

/* ---- writing a statement anew ---- */

typedef struct Rewriting {
    const char *at;
    TfyBuffer out;
    int parameters;
    bool wrong;
} Rewriting;

static bool takes(Rewriting *text, const char *word)
{
    const size_t len = strlen(word);
    if (strncmp(text->at, word, len) != 0) return false;
    text->at += len;
    return true;
}

static void expect(Rewriting *text, const char *word, const char *instead)
{
    if (takes(text, word))
        tfy__buffer_text(&text->out, instead);
    else
        text->wrong = true;
}

/* A name in quotes, which has none in it. */
static void copy_name(Rewriting *text)
{
    const size_t len = *text->at == '"' ? strcspn(text->at + 1, "\"") : 0;
    if (!len || len > NAME_MOST || text->at[len + 1] != '"') {
        text->wrong = true;
        return;
    }
    tfy__buffer_add(&text->out, text->at, len + 2);
    text->at += len + 2;
}

/* A type, up to what ends it. */
static void copy_type(Rewriting *text)
{
    const size_t len = strcspn(text->at, ",)");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strlen(types[i].decl) != len || strncmp(types[i].decl, text->at, len) != 0) continue;
        tfy__buffer_text(&text->out, types[i].type);
        text->at += len;
        return;
    }
    text->wrong = true;
}

static void rewrite_create(Rewriting *text)
{
    expect(text, "CREATE TABLE ", "CREATE TABLE IF NOT EXISTS saved.");
    copy_name(text);
    expect(text, SAVED_HEAD, "(tfy_run text NOT NULL, tfy_task text NOT NULL, tfy_step int8 NOT NULL");
    while (!text->wrong && takes(text, ",\"")) {
        text->at--;
        tfy__buffer_char(&text->out, ',');
        copy_name(text);
        expect(text, " ", " ");
        copy_type(text);
    }
    expect(text, ",PRIMARY KEY(" SAVED_KEY ")) WITHOUT ROWID", ",PRIMARY KEY(" SAVED_KEY "))");
}

static void rewrite_alter(Rewriting *text)
{
    expect(text, "ALTER TABLE ", "ALTER TABLE saved.");
    copy_name(text);
    expect(text, " ADD COLUMN ", " ADD COLUMN IF NOT EXISTS ");
    copy_name(text);
    expect(text, " ", " ");
    copy_type(text);
}

static void rewrite_insert(Rewriting *text)
{
    expect(text, "INSERT INTO ", "INSERT INTO saved.");
    copy_name(text);
    expect(text, "(" SAVED_KEY, "(" SAVED_KEY);
    while (!text->wrong && takes(text, ",\"")) {
        text->at--;
        tfy__buffer_char(&text->out, ',');
        copy_name(text);
    }
    expect(text, ") VALUES(?", ") VALUES($1");
    for (text->parameters = 1; takes(text, ",?");) tfy__buffer_printf(&text->out, ",$%d", ++text->parameters);
    expect(text, ") ON CONFLICT(" SAVED_KEY ") DO NOTHING", ") ON CONFLICT (" SAVED_KEY ") DO NOTHING");
}

static int put_rewritten(TfyStore *store, void (*rewrite)(Rewriting *text), const char *sql, const TfyCell *cells,
                         uint32_t count)
{
    Rewriting text = {.at = sql};
    rewrite(&text);
    const bool wrong = text.wrong || *text.at || text.parameters != (int)count;
    int code = text.out.failed ? TFY_E_NOMEM : 0;
    if (!code && wrong) {
        snprintf(store->error, sizeof store->error, "a name in this statement has more than %d bytes: %.200s",
                 NAME_MOST, sql);
        code = TFY_E_DATA;
    }
    if (!code) code = tfy__pg_put_saved(store, text.out.data, cells, count);
    tfy__buffer_free(&text.out);
    return code;
}

int tfy__pg_put_table(TfyStore *store, const char *sql)
{
    return put_rewritten(store, strncmp(sql, "CREATE", 6) == 0 ? rewrite_create : rewrite_alter, sql, NULL, 0);
}

int tfy__pg_put_row(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count)
{
    return put_rewritten(store, rewrite_insert, sql, cells, count);
}

/* ---- reading ---- */

/* A statement that is too seldom to be prepared, about a table. */
static int read_about(PgStore *self, const char *text, const char *table, TfyPgResult **result)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask, text, "read about saved tables");
    if (table) tfy__pg_ask_bytes(&ask, table, strlen(table), TFY_PG_TEXT);
    return tfy__pg_read(self, &ask, result);
}

/* The word of the log for a type; one that save does not make has none. */
static const char *decl_of(const char *type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].known, type) == 0) return types[i].decl;
    return type;
}

static bool is_ours(const TfyPgApi *api, const TfyPgResult *result)
{
    static const char *const keys[SAVED_KEYS] = {"tfy_run", "tfy_task", "tfy_step"};
    for (int i = 0; i < SAVED_KEYS; i++)
        if (i >= api->ntuples(result) || strcmp(api->getvalue(result, i, 0), keys[i]) != 0) return false;
    return true;
}

int tfy__pg_see_columns(TfyStore *store, const char *table, TfyStoreSeeColumn *see, void *state)
{
    PgStore *self = tfy__pg_inside(store);
    const TfyPgApi *api = self->reading.api;
    TfyPgResult *result;
    int code =
        read_about(self,
                   "SELECT a.attname::text, t.typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
                   " JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
                   " WHERE n.nspname = 'saved' AND c.relname = $1 AND c.relkind IN ('r', 'p') AND a.attnum > 0"
                   " AND NOT a.attisdropped ORDER BY a.attnum",
                   table, &result);
    if (code) return code;
    const int count = api->ntuples(result);
    code = !count ? TFY_E_ABSENT : is_ours(api, result) ? 0 : TFY_E_DATA;
    for (int i = 0; !code && i < count; i++)
        code = see(state, api->getvalue(result, i, 0), decl_of(api->getvalue(result, i, 1)));
    api->clear(result);
    return code;
}

int tfy__pg_see_tables(TfyStore *store, TfyStoreSeeTable *see, void *state)
{
    PgStore *self = tfy__pg_inside(store);
    const TfyPgApi *api = self->reading.api;
    TfyPgResult *result;
    int code =
        read_about(self,
                   "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                   " WHERE n.nspname = 'saved' AND c.relkind IN ('r', 'p') AND (SELECT count(*) FROM pg_attribute a"
                   " WHERE a.attrelid = c.oid AND (a.attnum, a.attname) IN"
                   " ((1, 'tfy_run'), (2, 'tfy_task'), (3, 'tfy_step'))) = 3 ORDER BY c.relname COLLATE \"C\"",
                   NULL, &result);
    if (code) return code;
    for (int i = 0; !code && i < api->ntuples(result); i++) code = see(state, api->getvalue(result, i, 0));
    api->clear(result);
    return code;
}

/* A cell is valid while the result is. */
static TfyCell cell_at(const TfyPgApi *api, const TfyPgResult *result, int row, int column)
{
    const char *bytes = api->getvalue(result, row, column);
    const size_t len = (size_t)api->getlength(result, row, column);
    if (api->getisnull(result, row, column)) return (TfyCell){.kind = TFY_CELL_NULL};
    switch (api->ftype(result, column)) {
    case TFY_PG_I2:
    case TFY_PG_I4:
    case TFY_PG_I8: return (TfyCell){.kind = TFY_CELL_INT, .i = tfy__pg_word(api, result, row, column)};
    case TFY_PG_F8: return (TfyCell){.kind = TFY_CELL_FLOAT, .f = tfy__pg_float(api, result, row, column)};
    case TFY_PG_BYTES: return (TfyCell){.kind = TFY_CELL_BLOB, .bytes = bytes, .len = len};
    default: return (TfyCell){.kind = TFY_CELL_TEXT, .bytes = bytes, .len = len};
    }
}

static int read_saved(PgStore *self, const char *table, const char *run_uuid, TfyPgResult **result)
{
    TfyBuffer text = {0};
    TfyPgAsk ask;
    int code = TFY_E_DATA;
    *result = NULL;
    tfy__buffer_printf(&text, "SELECT * FROM saved.\"%s\" WHERE tfy_run = $1 ORDER BY tfy_task COLLATE \"C\", tfy_step",
                       table);
    tfy__pg_ask_text(&ask, text.data, "read a saved table");
    ask.needs = TFY_PG_WORKER;
    tfy__pg_ask_bytes(&ask, run_uuid, strlen(run_uuid), TFY_PG_TEXT);
    if (!strchr(table, '"')) code = text.failed ? TFY_E_NOMEM : tfy__pg_read(self, &ask, result);
    tfy__buffer_free(&text);
    return code;
}

int tfy__pg_see_saved(TfyStore *store, const char *table, const char *run_uuid, TfyStoreSeeSaved *see, void *state)
{
    PgStore *self = tfy__pg_inside(store);
    const TfyPgApi *api = self->reading.api;
    TfyPgResult *result;
    int code = read_saved(self, table, run_uuid, &result);
    if (code) return code;
    const int columns = api->nfields(result) - SAVED_KEYS;
    TfyCell *cells = columns < 0 ? NULL : calloc((size_t)columns + 1, sizeof *cells);
    if (!cells) code = columns < 0 ? TFY_E_DATA : TFY_E_NOMEM;
    for (int row = 0; !code && row < api->ntuples(result); row++) {
        for (int i = 0; i < columns; i++) cells[i] = cell_at(api, result, row, SAVED_KEYS + i);
        code = see(state, api->getvalue(result, row, 1), tfy__pg_word(api, result, row, 2), cells);
    }
    api->clear(result);
    free(cells);
    return code;
}
