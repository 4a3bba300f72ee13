/* canvas_land.h: what a landing and the checkout of its branch share. */
#ifndef TFY_EFFECTS_CANVAS_LAND_H
#define TFY_EFFECTS_CANVAS_LAND_H

#include "effects/canvas.h"

/* Sorted names, each ended by NUL. */
typedef TfyBuffer TfyNames;

/* A landing under way: the rest of its job. */
typedef struct TfyLanding {
    char *onto;                      /* the branch, "refs/heads/main", owned */
    char last[TFY_GIT_ID_LEN + 1];   /* the run's commit that is landed */
    char before[TFY_GIT_ID_LEN + 1]; /* the one that it landed last; empty: none */
    char tip[TFY_GIT_ID_LEN + 1];    /* the branch's commit; empty: it has none */
    char old[TFY_GIT_ID_LEN + 1];    /* its tree; of a branch without a commit the empty one */
    bool merge;                      /* a commit with two parents */
    bool found;                      /* it was landed before a crash; what is checked out may have to follow */
    int moves;                       /* how often in a row the branch moved meanwhile */
    /* Where the branch is checked out, owned; NULL: nowhere. Its index, and the lock that git makes for it. */
    char *checkout, *index, *lock;
    bool locked;            /* the lock is ours, and has the new index */
    TfyNames landed;        /* the paths that differ between the branch's commits */
    TfyBuffer entries;      /* raw entries of git, "mode id\tpath", of the landed paths */
    TfyNames conflicts;     /* landed paths whose file or index entry is as in neither commit */
    TfyNames behind;        /* landed paths whose file is as it was before */
    TfyNames differs;       /* scratch: what differs from the new commit */
    TfyBuffer before_index; /* the index as it was read */
    TfyBuffer after_index;  /* with the entries of the landed paths */
} TfyLanding;

/* Compares what is checked out with both commits, and makes the new index, without changing anything; then calls ready.
 * Otherwise the call has failed. */
void tfy__checkout_prepare(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job));
/* Takes the index's lock, and puts the new index there. false: the call has failed, or the job begins again later. */
bool tfy__checkout_lock(TfyCanvasJob *job);
/* The new index takes the place of the old. 0 or -errno. */
int tfy__checkout_finish(TfyLanding *landing);
void tfy__checkout_unlock(TfyLanding *landing);

/* The call fails with Conflict. */
void tfy__land_conflict(TfyCanvasJob *job, const TfyNames *paths, const char *what);

#endif
