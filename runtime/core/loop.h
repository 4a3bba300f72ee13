/* loop.h: what the command line and the live-owner socket need of a running loop in addition to tfy.h: input from
 * people, resuming, replaying, tests of the language, and runs that are observed. */
#ifndef CORE_LOOP_H
#define CORE_LOOP_H

#include "core/effect.h"
#include "observe/pal.h"
#include "tfy_program.h"
#include "base/buffer.h"
#include "wal/history/history.h"

/* Arrivals: input from outside. Each is recorded in the chain of its task before it has any effect, and is durable
 * before the sender is told "done".
 * - run: a uuid (or unique prefix) or "last".
 * - task: a path such as "1.2"; NULL: the only task it can mean.
 * - step: 0: the only one.
 * - answer: yes, no, a case's name, a text; NULL: yes, if that is an answer to the question.
 * - by: who answered, for the log. why: the reason of a no to an `approve` policy; NULL: none.
 * - error_text: one sentence.
 * Returns 0; TFY_E_ABSENT: no such run, task or step; TFY_E_STATE: there is no question, or it is already
 * answered; TFY_E_INVALID: the answer does not fit. */
int tfy__arrive_approval(TfyLoop *loop, const char *run, const char *task, int64_t step, const char *answer,
                         const char *by, const char *why, char *error_text);
/* Refuses an answer to a step that asks nothing (doubt: is not in doubt) while another one does; TFY_E_STATE. */
int tfy__waits_elsewhere(const char *run, bool doubt, const char *path, int64_t step, char *error_text);
int tfy__arrive_kill(TfyLoop *loop, const char *run, const char *task, bool force, const char *by, char *error_text);
/* value_json: NULL: null. id: NULL, or the sender's own name for the signal: a second signal with the same id
 * changes nothing. */
int tfy__arrive_signal(TfyLoop *loop, const char *run, const char *name, const char *value_json, const char *id,
                       const char *by, char *error_text);
/* how: "done" (value_json: the result), "retry", "fail". */
int tfy__arrive_resolve(TfyLoop *loop, const char *run, const char *task, int64_t step, const char *how,
                        const char *value_json, const char *by, char *error_text);
/* One of these, as a JSON object: {"do": "approve", "task"?, "step"?, "answer"?, "why"?}, {"do": "kill", "task"?, "force"?},
 * {"do": "signal", "name", "value"?, "id"?}, {"do": "resolve", "task"?, "step"?, "how", "value"?}; other members are ignored.
 * Anything else is TFY_E_INVALID. */
int tfy__arrive_request(TfyLoop *loop, const char *run, const struct json_t *request, const char *by, char *error_text);
int tfy__arrive_thin(TfyLoop *loop, const struct json_t *part, char *error_text); /* wal/keep/thin.h */

/* tfy_submit for a run that its starter names (wal/log/run_id.h). TFY_E_STATE: the log has that run. */
int tfy__submit_named(TfyLoop *loop, const TfyProgram *program, const char *workflow, const char *args_json,
                      const char *id, int64_t *tid, char *error_text);
/* Appends the arguments as InstructionStart has them. 0 or a code. */
int tfy__encode_arguments(TfyLoop *loop, const TfyWorkflow *workflow, const char *args_json, TfyBuffer *out,
                          char *error_text);
void tfy__print_to_stderr(TfyLoop *loop); /* what the program prints, so that stdout has the result alone */

/* Resumes an unfinished run from its recorded answers; tfy_run then continues it live. */
int tfy__resume(TfyLoop *loop, const char *run, char *error_text);
/* Resumes every unfinished run of this program that works in the loop's root, or does not record where it works. */
int tfy__resume_all(TfyLoop *loop, char *error_text);
void tfy__leave_rootless(TfyLoop *loop);           /* call before: also leaves the latter */
void tfy__keep_sandboxes(TfyLoop *loop);           /* call before: refuses a run that began with --sandbox open */
uint32_t tfy__left_elsewhere(const TfyLoop *loop); /* call after: how many runs were left */

