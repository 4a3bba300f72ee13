/* tally.c: see tally.h. */
#include "serve/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

const char tfy__tally_schema[] =
    "CREATE TABLE tally(what INT,program TEXT,workflow TEXT,name TEXT,hour INT,begun INT,ended INT,failed INT,"
    "cancelled INT,ms INT,tokens_in INT,tokens_out INT,cost INT,spread BLOB,"
    "PRIMARY KEY(what,program,workflow,name,hour))WITHOUT ROWID;";

static const char read_text[] = "SELECT " TFY_TALLY_COLUMNS " FROM tally WHERE what=?1 AND program=?2 AND workflow=?3 AND "
                                "name=?4 AND hour=?5";
static const char keep_text[] = "INSERT OR REPLACE INTO tally(what,program,workflow,name,hour," TFY_TALLY_COLUMNS
                                ")VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)";

/* ---- the spread ---- */

/* The first milliseconds of class i: 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, …: two for each doubling. */
static int64_t first_of(int class)
{
    if (class < 3) return class;
    const int64_t power = (int64_t)1 << (class / 2);
    return class % 2 ? power + power / 2 : power;
}

static int class_of(int64_t ms)
{
    int class = 0;
    if (ms >= 2) {
        const int power = 63 - __builtin_clzll((unsigned long long)ms);
        class = 2 * power + (ms >> (power - 1) & 1);
    } else if (ms == 1) {
        class = 1;
    }
    return class < TFY_SPREAD ? class : TFY_SPREAD - 1;
}

void tfy__tally_took(TfyCounts *counts, int64_t ms)
{
    if (ms < 0) ms = 0; /* wall clocks can go back */
    counts->ms += ms;
    counts->spread[class_of(ms)]++;
}

int64_t tfy__tally_quantile(const TfyCounts *counts, double share)
{
    uint64_t all = 0, below = 0;
    for (int i = 0; i < TFY_SPREAD; i++) all += counts->spread[i];
    if (all == 1) return counts->ms;
    const double wanted = share * (double)all;
    for (int i = 0; all && i < TFY_SPREAD; i++) {
        const uint32_t here = counts->spread[i];
        if (here && (double)(below + here) >= wanted) {
            const double from = (double)first_of(i), to = i + 1 < TFY_SPREAD ? (double)first_of(i + 1) : 2 * from;
            return (int64_t)(from + (to - from - 1) * (wanted - (double)below) / here + 0.5);
        }
        below += here;
    }
    return -1;
}

/* ---- in memory ---- */

static uint64_t hash_of(const TfyTally *key)
{
    uint64_t hash = XXH3_64bits_withSeed(key->name, strlen(key->name), (uint64_t)key->hour * 8 + key->what);
    hash = XXH3_64bits_withSeed(key->workflow, strlen(key->workflow), hash);
    return XXH3_64bits_withSeed(key->program, strlen(key->program), hash);
}

static bool is_same(const TfyTally *a, const TfyTally *b)
{
    return a->what == b->what && a->hour == b->hour && strcmp(a->name, b->name) == 0 &&
           strcmp(a->program, b->program) == 0 && strcmp(a->workflow, b->workflow) == 0;
}

TfyCounts *tfy__tally(TfyTallies *tallies, TfyTallied what, int64_t ms, const char *program, const char *workflow,
                      const char *name)
{
    TfyTally *key = &tallies->spare, *found;
    key->what = what;
    key->hour = ms / TFY_HOUR_MS;
    snprintf(key->program, sizeof key->program, "%s", program);
    snprintf(key->workflow, sizeof key->workflow, "%s", workflow);
    snprintf(key->name, sizeof key->name, "%s", name);
    const uint64_t hash = hash_of(key);
    for (TfyLink *link = tfy__table_find(&tallies->table, hash); link; link = tfy__table_next(link)) {
        found = TABLE_ITEM(link, TfyTally, link);
        if (is_same(found, key)) return &found->counts;
    }
    found = tfy__table_reserve(&tallies->table) ? malloc(sizeof *found) : NULL;
    if (!found) {
        tallies->failed = true;
        return &key->counts;
    }
    *found = *key;
    found->counts = (TfyCounts){0};
    tfy__table_add(&tallies->table, &found->link, hash);
    return &found->counts;
}

