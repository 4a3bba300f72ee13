/* progress.h: progress of long work, on stderr, starting after a second: on a terminal one line that is overwritten,
 * elsewhere a line every ten seconds. */
#ifndef CLI_FRAME_PROGRESS_H
#define CLI_FRAME_PROGRESS_H

#include <stdint.h>

/* All zero before the first call. */
typedef struct TfyProgress {
    int64_t begun_ms, told_ms; /* monotonic */
    int width;                 /* of the line to overwrite; 0: none */
} TfyProgress;

/* `of` 0: the total is unknown. The signature is TfyVerifyProgress's. */
void tfy__progress(void *state, const char *what, int64_t done, int64_t of);
void tfy__progress_end(TfyProgress *progress); /* erases the line */

#endif
