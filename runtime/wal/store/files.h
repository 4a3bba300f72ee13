/* files.h: whether the opened files still have their names. A database that is deleted, moved or replaced can be
 * written as before through the open descriptors: every sync succeeds, and nobody will ever find the data. So the
 * device and inode of each file are remembered, and compared after each sync.
 *
 * The names are looked up in the opened directory, so a directory that is renamed takes its database along. */
#ifndef WAL_STORE_FILES_H
#define WAL_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

enum { TFY_FILES = 3 }; /* the main file, -wal, -shm */

typedef struct TfyFile {
    const char *ending; /* "" for the main file, "-wal", "-shm" */
    /* Its name in the directory; NULL: it did not exist, and is not checked. */
    char *name;
    uint64_t dev, ino;
} TfyFile;

typedef struct TfyFiles {
    int directory; /* -1: nothing is remembered */
    TfyFile files[TFY_FILES];
} TfyFiles;

/* Remembers the files of the open database at `path`. False, with errno. */
bool tfy__files_remember(TfyFiles *files, const char *path);
void tfy__files_forget(TfyFiles *files);

/* The first file that is no longer there under its name; NULL: all are there. *replaced: another file has the
 * name. */
const TfyFile *tfy__files_lost(const TfyFiles *files, bool *replaced);

#endif
