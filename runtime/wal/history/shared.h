/* shared.h: what reading a run of a shared database needs, where its records and tasks are numbered within it. */
#ifndef WAL_HISTORY_SHARED_H
#define WAL_HISTORY_SHARED_H

#include "wal/history/history.h"
#include "wal/log/heads.h"

/* The heads of tasks that have records since the run's newest snapshot; those of the others are in their rows. Sets the run's
 * newest record and the number of its tasks. 0; TFY_E_DATA: the record behind heads->upto is missing; or another failure.
 * Call it between look and look_away. */
int tfy__shared_heads(TfyLog *log, TfyLogRun *run, TfyHeads *heads);

/* Gives the run's tasks numbers that are unique in this process (TfyLogOwned). */
void tfy__shared_give_slot(TfyLog *log, TfyHistory *history);

/* Gives numbers to a run that begins here with the tasks of a history, as many as that needs; its root has one, too. */
void tfy__shared_own_tasks(TfyLog *log, TfyLogRun *run, const TfyHistory *history);

/* Queues the rows of tasks that have changed since the run's newest snapshot, for its new owner. The next snapshot counts on
 * the rows, and the owner would write those alone that change again. 0 or a negative code. */
int tfy__shared_carry(TfyLog *log, const TfyHistory *history);

#endif
