/* batch.h: rows on their way to the store: the loop's appended rows, packed one after another in one block of bytes.
 *
 *   +------+------+---------------+------------+-------- - -
 *   | kind | size | the row       | its bytes  | kind …
 *   +------+------+---------------+------------+-------- - -
 *
 * Appending copies into the block and allocates nothing once the block has grown. A block goes to the writer whole
 * and returns empty. Pointers inside a row are set when the row is read, because the block may move while it
 * grows. */
#ifndef WAL_LOG_BATCH_H
#define WAL_LOG_BATCH_H

#include "base/list.h"
#include "wal/store/store.h"

typedef enum TfyBatchKind {
    TFY_B_RECORD,
    TFY_B_TASK_BIRTH,
    TFY_B_TASK,
    TFY_B_RUN_BIRTH,
    TFY_B_RUN,
    TFY_B_RUN_END,
    TFY_B_PROGRAM,
    TFY_B_GAP,
    TFY_B_MARK,
    TFY_B_META,
    TFY_B_TABLE,
    TFY_B_ROW,
    TFY_B_LEAVING,
    TFY_B_VERDICT,
    TFY_B_HOLD, /* nothing: the batch is committed for the sake of the hold */
} TfyBatchKind;

typedef struct TfyBatch {
    struct TfyBatch *next; /* in the writer's queue or in the list of empty batches */
    struct TfyLog *log;    /* whose rows they are, in the queue; NULL: it was closed */
    char *bytes;           /* the block, owned */
    size_t len, room;
    int64_t last;     /* number of its newest record among all that the log has appended; 0: no record */
    int64_t tid;      /* the task of its records, if one_task */
    uint32_t records; /* number of records */
    bool one_task;    /* all its records are of one task */
    bool has_mark;
} TfyBatch;

typedef LIST(TfyBatch) TfyBatches;

TfyBatch *tfy__batch_new(void);
void tfy__batch_free(TfyBatch *batch);
void tfy__batch_clear(TfyBatch *batch);

/* Each copies its row; 0 or TFY_E_NOMEM. number: as in last. */
int tfy__batch_add_record(TfyBatch *batch, const TfyLogRecord *record, int64_t number);
int tfy__batch_add_task(TfyBatch *batch, const TfyStoreTask *task, bool birth);
int tfy__batch_add_run(TfyBatch *batch, const TfyLogRun *run, TfyRunPut put);
int tfy__batch_add_program(TfyBatch *batch, const TfyStoreProgram *program);
int tfy__batch_add_gap(TfyBatch *batch, const TfyStoreGap *gap);
int tfy__batch_add_mark(TfyBatch *batch, const TfyStoreMark *mark);
int tfy__batch_add_meta(TfyBatch *batch, const TfyStoreMeta *meta);
/* sql creates or widens a saved table. */
int tfy__batch_add_table(TfyBatch *batch, const char *sql);
int tfy__batch_add_row(TfyBatch *batch, const char *sql, const TfyCell *cells, uint32_t count);
int tfy__batch_add_leaving(TfyBatch *batch, const TfyStoreLeaving *leaving);
int tfy__batch_add_verdict(TfyBatch *batch, const TfyStoreVerdict *verdict);
int tfy__batch_add_hold(TfyBatch *batch);

/* Puts all rows into the store's open transaction. */
int tfy__batch_put(const TfyBatch *batch, TfyStore *store);

#endif
