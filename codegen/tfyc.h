/* tfyc.h: what the parts of the compiler's command line share: its options, exit statuses, and how files are read and
 * written.
 *
 * One table (tfyc_options.c) holds every option; reading, --help and the shells' completions come from it. Each
 * thing tfyc can do with its files is one mode, and one mode is chosen per call; without one it compiles. */
#ifndef CODEGEN_TFYC_H
#define CODEGEN_TFYC_H

#include "../dsl/diag.h"
#include "../dsl/module.h"
#include "machine.h"

enum {
    EXIT_OK = 0,
    /* --format --check: a file is not as the formatter writes it */
    EXIT_DIFFERS = 1,
    EXIT_USAGE = 64,
    EXIT_BAD_PROGRAM = 65,
    EXIT_NO_INPUT = 69,
    EXIT_INTERNAL = 70,
    EXIT_IO = 74,
};

typedef enum DumpKind { DUMP_NONE, DUMP_TOKENS, DUMP_AST, DUMP_PROGRAM, DUMP_MACHINE } DumpKind;

typedef struct Options {
    const char *const *inputs; /* at least one, unless the mode takes none */
    int input_count;
    const char *output, *depfile; /* NULL: not given */
    const char *offer;            /* workflows that strangers call (dsl/offered.h); NULL: none */
    /* the directory for headers of extern tools; NULL: none are written */
    const char *headers;
    DumpKind dump;
    /* report mistakes and write nothing; with format: list the files that are not formatted */
    bool check;
    bool format;        /* write the canonical text */
    bool diff;          /* with format: show what would change */
    bool json;          /* --diagnostics=json */
    bool deny_warnings; /* they are errors */
    bool no_warnings;   /* they are not printed */
    bool bundle;        /* the input is a stored program: module.h */
    bool list_files;    /* print the files a program is made of */
    bool graph;         /* print the states in the form graph_format */
    bool layout;        /* print points, frames and types */
    bool servers;       /* print where its MCP servers are */
    bool report;        /* print the size of tasks */
    bool trust;         /* with check: print what the program is trusted with */
    bool as_json;       /* --json: with report and trust */
    GraphFormat graph_format;
    const char *schema; /* the declaration whose schema is printed; NULL: none */
    bool lsp;           /* serve an editor; takes no inputs */
    ModulePaths paths;  /* -I, in an array that is kept to the end of the process */
    LowerOptions lower;
    EmitOptions emit;
} Options;

/* Takes the arguments apart. Ends the process after --help or --version, and with EXIT_USAGE when they make no
 * sense. */
Options tfyc_read_options(int argc, char **argv);

/* "tfyc: WHAT 'PATH': reason of errno" on stderr; EXIT_IO. */
int tfyc_report_io(const char *path, const char *what);

/* A file that source_load could not read, and the status for that. */
int tfyc_report_input(const char *path, int error);

/* Prints the mistakes on stderr as the options ask; EXIT_BAD_PROGRAM when there are errors. */
int tfyc_report_diags(const Options *options, const DiagList *diags);

/* Writes beside the name and renames, so that nobody ever sees half a file; "-" is standard output. mode: the
 * permissions, 0 = the usual. */
int tfyc_write_file(const char *path, const char *data, size_t len, unsigned mode);

/* --format: every input; the worst status of all. */
int tfyc_format_files(const Options *options);

#endif
