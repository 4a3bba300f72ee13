/* hold.h: the lock on the main file itself. The writer lock of lock.h is found by the database's name, this one by
 * the file's inode. So a second name (a bind mount, a renamed directory) or a removed lock file admits neither a
 * second writer nor a reader that would miss the -wal file of the first name.
 *
 * It is an open file description lock on one byte far beyond what SQLite locks and writes. A process loses all its
 * POSIX locks on a file when it closes any descriptor of that file, including SQLite's locks. So one descriptor per
 * file serves the whole process: it is opened before SQLite opens the file, and closed when the last hold is dropped,
 * which is after SQLite has closed the file. */
#ifndef WAL_STORE_HOLD_H
#define WAL_STORE_HOLD_H

#include <stdbool.h>

typedef struct TfyHold TfyHold;

/* Holds the file at path, which must exist; a writer holds it exclusively. TFY_E_HELD: another process writes it,
 * under whatever name; a reader gets this only if that name is a different one. */
int tfy__hold_take(const char *path, bool writes, TfyHold **hold, char *error_text);

/* Whether the file has lost its name: it is gone once it is closed. */
bool tfy__hold_is_deleted(const TfyHold *hold);

/* Call it after SQLite has closed the file. NULL: nothing is held. */
void tfy__hold_drop(TfyHold *hold, bool writes);

#endif
