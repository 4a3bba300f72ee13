/* heads.h: the heads of tasks after the newest mark, by task number. The tail bounds the memory, that is the records
 * between two marks. */
#ifndef WAL_LOG_HEADS_H
#define WAL_LOG_HEADS_H

#include "base/table.h"

#include <stdint.h>

typedef struct TfyHead {
    int64_t tid;
    int64_t lsn;    /* its newest record */
    uint64_t chain; /* of that record */
    int64_t step;   /* its greatest step in the tail so far */
} TfyHead;

typedef struct TfyHeads {
    TfyHead *items; /* in order of arrival */
    uint32_t count, room;
    TfyIndex by_tid;
    int64_t mark; /* the mark before this tail */
    uint64_t mark_chain;
    int64_t upto; /* the newest record seen; equal to mark if there is none */
    int64_t rows; /* records seen since mark */
    uint64_t sum; /* over them */
} TfyHeads;

/* The head of a task, or NULL. */
TfyHead *tfy__heads_find(const TfyHeads *heads, int64_t tid);
/* Adds a task that is missing; NULL: out of memory. */
TfyHead *tfy__heads_add(TfyHeads *heads, int64_t tid);
void tfy__heads_clear(TfyHeads *heads); /* also releases its memory */

#endif
