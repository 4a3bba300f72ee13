/* crash.h: trials by killing. `tfy crashtest` makes them for people's programs, tests/crash for this project's own.
 *
 * A trial runs a program in a fresh directory, kills it at a chosen place, takes its run up again until it has ended,
 * and compares all that can be seen with one undisturbed run: result, history, output, effects outside, replay,
 * processes left behind. crash_process.c runs commands, crash_history.c reads databases with SQL as a stranger would,
 * crash_calls.c the record of calls, crash_files.c the files that tools left, crash_trial.c is one trial. Whoever
 * uses it goes through the places. Want of memory ends the process with a message (crash_die). */
#ifndef CLI_CRASH_CRASH_H
#define CLI_CRASH_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PATH_BYTES 4096
#define WORDS_MAX  64
#define HELD       75 /* exit status: held, or waiting for people */

enum { CRASH_SHORT_UUID = 13 }; /* the least that shortened names have of a run's uuid */

/* What is tried. */
typedef struct Case {
    const char *name;    /* of the program, in messages and results */
    const char *program; /* the compiled program, absolute */
    const char *tfy;     /* the command, absolute */
    const char *scratch; /* where trials get their directories */
    const char *setup;   /* shell command that fills a trial's root, or NULL */
    const char *effects; /* shell command that prints what was done outside; NULL: the files in the root */
    const char *varying; /* of them, those that are only looked for, as crash_files_varying() gives them; or NULL */
    const char *ledger;  /* file in a trial's root where once tools write a line "done KEY RESULT …"; or NULL */
    bool rehearsed;      /* the runtime itself writes down what was called (core/replay/rehearse.h) */
    const char *answers; /* … and takes the answers from there; NULL: tools are real */
    const char *results; /* file of results: trials named there as passed are skipped, others are appended; or NULL */
    const char *const *args;  /* parameters and options for `run`, NULL-terminated */
    const char *const *again; /* options for `resume`, NULL-terminated */
    bool loose;               /* tasks race: histories are not compared, and lines of output in any order */
    bool any_output;          /* … nor is what was printed */
    bool verbose;
    bool keep; /* directories of trials stay, also of good ones */
} Case;

/* What is left of a run when it has ended. */
typedef struct Outcome {
    int status;    /* exit status of the last process */
    char *history; /* normalised, a line per record */
    char *output;  /* of `tfy output` */
    char *effects; /* what was done outside, normalised */
    char *value;   /* the result as JSON, normalised, or NULL */
    char *printed; /* the line that a finished run prints behind its output, normalised, or NULL */
    long long us;  /* time that the first process took */
    char *uuid;    /* of the run */
    char *calls;   /* once calls, each a line, in any order; with Case.rehearsed */
    char *counts;  /* how often it came to each place; with Case.rehearsed */
} Outcome;

/* Where processes are killed: what TFY_TEST_KILL says, or what a tracer is told. */
typedef struct Kill {
    const char *
        whom; /* NULL: the process; "both": and its watcher; "all": and the stubs; "watcher": that alone (effects/watcher.h) */
    const char *kind; /* "before", "after", "checkpoint", "point", or a place the tracer knows; NULL: nowhere */
    const char *const *tracer; /* words before the program's own, NULL-terminated: it kills it; or NULL */
    bool in_line;              /* commits on the loop's own thread */
    int count;                 /* the n-th */
    long long after_us;        /* not 0: from outside, so long after the start */
    int signal;                /* … by this one, which drains; 0: SIGKILL */
    const char *mouth;         /* what stdout is: "closed", "full"; NULL: a file */
    bool elsewhere;            /* who takes the run up stands in another directory */
} Kill;

/* A record in doubt: the newest record of its task is InDoubt. */
typedef struct Doubt {
    char path[256]; /* of the task */
    long long step;
    char key[256];
} Doubt;

typedef enum Verdict {
    PASSED,
    FAILED,
    UNREACHED, /* the program ended before it came there */
    UNKNOWN,   /* a once tool was at work when it was killed, and nobody but the world knows what it did */
} Verdict;

/* ---- crash_process.c ---- */

