/* screen.h: live events as people see them: a line for each live task, drawn again and again in place, and above them
 * what stays to be read.
 *
 * It takes the lines that a subscriber is sent (cli/program/owner.h) and writes what goes to the terminal; it opens, reads
 * and waits for nothing. What programs say is shown as base/shown.h does it, so that no program can play
 * tricks with a terminal. */
#ifndef OBSERVE_SCREEN_H
#define OBSERVE_SCREEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct TfyScreen TfyScreen;

typedef struct TfyScreenLook {
    int columns, rows; /* of the terminal now; 0: unknown */
    bool colour;
    bool utf8; /* else plain ASCII */
} TfyScreenLook;

TfyScreen *tfy__screen_new(bool one_run); /* one_run: tasks are called by their paths alone; NULL: no memory */
void tfy__screen_free(TfyScreen *screen);

/* One line of the stream, parsed. */
void tfy__screen_take(TfyScreen *screen, const json_t *line);
/* Events are missing: forgets the tasks, which the stream that is asked for anew begins with. */
void tfy__screen_forget(TfyScreen *screen);

/* Appends what is to be written now: over what was drawn last, if anything. last: it is not drawn over any more. */
void tfy__screen_draw(TfyScreen *screen, const TfyScreenLook *look, int64_t now_ms, bool last, TfyBuffer *out);

/* The same line for a pipe: "TIME TASK WORKFLOW STAGE MESSAGE (line N)", with its newline; nothing for what only a
 * screen needs. */
void tfy__screen_plain(const json_t *line, bool one_run, TfyBuffer *out);

/* ---- text for a terminal ---- */

/* As base/shown.h shows it, in one line: line breaks and tabs become blanks. */
void tfy__screen_clean(TfyBuffer *out, const char *text);
void tfy__screen_cut(TfyBuffer *out, const char *text, int width);    /* the same, at most so many code points */
void tfy__screen_column(TfyBuffer *out, const char *text, int width); /* … and blanks up to so many */

#endif
