/* cli.h: what the commands share: exit statuses, parsed arguments, the database's path, messages.
 *
 * `tfy` and every compiled program parse their arguments with the same tables, so help, did-you-mean and refusals are
 * the same everywhere. Data goes to stdout; messages go to stderr, one clear sentence each, always after the name of
 * the program. Only `watch` uses colours and animation: on a terminal, and not if NO_COLOR is set. The only control
 * codes that reach a terminal come from tfy__terminal_codes (base/terminal.h), so a command may print text from
 * outside like any other. */
#ifndef CLI_FRAME_CLI_H
#define CLI_FRAME_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/frame/options.h"

/* Exit statuses. They are stable. */
enum {
    EXIT_DONE = 0,
    EXIT_RUN_FAILED = 1, /* the run failed or was cancelled */
    EXIT_USAGE = 64,     /* a wrong command, option or parameter */
    /* a bad program, a bad database, or the program does not fit the database */
    EXIT_DATA = 65,
    EXIT_MISSING = 69,      /* no such run, file, compiler, library */
    EXIT_BUG = 70,          /* a broken invariant */
    EXIT_LOG = 74,          /* the log could not be written or read */
    EXIT_WAITING = 75,      /* held by another process, or waiting for people */
    EXIT_INTERRUPTED = 130, /* stopped by a signal; can be resumed */
};

/* Signals within this time count as one: timeout(1) sends two. */
#define TFY_SIGNALS_APART_MS 200

/* The environment variable in which `tfy run` tells the program how many of its operands are the program's files. */
#define TFY_RUN_FILES "TFY_RUN_FILES"

struct TfyArgs;

/* One command. */
typedef struct TfyCommand {
    int (*run)(const struct TfyArgs *args); /* returns the exit status; NULL in a program's own table */
    const char *name;                       /* "approve"; "wal export" is one name of two words */
    const char *operands;                   /* the operands in its usage line */
    /* one line that starts with a verb and says what the command is for */
    const char *summary;
    TfyOptionSet options;     /* every command takes --help */
    int min_words, max_words; /* number of operands; max -1: any number */
    bool takes_params;        /* unknown options are parameters of a workflow */
    bool reads_words;         /* in tfy, the command reads its words itself, as they were typed */
    TfyOptionSet more;        /* options behind the first TFY_OPTION_BITS of the table */
    bool shared;              /* in tfy, the database may be one of PostgreSQL */
} TfyCommand;

/* Whether the command's row names this option. */
static inline bool tfy__command_names(const TfyCommand *command, int option)
{
    const TfyOptionSet set = option < TFY_OPTION_BITS ? command->options : command->more;
    return (set >> option % TFY_OPTION_BITS & 1) != 0;
}

/* An option that may be given several times. */
typedef struct TfyGiven {
    int option;
    const char *value;
} TfyGiven;

/* The parsed arguments of one command. Pointers refer to argv. */
typedef struct TfyArgs {
    const TfyCommand *command;
    int argc; /* as typed, starting with the command's name */
    char **argv;
    const char *option[OPT_COUNT]; /* the value; "" for a flag that is present; NULL: absent */
    const char **words;            /* operands; malloc'ed array */
    int word_count;
    const char **params; /* pairs of name (malloc'ed) and value (NULL: none was given); malloc'ed array */
    int param_count;     /* pairs */
    const char **dirs;   /* values of -I, in order; malloc'ed array */
    int dir_count;
    struct TfyGiven *given; /* --reads, --writes, --grant and --listen, in order; malloc'ed array */
    int given_count;
    /* of a command with --db: the database's path, links resolved (wal/store/place.h); malloc'ed */
    char *db;
} TfyArgs;

/* Parses argv[1..] of the command that argv[0] names. Returns -1 to continue, or the exit status after printing a
 * message or --help. The caller must always pass args to tfy__args_free. */
