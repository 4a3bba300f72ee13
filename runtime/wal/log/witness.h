/* witness.h: what "<db>-tfy" records beside the writer lock: how far the log was certainly on the disk.
 *
 * SQLite silently ends its recovery at the first invalid frame of the -wal file: corruption there, or a replaced
 * file, looks to it like a power cut. So after each sync, and before anything that depends on it leaves the process,
 * the newest synced record and its place in the -wal file are written here; opening compares.
 *
 * The file is written, but never synced (except the first time, with the file's name): after the death of a process
 * it is exact; after a power cut it may be older, so it is a lower bound of what was acknowledged. That costs one
 * write of 128 bytes per commit, and no waiting for the disk.
 *
 * The file, 1,152 bytes, little endian:
 *
 *      0   the owner's line, "pid 123 (name)\n", and zeros         for a process that finds the file locked
 *    256   the mark of the owner's tools, or zeros                for the next owner (effects/former.h)
 *    512   slot 0 \  written in turns, so that a torn write leaves the other one intact
 *   1024   slot 1 /
 *
 * A slot:  "tfywit01", sequence, database id (16), device, inode, epoch, lsn, salt, frame, checksum of the frame
 * (each 8), failed (8), 24 bytes of zero, XXH3-64 of the 120 bytes before it. The valid slot with the greater
 * sequence counts. */
#ifndef WAL_LOG_WITNESS_H
#define WAL_LOG_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/store/page_vfs.h"

typedef struct TfyWitness {
    int64_t sequence;  /* of its slot; 0: nothing was read or written yet */
    uint8_t db[16];    /* the database's id */
    int64_t dev, ino;  /* of the main file: reveals a copy of all files */
    int64_t epoch;     /* the opening that wrote it */
    int64_t lsn;       /* the newest synced record */
    TfyWalPlace place; /* where in the -wal file its transaction ends */
    /* A sync failed after that, or may have (the other slot is torn): everything must be written again. */
    bool failed;
} TfyWitness;

/* Reads it from the file's descriptor. TFY_E_ABSENT: no slot is valid. */
int tfy__witness_read(int fd, TfyWitness *witness);
/* The same for a caller that does not hold the lock. */
int tfy__witness_read_of(const char *db_path, TfyWitness *witness);

/* Writes it into the older slot, under the next sequence number. */
int tfy__witness_write(int fd, TfyWitness *witness);

#endif
