/* progress.h: how far long work is, on stderr: after a second, on a terminal as one line that is written over,
 * elsewhere as a line every ten seconds. */
#ifndef CLI_FRAME_PROGRESS_H
#define CLI_FRAME_PROGRESS_H

#include <stdint.h>

/* All zero before the first call. */
typedef struct TfyProgress {
    int64_t begun_ms, told_ms; /* monotonic */
    int width;                 /* of the line that is to be written over; 0: none */
} TfyProgress;

/* `of` 0: nobody knows. The signature is TfyVerifyProgress's. */
void tfy__progress(void *state, const char *what, int64_t done, int64_t of);
void tfy__progress_end(TfyProgress *progress); /* takes the line away */

#endif
