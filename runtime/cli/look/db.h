/* db.h: what the commands that only read a database share: reading a run, and where a point lies in the
 * source. */
#ifndef CLI_LOOK_DB_H
#define CLI_LOOK_DB_H

#include <jansson.h>
#include <stdint.h>

#include "cli/frame/cli.h"
#include "cli/program/reading.h"
#include "wal/history/history.h"

/* The run named by the first word, or the newest. Answers EXIT_DONE, or the status after a message. */
int tfy__db_history(const TfyArgs *args, TfyHistory **history);

/* Shows a run on stdout. held: a process had the database before the run was read. */
typedef int TfyHistoryShow(const TfyArgs *args, const TfyHistory *history, bool held);
/* Reads the run, shows it and releases it. */
int tfy__db_with_history(const TfyArgs *args, TfyHistoryShow *show);

/* On stderr: of a compacted run only what came since is there. Nothing of others. */
void tfy__db_say_base(const TfyHistory *history);

/* Points and lines of a run's program. All zero is empty. */
typedef struct TfySourceMap {
    json_t *layout;     /* the program's layout, or NULL */
    const char *source; /* its text, the history's */
} TfySourceMap;

void tfy__source_map(TfySourceMap *map, const TfyHistory *history);
void tfy__source_map_free(TfySourceMap *map);
/* The files of a program of several as tfyc --bundle takes them (malloc'ed); NULL: it is one file. */
char *tfy__source_bundle(const TfySourceMap *map);
/* The main file's name, without a directory. */
const char *tfy__source_file(const TfySourceMap *map);
/* A point's line within its file; 0: unknown. *file: the file when it is not the main one, else NULL. */
int64_t tfy__source_line(const TfySourceMap *map, uint32_t point, const char **file);
const char *tfy__source_point(const TfySourceMap *map, uint32_t point); /* its id; NULL: unknown */
/* The tool or effect that a point asks for; "" when it asks for none, or has a label and does not tell. */
void tfy__source_callee(const TfySourceMap *map, uint32_t point, char name[64]);
/* The text of a point's line without the blanks around it; *len its bytes; "" when there is none. */
const char *tfy__source_text(const TfySourceMap *map, uint32_t point, size_t *len);

/* Whether a process has the database open for writing. Asked before runs are read, and again afterwards: what was
 * read of one that ended meanwhile is that it was running. */
bool tfy__db_held(const char *db_path);
/* "completed"; of an unfinished run "running" or "stopped", as somebody holds the database or not. */
const char *tfy__db_run_state(const TfyLogRun *run, bool held);

/* "2026-11-20 10:15:20" in the local time zone; for people. */
void tfy__db_time(int64_t ms, char text[32]);

#endif
