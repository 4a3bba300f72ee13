/* db.h: what the commands that only read a database share: reading a run, and the position of a point in the
 * source. */
#ifndef CLI_LOOK_DB_H
#define CLI_LOOK_DB_H

#include <jansson.h>
#include <stdint.h>

#include "cli/frame/cli.h"
#include "cli/program/reading.h"
#include "wal/history/history.h"

/* Reads the run that the first word names, or the newest. Returns EXIT_DONE, or the exit status after a message. */
int tfy__db_history(const TfyArgs *args, TfyHistory **history);

/* Shows a run on stdout. held: a process had the database open before the run was read. */
typedef int TfyHistoryShow(const TfyArgs *args, const TfyHistory *history, bool held);
/* Reads the run, shows it and releases it. */
int tfy__db_with_history(const TfyArgs *args, TfyHistoryShow *show);

/* Has the run that the first word names looked at; without a word all runs, one after the other, the newest first. Ends
 * at the first that does not return EXIT_DONE. */
int tfy__db_runs(const TfyArgs *args, int (*look)(void *state, const TfyHistory *history), void *state);

/* Says on stderr that a compacted run has only the records since its snapshot. Prints nothing for other runs. */
void tfy__db_say_base(const TfyHistory *history);

/* Returns whether the record is the snapshot of a compacted run: of what came before it, little is left. */
bool tfy__db_is_base(const TfyHistory *history, const TfyLogRecord *record);

/* Points and lines of a run's program. All zero means empty. */
typedef struct TfySourceMap {
    json_t *layout;     /* the program's layout, or NULL */
    const char *source; /* its text, owned by the history */
} TfySourceMap;

void tfy__source_map(TfySourceMap *map, const TfyHistory *history);
void tfy__source_map_free(TfySourceMap *map);
/* Returns the files of a program of several files in the form of tfyc --bundle (malloc'ed); NULL: it is one file. */
char *tfy__source_bundle(const TfySourceMap *map);
/* Returns the main file's name, without a directory. */
const char *tfy__source_file(const TfySourceMap *map);
/* Returns a point's line within its file; 0: unknown. *file: the file if it is not the main one, else NULL. */
int64_t tfy__source_line(const TfySourceMap *map, uint32_t point, const char **file);
const char *tfy__source_point(const TfySourceMap *map, uint32_t point); /* returns its id; NULL: unknown */
/* Finds the tool or effect that a point requests; "" when it requests none, or its label hides it. */
void tfy__source_callee(const TfySourceMap *map, uint32_t point, char name[64]);
/* Returns the text of a point's line without the blanks around it; *len its bytes; "" when there is none. */
const char *tfy__source_text(const TfySourceMap *map, uint32_t point, size_t *len);

/* Returns whether a process has the database open for writing. Callers check before they read runs, and again
 * afterwards: a run whose process exited between the two was running when it was read. */
bool tfy__db_held(const char *db_path);
/* Returns "completed"; for an unfinished run "running" if a process holds the database, else "stopped". */
const char *tfy__db_run_state(const TfyLogRun *run, bool held);

/* Reads the value of an option that takes a whole number from 1 on; without the option *out stays as it is. Returns
 * EXIT_DONE, or the exit status after a message. */
int tfy__db_number(const TfyArgs *args, TfyOption option, uint64_t *out);

/* Returns the index of the task that was created by this record; UINT32_MAX: none was. */
uint32_t tfy__db_task_born(const TfyHistory *history, int64_t lsn);

/* Formats "2026-11-20 10:15:20" in the local time zone, for people. */
void tfy__db_time(int64_t ms, char text[32]);

#endif
