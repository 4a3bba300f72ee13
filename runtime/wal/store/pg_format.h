/* pg_format.h: the formats of the tables, and how a database gets from one to the next.
 *
 * pg_schema.c makes tables of format 1. A step makes a format of the one before, and nothing else does: a new database gets all
 * steps, too, so that it is as one that was upgraded. A change of the tables is therefore a new step, or one more statement of the
 * newest step while that has not been released.
 *
 * meta.reads_from is the oldest format whose programs may use the tables. A step that only adds something which older programs do not
 * need leaves it as it is; then they continue while the database is upgraded, and while workers are replaced. A step that they would
 * break, or that would break them, sets it to its own format: they end as soon as they read it (TfyCluster.outdated). */
#ifndef WAL_STORE_PG_FORMAT_H
#define WAL_STORE_PG_FORMAT_H

#include "wal/store/pg_link.h"
#include "wal/store/pg_roles.h"

/* Queues the steps behind format `from`, up to and with `to`, and the change of meta. */
int tfy__pg_queue_steps(TfyPgLink *link, int64_t from, int64_t to);

/* Makes the newest format of the tables, all or nothing, and room for the records of more runs; only their owner may. `from` gets
 * the former format. Roles are made if they are missing, and get their rights; prefix: NULL: of those that the database has. 0, or a
 * negative code with a message (TFY_ERROR_TEXT bytes): TFY_E_DATA: it is newer than this program. */
int tfy__pg_upgrade(const char *address, const char *prefix, int64_t *from, TfyPgRoles *roles, char *error_text);

/* What was done to a database that was restored. */
typedef struct TfyPgAdopted {
    uint8_t db[16];   /* its new id */
    int64_t sessions; /* that lived by the database, and are ended */
    int64_t runs;     /* that they owned, and that are ready */
} TfyPgAdopted;

/* Makes it a database of its own: processes that knew its former state do not write it any more. Only the owner of the tables may. No
 * run is claimed from then on under a number (TFY_FENCE) that the database may have given since the backup was made. Codes as above. */
int tfy__pg_adopt(const char *address, TfyPgAdopted *adopted, char *error_text);

#endif
