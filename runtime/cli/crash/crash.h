/* crash.h: kill trials. `tfy crashtest` runs them for users' programs, tests/crash for this project's own.
 *
 * A trial runs a program in a fresh directory, kills it at a chosen place, resumes its run until the run has ended,
 * and compares everything visible with one undisturbed run: result, history, output, effects outside, replay,
 * processes left behind. process.c runs commands, history.c reads databases with plain SQL, calls.c reads the record
 * of calls, files.c the files that tools left, and trial.c performs one trial. The caller chooses the places. Running
 * out of memory ends the process with a message (crash_die). */
#ifndef CLI_CRASH_CRASH_H
#define CLI_CRASH_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PATH_BYTES 4096
#define WORDS_MAX  64
#define HELD       75 /* exit status: held, or waiting for people */

enum { CRASH_SHORT_UUID = 13 }; /* the shortest prefix of a run's uuid that shortened names have */

/* The program under test and the conditions of its trials. */
typedef struct Case {
    const char *name;    /* the program's name in messages and results */
    const char *program; /* the compiled program, absolute */
    const char *tfy;     /* the command, absolute */
    const char *scratch; /* parent of the trials' directories */
    const char *setup;   /* shell command that fills a trial's root, or NULL */
    /* shell command that prints the effects outside; NULL: the files in the root */
    const char *effects;
    /* the effects that may vary: only their names are compared, in the form of crash_files_varying(); or NULL */
    const char *varying;
    /* file in a trial's root to which once tools append lines "done KEY RESULT …"; or NULL */
    const char *ledger;
    bool rehearsed;      /* the runtime itself records the calls (cli/program/rehearse.h) */
    const char *answers; /* … and takes the answers from this file; NULL: tools are real */
    /* file of results: trials that passed in it are skipped, others are appended; or NULL */
    const char *results;
    const char *const *args;  /* parameters and options for `run`, NULL-terminated */
    const char *const *again; /* options for `resume`, NULL-terminated */
    /* tasks race: histories are not compared, and lines of output may come in any order */
    bool loose;
    bool any_output; /* … and the output is not compared at all */
    bool verbose;
    bool keep; /* keep the directories of trials that passed, too */
} Case;

/* The visible state after a run has ended. */
typedef struct Outcome {
    int status;    /* exit status of the last process */
    char *history; /* normalised, one record per line */
    char *output;  /* of `tfy output` */
    char *effects; /* the effects outside, normalised */
    char *value;   /* the result as JSON, normalised, or NULL */
    /* the line that a finished run prints after its output, normalised, or NULL */
    char *printed;
    long long us; /* duration of the first process */
    char *uuid;   /* the run's */
    char *calls;  /* once calls, one per line, in any order; with Case.rehearsed */
    char *counts; /* how often it reached each place; with Case.rehearsed */
} Outcome;

/* Where a process is killed: the value of TFY_TEST_KILL, or the argument of a tracer. */
typedef struct Kill {
    /* NULL: the process; "both": and its watcher; "all": and the stubs; "watcher": the watcher alone
     * (effects/watcher.h) */
    const char *whom;
    const char *kind; /* "before", "after", "checkpoint", "point", or a place the tracer knows; NULL: nowhere */
    /* words before the program's own, NULL-terminated, of a tracer that kills it; or NULL */
    const char *const *tracer;
    bool in_line;       /* commits on the loop's own thread */
    int count;          /* the ordinal of the place, from 1 */
    long long after_us; /* not 0: killed from outside, this long after the start */
    int signal;         /* … by this signal, which drains; 0: SIGKILL */
    const char *mouth;  /* kind of stdout: "closed", "full"; NULL: a file */
    bool elsewhere;     /* the resuming process runs in another directory */
} Kill;

/* A step in doubt: the newest record of its task is InDoubt. */
typedef struct Doubt {
    char path[256]; /* the task's */
    long long step;
    char key[256];
} Doubt;

typedef enum Verdict {
    PASSED,
    FAILED,
    UNREACHED, /* the program ended before it reached the place */
    /* the kill hit a working once tool, and the trial cannot find out whether the effect happened */
    UNKNOWN,
} Verdict;

/* ---- process.c ---- */