/* What a replay found. */
typedef struct TfyReplayReport {
    int64_t steps;       /* records compared */
    int64_t divergences; /* 0 or 1: it stops at the first */
    int64_t performed;   /* effects performed: always 0 */
    bool finished;       /* the run has finished in the log, and so it did here */
    char text[1024];     /* the first difference: recorded, now, source line; or a summary */
} TfyReplayReport;

/* Replays a history against a program without a log and without performers. Output goes to on_output of options
 * (if quiet: nowhere). */
int tfy__replay(const TfyProgram *program, const TfyHistory *history, const TfyOptions *options,
                TfyReplayReport *report);

/* Like tfy__resume, but first moves a run of another program to the loop's program. TFY_E_DIVERGED: the run cannot
 * continue with this program, and nothing was changed. */
int tfy__resume_with(TfyLoop *loop, const char *run, char *error_text);
/* The verdict of that alone, on a history that was read whole and has its `log`; changes the history. */
int tfy__move_check(const TfyProgram *program, TfyHistory *history, char *error_text);

/* Lets the performers that a program names prepare for their first call: 0, or a negative code with a sentence (a
 * recorded session that cannot be read). */
int tfy__loop_prepare(TfyLoop *loop, const TfyProgram *program, char *error_text);

/* Sets a callback that is told once what a drain (tfy_drain) waits for: "pay (task 1), ship (task 1.2)". */
void tfy__on_drain(TfyLoop *loop, void (*tell)(void *state, const char *calls, int64_t grace_ms), void *state);
/* The calls that have not finished, in the same form; malloc'ed. NULL: there are none. */
char *tfy__under_way(TfyLoop *loop);
/* place: where a signal handler finds the loop to drain. tfy_close sets it to NULL behind its last reader. */
void tfy__drain_by(TfyLoop *loop, _Atomic(TfyLoop *) *place);

/* Why tfy_run returned: how many tasks wait for people or signals, and of them for signals. *text: a sentence for each
 * with the command to type, malloc'ed. Both may be NULL. */
uint32_t tfy__waiting_for_people(TfyLoop *loop, uint32_t *signals, char **text);
bool tfy__any_parked(const TfyLoop *loop); /* runs have left memory; they may wait for people, too */

/* A question to a person, shown once its record is durable. Valid during the callback only. */
typedef struct TfyQuestion {
    const char *run;  /* uuid */
    const char *task; /* path */
    int64_t step;
    const char *workflow;
    const char *file; /* NULL: the program's main file */
    uint32_t line;
    const char *question;
    const char *details, *call; /* or NULL; call: what an `approve` policy asks about, as records have it */
    const TfyAsked *asked; /* … and its place; not_by_yes: untrusted values reach the call, so --yes did not answer */
    bool not_by_yes, free_text; /* free_text: any text answers it */
    const char *answers;        /* "yes, no", the enum's cases, or "any text" */
    bool doubt;                 /* `question` is a once tool that may have been done; answers resolve that step */
} TfyQuestion;

/* Sets a callback that shows the questions (a terminal prompt, a printed command) that no option answers. */
void tfy__on_question(TfyLoop *loop, void (*ask)(void *state, const TfyQuestion *question), void *state);

/* Sets a callback for notices of the log (tfy__log_notice); called on the loop's thread, within a turn. */
void tfy__on_notice(TfyLoop *loop, void (*tell)(void *state, const char *text), void *state);

/* Live events for subscribers (observe/pal.h): kept from here to tfy__pal_close. published is called on the loop's
 * thread whenever there is something new. */
int tfy__pal_open(TfyLoop *loop, void (*published)(void *state), void *state);
void tfy__pal_close(TfyLoop *loop);
TfyPal *tfy__pal(TfyLoop *loop); /* NULL: not open */
#define TFY_PAL_FILTER 640
/* What a new subscriber must receive first: the filter for its cursor, and a line of JSON for each live task in
 * its present state. It may leave once everything appended so far is durable: published is called then. run, task:
 * NULL for all; task "1.2" includes the tasks below it. */
