/* hold.h: the lock on the main file itself. The writer lock of lock.h is found by the database's name; this one by
 * its inode, so that a second name (a bind mount, a directory that was renamed) and a lock file that somebody removed
 * let no second writer in, and no reader to whom the -wal file of the first name is missing.
 *
 * It is an open file description lock on one byte far beyond what SQLite locks and writes. A process loses all its
 * POSIX locks on a file when it closes any descriptor of it, SQLite's included. So one descriptor for each file
 * serves the whole process: opened before SQLite opens the file, and closed when the last hold is dropped, which is
 * after SQLite has closed it. */
#ifndef WAL_STORE_HOLD_H
#define WAL_STORE_HOLD_H

#include <stdbool.h>

typedef struct TfyHold TfyHold;

/* Holds the file at path, which must be there: to write, alone. TFY_E_HELD: another process writes it, under whatever
 * name; of who only reads, that is refused when it is another name. */
int tfy__hold_take(const char *path, bool writes, TfyHold **hold, char *error_text);

/* Whether the file has no name any more: it goes when it is closed. */
bool tfy__hold_is_deleted(const TfyHold *hold);

/* After SQLite has closed the file. NULL: nothing is held. */
void tfy__hold_drop(TfyHold *hold, bool writes);

#endif
