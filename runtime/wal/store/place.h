/* place.h: the one name under which a database is used, and the files that may be beside it.
 *
 * SQLite finds "-wal" and "-shm" by the database's name, tfy "-tfy" and "-live". Two names of one file mean two sets
 * of these: two locks, two witnesses, two halves of the log. So symbolic links are followed before any other name is
 * derived, and a file with a second hard link is refused, because nobody can tell which name is the right one. The
 * files beside the database must be plain files of the same owner: through a link another file would be
 * overwritten. */
#ifndef WAL_STORE_PLACE_H
#define WAL_STORE_PLACE_H

enum { TFY_PLACE_BYTES = 4096 }; /* size of a name, with its NUL */

/* The name with the symbolic links in its last component followed; a link to a missing file names the file to be
 * created. The system resolves the directories before it, and the companions of the file are found through them, too.
 * TFY_E_INVALID: not a name of a file. */
int tfy__place_resolve(const char *name, char path[TFY_PLACE_BYTES], char *error_text);

/* Whether the database, if it exists, has only this name, and whether its existing companions may be opened. 0, or a
 * code with a message. */
int tfy__place_check(const char *path, char *error_text);

/* Whether a copy can get this name: neither the file nor a -wal or -journal file exists, which SQLite would take for
 * the copy's. 0, or a code with a message. */
int tfy__place_is_free(const char *path, char *error_text);

#endif
