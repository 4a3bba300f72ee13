/* exported.h: a run as read from the files of tfy wal export. */
#ifndef CLI_KEEP_EXPORTED_H
#define CLI_KEEP_EXPORTED_H

#include <jansson.h>

#include "tfy.h"
#include "wal/history/history.h"

typedef struct TfyExported {
    const char *name; /* of the .run file */
    json_t *head;     /* its content */
    TfyHistory *history;
    size_t room, task_room; /* capacity of its records, and of the list of their tasks */
    uint64_t *gap_from;     /* per gap: the chain before it */
    int64_t epoch;          /* how often the database it comes from was opened */
    char error[TFY_ERROR_TEXT];
} TfyExported;

/* Reads the files and checks that they hold a run exactly as it was written; the caller has set name. Returns 0, or
 * TFY_E_… with a sentence in error. */
int tfy__exported_read(TfyExported *exported);
void tfy__exported_free(TfyExported *exported);

#endif
