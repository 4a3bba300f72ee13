/* worktree.h: before a run that works on a git repository is resumed, checks whether the repository still has the
 * state that the log records. */
#ifndef CLI_PROGRAM_WORKTREE_H
#define CLI_PROGRAM_WORKTREE_H

#include "tfy_program.h"
#include "wal/history/history.h"

/* Can the run have a Commit or a PatchPreview? The answer comes from its program, without its records. */
bool tfy__touches_worktree(const TfyHistory *history);

/* Compares the run's branch and the file it patched last with its last Commit and with the PatchPreview after it, and
 * explains every difference on stderr, one per line. Returns the number of differences; 0 also for a run that touched
 * no canvas, and where git cannot run in a cell. Changes nothing: the user decides whether to continue. */
int tfy__explain_worktree(const TfyProgram *program, const TfyHistory *history, const char *root);

#endif
