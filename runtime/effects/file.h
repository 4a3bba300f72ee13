/* file.h: paths that cannot leave the working root, for files, canvas and the directories of tools.
 *
 * A path is relative to the root, or absolute and inside it. The kernel resolves it beneath the root's descriptor
 * (openat2), so neither `..` nor a symbolic link leads out, not even a link that is swapped in meanwhile. On a
 * kernel without openat2 the path is walked component by component, and any symbolic link or `..` is refused: that
 * allows less, never more. */
#ifndef TFY_EFFECTS_FILE_H
#define TFY_EFFECTS_FILE_H

#include "core/effect.h"
#include "effects/protect.h"

/* Opens a path beneath a directory. Returns a descriptor, or -errno (EXDEV: the path would lead out). O_CLOEXEC
 * and O_NOCTTY are added; links: follow symbolic links. */
int tfy__beneath_open(int root_fd, const char *path, int flags, bool links);
/* The same without openat2. */
int tfy__beneath_walk(int root_fd, const char *path, int flags);

/* The part of a path below the root of the task's run: "." for the root itself; NULL if the path is empty, leads
 * elsewhere, or contains a NUL. */
const char *tfy__path_below(TfyTask *task, const TfyObj *path);

/* In the functions below, protect names what may not be touched (protect.h); NULL: nothing, for a directory of the
 * runtime's own. They return 0 or a negative reason: -errno or -TFY_PROTECT_…. */

/* Opens a regular file of at most so many bytes for reading: a descriptor, or a negative reason. */
int tfy__file_open(const TfyProtect *protect, int root_fd, const char *path, bool links, size_t most);
/* Reads a regular file of at most so many bytes (tfy__file_most) into out (reset first). EFBIG: too big, ENOTSUP: not
 * a regular file. */
int tfy__file_read(const TfyProtect *protect, int root_fd, const char *path, bool links, size_t most, TfyBuffer *out);

/* What to write, and how. */
typedef struct TfyFileContent {
    const char *key; /* names the temporary file */
    int executable;  /* 0, 1, or -1: as before (a new file: not executable) */
    const char *bytes;
    size_t len;
    size_t most; /* bytes that a file may have: more is EFBIG */
} TfyFileContent;

/* Replaces or makes a file, with its missing directories: whole or not at all, synced. Symbolic links that stay
 * beneath are written through. *replaced: the new file is in its place, and a later step failed. */
int tfy__file_write(const TfyProtect *protect, int root_fd, const char *path, const TfyFileContent *content,
                    bool *replaced);

/* Returns whether a write there would be refused by protection. Symbolic links at the path's end are not followed. */
int tfy__file_may_write(const TfyProtect *protect, int root_fd, const char *path);

/* Removes a file that is not a directory; an absent file is allowed. *removed: it is gone, whatever failed then. */
int tfy__file_remove(const TfyProtect *protect, int root_fd, const char *path, bool *removed);

/* Makes the missing directories above a path, each synced; the path is as before afterwards. */
int tfy__file_make_parents(const TfyProtect *protect, int root_fd, char *path);

/* Returns whether the run's working root was removed since it was opened. Opening "." in it still succeeds then. */
bool tfy__root_is_gone(TfyTask *task);

/* Fails the call with a sentence about the path; error is a positive errno value or TFY_PROTECT_…. */
void tfy__file_error(TfyCall *call, const char *verb, const char *path, int error);

#endif
