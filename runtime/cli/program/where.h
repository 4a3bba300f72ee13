/* where.h: the working root of a resumed run: the directory that it worked in, or the one that --root names. */
#ifndef CLI_PROGRAM_WHERE_H
#define CLI_PROGRAM_WHERE_H

#include "cli/frame/cli.h"
#include "wal/history/history.h"

/* The choice. Paths belong to the arguments and the history. */
typedef struct TfyWhere {
    const char *root; /* NULL: the current directory */
    /* --root names a directory other than the one that the run worked in */
    bool moves;
} TfyWhere;

/* Prints a message when the root is not the current directory. Refuses, with both paths, when the recorded path no
 * longer leads to the directory that the run worked in. */
int tfy__where_choose(const TfyArgs *args, const TfyHistory *history, TfyWhere *choice);

/* Does the run work in this directory? Returns false too for a run that does not record its directory. */
bool tfy__where_is(const TfyHistory *history, const char *dir);
/* Returns EXIT_DONE; or, when the directory that a run worked in is missing, the exit status after a message that
 * says why. */
int tfy__where_check(const TfyHistory *history);

#endif
