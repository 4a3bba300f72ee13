/* pg_about.h: what there is to know about a database of PostgreSQL before it is used: how it was made, and how its server is set
 * up. Whether standbys are waited for is in cluster.h (check_standbys). */
#ifndef WAL_STORE_PG_ABOUT_H
#define WAL_STORE_PG_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct TfyPgAbout {
    char server[40];  /* the server's version, as it says it */
    uint8_t db[16];   /* the database's id */
    int64_t format;   /* of the tables */
    int64_t lease_ms; /* of new sessions */
    bool lossy;       /* it may lose what it has acknowledged when a standby takes over */
    int64_t runs;     /* that have not ended */
    int64_t standbys; /* that follow now, as far as the role may see */
    bool waits;       /* synchronous_standby_names is not empty */
    bool cleaned;     /* autovacuum is on, and not turned off for one of our tables */
    int64_t room;     /* how many more runs fit into the partitions */
    bool synced;      /* fsync is on: what is acknowledged survives the machine */
    /* The oldest transaction that is open, which keeps vacuum from cleaning, as far as the role may see; 0, "": there is none. */
    int64_t oldest_ms;
    char oldest[120]; /* who has it */
} TfyPgAbout;

/* Connects, reads, and disconnects. 0, or a negative code with a message (TFY_ERROR_TEXT bytes), as tfy__pg_open. */
int tfy__pg_about(const char *address, TfyPgAbout *about, char *error_text);

#endif
