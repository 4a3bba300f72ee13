/* thin.c: a compaction beside the process that runs the run (wal/keep/thin.h). */
#include "wal/keep/thin.h"

#include <stdio.h>
#include <string.h>

#include "core/loop/state.h"

/* A run that still takes recorded answers may read them from the log. */
int tfy__arrive_thin(TfyLoop *loop, const json_t *part, char *error_text)
{
    const char *uuid = json_string_value(json_object_get(part, "run"));
    Run *run = loop->runs.first;
    int64_t base;
    while (run && (!uuid || strcmp(run->uuid, uuid) != 0)) run = run->next;
    if (run && run->history) {
        snprintf(error_text, TFY_ERROR_TEXT, "it is being resumed, and has not taken all its recorded answers yet");
        return TFY_E_STATE;
    }
    const int code = tfy__thin(loop->log, part, &base, error_text);
    if (!code && run) run->log.base_lsn = base;
    return code;
}
