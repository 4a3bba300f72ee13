/* place.h: the one name under which a database is used, and what may stand beside it.
 *
 * SQLite finds "-wal" and "-shm" by the database's name, tfy "-tfy" and "-live". Two names of one file are two sets
 * of these: two locks, two witnesses, two halves of the log. So symbolic links are followed before any other name is
 * made, and a file with a second hard link, of which nobody can say which name is the right one, is refused. What
 * stands beside the database must be a plain file of the same people: through a link another file would be written
 * over. */
#ifndef WAL_STORE_PLACE_H
#define WAL_STORE_PLACE_H

enum { TFY_PLACE_BYTES = 4096 }; /* of a name, its NUL included */

/* The name with the symbolic links in its last component followed; a link to nothing names the file that will be made
 * there. The directories before it are left to the system, for what stands beside the file is found through them too.
 * TFY_E_INVALID: no name of a file. */
int tfy__place_resolve(const char *name, char path[TFY_PLACE_BYTES], char *error_text);

/* Whether the database, if it is there, has this name alone, and its companions, as far as there are any, may be
 * opened. 0, or a code with a sentence. */
int tfy__place_check(const char *path, char *error_text);

/* Whether a copy can get this name: neither it nor a -wal or -journal file is there, which SQLite would take for the
 * copy's. 0, or a code with a sentence. */
int tfy__place_is_free(const char *path, char *error_text);

#endif
