/* pg_calls.h: the statements of pg_cluster.c. */
#ifndef WAL_STORE_PG_CALLS_H
#define WAL_STORE_PG_CALLS_H

#include "wal/store/pg_link.h"

typedef enum Call {
    C_OPEN,
    C_STANDBYS,
    C_LIVING,
    C_HURRY,
    C_END,
    C_CUT,
    C_FREE,
    C_FREE_ALL,
    C_PROGRAM_NUMBER,
    C_KEEP,
    C_KEPT,
    C_DEPLOYER,
    C_REPLACE,
    C_DEPLOY,
    C_YIELD,
    C_SHARE,
    C_DEPLOYED,
    C_FIND_PROGRAM,
    C_QUEUE,
    C_FIND_QUEUE,
    C_BESIDE,
    C_FIND_BESIDE,
    C_NUMBER,
    C_SUBMIT,
    C_RECORD,
    C_ROOT,
    C_LIVES,
    C_CLAIM,
    C_CLAIM_SOLO,
    C_TAKE,
    C_SOLO,
    C_OWNED,
    C_HOLD,
    C_RELEASE,
    C_DUE,
    C_KNOWN,
    C_MAIL,
    C_SEE,
    C_OPEN_MAIL,
    C_INBOX,
    C_COUNT
} Call;

extern const TfyPgStatement tfy__pg_calls[C_COUNT];

#endif
