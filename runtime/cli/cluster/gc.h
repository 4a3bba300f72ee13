/* gc.h: tfy gc on a database of PostgreSQL. */
#ifndef CLI_CLUSTER_GC_H
#define CLI_CLUSTER_GC_H

#include "cli/frame/cli.h"
#include "wal/keep/gc.h"

/* Returns the exit status. */
int tfy__cluster_gc(const TfyArgs *args, const TfyGcOptions *options);

#endif
