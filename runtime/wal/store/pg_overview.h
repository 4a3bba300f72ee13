/* pg_overview.h: what a database of PostgreSQL has to say of its workers, queues and programs, for people and their tools. Each part is
 * a text of JSON, an array of objects, as `tfy cluster --json` prints it (docs/cluster.md).
 *
 * It costs an index scan of the runs that have not ended, and nothing of those that have. Runs are counted without a lock, so the
 * figures may be of slightly different moments. */
#ifndef WAL_STORE_PG_OVERVIEW_H
#define WAL_STORE_PG_OVERVIEW_H

#include <stdbool.h>

/* In a statement: what program p is called: as it is deployed, or, of an older version, as its file. */
#define TFY_PG_NAME_OF_P                                                                                               \
    "coalesce((SELECT min(d.name) FROM tfy.deployment d WHERE d.program = p.id),"                                      \
    " regexp_replace(p.layout::json->>'file', '[.]tfy$', ''))"

typedef struct TfyPgOverview {
    char *workers, *queues, *programs, *permits;
    char *takeovers; /* the newest sessions that ended otherwise than in order; all are owned */
} TfyPgOverview;

/* Connects, reads, and disconnects. 0, or a negative code with a message (TFY_ERROR_TEXT bytes), as tfy__pg_open. */
int tfy__pg_overview(const char *address, TfyPgOverview *overview, char *error_text);
/* The same over a connection that is there, or is made now; each statement waits for the link's patience. A code of pg_link.h. */
struct TfyPgLink;
int tfy__pg_overview_read(struct TfyPgLink *link, TfyPgOverview *overview);
void tfy__pg_overview_free(TfyPgOverview *overview);

/* Lets nobody claim runs of these queues any more, or again: those of a pool, and of a program by its name; NULL: of all. *queues: a
 * text of JSON, owned: an array of {"pool", "program", "version"}, of those that are so now. The rest as for tfy__pg_overview. */
int tfy__pg_pause(const char *address, const char *pool, const char *program, bool paused, char **queues,
                  char *error_text);

#endif