int tfy__pal_subscribe(TfyLoop *loop, const char *run, const char *task, char filter[TFY_PAL_FILTER],
                       TfyBuffer *snapshot, TfyTicket *ticket, char *error_text);

/* The metrics of this process in Prometheus' text format (observe/metrics.h). They may leave when a snapshot may. */
void tfy__metrics_text(TfyLoop *loop, TfyBuffer *out, TfyTicket *ticket);

/* Queues text of the process itself for stdout (1) or stderr (2), after what tasks have printed; never blocks. On
 * stderr the text is dropped, and counted, if far too much is queued already. */
void tfy__out_text(TfyLoop *loop, int fd, const char *text, size_t len);
/* Waits until all output has been read, as a blocking write would. During a drain it waits only while somebody
 * reads. Returns 0, or the errno of a failed write to stdout; EINTR: a signal came while the rest was unread. */
int tfy__out_finish(TfyLoop *loop);

/* Shows a line on the terminal behind all that has left the process, until other text leaves or another line replaces
 * it; "" removes it. stderr is a terminal that obeys codes, and the text fits its width. */
void tfy__out_status(TfyLoop *loop, const char *text);
/* A person has ended the line on the terminal with the Enter key. */
void tfy__out_line_ended(TfyLoop *loop);

/* What a live task does, of all tasks the one that says most. */
typedef struct TfyDoing {
    uint32_t tasks; /* that are in memory, at most TFY_DOING_MOST are counted */
    TfyTaskState state;
    const char *tool; /* "": none */
    const char *path;
    int64_t step;
    const char *file; /* NULL: the main one */
    uint32_t line;    /* 0: unknown */
    int64_t since_ns; /* when its call started; 0: unknown */
} TfyDoing;
#define TFY_DOING_MOST 1000
/* Returns false if no task is in memory. Pointers are valid until the loop continues. */
bool tfy__doing(TfyLoop *loop, TfyDoing *doing);

const char *tfy__failure(TfyLoop *loop); /* why tfy_run failed, one sentence; "" if nothing did */

TfyLog *tfy__loop_log(TfyLoop *loop);
/* uuid of the run that a root task belongs to (36 characters). NULL: no such task. */
const char *tfy__run_of(TfyLoop *loop, int64_t tid);

/* ---- a run that is observed from outside ---- */

/* What an observer does in a loop (cli/program/rehearse.h): it sees every call, and may answer calls and the clock
 * itself. */
typedef struct TfyRehearsal {
    void *state;  /* the first argument of all functions below */
    bool answers; /* no performer is ever called */
    /* An attempt starts. True: it has been answered, or never will be (tfy__call_unanswered). */
    bool (*call_starts)(void *state, TfyCall *call);
    /* An attempt has finished, and `payload` will be its record. */
    void (*call_ended)(void *state, const TfyCall *call, bool ok, const TfyBuffer *payload);
    /* The clock as the step of this task must read it. False: the world's clock is read. */
    bool (*now)(void *state, TfyTask *task, int64_t step, int64_t *out);
    /* Nothing is left but calls that are never answered; this is one of them. The observer fails the loop. */
    void (*stuck)(void *state, const TfyCall *call);
    void (*free)(void *state); /* the loop is closed */
    /* These replace the functions of the loop's world (world.h). */
    int64_t (*mono_ns)(void *state);
    int64_t (*wall_ms)(void *state);
    void (*jump)(void *state, int64_t deadline_ns);
    void (*random)(void *state, void *bytes, size_t len);
} TfyRehearsal;

/* The loop must not have done anything yet. It keeps the pointer until tfy_close calls `free`. */
void tfy__rehearse(TfyLoop *loop, const TfyRehearsal *rehearsal);

