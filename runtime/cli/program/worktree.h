/* worktree.h: before a run that works on a git repository is taken up again: does the repository still stand where
 * the log says? */
#ifndef CLI_PROGRAM_WORKTREE_H
#define CLI_PROGRAM_WORKTREE_H

#include "wal/history/history.h"

/* Can the run have a Commit or a PatchPreview? Its program says so, without its records. */
bool tfy__touches_worktree(const TfyHistory *history);

/* Compares git's HEAD and the work tree below root with the run's last Commit and with the PatchPreview behind it,
 * and explains on stderr what differs, a line each. The number of differences; 0 also for runs that touched no
 * canvas. Changes nothing: going on is the reader's decision. */
int tfy__explain_worktree(const TfyHistory *history, const char *root);

#endif
