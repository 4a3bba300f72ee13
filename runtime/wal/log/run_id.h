/* run_id.h: names that people give: to programs, to labels of runs, and to runs. The same name of a run gives the same uuid, so the
 * unique index of table run decides whether the run exists. */
#ifndef WAL_LOG_RUN_ID_H
#define WAL_LOG_RUN_ID_H

#include <stdbool.h>
#include <stdint.h>

enum { TFY_RUN_NAME_MAX = 255, TFY_LABELS_MOST = 16, TFY_LABEL_NAME_MOST = 64, TFY_LABEL_MOST = 256 }; /* in bytes */

/* Whether a name has 1 to 255 visible ASCII characters. */
bool tfy__run_name_fits(const char *name);

/* Whether programs may be deployed under a name: a small letter, then up to 63 of a-z, 0-9, '_' and '-'. */
#define TFY_PROGRAM_NAME_RULE                                                                                          \
    "the name of a program starts with a small letter, and has only a-z, 0-9, '_' and '-', 63 more at most"
#define TFY_POOL_NAME_RULE                                                                                             \
    "the name of a pool starts with a small letter, and has only a-z, 0-9, '_' and '-', 63 more at most"
#define TFY_TENANT_NAME_RULE                                                                                           \
    "the name of a tenant starts with a small letter, and has only a-z, 0-9, '_' and '-', 63 more at most"
bool tfy__program_name_fits(const char *name); /* of a pool and a tenant, too */

/* Whether a label's name has 1 to TFY_LABEL_NAME_MOST of a-z, 0-9, '_', '.' and '-'. A run has TFY_LABELS_MOST labels, with
 * texts of TFY_LABEL_MOST bytes. */
bool tfy__label_name_fits(const char *name);

/* UUID version 8 (RFC 9562): the first 16 bytes of SHA-256 over tenant, program, workflow and name, each followed by a
 * NUL, with version and variant set. The program's name has no ".tfy". */
void tfy__run_id_of(const char *tenant, const char *program, const char *workflow, const char *name, uint8_t uuid[16]);

#endif
