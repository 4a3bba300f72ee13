/* batch.c: packs rows and passes them to a store. */
#include "wal/log/batch.h"
#include "base/check.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

typedef struct Head {
    uint64_t kind; /* TfyBatchKind */
    uint64_t size; /* of the head, the row and its bytes, rounded up to 16 */
} Head;

enum { FIRST_ROOM = 16 << 10, KEPT_ROOM = 8 << 20 };

TfyBatch *tfy__batch_new(void)
{
    TfyBatch *batch = calloc(1, sizeof *batch);
    if (batch) tfy__batch_clear(batch);
    return batch;
}

void tfy__batch_free(TfyBatch *batch)
{
    if (!batch) return;
    free(batch->bytes);
    free(batch);
}

void tfy__batch_clear(TfyBatch *batch)
{
    /* One burst must not occupy its memory forever. */
    if (batch->room > KEPT_ROOM) {
        free(batch->bytes);
        batch->bytes = NULL;
        batch->room = 0;
    }
    batch->next = NULL;
    batch->log = NULL;
    batch->len = 0;
    batch->last = batch->tid = 0;
    batch->records = 0;
    batch->one_task = true;
    batch->has_mark = false;
}

/* Copies a row; returns the place for its `extra` bytes. */
static char *add(TfyBatch *batch, TfyBatchKind kind, const void *row, size_t row_size, size_t extra)
{
    const size_t size = (sizeof(Head) + row_size + extra + 15) & ~(size_t)15;
    if (!GROW(batch->bytes, batch->room, batch->len + size, FIRST_ROOM)) return NULL;
    CHECK(batch->len % 16 == 0);
    CHECK(size >= sizeof(Head) + row_size + extra);
    char *at = batch->bytes + batch->len;
    *(Head *)at = (Head){.kind = kind, .size = size};
    memcpy(at + sizeof(Head), row, row_size);
    batch->len += size;
    CHECK(batch->len <= batch->room);
    return at + sizeof(Head) + row_size;
}

int tfy__batch_add_record(TfyBatch *batch, const TfyLogRecord *record, int64_t number)
{
    char *payload = add(batch, TFY_B_RECORD, record, sizeof *record, record->payload_len);
    if (!payload) return TFY_E_NOMEM;
    if (record->payload_len) memcpy(payload, record->payload, record->payload_len);
    if (batch->records && record->tid != batch->tid) batch->one_task = false;
    CHECK(!batch->last || number == batch->last + 1);
    batch->tid = record->tid;
    batch->last = number;
    batch->records++;
    return 0;
}

int tfy__batch_add_task(TfyBatch *batch, const TfyStoreTask *task, bool birth)
{
    const size_t size = strlen(task->path) + 1;
    char *path = add(batch, birth ? TFY_B_TASK_BIRTH : TFY_B_TASK, task, sizeof *task, size);
    if (!path) return TFY_E_NOMEM;
    memcpy(path, task->path, size);
    return 0;
}

int tfy__batch_add_run(TfyBatch *batch, const TfyLogRun *run, TfyRunPut put)
{
    static const TfyBatchKind kinds[] = {
        [TFY_RUN_BEGINS] = TFY_B_RUN_BIRTH, [TFY_RUN_CHANGES] = TFY_B_RUN, [TFY_RUN_ENDS] = TFY_B_RUN_END};
    return add(batch, kinds[put], run, sizeof *run, 0) ? 0 : TFY_E_NOMEM;
}

int tfy__batch_add_program(TfyBatch *batch, const TfyStoreProgram *program)
{
    const size_t tfyc = strlen(program->tfyc) + 1, source = strlen(program->source) + 1,
                 layout = strlen(program->layout) + 1;
    char *at = add(batch, TFY_B_PROGRAM, program, sizeof *program, tfyc + source + layout);
    if (!at) return TFY_E_NOMEM;
    memcpy(at, program->tfyc, tfyc);
    memcpy(at + tfyc, program->source, source);
    memcpy(at + tfyc + source, program->layout, layout);
    return 0;
}

int tfy__batch_add_gap(TfyBatch *batch, const TfyStoreGap *gap)
{
    return add(batch, TFY_B_GAP, gap, sizeof *gap, 0) ? 0 : TFY_E_NOMEM;
}

int tfy__batch_add_mark(TfyBatch *batch, const TfyStoreMark *mark)
{
    CHECK(!batch->last || batch->last == mark->lsn); /* behind all that it seals */
    batch->has_mark = true;
    return add(batch, TFY_B_MARK, mark, sizeof *mark, 0) ? 0 : TFY_E_NOMEM;
}

int tfy__batch_add_meta(TfyBatch *batch, const TfyStoreMeta *meta)
{
    return add(batch, TFY_B_META, meta, sizeof *meta, 0) ? 0 : TFY_E_NOMEM;
}

int tfy__batch_add_leaving(TfyBatch *batch, const TfyStoreLeaving *leaving)
{
    return add(batch, TFY_B_LEAVING, leaving, sizeof *leaving, 0) ? 0 : TFY_E_NOMEM;
}

int tfy__batch_add_verdict(TfyBatch *batch, const TfyStoreVerdict *verdict)
{
    const size_t size = strlen(verdict->text) + 1;
    char *text = add(batch, TFY_B_VERDICT, verdict, sizeof *verdict, size);
    if (!text) return TFY_E_NOMEM;
    memcpy(text, verdict->text, size);
    return 0;
}

int tfy__batch_add_hold(TfyBatch *batch)
{
    return add(batch, TFY_B_HOLD, "", 0, 0) ? 0 : TFY_E_NOMEM;
}

