/* schedule_file.h: what "<db>-serve" keeps of schedules: which are paused, and how far each has come. Calls come one after the
 * other. */
#ifndef SERVE_SCHEDULE_FILE_H
#define SERVE_SCHEDULE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/serve_file.h"

typedef struct TfyScheduleRow {
    char name[72];
    char times[320]; /* of the configuration, with the zone: other ones make it start anew */
    bool paused;
    int64_t done_s; /* the newest time that is dealt with */
    int64_t last_s; /* the newest time that came; 0: none */
    char why[160];  /* … why it was skipped; "": it was not */
    char run[40];   /* the newest run; "": none */
} TfyScheduleRow;

/* Finds the row with row->name. TFY_E_ABSENT: there is none, and the row stays as it is; TFY_E_IO. */
int tfy__schedule_file_get(TfyServeFile *file, TfyScheduleRow *row);
/* It is durable when it returns. 0 or TFY_E_IO. */
int tfy__schedule_file_put(TfyServeFile *file, const TfyScheduleRow *row);

#endif
