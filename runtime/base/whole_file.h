/* whole_file.h: a file that is written under another name, and gets its own when all of it is there and synced. Under
 * that name there is nothing, or what was there before, or the whole file, whenever the process is killed and the
 * machine stops.
 *
 * The other name is in the same directory: NAME.PID-N.part. It goes when the file is given up, when the process
 * exits, and on SIGINT, SIGTERM, SIGHUP and SIGQUIT, which then end the process as they would have. Only SIGKILL and
 * a power cut leave it. */
#ifndef BASE_WHOLE_FILE_H
#define BASE_WHOLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct TfyWhole {
    char name[PATH_MAX];
    char aside[PATH_MAX]; /* what to write to; "": nothing is under way */
    bool database;        /* SQLite's and our companions stand beside it, and go with it */
} TfyWhole;

typedef enum TfyWholeEnd {
    TFY_WHOLE_NEW = 0,  /* EEXIST where somebody has made a file of that name */
    TFY_WHOLE_OVER = 1, /* takes the place of what is there */
    TFY_WHOLE_MORE = 2, /* or'ed: others follow in this directory, and the last of them syncs its names */
} TfyWholeEnd;

/* A new file, open for writing: its descriptor, which the caller closes before commit. -1, with errno. */
int tfy__whole_open(TfyWhole *file, const char *name, mode_t mode);

/* The name of a database, of which nothing exists: the caller makes it, and has closed it in order before commit.
 * False, with errno. */
bool tfy__whole_open_database(TfyWhole *file, const char *name);

/* Syncs it and gives it its name. False, with errno: it is gone, or (where only the directory could not be synced)
 * has its name all the same. */
bool tfy__whole_commit(TfyWhole *file, TfyWholeEnd end);

/* Removes what was written. Of one that was committed or never begun, nothing; errno stays. */
void tfy__whole_abandon(TfyWhole *file);

#endif
