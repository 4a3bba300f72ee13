/* cli.h: what the commands share: exit statuses, arguments taken apart, where the database is, messages.
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

#include "cli/frame/options.h"

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

struct TfyArgs;

/* One command. */
typedef struct TfyCommand {
    int (*run)(const struct TfyArgs *args); /* answers the status to exit with; NULL in a program's own table */
    const char *name;                       /* "approve"; "wal export" is one name of two words */
    const char *operands;                   /* what follows the name in its usage line */
    const char *summary;                    /* one line that begins with a verb: what it is for */
    uint64_t options;                       /* bit 1 << TfyOption for each it takes; --help is always taken */
    int min_words, max_words;               /* operands it takes; max -1: any number */
    bool takes_params;                      /* options it does not know are parameters of a workflow */
    bool reads_words;                       /* of tfy: its words are left to it, as they were typed */
} TfyCommand;

/* The arguments of one command, taken apart. Pointers go into argv. */
typedef struct TfyArgs {
    const TfyCommand *command;
    int argc; /* as typed, from the command's name on */
    char **argv;
    const char *option[OPT_COUNT]; /* the value; "" for a flag that was given; NULL: absent */
    const char **words;            /* operands; malloc'ed array */
    int word_count;
    const char **params; /* pairs of name (malloc'ed) and value (NULL: none was given); malloc'ed array */
    int param_count;     /* pairs */
    const char **dirs;   /* of -I, in order; malloc'ed array */
    int dir_count;
    char *db; /* of a command that takes --db: the database's name, links followed (wal/store/place.h); malloc'ed */
} TfyArgs;

/* Takes apart argv[1..] of a command, which argv[0] names. Answers -1 to go on, or the status to exit with after a
 * message or --help was printed. args is to be given to tfy__args_free in every case. */
int tfy__args_parse(const TfyCommand *command, int argc, char **argv, TfyArgs *args);
void tfy__args_free(TfyArgs *args);
/* The command from its words to its status. */
int tfy__command_run(const TfyCommand *command, int argc, char **argv);

/* How many words an option of a command takes in argv, its value included: 1 or 2; 0: the command has no such option. */
int tfy__option_words(const TfyCommand *command, const char *text);

/* The usage line and the options; the options alone. file is a FILE *. */
void tfy__command_usage(const TfyCommand *command, void *file);
void tfy__command_options(const TfyCommand *command, void *file);
bool tfy__command_takes(const TfyCommand *command, int option);

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

#endif
