/* pg_put.c: gathers what a transaction puts into a database of PostgreSQL. Nothing is sent here, and everything is copied. */
#include "base/check.h"
#include "base/grow.h"
#include "wal/store/store_pg.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 8 << 20 /* of the texts of a transaction, for the next one */ };

/* The next place in a list of the request; NULL: out of memory. */
#define ADD(list_) (GROW((list_).items, (list_).room, (list_).count + 1, 16) ? &(list_).items[(list_).count++] : NULL)

static PgRequest *request_of(TfyStore *store)
{
    PgRequest *request = &tfy__pg_inside(store)->request;
    CHECK(request->open);
    return request;
}

static void empty(PgRequest *request)
{
    request->open = false;
    request->records.count = request->births.count = request->tasks.count = request->begun.count = 0;
    request->runs.count = request->programs.count = request->gaps.count = request->leaving.count = 0;
    request->verdicts.count = 0;
    request->saved.count = request->cells.count = 0;
    if (request->texts.cap > KEPT_BYTES) tfy__buffer_free(&request->texts);
    tfy__buffer_reset(&request->texts);
}

void tfy__pg_request_free(PgRequest *request)
{
    empty(request);
    tfy__buffer_free(&request->texts);
    free(request->records.items);
    free(request->births.items);
    free(request->tasks.items);
    free(request->begun.items);
    free(request->runs.items);
    free(request->programs.items);
    free(request->gaps.items);
    free(request->leaving.items);
    free(request->verdicts.items);
    free(request->saved.items);
    free(request->cells.items);
}

int tfy__pg_begin(TfyStore *store, const TfyStoreHold *hold)
{
    PgStore *self = tfy__pg_inside(store);
    CHECK(hold && hold->session > 0 && hold->commit > 0);
    CHECK(!self->request.open);
    self->request.open = true;
    self->request.hold = *hold;
    self->leaving.count = store->stayed_count = 0;
    return 0;
}

void tfy__pg_rollback(TfyStore *store)
{
    empty(&tfy__pg_inside(store)->request);
}

/* Copies a text with a NUL behind it, and returns its place. */
static size_t keep(PgRequest *request, const char *text, size_t len)
{
    const size_t at = request->texts.len;
    tfy__buffer_add(&request->texts, text, len);
    tfy__buffer_char(&request->texts, '\0');
    return at;
}

static int kept(const PgRequest *request)
{
    return request->texts.failed ? TFY_E_NOMEM : 0;
}

/* A number that its column cannot hold was not made by us. */
static int refuse(TfyStore *store, const char *what, int64_t run)
{
    snprintf(store->error, sizeof store->error, "%s of run %lld does not fit into the database", what, (long long)run);
    return TFY_E_DATA;
}

static bool fits(int64_t number)
{
    return number >= 0 && number <= INT32_MAX;
}

int tfy__pg_put_records(TfyStore *store, const TfyLogRecord *const *records, uint32_t count)
{
    PgRequest *request = request_of(store);
    for (uint32_t i = 0; i < count; i++) {
        const TfyLogRecord *record = records[i];
        if (!fits(record->tid) || record->payload_len > TFY_PG_PAYLOAD_MOST || record->lsn < 1)
            return refuse(store, "a record", record->run);
        PgRecord *place = ADD(request->records);
        if (!place) return TFY_E_NOMEM;
        *place = (PgRecord){*record, keep(request, record->payload, record->payload_len)};
    }
    return kept(request);
}

int tfy__pg_put_task(TfyStore *store, const TfyStoreTask *task, bool birth)
{
    PgRequest *request = request_of(store);
    if (!fits(task->tid) || !fits(task->program) || task->state > INT16_MAX || task->wait > INT16_MAX)
        return refuse(store, "a task", task->run);
    PgTask *place = birth ? ADD(request->births) : ADD(request->tasks);
    if (!place) return TFY_E_NOMEM;
    *place = (PgTask){*task, keep(request, task->path, strlen(task->path)),
                      birth ? request->births.count : request->tasks.count};
    return kept(request);
}

/* A row that ends a run is a whole one. */
int tfy__pg_put_run(TfyStore *store, const TfyLogRun *run, TfyRunPut put)
{
    PgRequest *request = request_of(store);
    if (!fits(run->program) || !fits(run->root) || run->state > INT16_MAX) return refuse(store, "the row", run->id);
    PgRun *place = put == TFY_RUN_BEGINS ? ADD(request->begun) : ADD(request->runs);
    if (!place) return TFY_E_NOMEM;
    *place = (PgRun){*run, put == TFY_RUN_BEGINS ? request->begun.count : request->runs.count};
    return 0;
}

int tfy__pg_put_program(TfyStore *store, const TfyStoreProgram *program)
{
    PgRequest *request = request_of(store);
    PgProgram *place = ADD(request->programs);
    if (!place) return TFY_E_NOMEM;
    *place = (PgProgram){*program, keep(request, program->tfyc, strlen(program->tfyc)),
                         keep(request, program->source, strlen(program->source)),
                         keep(request, program->layout, strlen(program->layout))};
    return kept(request);
}

int tfy__pg_put_gap(TfyStore *store, const TfyStoreGap *gap)
{
    PgRequest *request = request_of(store);
    PgGap *place = ADD(request->gaps);
    if (place) *place = (PgGap){*gap, request->gaps.count};
    return place ? 0 : TFY_E_NOMEM;
}

int tfy__pg_put_leaving(TfyStore *store, const TfyStoreLeaving *leaving, uint32_t count)
{
    PgRequest *request = request_of(store);
    for (uint32_t i = 0; i < count; i++) {
        PgLeaving *place = ADD(request->leaving);
        if (!place) return TFY_E_NOMEM;
        *place = (PgLeaving){leaving[i], request->leaving.count};
    }
    return 0;
}

int tfy__pg_put_verdict(TfyStore *store, const TfyStoreVerdict *verdict)
{
    PgRequest *request = request_of(store);
    PgVerdict *place = ADD(request->verdicts);
    if (!place) return TFY_E_NOMEM;
    *place = (PgVerdict){*verdict, keep(request, verdict->text, strlen(verdict->text))};
    return kept(request);
}

/* PostgreSQL has no NUL in texts: U+FFFD is there instead. The run's record has the text as it was. */
static size_t keep_cell(PgRequest *request, TfyCell *cell)
{
    const size_t at = request->texts.len;
    const char *from = cell->bytes, *end = from + cell->len, *nul;
    while (cell->kind == TFY_CELL_TEXT && (nul = memchr(from, '\0', (size_t)(end - from)))) {
        tfy__buffer_add(&request->texts, from, (size_t)(nul - from));
        tfy__buffer_text(&request->texts, "\xef\xbf\xbd");
        from = nul + 1;
    }
    keep(request, from, (size_t)(end - from));
    cell->len = request->texts.len - at - 1;
    return at;
}

int tfy__pg_put_saved(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count)
{
    PgRequest *request = request_of(store);
    PgSaved *place = ADD(request->saved);
    if (!place) return TFY_E_NOMEM;
    *place = (PgSaved){keep(request, sql, strlen(sql)), request->cells.count, count};
    for (uint32_t i = 0; i < count; i++) {
        TfyCell *cell = ADD(request->cells);
        if (!cell) return TFY_E_NOMEM;
        *cell = cells[i];
        /* The place of its bytes, until the texts do not grow any more. */
        if (cells[i].bytes) cell->i = (int64_t)keep_cell(request, cell);
    }
    return kept(request);
}
