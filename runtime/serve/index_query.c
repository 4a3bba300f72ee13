/* index_query.c: see index_query.h. */
#include "serve/index_query.h"

#include <stdio.h>
#include <string.h>

#include "tfy.h"

void tfy__query_text(TfyQuery *query, const char *condition, const char *value)
{
    if (!value) return;
    tfy__buffer_printf(&query->sql, " AND %s", condition);
    query->bound[query->count++] = (TfyBound){.text = value};
}

void tfy__query_number(TfyQuery *query, const char *condition, int64_t value)
{
    tfy__buffer_printf(&query->sql, " AND %s", condition);
    query->bound[query->count++] = (TfyBound){.number = value};
}

/* Each glob is bound as its own text: they stand in `query->only`, with a NUL behind each. */
void tfy__query_only(TfyQuery *query, const char *name, const char *only)
{
    if (!only || !*only) return;
    snprintf(query->only, sizeof query->only, "%s", only);
    tfy__buffer_text(&query->sql, " AND(0");
    for (char *rest = query->only, *glob; (glob = strtok_r(rest, " ", &rest)) && query->count < 16 + TFY_ONLY_MOST;) {
        tfy__buffer_printf(&query->sql, " OR %s GLOB ?", name);
        query->bound[query->count++] = (TfyBound){.text = glob};
    }
    tfy__buffer_char(&query->sql, ')');
}

static int bind_all(sqlite3_stmt *row, const TfyQuery *query)
{
    int code = SQLITE_OK;
    for (int i = 0; i < query->count && code == SQLITE_OK; i++)
        code = query->bound[i].text ? sqlite3_bind_text(row, i + 1, query->bound[i].text, -1, SQLITE_STATIC)
                                    : sqlite3_bind_int64(row, i + 1, query->bound[i].number);
    return code;
}

sqlite3_stmt *tfy__query_open(TfyIndexReader *reader, const TfyQuery *query, int *code)
{
    sqlite3_stmt *row = NULL;
    *code = query->sql.failed ? TFY_E_NOMEM : TFY_E_IO;
    if (query->sql.failed || sqlite3_prepare_v2(reader->db, query->sql.data, -1, &row, NULL) != SQLITE_OK) return NULL;
    if (bind_all(row, query) == SQLITE_OK) return row;
    sqlite3_finalize(row);
    return NULL;
}
