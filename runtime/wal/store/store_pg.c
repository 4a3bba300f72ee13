/* store_pg.c: opens and closes a database of PostgreSQL as a store; see pg.h. */
#include "wal/store/store_pg.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_LEAST_MS = 1000 };

/* Nothing has to be moved: rows are where they belong. */
static bool checkpoint_due(TfyStore *store)
{
    (void)store;
    return false;
}

static void shrink(TfyStore *store)
{
    PgStore *self = tfy__pg_inside(store);
    if (self->request.open) return;
    tfy__pg_request_free(&self->request);
    memset(&self->request, 0, sizeof self->request);
    for (int i = 0; i < PG_COLUMNS; i++) tfy__pg_column_free(&self->pack.columns[i]);
}

static void close_store(TfyStore *store, bool clean)
{
    PgStore *self = tfy__pg_inside(store);
    (void)clean;
    if (self->reading.api) {
        tfy__pg_look_away(store);
        if (self->program_rows) self->reading.api->clear(self->program_rows);
        tfy__pg_link_free(&self->reading);
        tfy__pg_link_free(&self->writing);
    }
    tfy__pg_request_free(&self->request);
    for (int i = 0; i < PG_COLUMNS; i++) tfy__pg_column_free(&self->pack.columns[i]);
    tfy__pg_address_free(&self->address);
    tfy__pg_forget_tails(self);
    tfy__pg_forget_written(self);
    free(self->leaving.items);
    free(self->stayed);
    free(self);
}

static const TfyStoreOps ops = {
    .begin = tfy__pg_begin,
    .put_records = tfy__pg_put_records,
    .put_task = tfy__pg_put_task,
    .put_run = tfy__pg_put_run,
    .put_program = tfy__pg_put_program,
    .put_gap = tfy__pg_put_gap,
    .put_table = tfy__pg_put_table,
    .put_row = tfy__pg_put_row,
    .put_leaving = tfy__pg_put_leaving,
    .put_verdict = tfy__pg_put_verdict,
    .commit = tfy__pg_commit,
    .settle = tfy__pg_settle,
    .rollback = tfy__pg_rollback,
    .checkpoint_due = checkpoint_due,
    .look = tfy__pg_look,
    .look_away = tfy__pg_look_away,
    .use_ahead = tfy__pg_use_ahead,
    .get_meta = tfy__pg_get_meta,
    .get_record = tfy__pg_get_record,
    .get_task = tfy__pg_get_task,
    .get_run = tfy__pg_get_run,
    .get_gap = tfy__pg_get_gap,
    .find_run = tfy__pg_find_run,
    .get_program = tfy__pg_get_program,
    .see_records = tfy__pg_see_records,
    .see_tasks = tfy__pg_see_tasks,
    .see_runs = tfy__pg_see_runs,
    .see_columns = tfy__pg_see_columns,
    .see_tables = tfy__pg_see_tables,
    .see_saved = tfy__pg_see_saved,
    .shrink = shrink,
    .last_ids = tfy__pg_last_ids,
    .last_task = tfy__pg_last_task,
    .close = close_store,
};

static void set_link(PgStore *self, TfyPgLink *link, const TfyPgApi *api, const TfyPgStatement *statements, int count)
{
    *link = (TfyPgLink){
        .api = api, .address = &self->address, .statements = statements, .statement_count = count, .failed_at = -1};
}

static void set_patience(PgStore *self, int64_t lease_ms)
{
    const int64_t third_ms = lease_ms / 3;
    self->reading.patience_ms = third_ms < PATIENCE_LEAST_MS ? PATIENCE_LEAST_MS : third_ms;
    self->writing.patience_ms = self->reading.patience_ms;
}

static int connect_links(PgStore *self, const TfyPgOpen *open, char *error_text)
{
    set_patience(self, open->lease_ms ? open->lease_ms : 30000);
    const int code = tfy__pg_link_first(&self->reading, error_text);
    if (code || !open->session) return code;
    if (!open->lease_ms) set_patience(self, self->reading.lease_ms);
    memcpy(self->writing.db, self->reading.db, sizeof self->writing.db);
    self->writing.known = true;
    return tfy__pg_link_first(&self->writing, error_text);
}

static int open_parts(PgStore *self, const TfyPgOpen *open, char *error_text)
{
    const TfyPgApi *api = open->api;
    char name[40] = "tfy";
    int code = api ? 0 : tfy__pg_api(&api, error_text);
    if (code) return code;
    set_link(self, &self->reading, api, tfy__pg_reads, R_COUNT);
    set_link(self, &self->writing, api, tfy__pg_writes, W_COUNT);
    self->writing.needs = TFY_PG_WORKER;
    if (open->session) snprintf(name, sizeof name, "tfy/%lld", (long long)open->session);
    code = tfy__pg_address_read(&self->address, api, open->address, name, error_text);
    return code ? code : connect_links(self, open, error_text);
}

int tfy__pg_open(TfyStore **store, const TfyPgOpen *open, char *error_text)
{
    *store = NULL;
    PgStore *self = calloc(1, sizeof *self);
    if (!self) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for a database");
    self->base.ops = &ops;
    self->base.wal_limit = UINT32_MAX;
    self->session = open->session;
    const int code = open_parts(self, open, error_text);
    if (code)
        close_store(&self->base, false);
    else
        *store = &self->base;
    return code;
}
