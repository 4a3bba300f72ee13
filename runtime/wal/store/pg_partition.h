/* pg_partition.h: the partitions of table record, each for 10 million ids of runs. They are made ahead: a record for which there is
 * none cannot be written. */
#ifndef WAL_STORE_PG_PARTITION_H
#define WAL_STORE_PG_PARTITION_H

#include "wal/store/pg_link.h"

#define TFY_PG_RUNS_EACH INT64_C(10000000) /* ids of runs in a partition */
/* Of statements: the partitions by their numbers n, and the newest id of a run. */
#define TFY_PG_PARTITIONS                                                                                              \
    "(SELECT substr(relname, 8)::int8 AS n FROM pg_class WHERE relnamespace = 'tfy'::regnamespace"                     \
    " AND relkind = 'r' AND relname ~ '^record_[0-9]+$') AS p"
#define TFY_PG_NEWEST_RUN "(SELECT last_value FROM tfy.run_id_seq)"

/* Makes the next one if the last has room for fewer runs than one partition. 1: it was made; 0: it is not needed, or somebody else
 * has made it; or a code of pg_link.h. */
int tfy__pg_make_partition(TfyPgLink *link);
/* Drops those in which there is no run, and will be none; *count: how many. One that is in use meanwhile stays. */
int tfy__pg_drop_partitions(TfyPgLink *link, int64_t *count);

#endif
