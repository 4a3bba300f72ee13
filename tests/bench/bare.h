/* bare.h: the neighbour of durable steps: the loop somebody would write first to keep the same rows safe: SQLite, one prepared INSERT, the
 * same pragmas, one commit per so many rows. It also counts what a loop of ours did, so that both commit the same rows equally often. */
#ifndef BARE_H
#define BARE_H

#include <stddef.h>
#include <stdint.h>

/* Commits of every SQLite connection opened after bare_count_commits, in this process. */
void bare_count_commits(void);
int64_t bare_commits(void);
/* The seconds from one of them to the next, of all from the number `first` on; answers how many these are. */
size_t bare_between_commits(int64_t first, double *between);

/* The rows of the table wal of a closed database of ours. */
typedef struct BareRows BareRows;
BareRows *bare_read(const char *path);
int64_t bare_row_count(const BareRows *rows);
void bare_free(BareRows *rows);

/* A new file that they go to, in so many commits of equal size, each by a call of bare_commit. */
typedef struct BareLoop BareLoop;
BareLoop *bare_open(const BareRows *rows, const char *path, int64_t commits);
void bare_commit(BareLoop *loop);
void bare_close(BareLoop *loop);
/* The seconds that all of these commits take. */
double bare_insert(const BareRows *rows, const char *path, int64_t commits);

#endif
