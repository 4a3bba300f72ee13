/* pg_partition.h: the partitions of table record, each for 10 million ids of runs. They are made ahead: a record for which there is
 * none cannot be written. */
#ifndef WAL_STORE_PG_PARTITION_H
#define WAL_STORE_PG_PARTITION_H

#include "wal/store/pg_link.h"

/* Makes the next one if the last has room for fewer runs than one partition. 1: it was made; 0: it is not needed, or somebody else
 * has made it; or a code of pg_link.h. */
int tfy__pg_make_partition(TfyPgLink *link);
/* Drops those in which there is no run, and will be none; *count: how many. One that is in use meanwhile stays. */
int tfy__pg_drop_partitions(TfyPgLink *link, int64_t *count);

#endif
