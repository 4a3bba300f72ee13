/* cluster.h: what the commands share that work on a database of PostgreSQL (wal/store/pg.h). */
#ifndef CLI_CLUSTER_CLUSTER_H
#define CLI_CLUSTER_CLUSTER_H

#include "cli/frame/cli.h"
#include "wal/log/log.h"
#include "wal/store/cluster.h"

/* Opens the database of that address as a log that is only read. 0, or a code with a message. */
int tfy__shared_log_open(const char *address, TfyLog **log, char *error_text);
/* A handle for what belongs to no log, without a session. Returns EXIT_DONE, or the exit status after a message. */
int tfy__db_cluster(const TfyArgs *args, TfyCluster **cluster);
/* The TFY_E_… code for that of a call of the handle. */
int tfy__cluster_code(int64_t code);
/* The exit status of a call of the handle that failed, after its message. */
int tfy__cluster_failed(const TfyCluster *cluster, int64_t code);

/* The commands that a server of tfy serve does elsewhere (deploy.c, start.c). They return exit statuses. */
int tfy__cluster_deploy(const TfyArgs *args);
int tfy__cluster_start(const TfyArgs *args);

#endif
