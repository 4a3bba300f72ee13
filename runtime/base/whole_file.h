/* whole_file.h: a file that is written under a temporary name, and renamed once it is complete and synced. Whenever
 * the process is killed or the machine stops, the final name refers to nothing, to the earlier file, or to the whole
 * new one.
 *
 * The temporary name is in the same directory: NAME.PID-N.part. It is removed when the file is abandoned, when the
 * process exits, and on SIGINT, SIGTERM, SIGHUP and SIGQUIT, which then end the process as usual. Only SIGKILL and a
 * power cut leave it behind. */
#ifndef BASE_WHOLE_FILE_H
#define BASE_WHOLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct TfyWhole {
    char name[PATH_MAX];
    char aside[PATH_MAX]; /* the temporary name; "": nothing is under way */
    bool database;        /* SQLite's and our companion files are removed with it */
} TfyWhole;

typedef enum TfyWholeEnd {
    TFY_WHOLE_NEW = 0,  /* fails with EEXIST if the name exists */
    TFY_WHOLE_OVER = 1, /* replaces an existing file */
    /* or'ed: more files follow in this directory, and the last of them syncs the directory */
    TFY_WHOLE_MORE = 2,
} TfyWholeEnd;

/* Creates a new file, open for writing: its descriptor, which the caller closes before commit. -1, with errno. */
int tfy__whole_open(TfyWhole *file, const char *name, mode_t mode);

/* Chooses a name for a database, of which nothing exists: the caller creates it, and closes it properly before
 * commit. False, with errno. */
bool tfy__whole_open_database(TfyWhole *file, const char *name);

/* Syncs the file and gives it its name. False, with errno: the file is removed, or (if only syncing the directory
 * failed) has its name all the same. */
bool tfy__whole_commit(TfyWhole *file, TfyWholeEnd end);

/* All of the bytes, or false, with errno. For files: a descriptor that is not ready is a failure. */
bool tfy__write_all(int fd, const void *bytes, size_t len);

/* Removes what was written. Does nothing after a commit or before an open; keeps errno. */
void tfy__whole_abandon(TfyWhole *file);

#endif
