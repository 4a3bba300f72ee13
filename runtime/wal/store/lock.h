/* lock.h: the writer lock. One process writes a database: it locks byte 0 of "<db>-tfy" as long as the database is
 * open, and the kernel releases the lock however the process ends. The lock belongs to the open descriptor, so two
 * openings in one process exclude each other, too. The file starts with a line that names the holder; the witness
 * follows (witness.h). The lock on byte 1 is for the watcher of tools and its stubs. */
#ifndef WAL_STORE_LOCK_H
#define WAL_STORE_LOCK_H

#include <stdbool.h>
#include <stddef.h>

enum { TFY_LOCK_OWNER_BYTES = 96 }; /* bytes at the start of the file */

/* Takes the lock; creates the directory (0700) and the file (0600) if they are missing. Returns the descriptor, or a
 * negative code with a message in error_text. */
int tfy__lock_take(const char *db_path, char *error_text);
void tfy__lock_drop(int fd);

/* Whether a process holds it now, and which one ("pid 123 (name)"; size bytes). Neither locks nor creates
 * anything. */
bool tfy__lock_held(const char *db_path, char *owner, size_t size);

/* Whether the file, or the place for it, is on a file system where locks, syncs or shared memory do not work between
 * all its users. */
bool tfy__lock_on_network(const char *db_path);

/* "pid 123 (name)" of this process. */
void tfy__lock_owner(char *text, size_t size);

#endif
