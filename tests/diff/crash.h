/* crash.h: programs that are killed after some turns and resumed. */
#ifndef DIFF_CRASH_H
#define DIFF_CRASH_H

#include "tfy.h"

/* Kills a program after each of several numbers of turns, resumes it, and replays what the log has in the end. It must end as it does when
 * nobody kills it, having said the same; only of kind a, whose tasks may meet otherwise after a resume, no more is asked than that it ends
 * and that the replay finds nothing. Answers how often it was killed before its end, or -1: something is wrong, and stderr says what. */
int crash_program(const TfyProgram *program, const char *name);

#endif
