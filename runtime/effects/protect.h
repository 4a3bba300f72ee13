/* protect.h: files in the working root that a program may nevertheless not read or write.
 *
 * Neither read nor written: every `.tfy`, the database with its companions (FILE, FILE-*), the cache of compiled
 * programs, the files that hold secrets. Not written: files from which outside programs take commands: every
 * `.git` and every directory that git would take for one (where a `.git` file points, bare repositories), the
 * settings of editors, shells and agents; the running program, which somebody will start again, and its source; what
 * this process obeys outside of every sandbox: the file of models, and the files that the commands of runners and of
 * --secrets-from name.
 *
 * A check is always about an entry of an open directory, after every symbolic link has been followed: the names on
 * the way up to the root come from the kernel, and files are compared by device and inode too, so that neither
 * `a/../.GIT`, a bind mount nor a hard link evades it. */
#ifndef TFY_EFFECTS_PROTECT_H
#define TFY_EFFECTS_PROTECT_H

#include "core/effect.h"

/* Why an entry is refused; above every errno value, so that both fit in one int. */
enum { TFY_PROTECT_LOG = 5000, TFY_PROTECT_COMMANDS, TFY_PROTECT_SOURCE, TFY_PROTECT_PROGRAM, TFY_PROTECT_BLIND };

/* Names from which programs outside take commands, in any case; NULL ends the list. */
extern const char *const tfy__protect_names[];

typedef struct TfyProtect TfyProtect;

/* What is protected in this loop, for paths beneath this root; root_fd -1: no path is checked, only the closed ones are
 * visited. One thread at a time may use it, as long as the loop is open. NULL: no memory. */
TfyProtect *tfy__protect_new(TfyLoop *loop, int root_fd);
void tfy__protect_free(TfyProtect *protect);

/* Checks a path below the open directory `dir`, itself beneath the root. The first component is the name of an
 * entry, which need not exist; any further components are missing too. Returns 0 if it may be used, -TFY_PROTECT_…
 * or -errno. */
int tfy__protect_check(const TfyProtect *protect, int dir, const char *path_below, bool write);

/* Checks whether the file behind a descriptor (O_PATH will do) may be read. */
int tfy__protect_found(const TfyProtect *protect, int found);

/* The same for a path, absolute or below the current directory, whose last component need not exist. Paths outside
 * the root are checked too, up to the system's root. */
int tfy__protect_path(const TfyProtect *protect, const char *path, bool write);

/* Refuses a program's working root that is "/" or the person's home directory: it changes files, and would change what
 * all other programs take their commands from. 0, or TFY_E_INVALID with a sentence. */
int tfy__protect_root(TfyLoop *loop, const TfyProgram *program, char *error_text);

/* Calls visit for each path that exists and is neither read nor written: the database with its companions, the cache,
 * files with secrets. Without links. */
void tfy__protect_each_closed(const TfyProtect *protect, void (*visit)(void *arg, const char *path), void *arg);
/* Makes *path the path of a rollback journal beside the database, without links, owned by the caller; NULL for a log in
 * memory and where the directory is not found. 0 or ENOMEM. */
int tfy__protect_journal(const TfyProtect *protect, char **path);
/* The same as tfy__protect_each_closed for what is read and not written: the program and its files, as far as they are
 * found, and what is obeyed outside of every sandbox. root: without links. */
void tfy__protect_each_source(const TfyProtect *protect, const char *root, void (*visit)(void *arg, const char *path),
                              void *arg);

/* Where `tfy run` found the program's main file: only the part of a name below its directory is compiled in. */
#define TFY_SOURCE_DIR "TFY_SOURCE_DIR"

/* A clause that states the reason; NULL: it is an errno value. */
const char *tfy__protect_reason(int reason);

#endif
