/* where.h: where a run goes on: in the directory that it worked in, or where --root says. */
#ifndef CLI_PROGRAM_WHERE_H
#define CLI_PROGRAM_WHERE_H

#include "cli/frame/cli.h"
#include "wal/history/history.h"

/* The choice. Paths are borrowed from the arguments and the history. */
typedef struct TfyWhere {
    const char *root; /* NULL: the current directory */
    bool moves;       /* --root names another directory than the run worked in */
} TfyWhere;

/* Says when it is not the current directory; refuses, with both paths, when the recorded one does not lead to where
 * the run worked any more. */
int tfy__where_choose(const TfyArgs *args, const TfyHistory *history, TfyWhere *choice);

/* Does the run work in this directory? False too for one that does not say. */
bool tfy__where_is(const TfyHistory *history, const char *dir);
/* EXIT_DONE, or why the directory that a run worked in is not there: said, with the status. */
int tfy__where_check(const TfyHistory *history);

#endif