/* A command to run: words, NULL-terminated. */
typedef struct Command {
    const char *words[WORDS_MAX];
    int count;
    const char *kill;  /* value of TFY_TEST_KILL, or NULL */
    const char *whom;  /* with a kill that stops it: who is killed then (Kill); or NULL */
    bool in_line;      /* TFY_TEST_INLINE=1 */
    bool rehearsed;    /* TFY_TEST_REHEARSE: dir */
    bool traced;       /* a tracer is in the way: leak checks are off */
    long long kill_us; /* not 0: killed so long after the start, */
    int signal;        /* … by this signal; 0: SIGKILL */
    const char *mouth; /* Kill's */
    bool elsewhere;    /* run in dir itself */
    const char *out;   /* file in dir to append stdout to */
    const char *err;   /* the same for stderr */
} Command;

void crash_command_add(Command *command, const char *word);
void crash_command_add_all(Command *command, const char *const *words);
/* Runs it in dir/root, with the database dir/runs.db, and waits at most a minute. Its exit status, 128 + signal, or
 * -1 when it had to be stopped. When its watcher alone was killed and it ended with 70 for that, this counts as
 * SIGKILL. */
int crash_command_run(const Command *command, const char *dir);
/* Waits until no process that descends from this one is left; false after 5 s, then it ends them. */
bool crash_processes_gone(void);
void crash_become_subreaper(void);

/* ---- files ---- */

char *crash_file_text(const char *dir, const char *name); /* "" when there is none */
char *crash_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void crash_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- crash_history.c ---- */

bool crash_history_has_run(const char *db);
/* The histories of all tasks of the newest run, one record a line, without what differs from run to run. value: the
 * result as JSON, NULL when there is none. */
char *crash_history_text(const char *db, char **value);
bool crash_history_doubt(const char *db, Doubt *doubt);
/* Are two such texts equal? A result that a person gave has no digest of the request: it is compared without. */
bool crash_history_same(const char *a, const char *b);
/* Run uuids and commit hashes become fixed words. Frees text. */
char *crash_normal_text(char *text, const char *run_uuid);
/* The lines of text that are not empty, sorted. Frees text. */
char *crash_in_order(char *text);
/* How much of the run's uuid stands at text, before end: all of it, or the beginning that shortened names have; 0:
 * none. */
size_t crash_uuid_len(const char *text, const char *end, const char *run_uuid);
char *crash_history_uuid(const char *db);
/* NULL, or what is wrong with the file. */
char *crash_history_damage(const char *db);

/* ---- crash_calls.c ---- */

/* Writes what a database has recorded of every step of its newest run, an object a line, for core/replay/rehearse.h. */
void crash_answers_write(const char *db, const char *file);
/* What the calls in a trial's directory say of a once step with this key. result: as JSON, "null" for nothing (the
 * caller frees it). */
typedef enum CallState { CALL_NEVER, CALL_BEGUN, CALL_DONE, CALL_FAILED } CallState;
CallState crash_call_state(const char *dir, const char *key, char **result);
/* The once calls that were made, a line each with their number of attempts; run uuids become fixed words. */
char *crash_calls_text(const char *dir, const char *run_uuid);
/* NULL, or the key of a once call that began again though nothing had said that it might. */
char *crash_calls_twice(const char *dir);

/* ---- crash_files.c ---- */

/* The files below root, .git left out, a line each: name, tab, size and sum of what is in it. */
char *crash_files_text(const char *root, const char *run_uuid);
/* The names in two such texts whose files differ, each between newlines. NULL: the names themselves differ. */
char *crash_files_varying(const char *a, const char *b);
/* Leaves nothing of these files but their names. Frees text. */
char *crash_files_mask(char *text, const char *names);

/* ---- crash_trial.c ---- */

/* One undisturbed run. NULL, or why it cannot be compared with (the caller frees it). answers: file to write its
 * answers to, or NULL. in_line: it commits on the loop's own thread, as the process of a trial that is killed does,
 * and not like those that take its run up again. */
char *crash_trial_reference(const Case *the, Outcome *outcome, const char *answers, bool in_line);
void crash_trial_outcome_free(Outcome *outcome);
/* One trial; says into out what is wrong. second: kills the first resume. */
Verdict crash_trial_run(const Case *the, const Outcome *reference, const char *id, const Kill *first,
                        const Kill *second, FILE *out);

#endif
