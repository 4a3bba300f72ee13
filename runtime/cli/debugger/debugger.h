/* debugger.h: tfy replay --step: stepping through a recorded run record by record, forward and back.
 *
 * debugger.c has the commands and moves; place.c finds records by their names; view.c writes a stop as text, and
 * screen.c shows it on a terminal. A stop is one JSON object:
 *
 *   {"run", "record": N, "of": M, "lsn", "time", "task", "step", "type", "workflow", "payload": {…}, "whole"?, "messages"?: […], "asked"?, "raising"?, "frames", "tasks"?}
 *
 * record counts from 1. M + 1 is the end: the replay has consumed every record, and the members from "lsn" to
 * "payload" are absent. Where the program departs from the records, "difference" replaces these members.
 * At an LLMPlan "messages" is what the model was sent (wal/history/asked.h), "whole" whether that is all of it.
 * core/loop.h (tfy__stop_json) describes the other members. */
#ifndef CLI_DEBUGGER_DEBUGGER_H
#define CLI_DEBUGGER_DEBUGGER_H

#include <jansson.h>

#include "cli/frame/cli.h"
#include "tfy_program.h"
#include "base/buffer.h"
#include "wal/history/history.h"

/* A program compiled for stepping refers to tfy__debugger (tfy_program.h); other programs do not contain the
 * debugger. */
struct TfyDebugger {
    /* tfy replay with --step, --until or --print-locals. Returns the exit status. */
    int (*command)(const TfyProgram *program, const TfyHistory *history, const TfyArgs *args);
};

/* ---- places ---- */

/* A run's records, as people name them. */
typedef struct TfyPlaces {
    const TfyProgram *program;
    const TfyHistory *history;
    const char *task; /* moves stop at this task's records only; NULL: at all records */
} TfyPlaces;

/* Finds a place from record `from`, searching forward or back: "12" (a record), "lsn:57", "1.2/7" (step 7 of task
 * 1.2), "start", "end", "failure", "line:40", "FILE.tfy:40", or a point's label or id. Returns its number from 0
 * (record_count: the end), or a negative exit status with a sentence. */
int64_t tfy__place_find(const TfyPlaces *places, const char *text, uint32_t from, bool back, char *error_text);
/* Returns the neighbour of a record; at either end, the record itself. */
uint32_t tfy__place_next(const TfyPlaces *places, uint32_t from);
uint32_t tfy__place_back(const TfyPlaces *places, uint32_t from);

/* ---- views ---- */

/* bytes of a value that a view shows unless the user requested the whole value */
#define TFY_VALUE_CUT 200

void tfy__view_stop(const json_t *stop, TfyBuffer *out);   /* everything that plain stepping prints of a stop */
void tfy__view_head(const json_t *stop, TfyBuffer *out);   /* the position: record, task, time */
void tfy__view_record(const json_t *stop, TfyBuffer *out); /* the request, and the record's content */
void tfy__view_frames(const json_t *stop, TfyBuffer *out); /* the frames with their variables */
/* What a model was sent, a message after the other; cut: so many bytes of each, 0: the whole. */
void tfy__view_messages(const json_t *stop, size_t cut, TfyBuffer *out);
void tfy__view_tasks(const json_t *stop, TfyBuffer *out);
/* Prints one variable whole, by its name, from the innermost frame that has it. Returns false if there is none. */
bool tfy__view_local(const json_t *stop, const char *name, TfyBuffer *out);
/* Prints `count` lines of source around a frame's place (0: the innermost frame). */
void tfy__view_source(const json_t *stop, const TfyProgram *program, int count, TfyBuffer *out);

/* ---- the terminal ---- */

typedef struct TfyDebugScreen {
    const TfyProgram *program;
    bool colour, utf8;
    bool tasks;         /* show the tasks instead of the variables */
    int scroll;         /* lines of that part above the visible ones */
    char message[256];  /* on the last line; "": the list of keys */
    const char *prompt; /* prompt of the text being typed; NULL: nothing is being typed */
    char typed[128];
} TfyDebugScreen;

void tfy__debug_screen_open(TfyDebugScreen *screen, const TfyProgram *program);
void tfy__debug_screen_close(TfyDebugScreen *screen);
/* Draws the screen and waits for a command. Returns a line in the form that plain stepping reads, or NULL at the end
 * of input. */
const char *tfy__debug_screen_command(TfyDebugScreen *screen, const json_t *stop);
/* Writes the text of one drawing, for a terminal of that size. */
void tfy__debug_screen_draw(TfyDebugScreen *screen, const json_t *stop, int columns, int rows, TfyBuffer *out);

#endif
