/* files.h: whether the files that were opened still have their names. A database that is deleted, moved away or
 * replaced can be written as ever through the descriptors that are open: every sync succeeds, and nobody will ever
 * find what was written. So device and inode of each file are remembered, and looked at after each sync.
 *
 * They are looked up in the directory that was opened, so that a directory that gets another name takes its database
 * along. */
#ifndef WAL_STORE_FILES_H
#define WAL_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

enum { TFY_FILES = 3 }; /* the main file, -wal, -shm */

typedef struct TfyFile {
    const char *ending; /* "" of the main file, "-wal", "-shm" */
    char *name;         /* in the directory; NULL: it was not there, and nobody looks for it */
    uint64_t dev, ino;
} TfyFile;

typedef struct TfyFiles {
    int directory; /* -1: nothing is remembered */
    TfyFile files[TFY_FILES];
} TfyFiles;

/* Those of the database at `path`, which is open. False, with errno. */
bool tfy__files_remember(TfyFiles *files, const char *path);
void tfy__files_forget(TfyFiles *files);

/* The first one that is not there any more under its name; NULL: all are. *replaced: another file has the name. */
const TfyFile *tfy__files_lost(const TfyFiles *files, bool *replaced);

#endif
