/* witness.h: what "<db>-tfy" remembers beside the writer lock: how far the log was surely on the disk.
 *
 * SQLite ends its recovery at the first frame of the -wal file that does not fit and says nothing: rot there, or a
 * file that somebody swapped, looks to it like a power cut. So after each sync, and before anything that hangs on it
 * leaves the process, the newest synced record and its place in the -wal file are written here; opening compares.
 *
 * It is written, never synced (but for the first time, with the file's name): after the death of a process it is
 * exact; after a power cut it may be older, so it is a lower bound of what was acknowledged. That costs one write of
 * 128 bytes per commit, and no waiting for the disk.
 *
 * The file, 1,152 bytes, little endian:
 *
 *      0   the owner's line, "pid 123 (name)\n", and zeros         for who finds the file locked
 *    256   the mark of the owner's tools, or zeros                for the next owner (effects/former.h)
 *    512   slot 0 \  written in turns, so that a torn write leaves the one before it
 *   1024   slot 1 /
 *
 * A slot:  "tfywit01", sequence, database id (16), device, inode, epoch, lsn, salt, frame, checksum of the frame (each
 * 8), failed (8), 24 bytes of zero, XXH3-64 of the 120 bytes before it. The valid slot with the greater sequence
 * counts. */
#ifndef WAL_LOG_WITNESS_H
#define WAL_LOG_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/store/page_vfs.h"

typedef struct TfyWitness {
    int64_t sequence;  /* of its slot; 0: none was read or written yet */
    uint8_t db[16];    /* the database's id */
    int64_t dev, ino;  /* of the main file: a copy of all files shows */
    int64_t epoch;     /* the opening that wrote it */
    int64_t lsn;       /* the newest synced record */
    TfyWalPlace place; /* where in the -wal file its transaction ends */
    bool failed;       /* a sync failed after that, or may have (the other slot is torn): all has to be written again */
} TfyWitness;

/* From the file's descriptor. TFY_E_ABSENT: no slot is valid. */
int tfy__witness_read(int fd, TfyWitness *witness);
/* The same for who does not hold the lock. */
int tfy__witness_read_of(const char *db_path, TfyWitness *witness);

/* Into the slot that is older, under the next sequence number. */
int tfy__witness_write(int fd, TfyWitness *witness);

#endif
