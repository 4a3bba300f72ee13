/* copy.h: a run of a database of PostgreSQL in a file, for programs, which open files alone. */
#ifndef CLI_CLUSTER_COPY_H
#define CLI_CLUSTER_COPY_H

#include "cli/frame/cli.h"

/* Copies a run of the command's database into a file of its own, with the code of wal import. The file is in a private directory,
 * which is gone when this process is, or the program that it becomes. *path: malloc'ed. Returns EXIT_DONE, or the exit status
 * after a message. */
int tfy__run_copy(const TfyArgs *args, const char *run, char **path);

#endif
