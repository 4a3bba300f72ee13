/* git_dirs.h: where a work tree's repository is, as git would find it, and what of it a cell opens.
 *
 *   linked work tree           its repository
 *   top/.git (a file) ───────▶ common/worktrees/NAME = own ── commondir ──▶ common
 *
 * Elsewhere own and common are the same. What a `.git` file names counts only if git would take it for a repository's
 * directory: the file may be anybody's, and must not open a directory of keys. */
#ifndef TFY_EFFECTS_GIT_DIRS_H
#define TFY_EFFECTS_GIT_DIRS_H

#include "effects/cell.h"

/* All without links. */
typedef struct TfyGitDirs {
    char top[PATH_MAX];    /* of the work tree: the directory with the `.git` */
    char own[PATH_MAX];    /* has this work tree's HEAD and index */
    char common[PATH_MAX]; /* has objects, refs and settings */
} TfyGitDirs;

/* Would git take this directory for a repository's own, or for a part of one? */
bool tfy__git_is_dir(const char *path);
/* The repository of a work tree whose top this is. False: there is none. */
bool tfy__git_dirs_at(const char *top, TfyGitDirs *dirs);
/* The same for a directory in a work tree. */
bool tfy__git_dirs_above(const char *root, TfyGitDirs *dirs);

/* Opens what a commit on a run's branch needs: the repository is read, and its objects and the branches of runs are
 * written. Nothing from which programs outside take commands can be. */
void tfy__git_dirs_commit(const TfyGitDirs *dirs, TfyCellPlan *plan);
/* Opens besides what moving this branch ("refs/heads/main") needs: the directory that it is in, and its log's. */
void tfy__git_dirs_branch(const TfyGitDirs *dirs, const char *ref, TfyCellPlan *plan);
/* A name in a repository's directory that no mount can hold: it does not exist, or is a link. */
typedef struct TfyGitName {
    char *path;     /* owned */
    uint64_t inode; /* of the link; 0: it does not exist */
} TfyGitName;

typedef struct TfyGitNames {
    TfyGitName names[10];
    int count;
} TfyGitNames;

/* Opens the repository for a tool, in a full cell: index, objects and refs, but none of the names from which git outside
 * takes commands or settings. A protected path of the plan becomes one that is written. names: zeroed. 0, or ENOMEM. */
int tfy__git_dirs_open(const TfyGitDirs *dirs, const char *root, TfyCellPlan *plan, TfyGitNames *names);
/* One of them that came to be, or became another; NULL: none. */
const char *tfy__git_names_made(const TfyGitNames *names);
void tfy__git_names_free(TfyGitNames *names);

/* What git reads elsewhere: objects of other repositories, and of a work tree whose top is above the root, the files
 * that say what is ignored and how files are kept. */
void tfy__git_dirs_read(const TfyGitDirs *dirs, const char *root, TfyCellPlan *plan);

#endif
