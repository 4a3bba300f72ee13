/* index_runs.c: see index.h: lists of runs. A page is found by its place in an index, never by counting from the start, so
 * the last page of a million runs costs what the first one does.
 *
 * Something drives each query: the words, the label, or what else is wanted, when only few runs have it, which are then put in
 * order; else the order itself, whose index is walked until the page is full. By start everything is in order
 * anyway. */
#include <stdio.h>
#include <string.h>

#include "serve/index_query.h"
#include "tfy.h"

enum { FEW = 4000 }; /* runs that are put in order in a few milliseconds */

/* A run that counts in the order; what it is ordered by, and the index of that. */
typedef struct Order {
    const char *counts, *value, *index;
} Order;

static const Order orders[TFY_RUNS_ORDERS] = {
    [TFY_BY_START] = {"", NULL, NULL},
    [TFY_BY_END] = {" AND r.ended_ms>0", "r.ended_ms", "run_ended"},
    [TFY_BY_TOOK] = {" AND r.ended_ms>0", "r.took", "run_took"},
    [TFY_BY_TOKENS] = {" AND r.tokens>0", "r.tokens", "run_tokens"},
    [TFY_BY_COST] = {" AND r.cost>=0", "r.cost", "run_cost"},
};

typedef enum Driver { THE_ORDER, THE_WORDS, THE_LABEL, THE_REST } Driver;

typedef struct Listing {
    TfyIndexReader *reader;
    const TfyRunsWanted *wanted;
    TfyBuffer words; /* as FTS5 has them; of length 0: none */
    Driver driver;
    void (*show)(void *arg, const TfyRunShown *run);
    void *arg;
    uint32_t count; /* runs that were shown */
    TfyPlace last;  /* … and the place of the newest of them */
    TfyPlace *next;
} Listing;

/* ---- conditions ---- */

/* What the index of runs that wait for somebody holds, and which of them. */
static const char *attention_condition(const char *attention)
{
#define WAITS " AND r.questions+r.doubts+r.stuck+r.diverged>0"
    if (strcmp(attention, "question") == 0) return WAITS " AND r.questions>0";
    if (strcmp(attention, "in_doubt") == 0) return WAITS " AND r.doubts>0";
    if (strcmp(attention, "deadlock") == 0) return WAITS " AND r.stuck>0";
    if (strcmp(attention, "diverged") == 0) return WAITS " AND r.diverged>0";
    return WAITS;
#undef WAITS
}

/* Those that an index finds. */
static void write_found(TfyQuery *query, const TfyRunsWanted *wanted)
{
    if (wanted->attention) tfy__buffer_text(&query->sql, attention_condition(wanted->attention));
    tfy__query_text(query, "r.state=?", wanted->state);
    tfy__query_text(query, "r.workflow=?", wanted->workflow);
}

static void write_conditions(TfyQuery *query, const TfyRunsWanted *wanted)
{
    write_found(query, wanted);
    tfy__query_text(query, "r.program=?", wanted->program);
    tfy__query_text(query, "r.version=?", wanted->version);
    tfy__query_text(query, "r.started_by=?", wanted->by);
    tfy__query_only(query, "r.program||'.'||r.workflow", wanted->only);
    if (wanted->before_ms) tfy__query_number(query, "r.started_ms<?", wanted->before_ms);
    if (wanted->after_ms) tfy__query_number(query, "r.started_ms>=?", wanted->after_ms);
}

static void write_label(TfyQuery *query, const TfyRunsWanted *wanted)
{
    tfy__query_text(query, "l.name=?", wanted->label);
    tfy__query_text(query, "l.value=?", wanted->label_value);
}

/* ---- what drives ---- */

