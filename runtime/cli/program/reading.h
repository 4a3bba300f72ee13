/* reading.h: opening a database to read it, and reading a run of it: what fails is said. */
#ifndef CLI_PROGRAM_READING_H
#define CLI_PROGRAM_READING_H

#include "cli/frame/cli.h"
#include "wal/history/history.h"

/* Opens the database of the arguments. Answers EXIT_DONE, or the status after a message; *log is then NULL. */
int tfy__db_open(const TfyArgs *args, TfyLog **log);

/* How much of a run: tfy__history_read and its like. */
typedef int (*TfyHistoryReader)(TfyLog *log, const char *run, TfyHistory **history, char *error_text);

/* The same for a run of an open database; *history is then NULL. */
int tfy__db_read(TfyLog *log, TfyHistoryReader reader, const char *run, TfyHistory **history);

#endif
