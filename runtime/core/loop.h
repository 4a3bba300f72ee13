/* loop.h: what the command line and the live-owner socket need of a running loop beyond tfy.h: arrivals from people,
 * resuming and replaying. */
#ifndef CORE_LOOP_H
#define CORE_LOOP_H

#include "observe/pal.h"
#include "tfy_program.h"
#include "base/buffer.h"
#include "wal/history/history.h"

/* Arrivals: each is recorded in the chain of the task it concerns before it has any effect, and is durable before the
 * sender hears "done". run: a uuid (or unique prefix) or "last". task: a path such as "1.2", or NULL for the only one
 * it can mean. step: 0 for the only one. answer: yes, no, a case's name, a text; NULL: yes, where that is an answer.
 * by: who answered, for the log. Codes: 0; TFY_E_ABSENT no such run, task, step; TFY_E_STATE nothing is asked or
 * already answered; TFY_E_INVALID the answer does not fit. error_text: one sentence. */
int tfy__arrive_approval(TfyLoop *loop, const char *run, const char *task, int64_t step, const char *answer,
                         const char *by, char *error_text);
int tfy__arrive_kill(TfyLoop *loop, const char *run, const char *task, bool force, const char *by, char *error_text);
/* value_json: NULL: null. id: NULL, or the sender's own name for it: one that came before changes nothing. */
int tfy__arrive_signal(TfyLoop *loop, const char *run, const char *name, const char *value_json, const char *id,
                       const char *by, char *error_text);
/* how: "done" (value_json: the result), "retry", "fail". */
int tfy__arrive_resolve(TfyLoop *loop, const char *run, const char *task, int64_t step, const char *how,
                        const char *value_json, const char *by, char *error_text);

/* Takes up an unfinished run with its recorded answers; tfy_run then goes on live. */
int tfy__resume(TfyLoop *loop, const char *run, char *error_text);
/* Takes up every unfinished run of this program that works in the loop's root, or does not say where it works. */
int tfy__resume_all(TfyLoop *loop, char *error_text);
void tfy__leave_rootless(TfyLoop *loop);           /* before: the latter are left, too */
uint32_t tfy__left_elsewhere(const TfyLoop *loop); /* behind: how many were left */

/* What a replay found. */
typedef struct TfyReplayReport {
    int64_t steps;       /* records compared */
    int64_t divergences; /* 0 or 1: it stops at the first */
    int64_t performed;   /* effects performed: always 0 */
    bool finished;       /* the run has ended in the log, and so it did here */
    char text[1024];     /* the first difference: recorded, now, source line; or what was found */
} TfyReplayReport;

/* Replays a history against a program without a log and without performers. Output goes to on_output of options (or
 * nowhere when quiet). */
int tfy__replay(const TfyProgram *program, const TfyHistory *history, const TfyOptions *options,
                TfyReplayReport *report);

/* As tfy__resume, after the run was taken over to the loop's program, if it has another one. TFY_E_DIVERGED: it
 * cannot go on there, and nothing was changed. */
int tfy__resume_with(TfyLoop *loop, const char *run, char *error_text);

/* Lets performers get ready before their first call: 0, or a negative code with a sentence (a recorded session that
 * cannot be read). */
int tfy__loop_prepare(TfyLoop *loop, char *error_text);

/* Who is told, once, what a drain (tfy_drain) waits for: "pay (task 1), ship (task 1.2)". */
void tfy__on_drain(TfyLoop *loop, void (*tell)(void *state, const char *calls, int64_t grace_ms), void *state);
/* The same of calls that have not finished; malloc'ed, NULL: there are none. */
char *tfy__under_way(TfyLoop *loop);
/* place: what a signal handler drains by. tfy_close makes it NULL when it has waited for the last reader, so that a
 * signal may come at any time. */
void tfy__drain_by(TfyLoop *loop, _Atomic(TfyLoop *) *place);

/* Why tfy_run returned with work left: the number of tasks that wait for people or signals, and a sentence for each
 * (malloc'ed, with the command to type). */
uint32_t tfy__waiting_for_people(TfyLoop *loop, uint32_t *signals,
                                 char **text); /* both may be NULL; signals: how many of them wait for one */
bool tfy__any_parked(const TfyLoop *loop);     /* others may wait too: runs of the program that have left memory */

/* A question to a person, shown once its record is durable. Valid during the callback only. */
typedef struct TfyQuestion {
    const char *run;  /* uuid */
    const char *task; /* path */
    int64_t step;
    const char *workflow;
    const char *file; /* NULL: the program's main file */
    uint32_t line;
    const char *question;
    const char *details; /* or NULL */
    const char *answers; /* "yes, no", the enum's cases, or "any text" */
    bool free_text;      /* any text answers it */
    bool doubt; /* `question` is a once tool that may have been done, and answers are resolutions of that step */
} TfyQuestion;

/* Who is told of questions (a terminal prompt, a printed command). Not called for those that approve_all answers. */
void tfy__on_question(TfyLoop *loop, void (*ask)(void *state, const TfyQuestion *question), void *state);

/* The log has something to say (tfy__log_notice): runs pause, or go on. On the loop's thread, within a turn. */
void tfy__on_notice(TfyLoop *loop, void (*tell)(void *state, const char *text), void *state);

/* Live events for subscribers (observe/pal.h): from here to tfy__pal_close they are kept; published is called on the
 * loop's thread whenever there is something new. */
int tfy__pal_open(TfyLoop *loop, void (*published)(void *state), void *state);
void tfy__pal_close(TfyLoop *loop);
TfyPal *tfy__pal(TfyLoop *loop); /* NULL: not open */
#define TFY_PAL_FILTER 640
/* What a new subscriber has to know first: the filter for its cursor, and a line of JSON for each live task as it
 * stands. It may leave once everything appended so far is durable: published is called then. run, task: NULL for all;
 * task "1.2" stands for those below it too. */
int tfy__pal_subscribe(TfyLoop *loop, const char *run, const char *task, char filter[TFY_PAL_FILTER],
                       TfyBuffer *snapshot, int64_t *lsn, char *error_text);

/* The figures of this process in Prometheus' text format (observe/metrics.h). They may leave as a snapshot does. */
void tfy__metrics_text(TfyLoop *loop, TfyBuffer *out, int64_t *lsn);

/* Text of the process itself, on stdout (1) or stderr (2), behind what tasks have printed; it never blocks. On stderr
 * it is dropped, and counted, when far too much is queued already. */
void tfy__out_text(TfyLoop *loop, int fd, const char *text, size_t len);
/* Waits until everything was read, as a blocking write would. A drain ends that: then only for as long as somebody
 * reads. 0, or the errno of what could not be written to stdout; EINTR: a signal came and nobody read the rest. */
int tfy__out_finish(TfyLoop *loop);

/* What made tfy_run fail, one sentence; "" when nothing did. */
const char *tfy__failure(TfyLoop *loop);

TfyLog *tfy__loop_log(TfyLoop *loop);
/* uuid of the run a root task belongs to (36 characters), NULL: no such task. */
const char *tfy__run_of(TfyLoop *loop, int64_t tid);

#endif
