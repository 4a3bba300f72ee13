/* pg_tails.c: see store_pg.h. */
#include "wal/store/store_pg.h"

#include <stdlib.h>

typedef struct Tail {
    TfyLink by_run;
    int64_t lsn;
} Tail;

/* Different runs have different hashes. */
static uint64_t hash_of(int64_t run)
{
    return tfy__mix((uint64_t)run);
}

static Tail *find(const PgStore *self, int64_t run)
{
    return TABLE_ITEM(tfy__table_find(&self->tails, hash_of(run)), Tail, by_run);
}

int64_t tfy__pg_tail(const PgStore *self, int64_t run)
{
    const Tail *tail = find(self, run);
    return tail ? tail->lsn : 0;
}

static void drop(PgStore *self, Tail *tail)
{
    if (!tail) return;
    tfy__table_remove(&self->tails, &tail->by_run);
    free(tail);
}

/* Without memory it is not remembered. */
static void note(PgStore *self, const TfyLogRecord *record)
{
    Tail *tail = find(self, record->run);
    if (!tail && tfy__table_reserve(&self->tails) && (tail = malloc(sizeof *tail)) != NULL)
        tfy__table_add(&self->tails, &tail->by_run, hash_of(record->run));
    if (tail) tail->lsn = record->lsn;
}

void tfy__pg_note_tails(PgStore *self)
{
    const PgRequest *request = &self->request;
    for (uint32_t i = 0; i < request->records.count; i++) {
        const TfyLogRecord *record = &request->records.items[i].row; /* by run and lsn */
        if (i + 1 == request->records.count || record->run != request->records.items[i + 1].row.run) note(self, record);
    }
    for (uint32_t i = 0; i < request->leaving.count; i++) drop(self, find(self, request->leaving.items[i].row.run));
}

void tfy__pg_forget_tails(PgStore *self)
{
    for (TfyLink *link = tfy__table_walk(&self->tails, NULL), *next; link; link = next) {
        next = tfy__table_walk(&self->tails, link);
        free(TABLE_ITEM(link, Tail, by_run));
    }
    tfy__table_free(&self->tails);
}
