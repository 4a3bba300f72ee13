/* cli.h: what the commands share: exit statuses, one table of commands and options, where the database lies,
 * messages.
 *
 * `tfy` and every compiled program read their arguments through the same tables, so help, did-you-mean and refusals
 * are the same everywhere. Data goes to stdout, messages to stderr, one clear sentence each, always beginning with
 * the name of the program. Only `watch` colours and animates, on a terminal, and not against NO_COLOR. A terminal
 * obeys nothing of what is printed but what tfy__terminal_codes writes (base/terminal.h), so a command prints text
 * from outside like any other. */
#ifndef CLI_FRAME_CLI_H
#define CLI_FRAME_CLI_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses; stable. */
enum {
    EXIT_DONE = 0,
    EXIT_RUN_FAILED = 1,    /* the run failed or was cancelled */
    EXIT_USAGE = 64,        /* a wrong command, option or parameter */
    EXIT_DATA = 65,         /* a bad program, a bad database, or the two do not fit */
    EXIT_MISSING = 69,      /* no such run, file, compiler, library */
    EXIT_BUG = 70,          /* something that must not happen */
    EXIT_LOG = 74,          /* the log could not be written or read */
    EXIT_WAITING = 75,      /* held by another process, or waiting for people */
    EXIT_INTERRUPTED = 130, /* stopped by a signal; can be resumed */
};

/* Every option of every command. OPTION_TABLE in options.c gives name, argument and meaning. */
typedef enum TfyOption {
    OPT_HELP,
    OPT_VERSION,
    OPT_DB,
    OPT_JSON,
    OPT_WORKFLOW,
    OPT_YES,
    OPT_NO,
    OPT_ANSWER,
    OPT_TASK,
    OPT_STEP,
    OPT_FORCE,
    OPT_DONE,
    OPT_RETRY,
    OPT_FAIL,
    OPT_EVENTS,
    OPT_LLM,
    OPT_SECRETS,
    OPT_ROOT,
    OPT_WAIT,
    OPT_GRACE,
    OPT_POLICY,
    OPT_MAX_TASKS,
    OPT_MAX_MEMORY,
    OPT_MAX_QUEUE,
    OPT_ALL,
    OPT_PROGRAM,
    OPT_OUTPUT,
    OPT_ID,
    OPT_OUT,
    OPT_DIR,
    OPT_FILTER,
    OPT_TAP,
    OPT_VERBOSE,
    OPT_CHECK,
    OPT_DIFF,
    OPT_DIAGNOSTICS,
    OPT_FORMAT,
    OPT_SINCE,
    OPT_LOG_FORMAT,
    OPT_LOG_LEVEL,
    OPT_TOOLS,
    OPT_AT,
    OPT_SET_RESULT,
    OPT_WITH,
    OPT_PROMETHEUS,
    OPT_STEPPING,
    OPT_DEBUG,
    OPT_UNTIL,
    OPT_PRINT_LOCALS,
    OPT_KILL_AT,
    OPT_REAL,
    OPT_COPY,
    OPT_JOBS,
    OPT_LOOSE,
    OPT_OLDER_THAN,
    OPT_KEEP,
    OPT_MAX_SIZE,
    OPT_ARCHIVE,
    OPT_COMPACT,
    OPT_FROM_SNAPSHOT,
    OPT_DRY_RUN,
    OPT_TIMEOUT,
    OPT_COUNT
} TfyOption;

/* What an option is called, what it takes, what it means. */
typedef struct TfyOptionInfo {
    const char *name;     /* without the dashes; one letter: written with one dash */
    const char *argument; /* NULL: a flag */
    const char *meaning;
} TfyOptionInfo;

/* One command as people see it. */
typedef struct TfyCommandInfo {
    const char *name;         /* "approve"; "wal export" is one name of two words */
    const char *operands;     /* what stands behind the name in its usage line */
    const char *summary;      /* one line: what it does */
    uint64_t options;         /* bit 1 << TfyOption for each it takes; --help is always taken */
    int min_words, max_words; /* operands it takes; max -1: any number */
} TfyCommandInfo;

/* The arguments of one command, taken apart. Pointers go into argv. */
typedef struct TfyArgs {
    const TfyCommandInfo *command;
    const char *option[OPT_COUNT]; /* the value; "" for a flag that was given; NULL: absent */
    const char **words;            /* operands; malloc'ed array */
    int word_count;
    const char **params; /* `run` only: pairs of name and value (NULL: none was given); malloc'ed array */
    int param_count;     /* pairs */
    const char **dirs;   /* of -I, in order; malloc'ed array */
    int dir_count;
    char *db; /* of a command that takes --db: the database's name, links followed (wal/store/place.h); malloc'ed */
} TfyArgs;

/* Takes apart argv[1..] of the command named by argv[0] ("inspect", "wal export"). Answers -1 to go on, or the status
 * to exit with after a message or --help was printed. args is to be given to tfy__args_free in every case. */
