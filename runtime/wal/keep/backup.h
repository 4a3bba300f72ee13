/* backup.h: a copy of a database as of one moment, taken beside a live writer; and making a copy a database of its
 * own.
 *
 * A copy has the id of its original and says in meta which file that was, so it shows: it is read like any database,
 * but who writes to it without adopting it could do again what the original does. */
#ifndef WAL_KEEP_BACKUP_H
#define WAL_KEEP_BACKUP_H

#include <stdbool.h>

#include "wal/keep/verify.h"

/* Copies path to `to`, which must not exist, checks the copy whole, and syncs it; it appears under its name when it
 * is complete. */
int tfy__backup(const char *path, const char *to, TfyVerifyProgress *progress, void *state, TfyVerified *verified,
                char *error_text);

typedef struct TfyAdopted {
    bool own;       /* it was no copy and opens as it is: nothing was changed */
    int64_t epoch;  /* the number of its first opening here */
    int64_t runs;   /* unfinished ones */
    int64_t doubts; /* steps that became InDoubt */
} TfyAdopted;

/* force: also when it opens as it is. */
int tfy__adopt(const char *path, const char *version, bool force, TfyAdopted *adopted, char *error_text);

#endif