/* A command to run: words, NULL-terminated. */
typedef struct Command {
    const char *words[WORDS_MAX];
    int count;
    const char *kill; /* value of TFY_TEST_KILL, or NULL */
    /* with a kill that stops the process: which process is then killed (Kill); or NULL */
    const char *whom;
    bool in_line;      /* TFY_TEST_INLINE=1 */
    bool rehearsed;    /* TFY_TEST_REHEARSE: dir */
    bool traced;       /* a tracer runs the program: leak checks are off */
    long long kill_us; /* not 0: killed this long after the start, */
    int signal;        /* … by this signal; 0: SIGKILL */
    const char *mouth; /* as in Kill */
    bool elsewhere;    /* run in dir itself, not in dir/root */
    const char *out;   /* file in dir to which stdout is appended */
    const char *err;   /* the same for stderr */
} Command;

void crash_command_add(Command *command, const char *word);
void crash_command_add_all(Command *command, const char *const *words);
/* Runs it in dir/root, with the database dir/runs.db, for at most a minute. Returns its exit status, 128 + signal, or
 * -1 when it had to be stopped. Exit status 70 counts as SIGKILL when only the watcher was killed, because the
 * program ends with it for that reason. */
int crash_command_run(const Command *command, const char *dir);
/* Waits until no descendant of this process is left. After 5 s it ends the remaining ones and returns false. */
bool crash_processes_gone(void);
void crash_become_subreaper(void);

/* ---- files ---- */

char *crash_file_text(const char *dir, const char *name); /* "" when the file does not exist */
char *crash_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void crash_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- history.c ---- */

bool crash_history_has_run(const char *db);
/* Returns the histories of all tasks of the newest run, one record per line, without the parts that differ from run
 * to run. value: the result as JSON, NULL when there is none. */
char *crash_history_text(const char *db, char **value);
bool crash_history_doubt(const char *db, Doubt *doubt);
/* Compares two such texts. A result that a person gave has no digest of the request, so the digest is not
 * compared. */
bool crash_history_same(const char *a, const char *b);
/* Replaces run uuids and commit hashes by fixed words. Frees text. */
char *crash_normal_text(char *text, const char *run_uuid);
/* Returns the non-empty lines of text, sorted. Frees text. */
char *crash_in_order(char *text);
/* Returns how many bytes of the run's uuid text has, before end: the whole uuid, or the prefix that shortened names
 * have; 0: none. */
size_t crash_uuid_len(const char *text, const char *end, const char *run_uuid);
char *crash_history_uuid(const char *db);
/* Returns NULL, or a description of the damage to the file. */
char *crash_history_damage(const char *db);

/* ---- calls.c ---- */

/* Writes the recorded answers of every step of the newest run, one object per line, for cli/program/rehearse.h. */
void crash_answers_write(const char *db, const char *file);
/* Reads the state of a once step with this key from the calls in a trial's directory. result: as JSON, "null" for
 * nothing (the caller frees it). */
typedef enum CallState { CALL_NEVER, CALL_BEGUN, CALL_DONE, CALL_FAILED } CallState;
CallState crash_call_state(const char *dir, const char *key, char **result);
/* Returns the once calls, one per line with the number of attempts; run uuids become fixed words. */
char *crash_calls_text(const char *dir, const char *run_uuid);
/* Returns NULL, or the key of a once call that started again without a record that permits it. */
char *crash_calls_twice(const char *dir);

/* ---- files.c ---- */

/* Returns the files below root, without .git, one per line: name, tab, size and checksum of the content. */
char *crash_files_text(const char *root, const char *run_uuid);
/* Returns the names in two such texts whose files differ, each between newlines. NULL: the sets of names differ. */
char *crash_files_varying(const char *a, const char *b);
/* Reduces these files' lines to their names. Frees text. */
char *crash_files_mask(char *text, const char *names);

/* ---- trial.c ---- */

/* Performs one undisturbed run. Returns NULL, or why trials cannot be compared with it (the caller frees it).
 * answers: file to write its answers to, or NULL. in_line: the run commits on the loop's own thread, as the killed
 * process of a trial does; the resuming processes commit on another thread. */
char *crash_trial_reference(const Case *the, Outcome *outcome, const char *answers, bool in_line);
void crash_trial_outcome_free(Outcome *outcome);
/* Performs one trial and writes every difference to out. second: kills the first resume. */
Verdict crash_trial_run(const Case *the, const Outcome *reference, const char *id, const Kill *first,
                        const Kill *second, FILE *out);

#endif
