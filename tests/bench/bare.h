/* bare.h: the neighbour of durable steps: the loop somebody would write first to keep the same rows safe: SQLite, one prepared INSERT, the
 * same pragmas, one commit per so many rows. It also counts what a loop of ours did, so that both commit the same rows equally often. */
#ifndef BARE_H
#define BARE_H

#include <stdint.h>

/* Commits of every SQLite connection opened after bare_count_commits, in this process. */
void bare_count_commits(void);
int64_t bare_commits(void);

/* The rows of the table wal of a closed database of ours. */
typedef struct BareRows BareRows;
BareRows *bare_read(const char *path);
int64_t bare_row_count(const BareRows *rows);
void bare_free(BareRows *rows);

/* Inserts them into a new file in so many commits of equal size; answers the seconds it took. */
double bare_insert(const BareRows *rows, const char *path, int64_t commits);

#endif
