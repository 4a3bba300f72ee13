/* verify.h: reads a whole database and checks everything in it that can be checked, even beside a live writer.
 *
 * It checks the pages (SQLite's own check); every record against its task's chain, and that none is missing except
 * where a gap says so; every mark against the records since the previous mark, less those that retention deleted, and
 * the chain of marks; the sum of every row of the other tables; that references between rows are valid; that each
 * task was born by a record and its head is its newest one. It stops at the first fault. */
#ifndef WAL_KEEP_VERIFY_H
#define WAL_KEEP_VERIFY_H

#include <stdint.h>

typedef struct TfyVerified {
    int64_t records, tasks, runs, programs, marks; /* number of those checked */
    int64_t gone;                                  /* records that retention deleted from segments that still exist */
    int64_t base;                                  /* records up to this one were deleted with their marks */
    int64_t last;                                  /* the newest record */
    int64_t pages;                                 /* of the file */
    /* The faulty record or task, if the fault is one: lsn, tid; else 0, -1. */
    int64_t bad_record, bad_task;
    char bad_run[37]; /* the run concerned; "": none or unknown */
} TfyVerified;

/* Called now and then: what is being read, and the progress. NULL: no reports. */
typedef void TfyVerifyProgress(void *state, const char *what, int64_t done, int64_t of);

/* 0: sound; TFY_E_DATA: damaged, with a message; any other code: why it could not be read. */
int tfy__verify(const char *path, TfyVerifyProgress *progress, void *state, TfyVerified *verified, char *error_text);

#endif
