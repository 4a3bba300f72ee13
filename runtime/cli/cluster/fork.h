/* fork.h: tfy fork in a database of PostgreSQL. */
#ifndef CLI_CLUSTER_FORK_H
#define CLI_CLUSTER_FORK_H

#include "cli/answer/request.h"

/* Writes the new run by a session of the command's own, in one commit: the database has the whole run or nothing of it. It waits
 * in the pool of the run that it copies, and any worker there continues it. request: program/fork.h. A code of the runtime. */
int tfy__cluster_fork(const char *address, const json_t *request, TfyDelivery *delivery);

#endif
