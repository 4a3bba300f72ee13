/* compile.h: compiles FILE.tfy to an executable or a shared object with the system's C compiler, at most once per
 * content.
 *
 * Compiled programs are stored in a cache ($XDG_CACHE_HOME/tfy, else ~/.cache/tfy, else .tfy/cache), one directory
 * per key. The key is a hash of everything that decides the result: every file of the program, extern C files and the
 * headers they include by name, tfyc, its headers, the library, the C compiler and its flags. A program of one file
 * has the same key whether its text comes from the file or from the database of a run. An entry is built in a
 * directory of its own, synced, and renamed into place whole, so a reader never sees half of one and two builders
 * never disturb each other. Each start compares the executable with the hash that its builder stored, and rebuilds a
 * damaged one. */
#ifndef CLI_MAKE_COMPILE_H
#define CLI_MAKE_COMPILE_H

#include <stdbool.h>
#include <stdio.h>

/* The input of a compilation. */
typedef struct TfyCompile {
    const char *name; /* file name of the program, for messages and #line */
    const char *path; /* its path; NULL: its text is in source */
    /* its text, as stored in the database, or the bundle of its files; used when path is NULL */
    const char *source;
    bool bundle;             /* source is a bundle (dsl/module.h) */
    const char *const *dirs; /* -I: further directories for imported files */
    int dir_count;
    const char *const *extras; /* extern C files */
    int extra_count;
    /* NULL: into the cache; else a copy of the executable is written here */
    const char *output;
    bool tests;         /* include its tests */
    bool debug;         /* keep all variables, for stepping or for gdb */
    bool steps;         /* for stepping */
    bool shared;        /* a shared object without the runtime, for tfy_shared_open */
    bool tables;        /* … whose workflows nobody runs: compiled faster, and without the C of its extern tools */
    bool deny_warnings; /* refuse a program with warnings; needs its path */
    const char *offer;  /* workflows whose parameters are untrusted, as tfyc --offer has them; NULL: none */
} TfyCompile;

/* Compiles unless the cache has the program; *program (malloc'ed) is the executable's path. Returns EXIT_DONE, or the
 * exit status after a message: EXIT_DATA for a program with mistakes, EXIT_MISSING without tfyc, C compiler or
 * library. */
int tfy__compile(const TfyCompile *what, char **program);

/* Compiles the program of a history, from the source that its database holds. how: extras, steps, debug, shared, output. */
struct TfyHistory;
int tfy__compile_recorded(const struct TfyHistory *history, const TfyCompile *how, char **program);

/* Runs tfyc with one option; *printed is a temporary file with its output, which the caller reads and closes. Returns
 * tfyc's exit status; the file exists only on EXIT_DONE. */
int tfy__read_tfyc(const char *option, FILE **printed);

/* Reads the layout of a program into a temporary file, which the caller reads and closes. Returns tfyc's exit status;
 * the file exists only on EXIT_DONE. */
int tfy__read_layout(const char *path, const char *const *dirs, int dir_count, FILE **printed);

/* The same with the MCP servers that the file declares (codegen/list_servers.h). */
int tfy__list_servers(const char *path, FILE **printed);

/* The same with the paths of all files of a program, each on a line, its own first. */
int tfy__list_files(const char *path, FILE **printed);

/* Replaces this process by the tfyc beside this executable (else the one in PATH), with these arguments after its
 * name. Returns, with a status, only on failure. */
int tfy__become_tfyc(const char *const *arguments, int count);

/* Replaces this process by a compiled program: `tfy COMMAND ARGUMENTS…`. Returns, with a status, only on failure. */
int tfy__exec_program(const char *program, const char *command, char **arguments, int count);

#endif
