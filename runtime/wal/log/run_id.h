/* run_id.h: the uuid of a run that has a name of its starter's. The same name gives the same uuid, so the unique index
 * of table run decides whether the run exists. */
#ifndef WAL_LOG_RUN_ID_H
#define WAL_LOG_RUN_ID_H

#include <stdbool.h>
#include <stdint.h>

enum { TFY_RUN_NAME_MAX = 255 };

/* Whether a name has 1 to 255 visible ASCII characters. */
bool tfy__run_name_fits(const char *name);

/* UUID version 8 (RFC 9562): the first 16 bytes of SHA-256 over tenant, program, workflow and name, each followed by a
 * NUL, with version and variant set. The program's name has no ".tfy". */
void tfy__run_id_of(const char *tenant, const char *program, const char *workflow, const char *name, uint8_t uuid[16]);

#endif
