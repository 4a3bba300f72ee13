/* move.h: tfy move in a database of PostgreSQL: unfinished runs continue with another program. */
#ifndef CLI_CLUSTER_MOVE_H
#define CLI_CLUSTER_MOVE_H

#include "cli/frame/cli.h"

/* A run that was found to be able to continue with the other program. */
typedef struct TfyMovable {
    const char *uuid;
    int64_t lsn; /* its newest record when that was found out; the run is not moved if it has a newer one */
} TfyMovable;

/* Moves them to the program that `to` names, a FILE.tfy or the beginning of a hash. Each is claimed by a session of the command's
 * own; a second commit has its Moved record and lets it go, to wait as before in the queue of the other program and in its pool.
 * If the command dies between the two, the run is freed with its session and has not moved. Those that a worker executes stay
 * as they are; that is said. *moved: how many were. Returns EXIT_DONE, or an exit status after a message. */
int tfy__cluster_move(const TfyArgs *args, const char *to, const TfyMovable *runs, uint32_t count, uint32_t *moved);

#endif