void tfy__tallies_drop(TfyTallies *tallies)
{
    for (TfyLink *link = tfy__table_walk(&tallies->table, NULL), *next; link; link = next) {
        next = tfy__table_walk(&tallies->table, link);
        tfy__table_remove(&tallies->table, link);
        free(TABLE_ITEM(link, TfyTally, link));
    }
    tfy__table_free(&tallies->table);
    tallies->failed = false;
}

/* ---- in the index ---- */

enum { PAIR = 5 }; /* bytes of a class that has some: its number, and how many */

static void read_spread(const uint8_t *bytes, int len, uint32_t spread[TFY_SPREAD])
{
    for (; len >= PAIR; bytes += PAIR, len -= PAIR)
        if (bytes[0] < TFY_SPREAD)
            spread[bytes[0]] += (uint32_t)bytes[1] | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3] << 16 | (uint32_t)bytes[4] << 24;
}

static int write_spread(const uint32_t spread[TFY_SPREAD], uint8_t bytes[TFY_SPREAD * PAIR])
{
    int len = 0;
    for (int i = 0; i < TFY_SPREAD; i++) {
        if (!spread[i]) continue;
        bytes[len++] = (uint8_t)i;
        for (int shift = 0; shift < 32; shift += 8) bytes[len++] = (uint8_t)(spread[i] >> shift);
    }
    return len;
}

void tfy__tally_read(sqlite3_stmt *row, int at, TfyCounts *counts)
{
    int64_t *const numbers[] = {&counts->begun,     &counts->ended,      &counts->failed, &counts->cancelled, &counts->ms,
                                &counts->tokens_in, &counts->tokens_out, &counts->cost};
    for (int i = 0; i < 8; i++) *numbers[i] += sqlite3_column_int64(row, at + i);
    read_spread(sqlite3_column_blob(row, at + 8), sqlite3_column_bytes(row, at + 8), counts->spread);
}

static void bind_key(sqlite3_stmt *stmt, const TfyTally *tally)
{
    sqlite3_bind_int(stmt, 1, tally->what);
    sqlite3_bind_text(stmt, 2, tally->program, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 3, tally->workflow, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 4, tally->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 5, tally->hour);
}

static int keep(sqlite3_stmt *reads, sqlite3_stmt *keeps, const TfyTally *tally)
{
    TfyCounts all = tally->counts;
    uint8_t spread[TFY_SPREAD * PAIR];
    bind_key(reads, tally);
    int code = sqlite3_step(reads);
    if (code == SQLITE_ROW) tfy__tally_read(reads, 0, &all);
    sqlite3_reset(reads);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return code;
    const int64_t numbers[] = {all.begun, all.ended, all.failed, all.cancelled, all.ms, all.tokens_in, all.tokens_out, all.cost};
    bind_key(keeps, tally);
    for (int i = 0; i < 8; i++) sqlite3_bind_int64(keeps, 6 + i, numbers[i]);
    sqlite3_bind_blob(keeps, 14, spread, write_spread(all.spread, spread), SQLITE_STATIC);
    code = sqlite3_step(keeps);
    sqlite3_reset(keeps);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int tfy__tallies_keep(TfyTallies *tallies, sqlite3 *db)
{
    sqlite3_stmt *reads = NULL, *keeps = NULL;
    int code = tallies->failed ? SQLITE_NOMEM : SQLITE_OK;
    if (tallies->table.count && code == SQLITE_OK) code = sqlite3_prepare_v2(db, read_text, -1, &reads, NULL);
    if (tallies->table.count && code == SQLITE_OK) code = sqlite3_prepare_v2(db, keep_text, -1, &keeps, NULL);
    for (TfyLink *link = NULL; code == SQLITE_OK && (link = tfy__table_walk(&tallies->table, link));)
        code = keep(reads, keeps, TABLE_ITEM(link, TfyTally, link));
    sqlite3_finalize(reads);
    sqlite3_finalize(keeps);
    tfy__tallies_drop(tallies);
    return code;
}
