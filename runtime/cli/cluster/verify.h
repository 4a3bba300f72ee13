/* verify.h: tfy verify on a database of PostgreSQL. */
#ifndef CLI_CLUSTER_VERIFY_H
#define CLI_CLUSTER_VERIFY_H

#include "cli/frame/cli.h"

/* Reads every run as a worker would take it up, from its first record, and checks what wal/history checks: the chain of each
 * task, that no record is missing, the sums of rows. Unlike in a file, all damaged runs are named, since the others continue.
 * Workers may write meanwhile: each run is as it was when it was read. Returns the exit status. */
int tfy__cluster_verify(const TfyArgs *args);

#endif