/* ---- a replay that stops at records, and the state of the run there ----
 *
 * A replay processes the records of a run in their order. It can stop before one: the task that owns it is at the
 * record's point, has requested what the record answers, and has not taken the answer yet. A record may be in the
 * middle of a slice, where generated code is under way, so the stepper is called from there and returns where to
 * stop next. Going back means starting again: a replay does the same every time.
 *
 * The contents of frames are known if a task is at a point that can be resumed. Between two such points only a
 * program compiled for it knows its variables (tfyc --debug); for any other program the top frame is shown without
 * them. */

/* A stop; valid during the stepper's call. */
typedef struct TfyStop TfyStop;

#define TFY_STEP_AWAY UINT32_MAX /* the replay ends here */

/* Records are numbered from 0; the number after the last one means the end of the log, with every record taken. */
typedef struct TfyStepping {
    uint32_t first; /* where to stop first */
    /* Returns where to stop next: a record after this one, or TFY_STEP_AWAY. */
    uint32_t (*stop)(void *state, const TfyStop *stop);
    void *state;
} TfyStepping;

/* Like tfy__replay. It also stops at the first difference, wherever the stepper wanted to stop. */
int tfy__replay_steps(const TfyProgram *program, const TfyHistory *history, const TfyOptions *options,
                      const TfyStepping *stepping, TfyReplayReport *report);

uint32_t tfy__stop_record(const TfyStop *stop);        /* the record's number */
const char *tfy__stop_difference(const TfyStop *stop); /* the sentence about a difference found here; NULL: none */

struct json_t;
/* Appends a JSON object without its braces, so that the caller can add members:
 *   "asked": {"tool", "args", "key", "attempt", "request"?}   of the task's step, if one is under way; "request": what it
 *                                                 sends (TfyPerformer.tell)
 *   "raising": {"error", "message", …}            the error on its way through the frames, if there is one
 *   "frames": [{"workflow", "file"?, "line", "source", "point"?, "locals": [{"name", "type", "value"}, …]}, …]
 *                                                 innermost first; "locals" where the variables are known
 *   "tasks": [{"task", "workflow", "state", "file"?, "line"?, "waits"?}, …]
 *                                                 all of the run, in the order of their making
 * frames are those of the task at `path`; NULL: of the record's owner. An unknown path has no frames. tasks:
 * include them; a run can have very many. messages: what the step sent to a model, as the log has it, or NULL. */
void tfy__stop_json(const TfyStop *stop, const char *path, bool tasks, const struct json_t *messages, TfyBuffer *out);

/* ---- tests of the language ----
 *
 * One test is one run in a loop of its own, with everything from outside replaced. The loop has a log in memory, a
 * virtual clock that starts at TFY_TEST_TIME_MS and never waits, and a fixed seed. Mocks answer the program's
 * requests to the outside; a request without a mock fails the test, even if the program would have caught the error.
 * Nothing in a test leaves the process. */

#define TFY_TEST_TIME_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define TFY_TEST_SEED    1

/* The result of a test. All texts are owned; tfy__test_report_free frees them. */
typedef struct TfyTestReport {
    bool ok;
    char *message;      /* why it failed: one sentence; NULL if ok */
    char *missing;      /* the missing mock, as a line of source; or NULL */
    const char *file;   /* where, if not in the main file; else NULL. The program owns it */
    uint32_t line;      /* its line; 0: no particular line */
    char *left, *right; /* the two values of a comparison that failed, as JSON; or NULL */
    /* a JSON list of texts: the answers given, oldest first; if there are many, the last ones */
    TfyBuffer trail;
    TfyBuffer output; /* a JSON list of the lines that it printed and logged */
} TfyTestReport;

/* Runs one test of a program. 0, or TFY_E_… if it could not be run at all. */
int tfy__test_run(const TfyProgram *program, const TfyWorkflow *test, TfyTestReport *report);
void tfy__test_report_free(TfyTestReport *report);

#endif
