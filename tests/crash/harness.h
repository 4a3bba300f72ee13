/* harness.h: the parts of the kill harness.
 *
 * A trial runs a program in a fresh directory, kills it at a chosen place, takes its run up again until it has ended, and compares all that
 * can be seen with one undisturbed run: result, history, output, effects outside, replay, processes left behind. process.c runs commands,
 * history.c reads databases, trial.c is one trial, harness.c goes through all places. */
#ifndef CRASH_HARNESS_H
#define CRASH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_BYTES 4096
#define WORDS_MAX  64
#define HELD       75 /* exit status: held, or waiting for people */

/* What the harness was asked to do. */
typedef struct Case {
    const char *name;    /* of the program, in messages and results */
    const char *program; /* the compiled program, absolute */
    const char *tfy;     /* the command, absolute */
    const char *scratch; /* where trials get their directories */
    const char *setup;   /* shell command that fills a trial's root, or NULL */
    const char *effects; /* shell command that prints what was done outside, or NULL */
    const char *ledger;  /* file in a trial's root where once tools write a line "done KEY RESULT …" */
    const char *results; /* file of results: trials named there as passed are skipped, others are appended; or NULL */
    const char *const *args;  /* parameters and options for `run`, NULL-terminated */
    const char *const *again; /* options for `resume`, NULL-terminated */
    bool loose;               /* tasks race: histories are not compared, and lines of output in any order */
    bool verbose;
} Case;

/* What is left of a run when it has ended. */
typedef struct Outcome {
    int status;    /* exit status of the last process */
    char *history; /* normalised, a line per record */
    char *output;  /* of `tfy output` */
    char *effects; /* what --effects printed, normalised */
    char *value;   /* the result as JSON, or NULL */
    char *printed; /* the line that a finished run prints behind its output, or NULL */
    long long us;  /* time that the first process took */
    char *uuid;    /* of the run */
} Outcome;

/* Where processes are killed: what TFY_TEST_KILL says, or a system call for strace. */
typedef struct Kill {
    const char
        *kind; /* "before", "after", "checkpoint", "point", or the name of a system call with strace; NULL: nowhere */
    bool strace;
    bool in_line;       /* commits on the loop's own thread */
    int count;          /* the n-th */
    long long after_us; /* not 0: from outside, so long after the start */
} Kill;

/* A record in doubt: the newest record of its task is InDoubt. */
typedef struct Doubt {
    char path[256]; /* of the task */
    long long step;
    char key[256];
} Doubt;

typedef enum Verdict { PASSED, FAILED, UNREACHED } Verdict;

/* ---- process.c ---- */

/* A command to run: words, NULL-terminated. */
typedef struct Command {
    const char *words[WORDS_MAX];
    int count;
    const char *kill;  /* value of TFY_TEST_KILL, or NULL */
    bool in_line;      /* TFY_TEST_INLINE=1 */
    bool traced;       /* a tracer is in the way: leak checks are off */
    long long kill_us; /* not 0: SIGKILL so long after the start */
    const char *out;   /* file in dir to append stdout to */
    const char *err;   /* the same for stderr */
} Command;

void command_add(Command *command, const char *word);
void command_add_all(Command *command, const char *const *words);
/* Runs it in dir/root, with the database dir/runs.db, and waits at most a minute. Its exit status, 128 + signal, or -1 when it had to be stopped. */
int command_run(const Command *command, const char *dir);
/* Waits until no process that descends from this one is left; false after 5 s, then it ends them. */
bool processes_gone(void);
void become_subreaper(void);

/* ---- files; all stop the harness when memory or the disk gives out ---- */

char *file_text(const char *dir, const char *name); /* "" when there is none */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- history.c ---- */

bool history_has_run(const char *db);
/* The histories of all tasks of the newest run, one record a line, without what differs from run to run. value: the result as
 * JSON, NULL when there is none. */
char *history_text(const char *db, char **value);
bool history_doubt(const char *db, Doubt *doubt);
/* Are two such texts equal? A result that a person gave has no digest of the request: it is compared without. */
bool history_same(const char *a, const char *b);
/* Run uuids and commit hashes become fixed words. Frees text. */
char *normal_text(char *text, const char *run_uuid);
char *history_uuid(const char *db);
/* NULL, or what is wrong with the file. */
char *history_damage(const char *db);

/* ---- trial.c ---- */

/* One undisturbed run; stops the harness when it does not end well. */
void trial_reference(const Case *the, Outcome *outcome);
void trial_outcome_free(Outcome *outcome);
/* One trial; says on stdout what is wrong. second: kills the first resume. */
Verdict trial_run(const Case *the, const Outcome *reference, const char *id, const Kill *first, const Kill *second);

#endif
