/* program.h: programs for a database of PostgreSQL. Their tables are read from shared objects, which are compiled from a file or
 * from what the database keeps; nothing in them is run but the defaults of parameters. So deploying and starting need no C of
 * extern tools, and a run's arguments and first record are what the program itself would make of them. */
#ifndef CLI_CLUSTER_PROGRAM_H
#define CLI_CLUSTER_PROGRAM_H

#include "cli/frame/cli.h"
#include "tfy_program.h"
#include "wal/store/cluster.h"

/* A program that was compiled from FILE.tfy. tfy_shared_close ends it. Returns EXIT_DONE, or an exit status after a message. */
int tfy__program_of_file(const char *path, TfyShared **shared);

/* A program that a database keeps. */
typedef struct TfyKept {
    int64_t id; /* its row */
    uint8_t hash[16];
} TfyKept;

/* Keeps the program of a FILE.tfy. Returns EXIT_DONE, or an exit status after a message. */
int tfy__program_keep(TfyCluster *cluster, const char *path, TfyKept *kept);
/* Finds a program by its version, the beginning of its hash from six digits on. The same. */
int tfy__program_of_version(TfyCluster *cluster, const char *version, TfyKept *kept);

/* The program that new runs of a name have; *id: its row. Returns EXIT_DONE, or an exit status after a message. */
int tfy__program_deployed(TfyCluster *cluster, const char *name, TfyShared **shared, int64_t *id);

#endif
