/* carry.h: runs that a command writes whole into a shared database: those that wal import carries there, and forks. A session of
 * the command's own begins each of them, and lets it go in the same commit: the database has the whole run or nothing of it, and
 * no run is left with the session. */
#ifndef CLI_CLUSTER_CARRY_H
#define CLI_CLUSTER_CARRY_H

#include "cli/cluster/cluster.h"
#include "wal/history/history.h"

typedef struct TfyCarry {
    TfyCluster *cluster;
    int64_t session;
    TfyLog *log;
} TfyCarry;

/* Opens a session, which has the command's name, and its log. 0, or a code with a message. What is open is closed by tfy__carry_close. */
int tfy__carry_open(const char *address, const char *command, TfyCarry *carry, char *error_text);
/* Keeps the run's programs, and gives it what tfy__import_run needs: its number, its queue, and how many owners it has had. 0,
 * or a code with a message: TFY_E_STATE: the database has this run; TFY_E_DATA: its tables cannot hold it. */
int tfy__carry_place(TfyCarry *carry, TfyHistory *history, char *error_text);
/* Waits until the run is committed, also while the database is away, but for no longer than the lease. As tfy__log_sync. */
int tfy__carry_sync(TfyCarry *carry);
/* Closes the log and ends the session. 0, or a code with a message. */
int tfy__carry_close(TfyCarry *carry, char *error_text);

#endif
