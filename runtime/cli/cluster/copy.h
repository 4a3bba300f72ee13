/* copy.h: runs of a database of PostgreSQL in a file, for programs, which open files alone. */
#ifndef CLI_CLUSTER_COPY_H
#define CLI_CLUSTER_COPY_H

#include "cli/frame/cli.h"

/* Copies runs of the command's database into a file of their own, with the code of wal import. The file is in a private directory,
 * which is gone when this process is, or the program that it becomes. *path: malloc'ed. Returns EXIT_DONE, or the exit status
 * after a message. */
int tfy__runs_copy(const TfyArgs *args, const char *const *runs, uint32_t count, char **path);

#endif
