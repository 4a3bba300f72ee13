/* result.h: prints the result of a run that has ended, from its log. The process that ran it prints the result too,
 * but a kill may have hit it between the record of the end and the print. */
#ifndef CLI_PROGRAM_RESULT_H
#define CLI_PROGRAM_RESULT_H

#include "wal/history/history.h"

/* Returns the record of the run's end, the newest TaskComplete of its root; NULL: the run has not ended, or the record
 * is missing. */
const TfyLogRecord *tfy__result_record(const TfyHistory *history);

/* Prints the result on stdout, or on stderr why there is none, and returns the exit status of the run's process. The
 * run has ended. */
int tfy__result_print(const TfyHistory *history);
/* The same for a run by its uuid. */
int tfy__result_of(TfyLog *log, const char *run);
/* The same for a resume, after a message that the run has ended. */
int tfy__result_again(const TfyHistory *history);

#endif
