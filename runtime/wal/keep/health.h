/* health.h: the files of a database from outside: how large they are, who reads, how much room the disk has. Nothing
 * is opened through SQLite; to be asked while this process has no connection to the database, since closing a file
 * drops the locks that a process has on it. */
#ifndef WAL_KEEP_HEALTH_H
#define WAL_KEEP_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct TfyHealth {
    int64_t db_bytes, wal_bytes;   /* of the file, and of its -wal file */
    int64_t disk_free, disk_bytes; /* for this user; of the file system */
    bool network;                  /* the file lies on a file system of the network, whose locks cannot be trusted */
    bool open_to_others;           /* somebody else on this machine can read or write it */
    bool held;                     /* some process has it open for writing */
    char owner[96];                /* who: "pid 12 (name)" */
    int64_t reader_pid;            /* who has been reading longest; 0: nobody reads */
    char reader_name[32];
    int64_t wal_frames, reader_frames; /* pages in the -wal file; how many of them came after that reader began */
} TfyHealth;

/* TFY_E_ABSENT: there is no such file. */
int tfy__health(const char *path, TfyHealth *health);

#endif
