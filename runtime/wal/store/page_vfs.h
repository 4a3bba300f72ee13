/* page_vfs.h: the VFS of our connections to SQLite, a thin layer over the system's own. It does two things.
 *
 * Page sums. Each page of the database ends in 8 bytes that SQLite leaves to us (byte 20 of the header says so): the
 * XXH3-64 of the bytes before them, seeded with the page's number, in little endian. A sum is written with a page of
 * the main file, and checked when the page is read from there; a page that fails is not passed on. SQLite itself sees
 * zeros in place of the sums, so pages in the -wal file have zeros there: the frames of that file have checksums of
 * their own. Zeros in the main file mean that there is no sum: a foreign program leaves them when it moves the pages
 * of the -wal file by a checkpoint.
 *
 * A foreign program that writes pages itself (a backup by sqlite3, VACUUM) leaves sums that no longer match. That
 * must not look like corruption. Such a program shows on page 1: writing that page increments the change counter in
 * the header, at byte 24 and again at 92. So page 1 has only 4 bytes of sum, followed by the counter as of the sum.
 * If the counter differs, and the two in the header agree, the file's sums are ignored until one of our writers has
 * renewed them all.
 *
 * The place of the last commit in the -wal file, observed as it is written: the witness needs it after every commit,
 * and reading it back would cost more than the commit itself. */
#ifndef WAL_STORE_PAGE_VFS_H
#define WAL_STORE_PAGE_VFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sqlite3.h>

/* A frame that ends a transaction. Its checksum covers the whole file up to it, so these three values show whether
 * all of that is present. */
typedef struct TfyWalPlace {
    /* Identifies this filling of the file, as its frames hold it (big endian); it changes at each restart. */
    uint64_t salt;
    int64_t frame;  /* counted from 1; 0: unknown */
    uint64_t check; /* the running checksum at its end: both words, as in the frame */
} TfyWalPlace;

/* The name to open with. The first call registers the VFS; NULL: out of memory. */
const char *tfy__page_vfs(void);

/* The last frame with which this connection ended a transaction; frame 0: none yet. Valid only after a successful
 * commit: a failed one may have written even its last frame. */
void tfy__page_vfs_place(sqlite3 *db, TfyWalPlace *place);

/* Whether a foreign program has written pages of the main file, so that their sums mean nothing. */
bool tfy__page_vfs_foreign(sqlite3 *db);

/* The number of the page with the wrong sum, once a read of this connection has failed because of it; else 0. */
int64_t tfy__page_vfs_damaged(sqlite3 *db);

#endif
