/* former.h: finds and ends the processes that a former owner of a database left running.
 *
 * The watcher (watcher.h) ends every tool when the runtime dies, and the stubs do so when the watcher dies too. If
 * all of them are killed together, nothing is left to do it. So the owner's tools carry a mark that all their
 * descendants inherit: a random number, in the environment variable TFY_PROCESS and in the name of an empty
 * unnamed file that is open in them. A descendant loses it only by clearing its environment and closing the file.
 * The owner's mark is stored in the lock file before its first tool starts and until none of its tools is left, so
 * the next owner knows whether to search, and for which mark; after an owner that exited normally there is nothing
 * to do.
 *
 * In the lock file ("<db>-tfy"; the witness has its layout), at byte 256, in the machine's own byte order:
 *
 *   "tfytool1", the mark (8), device and inode of the lock file (8 each; in a copy of the file they do not match,
 *   and the entry is ignored)
 *
 * Zeros: nothing is left. The entry is not synced: no process survives a power cut. */
#ifndef TFY_EFFECTS_FORMER_H
#define TFY_EFFECTS_FORMER_H

#include <stdbool.h>
#include <stdint.h>

#define TFY_MARK_VARIABLE "TFY_PROCESS="
/* the descriptor of the unnamed file in a tool: above those that scripts choose, below 64 */
#define TFY_MARK_FD 59

enum { TFY_MARK_BYTES = 24 }; /* of the unnamed file's name */

/* An unnamed, empty, sealed file whose name is the mark; close-on-exec. -1 with errno. */
int tfy__former_mark_file(uint64_t mark);

/* Notes in the lock file that processes with this mark may live; 0: that there are none. Returns 0 or an errno
 * value. Safe after a fork. */
int tfy__former_note(int lock_fd, uint64_t mark);

/* Called by the new owner after it has taken the writer lock. Waits until neither the watcher nor a stub of a
 * former owner lives, then ends every process that has its mark, first with SIGTERM, and waits for that. Returns
 * 0; TFY_E_HELD if that takes longer than timeout_ms; TFY_E_IO. A missing file means there is no former owner. */
int tfy__former_end(const char *lock_path, int timeout_ms);

#endif
