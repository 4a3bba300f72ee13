/* result.h: what a run that has ended came to, from its log. The process that ran it prints that too, but it may have
 * been killed between the record of the end and the print. */
#ifndef CLI_PROGRAM_RESULT_H
#define CLI_PROGRAM_RESULT_H

#include "wal/history/history.h"

/* Prints the result on stdout, or why there is none on stderr, and answers the status that the run's process ended
 * with. The run has ended. */
int tfy__result_print(const TfyHistory *history);
/* The same for those who wanted to resume it, after a message that it has ended. */
int tfy__result_again(const TfyHistory *history);

#endif
