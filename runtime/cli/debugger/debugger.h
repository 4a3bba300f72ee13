/* debugger.h: tfy replay --step: going through a recorded run record by record, forward and back.
 *
 * debugger.c has the commands and moves; place.c finds records by their names; view.c writes a stop as text, and
 * screen.c shows it on a terminal. A stop is one JSON object:
 *
 *   {"run", "record": N, "of": M, "lsn", "time", "task", "step", "type", "workflow", "payload": {…}, "asked"?, "raising"?, "frames", "tasks"?}
 *
 * record counts from 1; M + 1 is the end, where everything recorded has been taken and the members from "lsn" to
 * "payload" are absent. "difference" stands instead of them where the program does not do what was recorded. The
 * others are those of core/replay/debug.h. */
#ifndef CLI_DEBUGGER_DEBUGGER_H
#define CLI_DEBUGGER_DEBUGGER_H

#include <jansson.h>

#include "cli/frame/cli.h"
#include "tfy_program.h"
#include "base/buffer.h"
#include "wal/history/history.h"

/* A program that was compiled to be stepped through names tfy__debugger (tfy_program.h); no other carries this. */
struct TfyDebugger {
    /* tfy replay with --step, --until or --print-locals. Answers the exit status. */
    int (*command)(const TfyProgram *program, const TfyHistory *history, const TfyArgs *args);
};

/* ---- places ---- */

/* A run's records, as people name them. */
typedef struct TfyPlaces {
    const TfyProgram *program;
    const TfyHistory *history;
    const char *task; /* only this one's records are come to by going on; NULL: all */
} TfyPlaces;

/* Where a place is, seen from record `from`, looking forward or back: "12" (a record), "lsn:57", "1.2/7" (step 7 of
 * task 1.2), "start", "end", "failure", "line:40", "FILE.tfy:40", or a point's label or id. Answers its number from 0
 * (record_count: the end), or a negative exit status with a sentence. */
int64_t tfy__place_find(const TfyPlaces *places, const char *text, uint32_t from, bool back, char *error_text);
/* The neighbour of a record; at the ends themselves. */
uint32_t tfy__place_next(const TfyPlaces *places, uint32_t from);
uint32_t tfy__place_back(const TfyPlaces *places, uint32_t from);

/* ---- views ---- */

#define TFY_VALUE_CUT 200 /* bytes of a value that are shown when nobody asked for all of it */

void tfy__view_stop(const json_t *stop, TfyBuffer *out);   /* all that plain stepping prints of one */
void tfy__view_head(const json_t *stop, TfyBuffer *out);   /* where it is: record, task, time */
void tfy__view_record(const json_t *stop, TfyBuffer *out); /* what was asked for, and what the record says */
void tfy__view_frames(const json_t *stop, TfyBuffer *out); /* the frames with their variables */
void tfy__view_tasks(const json_t *stop, TfyBuffer *out);
/* One variable, by its name, whole; the innermost frame that has it. False: there is none. */
bool tfy__view_local(const json_t *stop, const char *name, TfyBuffer *out);
/* The lines around the place of a frame (0: the innermost), `count` of them. */
void tfy__view_source(const json_t *stop, const TfyProgram *program, int count, TfyBuffer *out);

/* ---- the terminal ---- */

typedef struct TfyDebugScreen {
    const TfyProgram *program;
    bool colour, utf8;
    bool tasks;         /* the tasks stand where the variables do otherwise */
    int scroll;         /* lines of that part that are above it */
    char message[256];  /* for the last line; "": the keys */
    const char *prompt; /* what is being typed is asked for with this; NULL: nothing is */
    char typed[128];
} TfyDebugScreen;

void tfy__debug_screen_open(TfyDebugScreen *screen, const TfyProgram *program);
void tfy__debug_screen_close(TfyDebugScreen *screen);
/* Waits for a command: a line as plain stepping takes it, or NULL at the end of input. Draws meanwhile. */
const char *tfy__debug_screen_command(TfyDebugScreen *screen, const json_t *stop);
/* The text of one drawing, for a terminal of that size. */
void tfy__debug_screen_draw(TfyDebugScreen *screen, const json_t *stop, int columns, int rows, TfyBuffer *out);

#endif
