/* progress.c: reports the progress of long work. */
#include "cli/frame/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/frame/cli.h"

enum { QUIET_MS = 1000, SCREEN_MS = 200, LINE_MS = 10000 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void tfy__progress_end(TfyProgress *progress)
{
    if (progress->width) {
        tfy__terminal_codes(stderr, "\r");
        fprintf(stderr, "%*s", progress->width, "");
        tfy__terminal_codes(stderr, "\r");
    }
    progress->width = 0;
}

void tfy__progress(void *state, const char *what, int64_t done, int64_t of)
{
    TfyProgress *progress = state;
    const int64_t now = now_ms();
    const bool screen = isatty(STDERR_FILENO) && !tfy__says_json();
    char text[120];
    if (!progress->begun_ms) progress->begun_ms = progress->told_ms = now;
    if (now - progress->begun_ms < QUIET_MS || now - progress->told_ms < (screen ? SCREEN_MS : LINE_MS)) return;
    progress->told_ms = now;
    if (of > 0)
        snprintf(text, sizeof text, "%s: %" PRId64 " of %" PRId64 " (%d %%)", what, done, of,
                 (int)(done >= of ? 100 : 100 * (double)done / (double)of));
    else
        snprintf(text, sizeof text, "%s", what);
    if (!screen) {
        tfy__say("%s", text);
        return;
    }
    tfy__terminal_codes(stderr, "\r");
    const int width = fprintf(stderr, "%s: %-*s", tfy__program_name(), progress->width, text);
    if (width > progress->width) progress->width = width;
}
