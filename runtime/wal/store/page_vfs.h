/* page_vfs.h: the VFS under our connections to SQLite, a thin layer over the system's own. It does two things.
 *
 * Page sums. Each page of the database ends in 8 bytes that SQLite leaves to us (byte 20 of the header says so):
 * XXH3-64 of the bytes before them, seeded with the page's number, in little endian. They are written when a page goes
 * to the main file, and checked when it comes from there; a page that fails is not handed on. SQLite itself sees zeros
 * in their place, so pages in the -wal file hold zeros there: what is in that file has the checksums of its frames.
 * Zeros in the main file mean that there is no sum, which is what a foreign program leaves that moved the -wal file's
 * pages by a checkpoint.
 *
 * A foreign program that writes pages itself (a backup by sqlite3, VACUUM) leaves sums that no longer fit, which must
 * not look like rot. It gives itself away on page 1: writing that page, it counts up the change counter in the header,
 * at byte 24 and again at 92. So page 1 has only 4 bytes of sum, then the counter as it was when the sum was made.
 * Where that is another one, and the two in the header agree, no sum of the file is looked at, until a writer of ours
 * has made them all anew.
 *
 * The place of the last commit in the -wal file, seen as it is written: the witness needs it after every commit, and
 * reading it back would cost more than the commit's own work. */
#ifndef WAL_STORE_PAGE_VFS_H
#define WAL_STORE_PAGE_VFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sqlite3.h>

/* A frame that ends a transaction. Its checksum goes over the whole file up to it, so that these three tell whether all
 * of it is there. */
typedef struct TfyWalPlace {
    uint64_t salt;  /* of this filling of the file, as its frames hold it (big endian); it changes at each restart */
    int64_t frame;  /* counted from 1; 0: none is known */
    uint64_t check; /* the running checksum at its end, both words, as the frame holds them */
} TfyWalPlace;

/* The name to open with. Registered at the first call; NULL: no memory. */
const char *tfy__page_vfs(void);

/* The last frame that ended a transaction which this connection wrote; frame 0: none yet. Only of use after a commit
 * that succeeded: one that failed may have got as far as its last frame. */
void tfy__page_vfs_place(sqlite3 *db, TfyWalPlace *place);

/* Whether a foreign program has written pages of the main file, so that their sums say nothing. */
bool tfy__page_vfs_foreign(sqlite3 *db);

/* The number of the page whose sum was wrong, once a read of this connection has failed for it; else 0. */
int64_t tfy__page_vfs_damaged(sqlite3 *db);

#endif
