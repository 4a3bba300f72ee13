/* compile.h: from FILE.tfy to a program that can be run, with the system's C compiler, at most once per content.
 *
 * What was compiled lies in a cache ($XDG_CACHE_HOME/tfy, else ~/.cache/tfy, else .tfy/cache), one directory per
 * key. The key is a hash of everything that decides the result: every file of the program, extern C files and the
 * headers they include by name, tfyc, its headers, the library, the C compiler and its flags. An entry is made
 * aside, synced, and renamed into place whole, so a reader never sees half of one and two builders cannot disturb
 * each other. Each start compares the executable with the hash that was noted when it was made, and makes a damaged
 * one again. */
#ifndef CLI_MAKE_COMPILE_H
#define CLI_MAKE_COMPILE_H

#include <stdbool.h>
#include <stdio.h>

/* What is to be compiled. */
typedef struct TfyCompile {
    const char *name;   /* file name of the program, for messages and #line */
    const char *path;   /* where it lies; NULL: its text is in source */
    const char *source; /* its text, as the database holds it, or the bundle of its files; used when path is NULL */
    bool bundle;        /* source is a bundle (dsl/module.h) */
    const char *const *dirs; /* -I: where imported files are looked for too */
    int dir_count;
    const char *const *extras; /* extern C files */
    int extra_count;
    const char *output; /* NULL: into the cache; else the executable is put there */
    bool tests;         /* with its tests */
    bool debug;         /* with all variables, to be stepped through, or inspected with gdb */
    bool steps;         /* to be stepped through */
} TfyCompile;

/* Compiles unless that was done before; *program (malloc'ed) is the executable's path. Answers EXIT_DONE, or the
 * status to exit with after a message: EXIT_DATA for a program with mistakes, EXIT_MISSING without tfyc, C compiler
 * or library. */
int tfy__compile(const TfyCompile *what, char **program);

/* The program of a run, from the source that its database holds. */
struct TfyHistory;
int tfy__compile_recorded(const struct TfyHistory *history, const char *const *extras, int extra_count, bool steps,
                          char **program);

/* What tfyc prints when it is given one option: a temporary file to be read and closed. The status it ended with;
 * only EXIT_DONE leaves a file. */
int tfy__read_tfyc(const char *option, FILE **printed);

/* The layout of a program: a temporary file to be read and closed. tfyc's status; only EXIT_DONE leaves a file. */
int tfy__read_layout(const char *path, const char *const *dirs, int dir_count, FILE **printed);

/* Replaces this process by the tfyc that stands beside this executable (else the one in PATH), with these arguments
 * behind its name. Only returns, with a status, when that fails. */
int tfy__become_tfyc(const char *const *arguments, int count);

/* Replaces this process by a compiled program: `tfy COMMAND ARGUMENTS…`. Only returns, with a status, when that
 * fails. */
int tfy__exec_program(const char *program, const char *command, char **arguments, int count);

#endif
