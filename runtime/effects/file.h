/* file.h: paths that cannot leave the working root, for files, canvas and the directories of tools.
 *
 * A path is relative to the root, or absolute and inside it. The kernel resolves it beneath the root's descriptor
 * (openat2), so neither `..` nor a symbolic link leads out, not even one that is swapped in meanwhile. On a kernel
 * without openat2 the path is walked component by component, and then any symbolic link or `..` is refused: less is
 * possible, nothing more. */
#ifndef TFY_EFFECTS_FILE_H
#define TFY_EFFECTS_FILE_H

#include "core/effect.h"
#include "effects/protect.h"

#define TFY_FILE_CAP ((size_t)16 << 20) /* bytes of a file that can be read or written */

/* Opens a path beneath a directory. A descriptor, or -errno (EXDEV: it would lead out). O_CLOEXEC and O_NOCTTY are
 * added; links: are symbolic links followed? */
int tfy__beneath_open(int root_fd, const char *path, int flags, bool links);
/* The same without openat2. */
int tfy__beneath_walk(int root_fd, const char *path, int flags);

/* The part of a path below the root: "." for the root itself; NULL when it is empty, absolute elsewhere, or has a NUL
 * in it. */
const char *tfy__path_below(TfyLoop *loop, const TfyObj *path);

/* In what follows protect says what may not be touched (protect.h); NULL: a directory of ours, nothing. Answers are 0
 * or a negative reason: -errno or -TFY_PROTECT_…. */

/* Reads a regular file of at most TFY_FILE_CAP bytes into out (reset first). EFBIG: too big, ENOTSUP: not a regular
 * file. */
int tfy__file_read(const TfyProtect *protect, int root_fd, const char *path, bool links, TfyBuffer *out);

/* What is to be written, and how. */
typedef struct TfyFileContent {
    const char *key; /* names the temporary file */
    int executable;  /* 0, 1, or -1: as it was (a new file: no) */
    const char *bytes;
    size_t len;
} TfyFileContent;

/* Replaces or makes a file, with its missing directories: whole or not at all, synced; symbolic links that stay
 * beneath are written through. *replaced: the new file is in its place, and what failed came after that. */
int tfy__file_write(const TfyProtect *protect, int root_fd, const char *path, const TfyFileContent *content,
                    bool *replaced);

/* Would a write there be refused for what is protected? Symbolic links at its end are not followed. */
int tfy__file_may_write(const TfyProtect *protect, int root_fd, const char *path);

/* Removes a file that is not a directory; one that is not there is fine. */
int tfy__file_remove(const TfyProtect *protect, int root_fd, const char *path);

/* Was the working root removed since the loop was opened? Opening "." in it still succeeds then. */
bool tfy__root_is_gone(TfyLoop *loop);

/* Fails the call with a sentence about the path; error is a positive errno value or TFY_PROTECT_…. */
void tfy__file_error(TfyCall *call, const char *verb, const char *path, int error);

#endif
