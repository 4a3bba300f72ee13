/* wrote.h: the files that a run has written since its last commit, and which commit that was: what commit() takes,
 * and what it builds on.
 *
 * Effects that change files note them here (write_file, write_bytes, remove_file, apply). The notes are not in the
 * log: a replay makes them anew from the arguments of the recorded steps, in the recorded order, and a snapshot
 * carries them. The record of a commit names the notes that it settled. */
#ifndef TFY_EFFECTS_WROTE_H
#define TFY_EFFECTS_WROTE_H

#include "base/list.h"
#include "base/table.h"
#include "core/effect.h"

/* A file, as the program named it (below the working root). */
typedef struct TfyWrote {
    struct TfyWrote *prev, *next; /* in the run's list: oldest first */
    TfyLink link;                 /* by path */
    uint64_t noted;               /* the ordinal of its newest note among the run's */
    char path[];
} TfyWrote;

typedef struct TfyWroteRun {
    struct TfyWroteRun *next;
    char uuid[37];
    char last[65]; /* the id of its last commit; empty: none */
    /* The branch on which it began, "refs/heads/main": what was checked out when it first committed. Owned; NULL: it has
     * not committed, or began on none. */
    char *branch;
    char base[65];   /* the commit that it began on; empty: the branch had none */
    char landed[65]; /* the commit of its own that it landed last (canvas_land.c); empty: none */
    LIST(TfyWrote) files;
    TfyTable by_path;
    uint64_t notes; /* so far */
} TfyWroteRun;

/* The step may have changed this file (a TfyString). Without memory the loop stops, as a kill would stop it. */
void tfy__wrote_note(const TfyCall *call, const TfyObj *path);
/* The same for performers whose first argument is the path, unless the file is certainly as it was; for
 * TfyPerformer.recorded. */
void tfy__wrote_recorded(TfyCall *call, const struct TfyPayload *payload);
/* Whether an attempt that the history answered may have changed its file. */
bool tfy__wrote_maybe(const struct TfyPayload *payload);

/* The run's notes; NULL: it has none and has not committed. */
TfyWroteRun *tfy__wrote_of(TfyLoop *loop, const char *run_uuid);

/* A commit was made: sets the run's last one. settled: a JSON list of the paths that it settled; NULL: unknown, all
 * notes stay. */
void tfy__wrote_committed(TfyLoop *loop, const char *run_uuid, const char *id, const json_t *settled);

/* The run's first commit says where it began. branch: NULL: on none; base: empty: the branch has no commit. */
void tfy__wrote_began(TfyLoop *loop, const char *run_uuid, const char *branch, const char *base);
/* The run's last commit was landed; the second for TfyPerformer.recorded of land. */
void tfy__wrote_landed(TfyLoop *loop, const char *run_uuid);
void tfy__wrote_land_recorded(TfyCall *call, const struct TfyPayload *payload);

/* For the performer of commit: TfyPerformer.recorded, .save and .restore. */
void tfy__wrote_commit_recorded(TfyCall *call, const struct TfyPayload *payload);
void tfy__wrote_save(TfyLoop *loop, const char *run_uuid, TfyBuffer *out);
void tfy__wrote_restore(TfyLoop *loop, const char *run_uuid, const json_t *json);

/* For TfyPerformer.forget and .close of each that notes. */
void tfy__wrote_forget(TfyLoop *loop, const char *run_uuid);
void tfy__wrote_close(TfyLoop *loop);

#endif
