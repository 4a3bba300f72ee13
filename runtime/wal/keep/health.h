/* health.h: the files of a database from outside: their sizes, their readers, the room on the disk. Opens nothing
 * through SQLite. Call it while this process has no connection to the database, because closing a file drops the
 * locks that a process has on it. */
#ifndef WAL_KEEP_HEALTH_H
#define WAL_KEEP_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct TfyHealth {
    int64_t db_bytes, wal_bytes;   /* of the file, and of its -wal file */
    int64_t disk_free, disk_bytes; /* for this user; of the file system */
    /* The file is on a network file system, whose locks cannot be trusted. */
    bool network;
    bool open_to_others; /* another user of this machine can read or write it */
    bool held;           /* a process has it open for writing */
    char owner[96];      /* that process: "pid 12 (name)" */
    int64_t reader_pid;  /* the process that has been reading longest; 0: none */
    char reader_name[32];
    /* Pages in the -wal file; and those that were added after that reader started. */
    int64_t wal_frames, reader_frames;
} TfyHealth;

/* TFY_E_ABSENT: no such file. */
int tfy__health(const char *path, TfyHealth *health);

#endif
