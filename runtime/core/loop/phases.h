/* phases.h: what the phases of a turn call (loop.c): the ready tasks, descriptors, other threads, the end of a process; and
 * the programs whose runs all of this is done for. Included by state.h, which has the loop. */
#ifndef CORE_LOOP_PHASES_H
#define CORE_LOOP_PHASES_H

#include "core/loop/state.h"

/* sched.c */
#define SCHED_TASKS 256u /* at most so many per call */
/* Runs the first `count` tasks of the ring, which must have that many. Returns how many ran: fewer only after a
 * failure. */
uint32_t tfy__sched_run_ready(TfyLoop *loop, uint32_t count);
/* Runs one slice of a task that is ready but not in the ring. */
void tfy__sched_run_task(TfyLoop *loop, TfyTask *task);
void tfy__sched_wake(TfyTask *task); /* a step is answered: result or error is set */
void tfy__sched_halt(TfyTask *task);

/* policy.c */
int tfy__policy_init(TfyLoop *loop, const char *name, char *error_text);
uint32_t tfy__policy_run(TfyLoop *loop, uint32_t most); /* like tfy__sched_run_ready, with a policy */
void tfy__policy_close(TfyLoop *loop);

/* memory.c */
#define OVER_MEMORY "over its memory limit" /* why a task is cancelled; once delivered, it is a panic */
void tfy__memory_init(TfyLoop *loop);
void tfy__memory_look(TfyLoop *loop); /* cancels tasks that are over the limit */

/* deadlock.c */
bool tfy__deadlocked(const TfyLoop *loop); /* an idle loop's tasks can never wake */
int tfy__deadlock_record(TfyLoop *loop);   /* who waits for what, in the chains of stuck runs; syncs */
bool tfy__deadlock_tell(Run *run);         /* true: the run is stuck; reports it once */
/* An idle loop has a call that is never answered: its observer fails the loop. False: it has none. */
bool tfy__unanswered_tell(TfyLoop *loop);

/* watch.c */
void tfy__watch_fire(TfyLoop *loop, const TfyFdEvent *event); /* calls the handler, if there is still one */

/* post.c */
bool tfy__posts_wait(TfyLoop *loop);
int tfy__posts_run(TfyLoop *loop);      /* calls them, a limited number; returns how many */
void tfy__posts_durable(TfyLoop *loop); /* calls what waited for records that are durable now */
void tfy__posts_end(TfyLoop *loop);     /* all get NULL, and nothing is called again */
void tfy__posts_close(TfyLoop *loop);

/* drain.c */
bool tfy__wake_open(TfyLoop *loop);     /* true: wake_fd is open */
bool tfy__drain_goes_on(TfyLoop *loop); /* starts a drain, or checks whether it still waits */
bool tfy__drain_lets_start(const Step *step);

/* programs.c */
Loaded *tfy__loaded_new(TfyLoop *loop, const TfyProgram *program); /* NULL: no memory */
void tfy__programs_free(TfyLoop *loop);
Loaded *tfy__loaded_as(const TfyLoop *loop, const TfyProgram *program);    /* NULL: it is not loaded */
Loaded *tfy__loaded_of(const TfyLoop *loop, const TfyHistory *history);    /* by its source; NULL: the same */
int64_t tfy__loaded_row(TfyLoop *loop, Loaded *loaded);                    /* or a negative code */
const TfyPoint *tfy__point_of(const TfyProgram *program, uint32_t number); /* NULL: it has no such point */
const TfySite *tfy__site_of(const TfyProgram *program, uint32_t number);   /* NULL: nothing is requested there */
uint32_t tfy__point_line(const TfyProgram *program, uint32_t number);
/* The file that contains a line of the program, NULL for its main file; *line becomes the line within it. */
const char *tfy__line_file(const TfyProgram *program, uint32_t *line);

#endif
