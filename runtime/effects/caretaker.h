/* caretaker.h: a private directory that is gone when its owner is, however that ends.
 *
 *   owner ── caretaker      makes the directory, and removes it with all that is in it when nobody holds the other end
 *                           of their socket any more
 *
 * The caretaker is a fork in a session of its own, without any of the owner's descriptors. */
#ifndef TFY_EFFECTS_CARETAKER_H
#define TFY_EFFECTS_CARETAKER_H

#include <limits.h>
#include <sys/types.h>

typedef struct TfyCaretaker {
    char path[PATH_MAX]; /* of the directory, without links; mode 0700 */
    pid_t pid;           /* 0: there is none */
    int held;            /* close-on-exec; valid while there is one */
} TfyCaretaker;

/* Starts one; the directory is made in TMPDIR, or in /tmp. *caretaker is zeroed. 0 or an errno value. */
int tfy__caretaker_start(TfyCaretaker *caretaker);
/* The directory goes now. */
void tfy__caretaker_end(TfyCaretaker *caretaker);

/* Removes a directory, named in another one or by a path (AT_FDCWD), with all that is in it; what was forbidden to be
 * looked into is allowed first. Links are not followed. */
void tfy__remove_tree(int above, const char *name);

#endif