/* ---- saved tables ---- */

int tfy__batch_add_table(TfyBatch *batch, const char *sql)
{
    return add(batch, TFY_B_TABLE, sql, strlen(sql) + 1, 0) ? 0 : TFY_E_NOMEM;
}

/* The block holds the cells, then the statement, then the bytes of the cells, one after another. */
int tfy__batch_add_row(TfyBatch *batch, const char *sql, const TfyCell *cells, uint32_t count)
{
    const size_t text = strlen(sql) + 1;
    size_t bytes = 0;
    const uint64_t number = count;
    for (uint32_t i = 0; i < count; i++) bytes += cells[i].bytes ? cells[i].len : 0;
    char *to = add(batch, TFY_B_ROW, &number, sizeof number, count * sizeof *cells + text + bytes);
    if (!to) return TFY_E_NOMEM;
    memcpy(to, cells, count * sizeof *cells);
    memcpy(to += count * sizeof *cells, sql, text);
    to += text;
    for (uint32_t i = 0; i < count; i++) {
        if (!cells[i].bytes || !cells[i].len) continue;
        memcpy(to, cells[i].bytes, cells[i].len);
        to += cells[i].len;
    }
    return 0;
}

static int put_saved(TfyStore *store, const char *row)
{
    uint64_t count;
    TfyCell cells[SAVED_CELLS];
    memcpy(&count, row, sizeof count);
    CHECK(count <= SAVED_CELLS);
    memcpy(cells, row + sizeof count, count * sizeof *cells);
    const char *sql = row + sizeof count + count * sizeof *cells, *bytes = sql + strlen(sql) + 1;
    for (uint64_t i = 0; i < count; i++) {
        if (!cells[i].bytes) continue;
        cells[i].bytes = bytes;
        bytes += cells[i].len;
    }
    return store->ops->put_row(store, sql, cells, (uint32_t)count);
}

static int put_program(TfyStore *store, TfyStoreProgram *program)
{
    program->tfyc = (const char *)(program + 1);
    program->source = program->tfyc + strlen(program->tfyc) + 1;
    program->layout = program->source + strlen(program->source) + 1;
    return store->ops->put_program(store, program);
}

static int put_task(TfyStore *store, TfyStoreTask *task, bool birth)
{
    task->path = (const char *)(task + 1);
    return store->ops->put_task(store, task, birth);
}

static int put_verdict(TfyStore *store, TfyStoreVerdict *verdict)
{
    verdict->text = (const char *)(verdict + 1);
    return store->ops->put_verdict(store, verdict);
}

enum { WAITING_MOST = 64 };

/* Consecutive records, until they are put. */
typedef struct Records {
    const TfyLogRecord *waiting[WAITING_MOST];
    uint32_t count;
} Records;

static int put_waiting(Records *records, TfyStore *store)
{
    const uint32_t count = records->count;
    records->count = 0;
    return count ? store->ops->put_records(store, records->waiting, count) : 0;
}

static int take_record(Records *records, TfyStore *store, TfyLogRecord *record)
{
    record->payload = (const char *)(record + 1);
    CHECK(records->count < WAITING_MOST);
    const TfyLogRecord *before = records->count ? records->waiting[records->count - 1] : NULL;
    CHECK(!before || before->run != record->run || before->lsn + 1 == record->lsn);
    records->waiting[records->count++] = record;
    return records->count == WAITING_MOST ? put_waiting(records, store) : 0;
}

/* Rows are in the block in the order of their addition, aligned to 16 bytes. */
static int put_row(Records *records, TfyStore *store, TfyBatchKind kind, void *row)
{
    if (kind == TFY_B_RECORD) return take_record(records, store, row);
    const int code = put_waiting(records, store);
    if (code) return code;
    switch (kind) {
    case TFY_B_RECORD: break;
    case TFY_B_TASK_BIRTH:
    case TFY_B_TASK: return put_task(store, row, kind == TFY_B_TASK_BIRTH);
    case TFY_B_RUN_BIRTH: return store->ops->put_run(store, row, TFY_RUN_BEGINS);
    case TFY_B_RUN: return store->ops->put_run(store, row, TFY_RUN_CHANGES);
    case TFY_B_RUN_END: return store->ops->put_run(store, row, TFY_RUN_ENDS);
    case TFY_B_PROGRAM: return put_program(store, row);
    case TFY_B_GAP: return store->ops->put_gap(store, row);
    case TFY_B_MARK: return store->ops->put_mark(store, row);
    case TFY_B_META: return store->ops->put_meta(store, row);
    case TFY_B_TABLE: return store->ops->put_table(store, row);
    case TFY_B_ROW: return put_saved(store, row);
    case TFY_B_LEAVING: return store->ops->put_leaving(store, row, 1);
    case TFY_B_VERDICT: return put_verdict(store, row);
    case TFY_B_HOLD: return 0;
    }
    return TFY_E_DATA;
}

int tfy__batch_put(const TfyBatch *batch, TfyStore *store)
{
    Records records = {.count = 0};
    int code = 0;
    for (size_t at = 0; !code && at < batch->len;) {
        Head *head = (Head *)(batch->bytes + at);
        CHECK(head->size >= sizeof(Head) && head->size % 16 == 0);
        CHECK(head->size <= batch->len - at);
        code = tfy__store_ask(store, TFY_CALL_PUT);
        if (!code) code = put_row(&records, store, (TfyBatchKind)head->kind, head + 1);
        at += head->size;
    }
    CHECK(records.count < WAITING_MOST);
    return code ? code : put_waiting(&records, store);
}
