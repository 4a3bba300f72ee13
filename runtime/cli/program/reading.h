/* reading.h: opens a database for reading and reads a run of it. Failures print a message. */
#ifndef CLI_PROGRAM_READING_H
#define CLI_PROGRAM_READING_H

#include "cli/frame/cli.h"
#include "wal/history/history.h"

/* Opens the database of the arguments. Returns EXIT_DONE, or the exit status after a message; *log is then NULL. */
int tfy__db_open(const TfyArgs *args, TfyLog **log);

/* How much of a run to read: tfy__history_read or a function like it. */
typedef int (*TfyHistoryReader)(TfyLog *log, const char *run, TfyHistory **history, char *error_text);

/* Reads a run of an open database. Returns EXIT_DONE, or the exit status after a message; *history is then NULL. */
int tfy__db_read(TfyLog *log, TfyHistoryReader reader, const char *run, TfyHistory **history);

#endif