int tfy__args_parse(int argc, char **argv, TfyArgs *args);
void tfy__args_free(TfyArgs *args);

/* How many words an option of a command takes in argv, its value included: 1 or 2; 0: the command has no such option. */
int tfy__option_words(const TfyCommandInfo *command, const char *text);

/* The rows of the tables, for help and dispatch. */
const TfyCommandInfo *tfy__command_find(const char *name);
void tfy__command_usage(const TfyCommandInfo *command, void *file); /* the usage line, the options; file is a FILE * */
void tfy__command_options(const TfyCommandInfo *command, void *file); /* the options alone */
const TfyCommandInfo *tfy__command_at(int index);                     /* NULL: behind the last */
const TfyOptionInfo *tfy__option_at(int option);
bool tfy__command_takes(const TfyCommandInfo *command, int option);

/* Which of the candidates was probably meant: the nearest within a third of the word's length; NULL: none. */
typedef const char *(*TfyCandidate)(const void *state, int index); /* NULL ends the list */
const char *tfy__nearest(const char *word, TfyCandidate candidate, const void *state);

/* --db, else $TFY_DB, else ./.tfy/runs.db; links followed, so that whatever stands beside the database is found by
 * this name. */
const char *tfy__db_path(const TfyArgs *args);
/* Sets args->db. Answers -1 to go on, or the status to exit with after a message. */
int tfy__db_resolve(TfyArgs *args);

/* Prints "NAME: sentence" on stderr and answers the status. */
int tfy__fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tfy__say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tfy__say_json(bool json); /* messages become log lines in JSON, until told otherwise */
bool tfy__says_json(void);
struct TfyLoop;
void tfy__say_through(
    struct TfyLoop *loop); /* from now on messages leave with its output and never block; NULL: directly */
void tfy__say_text(const char *format, ...) __attribute__((format(printf, 1, 2))); /* as it is */
/* What messages begin with: "tfy", or a compiled program's own name. */
void tfy__set_program_name(const char *name);
const char *tfy__program_name(void);
/* What people type to reach a run's commands: "tfy", or "tfy" with --db when the database is not the default one;
 * static storage. */
const char *tfy__tfy_command(const char *db_path);

/* The exit status that a TFY_E_… code asks for. */
int tfy__exit_status(int code);

/* Makes sure that descriptors 0 to 2 are open, so that no database lands on them, and ignores SIGPIPE and SIGXFSZ.
 * Answers whether stdout was open. */
bool tfy__standard_files(void);

/* EXIT_DONE; or, with a sentence, the status to end with: there are too few descriptors for a database, the loop and
 * one tool. */
int tfy__enough_files(void);

/* Flushes stdout; EXIT_LOG with a message when it could not be written (a full disk, a closed pipe), else status. */
int tfy__flush_stdout(int status);

/* ---- the commands of tfy: argv[0] is the command's name ---- */
int tfy__cmd_run(int argc, char **argv);
int tfy__cmd_build(int argc, char **argv);
int tfy__cmd_check(int argc, char **argv);
int tfy__cmd_lsp(int argc, char **argv);
int tfy__cmd_test(int argc, char **argv);
int tfy__cmd_crashtest(int argc, char **argv);
int tfy__cmd_fmt(int argc, char **argv);
int tfy__cmd_graph(int argc, char **argv);
int tfy__cmd_completions(int argc, char **argv);
int tfy__cmd_ps(int argc, char **argv);
int tfy__cmd_inspect(int argc, char **argv);
int tfy__cmd_resume(int argc, char **argv);
int tfy__cmd_replay(int argc, char **argv);
int tfy__cmd_diff(int argc, char **argv);
int tfy__cmd_output(int argc, char **argv);
int tfy__cmd_result(int argc, char **argv);
int tfy__cmd_approve(int argc, char **argv);
int tfy__cmd_deny(int argc, char **argv);
int tfy__cmd_kill(int argc, char **argv);
int tfy__cmd_signal(int argc, char **argv);
int tfy__cmd_resolve(int argc, char **argv);
int tfy__cmd_fork(int argc, char **argv);
int tfy__cmd_compat(int argc, char **argv);
int tfy__cmd_wal_export(int argc, char **argv);
int tfy__cmd_doctor(int argc, char **argv);
int tfy__cmd_wal_import(int argc, char **argv);
int tfy__cmd_backup(int argc, char **argv);
int tfy__cmd_adopt(int argc, char **argv);
int tfy__cmd_gc(int argc, char **argv);
int tfy__cmd_salvage(int argc, char **argv);
int tfy__cmd_verify(int argc, char **argv);
int tfy__cmd_watch(int argc, char **argv);
int tfy__cmd_stats(int argc, char **argv);
int tfy__cmd_timeline(int argc, char **argv);
int tfy__cmd_tasks(int argc, char **argv);

#endif