static void write_source(TfyQuery *query, const Listing *listing)
{
    switch (listing->driver) {
    case THE_WORDS:
        tfy__buffer_text(&query->sql, "words w CROSS JOIN run r ON r.id=w.rowid>>1 WHERE 1");
        tfy__query_text(query, "w.words MATCH ?", listing->words.data);
        break;
    case THE_LABEL:
        tfy__buffer_text(&query->sql, "label l CROSS JOIN run r ON r.id=l.run WHERE 1");
        write_label(query, listing->wanted);
        break;
    case THE_ORDER:
        tfy__buffer_printf(&query->sql, "run r INDEXED BY %s WHERE 1", orders[listing->wanted->order].index);
        break;
    case THE_REST: tfy__buffer_text(&query->sql, "run r WHERE 1"); break;
    }
}

/* Whether more than few runs have what would drive. */
static int count_driven(const Listing *listing, bool *many)
{
    TfyQuery query = {.count = 0};
    int code;
    tfy__buffer_text(&query.sql, "SELECT count(*)FROM(SELECT 1 FROM ");
    if (listing->driver == THE_WORDS) {
        tfy__buffer_text(&query.sql, "words w WHERE 1");
        tfy__query_text(&query, "w.words MATCH ?", listing->words.data);
    } else if (listing->driver == THE_LABEL) {
        tfy__buffer_text(&query.sql, "label l WHERE 1");
        write_label(&query, listing->wanted);
    } else {
        tfy__buffer_text(&query.sql, "run r WHERE 1");
        write_found(&query, listing->wanted);
    }
    tfy__buffer_printf(&query.sql, " LIMIT %d)", FEW + 1);
    sqlite3_stmt *row = tfy__query_open(listing->reader, &query, &code);
    if (row) code = sqlite3_step(row) == SQLITE_ROW ? TFY_OK : TFY_E_IO;
    *many = code == TFY_OK && sqlite3_column_int64(row, 0) > FEW;
    sqlite3_finalize(row);
    tfy__buffer_free(&query.sql);
    return code;
}

static int choose_driver(Listing *listing)
{
    const TfyRunsWanted *wanted = listing->wanted;
    bool many;
    listing->driver = listing->words.len ? THE_WORDS : wanted->label ? THE_LABEL : THE_REST;
    if (wanted->order == TFY_BY_START) return TFY_OK;
    if (listing->driver == THE_REST && !wanted->attention && !wanted->state && !wanted->workflow) {
        listing->driver = THE_ORDER;
        return TFY_OK;
    }
    const int code = count_driven(listing, &many);
    if (code == TFY_OK && many) listing->driver = THE_ORDER;
    return code;
}

/* What does not drive is looked up for each run; the runs that have words are gathered once, as numbers. */
static void write_others(TfyQuery *query, const Listing *listing)
{
    if (listing->words.len && listing->driver != THE_WORDS) {
        tfy__buffer_text(&query->sql, " AND r.id IN(SELECT w.rowid>>1 FROM words w WHERE 1");
        tfy__query_text(query, "w.words MATCH ?", listing->words.data);
        tfy__buffer_char(&query->sql, ')');
    }
    if (listing->wanted->label && listing->driver != THE_LABEL) {
        tfy__buffer_text(&query->sql, " AND EXISTS(SELECT 1 FROM label l WHERE l.run=r.id");
        write_label(query, listing->wanted);
        tfy__buffer_char(&query->sql, ')');
    }
}

/* ---- the order ---- */

/* Behind the place where the page starts, in the order that the driver has by itself. */
static void write_order_by_start(TfyQuery *query, const Listing *listing)
{
    static const char *const ids[] = {[THE_WORDS] = "w.rowid", [THE_LABEL] = "l.run", [THE_REST] = "r.id"};
    const TfyRunsWanted *wanted = listing->wanted;
    const bool words = listing->driver == THE_WORDS;
    const int64_t behind = wanted->behind.at;
    char condition[32];
    snprintf(condition, sizeof condition, "%s%c?", ids[listing->driver], wanted->ascending ? '>' : '<');
    if (behind && words) /* a run has two rows of words */
        tfy__query_number(query, condition, wanted->ascending ? 2 * behind + 1 : 2 * behind);
    else if (behind)
        tfy__query_number(query, condition, behind);
    tfy__buffer_printf(&query->sql, " ORDER BY %s %s", ids[listing->driver], wanted->ascending ? "ASC" : "DESC");
}

