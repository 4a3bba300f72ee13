/* pg_cluster.h: the calls of cluster.h for a database of PostgreSQL.
 *
 * Order of locks: a session's row, then runs by their ids; so claims, commits and endings do not wait for each other in a circle.
 * A claim locks its session's row against an ending, but not against other claims; it takes runs that nobody else is about to
 * take (SKIP LOCKED).
 *
 * Whoever ends a session waits half a second for its row. If a transaction of the silent session holds it, which the server does
 * not end by itself, its connections are ended: they are known by the name "tfy/SESSION". */
#ifndef WAL_STORE_PG_CLUSTER_H
#define WAL_STORE_PG_CLUSTER_H

#include "wal/store/cluster.h"
#include "wal/store/pg.h"

/* Connects. open->session: the session of the process, 0: it has none yet. Codes and message as tfy__pg_open. */
int tfy__pg_cluster_open(TfyCluster **cluster, const TfyPgOpen *open, char *error_text);

#endif
