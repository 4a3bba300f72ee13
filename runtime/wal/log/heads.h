/* heads.h: where tasks stand after the newest mark: from task number to head. Bounded by the
 * tail, that is by the records between two marks. */
#ifndef WAL_LOG_HEADS_H
#define WAL_LOG_HEADS_H

#include "base/table.h"

#include <stdint.h>

typedef struct TfyHead {
    int64_t tid;
    int64_t lsn;    /* its newest record */
    uint64_t chain; /* of that record */
    int64_t step;   /* its greatest step so far in the tail */
} TfyHead;

typedef struct TfyHeads {
    TfyHead *items; /* in the order in which they came */
    uint32_t count, room;
    TfyIndex by_tid;
    int64_t mark; /* the mark whose tail this is */
    uint64_t mark_chain;
    int64_t upto; /* the newest record seen; mark when there is none */
    int64_t rows; /* records seen since mark */
    uint64_t sum; /* over them */
} TfyHeads;

/* The place of a task, or NULL. */
TfyHead *tfy__heads_find(const TfyHeads *heads, int64_t tid);
/* Adds a task that is not there yet; NULL: no memory. */
TfyHead *tfy__heads_add(TfyHeads *heads, int64_t tid);
void tfy__heads_clear(TfyHeads *heads); /* gives its memory back, too */

#endif
