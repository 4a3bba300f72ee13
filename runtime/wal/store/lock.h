/* lock.h: the writer lock. One process writes a database: it holds a lock on byte 0 of "<db>-tfy" for as long as
 * it has it open, and the kernel lets go of it however the process ends. The lock belongs to the open descriptor,
 * so two openings in one process exclude each other too. The file begins with a line that says who holds it; behind it
 * stands the witness (witness.h). A lock on byte 1 is for the watcher of tools and its stubs. */
#ifndef WAL_STORE_LOCK_H
#define WAL_STORE_LOCK_H

#include <stdbool.h>
#include <stddef.h>

enum { TFY_LOCK_OWNER_BYTES = 96 }; /* of the file, from its beginning */

/* Takes the lock, making the directory (0700) and the file (0600) where they are missing. Answers the descriptor,
 * or a negative code with one sentence in error_text. */
int tfy__lock_take(const char *db_path, char *error_text);
void tfy__lock_drop(int fd);

/* Whether some process holds it now, and who ("pid 123 (name)"; size bytes). Takes and makes nothing. */
bool tfy__lock_held(const char *db_path, char *owner, size_t size);

/* Whether the file, or where it would be made, lies on a file system on which locks, syncs or shared memory do not hold
 * between all who use it. */
bool tfy__lock_on_network(const char *db_path);

/* "pid 123 (name)" of this process. */
void tfy__lock_owner(char *text, size_t size);

#endif
