/* verify.h: reading a whole database and checking all that can be checked, beside a live writer too.
 *
 * Checked are: the pages (SQLite's own check); every record against its task's chain, and that none is missing but
 * where a gap says so; every mark against the records since the mark before, less what retention deleted, and the
 * chain of marks; the sum of every row of the other tables; that rows name rows that are there; that each task was
 * born by a record and stands at its newest one. The first thing that is wrong ends it. */
#ifndef WAL_KEEP_VERIFY_H
#define WAL_KEEP_VERIFY_H

#include <stdint.h>

typedef struct TfyVerified {
    int64_t records, tasks, runs, programs, marks; /* that were checked */
    int64_t gone;                 /* records that retention deleted from segments that are still there */
    int64_t base;                 /* records up to this one went with their marks */
    int64_t last;                 /* the newest record */
    int64_t pages;                /* of the file */
    int64_t bad_record, bad_task; /* what is wrong, where it is one of these: lsn, tid; else 0, -1 */
    char bad_run[37];             /* the run it belongs to; "" : none or unknown */
} TfyVerified;

/* Told now and then: what is being read, and how far it is. NULL: nobody wants to know. */
typedef void TfyVerifyProgress(void *state, const char *what, int64_t done, int64_t of);

/* 0: sound; TFY_E_DATA: damaged, with one sentence; else why it could not be read. */
int tfy__verify(const char *path, TfyVerifyProgress *progress, void *state, TfyVerified *verified, char *error_text);

#endif
