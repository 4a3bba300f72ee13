/* backup.h: copies a database as of one moment, beside a live writer; and turns a copy into a database of its own.
 *
 * A copy has the id of its original and names the original file in meta, so it is recognizable: it can be read like
 * any database, but a process that writes to it without adopting it could repeat what the original does. */
#ifndef WAL_KEEP_BACKUP_H
#define WAL_KEEP_BACKUP_H

#include <stdbool.h>

#include "wal/keep/verify.h"

/* Copies path to `to`, which must not exist, checks the whole copy, and syncs it; it gets its name once it is
 * complete. */
int tfy__backup(const char *path, const char *to, TfyVerifyProgress *progress, void *state, TfyVerified *verified,
                char *error_text);

typedef struct TfyAdopted {
    /* It was not a copy and opens as it is: nothing was changed. */
    bool own;
    int64_t epoch;  /* the number of its first opening here */
    int64_t runs;   /* unfinished ones */
    int64_t doubts; /* steps that became InDoubt */
} TfyAdopted;

/* force: adopts it even if it opens as it is. */
int tfy__adopt(const char *path, const char *version, bool force, TfyAdopted *adopted, char *error_text);

#endif
