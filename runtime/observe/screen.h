/* screen.h: live events for people: one line per live task, redrawn in place, and above them the lines that stay.
 *
 * It takes the lines that a subscriber receives (cli/program/owner.h) and produces what goes to the terminal; it does
 * not open, read or wait for anything. The text of programs is escaped as base/shown.h does it, so that a program
 * cannot send commands to the terminal. */
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
    bool utf8; /* otherwise plain ASCII */
    bool keys; /* a person can type: the last line says which keys there are */
} TfyScreenLook;

/* one_run: tasks are named by their paths alone. NULL: out of memory. */
TfyScreen *tfy__screen_new(bool one_run);
void tfy__screen_free(TfyScreen *screen);

/* Takes one parsed line of the stream. */
void tfy__screen_take(TfyScreen *screen, const json_t *line);
/* Call it when events are missing: it forgets the tasks, because a new stream starts by listing them. */
void tfy__screen_forget(TfyScreen *screen);

/* What a person types. A task is chosen by moving to it; the choice follows the task while others come and go. */
typedef enum TfyScreenKey { TFY_KEY_UP, TFY_KEY_DOWN, TFY_KEY_OPEN, TFY_KEY_CLOSE } TfyScreenKey;
/* OPEN shows all that is known of the chosen task's step, or hides it again; CLOSE hides it, and then the choice. */
void tfy__screen_key(TfyScreen *screen, TfyScreenKey key);

/* Appends what to write now, over what was drawn before. last: this drawing stays. */
void tfy__screen_draw(TfyScreen *screen, const TfyScreenLook *look, int64_t now_ms, bool last, TfyBuffer *out);

/* The same line for a pipe: "TIME TASK WORKFLOW STAGE MESSAGE (line N)" and a newline; nothing for a line that only a
 * screen needs. */
void tfy__screen_plain(const json_t *line, bool one_run, TfyBuffer *out);

/* ---- text for a terminal ---- */

/* Escapes the text as base/shown.h does, on one line: line breaks and tabs become blanks. */
void tfy__screen_clean(TfyBuffer *out, const char *text);
int tfy__screen_width(const char *text);                              /* code points of a text made so */
void tfy__screen_cut(TfyBuffer *out, const char *text, int width);    /* the same, at most so many code points */
void tfy__screen_column(TfyBuffer *out, const char *text, int width); /* … padded with blanks to that width */

/* The end of a text: what fits the width, behind dots if something is left out. */
void tfy__screen_end(TfyBuffer *out, const char *text, int width, bool utf8);
/* Adds to a text that grows and is shown by its end: it keeps as much as a screen could show. */
void tfy__screen_hear(TfyBuffer *kept, const char *text);

/* Finds how far something is in a text that starts with it: "42 %", "3/10", "3 of 10" or "0.42". Returns false for
 * any other text. *rest: what follows, such as "files". */
bool tfy__screen_fraction(const char *text, double *fraction, const char **rest);
void tfy__screen_bar(TfyBuffer *out, double fraction, int width, bool utf8);
void tfy__screen_elapsed(TfyBuffer *out, int64_t ms); /* "3.2 s", "1:02", "1:02:03" */

bool tfy__screen_utf8(void);    /* the locale's characters are UTF-8; sets LC_CTYPE */
bool tfy__screen_colour(void);  /* NO_COLOR is not set */
bool tfy__screen_obeys(int fd); /* a terminal that obeys codes: TERM is neither unset nor "dumb" */

#endif
