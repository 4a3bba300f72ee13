/* sandbox.h: which cell a tool runs in: what the program says of its process (TfySandbox), narrowed by the command
 * line, resolved on this machine.
 *
 *   TfySandbox of the tool, or of the program ─┐
 *   TfyCeiling of the run ─────────────────────┼─▶ tfy__sandbox_confine ─▶ TfyConfined ─▶ process.h
 *   what this kernel can do (the level) ───────┘
 *
 * The level is found once for a loop, by building a cell for nothing. No tool ever runs with less than its sandbox
 * says: what cannot be built is an error. */
#ifndef TFY_EFFECTS_SANDBOX_H
#define TFY_EFFECTS_SANDBOX_H

#include "core/effect.h"
#include "effects/cell.h"
#include "effects/family.h"
#include "effects/git_dirs.h"

/* Of a tool, and the program that runs it. */
#define TFY_RUNNER_REFUSED "the tool '%s' is run by '%s', which no sandbox holds; --runners allows that"

enum { TFY_CONFINED_WHY = TFY_ERROR_TEXT }; /* bytes of a sentence, with the NUL */

/* How one process is held. A zeroed struct is not held at all, as with `open` set. */
typedef struct TfyConfined {
    bool open;        /* no cell: it has the rights of this process */
    const char *name; /* of the sandbox */
    TfyCellPlan plan;
    /* The words of its runner, filled in, which NULL ends; owned; NULL: it has none. With one it is `open`: the runner
     * holds it, and nothing holds the runner. */
    char **runner;
    char *variables[2]; /* "HOME=…", "TMPDIR=…"; owned */
    /* The hosts that it reaches by the proxy, and, if that is not NULL, those that the command line allows at most: each
     * ends with NULL; owned. hosts NULL: it has no proxy. */
    char **hosts, **most_hosts;
    /* partial: its private directory, which tfy__confined_free removes; owned; NULL: none */
    char *directory;
    TfyCellNames names; /* what no mount can hold, as it was before */
    TfyGitNames git;    /* the same in its repository, if it writes that */
    char root[PATH_MAX];
    char *journal;    /* a file that must not come to be beside the log; owned; NULL: the tool could not make it */
    TfyLimits limits; /* of its family */
    size_t output;    /* bytes that are kept of each output; 0: the loop's */
} TfyConfined;

/* Finds the level if a tool of the program needs one, and tells people when it is partial: so that nothing begins that
 * cannot go on. 0, or a negative code with what is missing. */
int tfy__sandbox_prepare(TfyLoop *loop, const TfyProgram *program, char *error_text);

/* Finds the level that cells have here, once for the loop: TFY_CELL_FULL or TFY_CELL_PARTIAL. 0, or a negative code with
 * what is missing: the loop cannot go on. */
int tfy__sandbox_level(TfyLoop *loop, uint32_t *level, char *error_text);
/* What is closed in this loop, for plans; the loop's. NULL: no memory. */
const struct TfyProtect *tfy__sandbox_protect(TfyLoop *loop);

/* Describes the cell of a call; out is zeroed. granted: what a person lets this call have besides, as in
 * TfyCeiling.grants; NULL: nothing. cwd_fd: the directory to run in. 0; an errno value with a sentence; or a negative
 * code with one: the loop cannot go on. */
int tfy__sandbox_confine(TfyCall *call, const char *granted, int cwd_fd, TfyConfined *out, char why[TFY_CONFINED_WHY]);
/* For people: the name of the sandbox that a tool's process would run in; NULL: in none. readonly: the command line takes
 * from it that it may write. */
const char *tfy__sandbox_told(TfyTask *task, const TfyTool *tool, bool *readonly);
/* A protected name in the root that was made or replaced since then, or the path of a journal that was made beside the
 * log; NULL: none. */
const char *tfy__sandbox_made(const TfyConfined *confined);
/* Is this sentence another than the last one that was asked about? So that a loop does not say it again and again. */
bool tfy__sandbox_is_news(TfyLoop *loop, const TfyBuffer *sentence);
void tfy__confined_free(TfyConfined *confined);

/* tfy-cell, to execute (tfy__cell_open); kept for the loop. Or -errno. */
int tfy__sandbox_program(TfyLoop *loop);
/* What goes with the policy of a cell that is started now, the loop's (tfy__cell_layer); -1: nothing. */
int tfy__sandbox_layer(TfyLoop *loop);

void tfy__sandbox_close(TfyLoop *loop);

#endif