int tfy__args_parse(const TfyCommand *command, int argc, char **argv, TfyArgs *args);
void tfy__args_free(TfyArgs *args);
/* Parses a command's words, runs it and returns its exit status. */
int tfy__command_run(const TfyCommand *command, int argc, char **argv);

/* Returns how many words of argv an option of a command occupies with its value: 1 or 2; 0: the command does not have
 * the option. */
int tfy__option_words(const TfyCommand *command, const char *text);

/* Reads an option's number, with K, M, G or T behind it if units are allowed, from 1 to max. *out stays as it is where
 * the option is absent. Returns false after a message. */
/* The value of an option whose argument lists words, as in "full|partial": its place in the list, from 0; absent, if it
 * is not given; -1 after a message. */
int tfy__args_choice(const TfyArgs *args, TfyOption option, int absent);
bool tfy__args_limit(const TfyArgs *args, TfyOption option, uint64_t max, bool units, uint64_t *out);

/* Print the usage line and the options; the options alone. file is a FILE *. */
void tfy__command_usage(const TfyCommand *command, void *file);
void tfy__command_options(const TfyCommand *command, void *file);
bool tfy__command_takes(const TfyCommand *command, int option);

/* Returns the candidate that was probably meant: the nearest within a third of the word's length; NULL: none. */
typedef const char *(*TfyCandidate)(const void *state, int index); /* NULL ends the list */
const char *tfy__nearest(const char *word, TfyCandidate candidate, const void *state);

/* Returns --db, else $TFY_DB, else ./.tfy/runs.db. Links are resolved, so that the files beside the database are
 * found by this name. */
const char *tfy__db_path(const TfyArgs *args);
/* Sets args->db. Returns -1 to continue, or the exit status after a message. */
int tfy__db_resolve(TfyArgs *args);
/* Whether the command's database is one of PostgreSQL. */
bool tfy__db_is_shared(const TfyArgs *args);
/* Opens a database of PostgreSQL for reading, by its address. 0, or a code with a message. NULL in programs, which do without. */
struct TfyLog;
extern int (*tfy__db_open_shared)(const char *address, struct TfyLog **log, char *error_text);

/* Prints "NAME: sentence" on stderr and returns the status. */
int tfy__fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tfy__say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tfy__say_json(bool json); /* switches messages to JSON log lines, or back */
bool tfy__says_json(void);
struct TfyLoop;
/* Sends messages through the loop's output from now on, so that they never block; NULL: directly. */
void tfy__say_through(struct TfyLoop *loop);
/* Prints the text unchanged. */
void tfy__say_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The word before every message: "tfy", or a compiled program's own name. */
void tfy__set_program_name(const char *name);
const char *tfy__program_name(void);
/* Returns the words that reach a run's commands: "tfy", or "tfy" with --db for a database other than the default;
 * static storage. */
const char *tfy__tfy_command(const char *db_path);

/* Names a user for the log, as the system does: "ann", or "uid 1000" where it knows no name. */
void tfy__user_name(uint32_t uid, char *out, size_t size);

/* Returns the exit status for a TFY_E_… code. */
int tfy__exit_status(int code);

/* Opens descriptors 0 to 2 where they are closed, so that no database gets such a number, and ignores SIGPIPE and
 * SIGXFSZ. Returns whether stdout was open. */
bool tfy__standard_files(void);

/* Returns EXIT_DONE; or, after a message, the exit status: there are too few descriptors for a database, the loop and
 * one tool. */
int tfy__enough_files(void);

/* Whether a word ends so, and is longer: a file's name and its ending. */
bool tfy__ends_with(const char *word, const char *end);
/* Whether an operand is a file with a program, and not the name of something in a database. */
bool tfy__is_source(const char *word);

/* Flushes stdout. Returns status, or EXIT_LOG with a message when writing failed (a full disk). If the reader of a pipe
 * has left, the process dies of SIGPIPE without a message, as other programs do, unless it was started with SIGPIPE
 * ignored. */
int tfy__flush_stdout(int status);

#endif
