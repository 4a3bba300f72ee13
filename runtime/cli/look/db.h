/* db.h: what the commands that only read a database share. */
#ifndef CLI_LOOK_DB_H
#define CLI_LOOK_DB_H

#include <jansson.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cli/frame/cli.h"
#include "cli/look/source_map.h"
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

/* Reads the program of a run, or the one whose hash starts with the word: its text and its layout (malloc'ed). live gets the
 * run's uuid if the word named one that has not ended, else ""; NULL: it is not asked for. Returns EXIT_DONE, or the exit
 * status after a message. */
int tfy__db_program(TfyLog *log, const char *word, char **source, char **layout, char live[37]);

/* Returns whether a process has the database open for writing. Callers check before they read runs, and again
 * afterwards: a run whose process exited between the two was running when it was read. */
bool tfy__db_held(const char *db_path);
/* Returns "completed"; for an unfinished run "queued" if it has not begun, "running" if a process holds the database, else
 * "stopped". In a database of PostgreSQL: "queued" if a worker may claim it now, "running" if one has, "waiting" until
 * something arrives or its time comes, "held" until people let it go on. */
const char *tfy__db_run_state(const TfyLogRun *run, bool held);
/* Why a run of a shared database is held: "poison"; NULL: it is not, or it has ended. */
const char *tfy__db_held_why(const TfyLogRun *run);

/* Reads the value of an option that takes a whole number from 1 on; without the option *out stays as it is. Returns
 * EXIT_DONE, or the exit status after a message. */
int tfy__db_number(const TfyArgs *args, TfyOption option, uint64_t *out);

/* Returns the index of the task that was created by this record; UINT32_MAX: none was. */
uint32_t tfy__db_task_born(const TfyHistory *history, int64_t lsn);

/* Formats "2026-11-20 10:15:20" in the local time zone, for people. */
void tfy__db_time(int64_t ms, char text[32]);
/* Appends how long it took, in eleven columns; ended_ms 0: it has not ended, and nothing is shown. */
void tfy__db_add_took(TfyBuffer *out, int64_t started_ms, int64_t ended_ms);

#endif
