/* birth.c: see birth.h. */
#include "wal/store/birth.h"

#include <string.h>

void tfy__store_birth(const TfyLogRun *run, const char *payload, TfyLogRecord *record, TfyStoreTask *root)
{
    *root =
        (TfyStoreTask){.tid = run->root, .run = run->id, .path = "1", .program = run->program, .born = 1, .head = 1};
    root->base_chain = tfy__chain_seed(run->uuid, root->path);
    *record = (TfyLogRecord){.run = run->id,
                             .lsn = 1,
                             .tid = run->root,
                             .ts_ms = run->started_ms,
                             .v = TFY_RECORD_V,
                             .type = TFY_R_INSTRUCTION_START,
                             .payload_len = (uint32_t)strlen(payload),
                             .payload = payload};
    root->chain = record->chain = tfy__chain_next(root->base_chain, record);
}