/* alike: those that have the value of the place, behind its run; else those behind its value. A query for each walks an index
 * without a look at what comes before the place. The plus keeps a driver other than the order from being one. */
static void write_order_by_value(TfyQuery *query, const Listing *listing, bool alike)
{
    const TfyRunsWanted *wanted = listing->wanted;
    const Order *order = &orders[wanted->order];
    const char *plus = listing->driver == THE_ORDER ? "" : "+", *way = wanted->ascending ? "ASC" : "DESC",
               beyond = wanted->ascending ? '>' : '<';
    char condition[48];
    tfy__buffer_text(&query->sql, order->counts);
    if (alike) {
        snprintf(condition, sizeof condition, "%s%s=?", plus, order->value);
        tfy__query_number(query, condition, wanted->behind.value);
        snprintf(condition, sizeof condition, "%sr.id%c?", plus, beyond);
        tfy__query_number(query, condition, wanted->behind.at);
    } else if (wanted->behind.at) {
        snprintf(condition, sizeof condition, "%s%s%c?", plus, order->value, beyond);
        tfy__query_number(query, condition, wanted->behind.value);
    }
    tfy__buffer_printf(&query->sql, " ORDER BY %s%s %s,%sr.id %s", plus, order->value, way, plus, way);
}

/* ---- a page ---- */

/* A run that is found by its arguments and by its result is there twice, one after the other. */
static int show_rows(Listing *listing, sqlite3_stmt *row)
{
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        const TfyPlace place = {sqlite3_column_int64(row, 0), sqlite3_column_int64(row, TFY_RUN_COLUMN_COUNT)};
        if (place.at == listing->last.at) continue;
        if (listing->count == listing->wanted->limit) {
            *listing->next = listing->last;
            return TFY_OK;
        }
        listing->count++;
        listing->last = place;
        tfy__query_show_run(row, listing->show, listing->arg);
    }
    return code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
}

static int show_part(Listing *listing, bool alike)
{
    TfyQuery query = {.count = 0};
    const Order *order = &orders[listing->wanted->order];
    int code;
    tfy__buffer_printf(&query.sql, "SELECT " TFY_RUN_COLUMNS ",%s FROM ", order->value ? order->value : "0");
    write_source(&query, listing);
    write_others(&query, listing);
    write_conditions(&query, listing->wanted);
    if (order->value)
        write_order_by_value(&query, listing, alike);
    else
        write_order_by_start(&query, listing);
    tfy__buffer_printf(&query.sql, " LIMIT %u", 2 * (listing->wanted->limit + 1)); /* words find a run twice */
    sqlite3_stmt *row = tfy__query_open(listing->reader, &query, &code);
    if (row) code = show_rows(listing, row);
    sqlite3_finalize(row);
    tfy__buffer_free(&query.sql);
    return code;
}

static int show_page(Listing *listing)
{
    const TfyRunsWanted *wanted = listing->wanted;
    int code = choose_driver(listing);
    if (code == TFY_OK && wanted->order != TFY_BY_START && wanted->behind.at) code = show_part(listing, true);
    if (code == TFY_OK && !listing->next->at) code = show_part(listing, false);
    return code;
}

int tfy__index_runs(TfyIndexReader *reader, const TfyRunsWanted *wanted,
                    void (*show)(void *arg, const TfyRunShown *run), void *arg, TfyPlace *next)
{
    Listing listing = {.reader = reader, .wanted = wanted, .show = show, .arg = arg, .next = next};
    int code = TFY_OK;
    *next = (TfyPlace){0};
    const bool any = !wanted->words || tfy__query_words(reader, wanted->words, &listing.words);
    if (listing.words.failed)
        code = TFY_E_NOMEM;
    else if (any) /* of nothing, there is nothing */
        code = show_page(&listing);
    tfy__buffer_free(&listing.words);
    return code;
}
