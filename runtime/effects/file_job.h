/* file_job.h: effects on files as jobs of the pool, whose first argument is a path: for file.c and file_tree.c. */
#ifndef TFY_EFFECTS_FILE_JOB_H
#define TFY_EFFECTS_FILE_JOB_H

#include "effects/file.h"
#include "effects/pool.h"

/* The part of a call that a thread of the pool needs, and its result. */
typedef struct TfyFileJob {
    TfyJob job;          /* first */
    TfyCall *call;       /* only for the loop's thread */
    int root_fd;         /* open as long as the pool */
    TfyProtect *protect; /* owned */
    char *path;          /* below the root; owned */
    TfyBuffer content;
    const char *bytes, *key; /* of a write: the call's */
    size_t len;
    size_t most;   /* bytes that a file may have */
    int error;     /* 0 or a negative reason */
    bool replaced; /* the file, or its absence, is in its place, whatever failed after that */
    bool found;    /* exists: the answer */
} TfyFileJob;

static inline const char *tfy__file_shown(const TfyCall *call)
{
    return ((const TfyString *)call->args[0].o)->bytes;
}

/* Hands the call to the pool, or fails it. wanted: job.work, job.done and what the work needs. */
void tfy__file_begin(TfyCall *call, const char *verb, TfyFileJob wanted);
void tfy__file_job_drop(TfyJob *job);

/* For TfyPerformer.abort: work that only reads may go on unnoticed, work that changes files is waited for. */
void tfy__file_let_go(TfyCall *call);
void tfy__file_settle(TfyCall *call);
/* For TfyPerformer.close of effects that change files. */
void tfy__file_close(TfyLoop *loop);

#endif
