/* former.h: what a former owner of a database left running, found and ended by the new one.
 *
 * The watcher (watcher.h) ends every tool when the runtime dies, and the stubs do when the watcher dies too. Nobody
 * does when all of them are killed together. So the owner's tools carry a mark that all their descendants inherit: a
 * random number, in the environment variable TFY_PROCESS and in the name of an empty unnamed file that is open in
 * them. A descendant loses it only by clearing its environment and closing the file. The mark of the owner stands in
 * the lock file from before its first tool starts until none of them is left, so the next owner knows whether and
 * what it has to look for; after an owner that ended in order there is nothing to do.
 *
 * In the lock file ("<db>-tfy"; the witness has its layout), at byte 256, in the machine's own order:
 *
 *   "tfytool1", the mark (8), device and inode of the lock file (8 each; in a copy of the file they do not fit, and it says nothing)
 *
 * Zeros: nothing is left. It is not synced: no process survives a power cut. */
#ifndef TFY_EFFECTS_FORMER_H
#define TFY_EFFECTS_FORMER_H

#include <stdbool.h>
#include <stdint.h>

#define TFY_MARK_VARIABLE "TFY_PROCESS="
#define TFY_MARK_FD       59 /* where the unnamed file is open in a tool: above what scripts choose, below 64 */

enum { TFY_MARK_BYTES = 24 }; /* of the unnamed file's name */

/* An unnamed, empty, sealed file whose name is the mark; close-on-exec. -1 with errno. */
int tfy__former_mark_file(uint64_t mark);

/* Notes in the lock file that processes with this mark may live; 0: that there are none. 0 or an errno value. Safe
 * after a fork. */
int tfy__former_note(int lock_fd, uint64_t mark);

/* Called by the new owner after it has taken the writer lock. Waits until neither the watcher nor a stub of a former
 * owner lives, then ends what has its mark, first with SIGTERM, and waits for that. 0; TFY_E_HELD when that takes
 * longer than timeout_ms; TFY_E_IO. A missing file is free. */
int tfy__former_end(const char *lock_path, int timeout_ms);

#endif
