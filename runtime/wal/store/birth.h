/* birth.h: the first rows of a run that is submitted to a shared database. */
#ifndef WAL_STORE_BIRTH_H
#define WAL_STORE_BIRTH_H

#include "wal/store/store.h"

/* Its first record, with this payload, and the row of its root task. Both borrow the payload and a constant path. */
void tfy__store_birth(const TfyLogRun *run, const char *payload, TfyLogRecord *record, TfyStoreTask *root);

#endif
