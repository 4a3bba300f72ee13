/* pg_tenant.h: those for whom runs are started in a database of PostgreSQL. Their runs are claimed in turn, by their weights (pg_submit.c),
 * and a tenant may have a limit of ready runs. */
#ifndef WAL_STORE_PG_TENANT_H
#define WAL_STORE_PG_TENANT_H

#include <stdint.h>

typedef struct TfyPgTenant {
    const char *name;
    int64_t weight;    /* 1 to 1000; 0: as it is, and 1 of a new one */
    int64_t max_ready; /* 0: as it is, and none of a new one; -1: none */
} TfyPgTenant;

enum { TFY_PG_WEIGHT_MOST = 1000 };

/* Makes it, or changes it; only the owner of the tables may. 0, or a negative code with a message (TFY_ERROR_TEXT bytes). */
int tfy__pg_put_tenant(const char *address, const TfyPgTenant *tenant, char *error_text);
/* All of them by their names, an array of JSON that the caller frees: name, weight, max_ready (null: none), ready, owned. */
int tfy__pg_see_tenants(const char *address, char **tenants, char *error_text);

#endif
