/* protect.h: what is in the working root and still not a program's to read or to write.
 *
 * Neither read nor written: every `.tfy`, the database with its companions (FILE, FILE-*), the cache of compiled
 * programs, the files that hold secrets. Not written: what programs outside take commands from: every `.git` and
 * every directory that git would take for one (where a `.git` file points, bare repositories), the settings of
 * editors, shells and agents, and the source of the running program.
 *
 * Asked is always about an entry of an open directory, after every symbolic link has been followed: the names on the
 * way up to the root are the kernel's, and files are compared by device and inode too, so that neither `a/../.GIT`, a
 * bind mount nor a hard link gets around. */
#ifndef TFY_EFFECTS_PROTECT_H
#define TFY_EFFECTS_PROTECT_H

#include "core/effect.h"

/* Why an entry is refused; beyond every errno value, so that both fit one int. */
enum { TFY_PROTECT_LOG = 5000, TFY_PROTECT_COMMANDS, TFY_PROTECT_SOURCE, TFY_PROTECT_BLIND };

typedef struct TfyProtect TfyProtect;

/* What is protected in this loop, to be asked by one thread at a time as long as the loop is open. NULL: no memory. */
TfyProtect *tfy__protect_new(TfyLoop *loop);
void tfy__protect_free(TfyProtect *protect);

/* May this path below the open directory `dir`, itself beneath the root, be used? It is the name of an entry, which
 * need not exist; if there is more behind it, that is missing too. 0, -TFY_PROTECT_… or -errno. */
int tfy__protect_check(const TfyProtect *protect, int dir, const char *path_below, bool write);

/* May the file behind a descriptor (O_PATH will do) be read? */
int tfy__protect_found(const TfyProtect *protect, int found);

/* The same for a path, absolute or below the current directory, of which the last component need not exist. Paths
 * outside the root are asked about too, up to the system's root. */
int tfy__protect_path(const TfyProtect *protect, const char *path, bool write);

/* The half sentence for a reason; NULL: it is an errno value. */
const char *tfy__protect_reason(int reason);

#endif
