/* pg_roles.h: who may do what in a database of PostgreSQL. Five roles without login; those who log in are made members of them.
 *
 *   PREFIX_owner    owns the tables: db create, upgrade, adopt, and deploy
 *   PREFIX_worker   executes runs; it changes and removes no record
 *   PREFIX_sender   starts runs, and sends mail to them
 *   PREFIX_reader   looks at runs
 *   PREFIX_gc       removes runs that have ended
 *
 * Roles belong to all databases of a server, so two databases share roles of the same prefix, and their members. meta.roles is the
 * prefix, null: the database has no roles, and only the owner of its tables and superusers can use it.
 *
 * The owner's role is used if whoever makes the tables is a member of it, or may become one. Otherwise the tables are his. */
#ifndef WAL_STORE_PG_ROLES_H
#define WAL_STORE_PG_ROLES_H

#include "wal/store/pg_link.h"

enum { TFY_PG_PREFIX_MOST = 40 };

/* What was found, and done. */
typedef struct TfyPgRoles {
    char prefix[TFY_PG_PREFIX_MOST + 1];
    char database[160]; /* its name, quoted if it has to be */
    int before;         /* how many of the five there were */
    bool missing;       /* some are, since this role may not make them */
    bool owns;          /* the tables can be made as the owner's role */
} TfyPgRoles;

/* 1 to 40 of a-z, 0-9 and '_', the first a letter. */
bool tfy__pg_prefix_fits(const char *prefix);

/* Makes those that are missing, if that is allowed. Codes of the link. */
int tfy__pg_make_roles(TfyPgLink *link, const char *prefix, TfyPgRoles *roles);
/* Makes what follows in the transaction the owner role's, if that is possible. */
int tfy__pg_queue_owner(TfyPgLink *link, const TfyPgRoles *roles);
/* The same for tables that are there: their owner's. */
int tfy__pg_queue_as_owner(TfyPgLink *link);
/* Gives the roles their rights, which may be repeated, and notes their prefix. Nothing, if some are missing. */
int tfy__pg_queue_grants(TfyPgLink *link, const TfyPgRoles *roles);

/* "worker" */
const char *tfy__pg_role_name(TfyPgRole role);

#endif
