/* tests.h: the tests of a compiled program, one JSON line for what happens to each: `tfy test` runs the program and
 * reads them.
 *
 * {"begin": name, "line": N} before a test, so that one which takes the process down is known by name; behind it
 * {"end": name, "ok": bool, "message", "in": another file than the program's, "line", "missing", "left", "right",
 * "trail": […], "output": […]}. */
#ifndef CLI_PROGRAM_TESTS_H
#define CLI_PROGRAM_TESTS_H

#include "cli/frame/cli.h"
#include "tfy.h"

/* A program that was compiled with its tests names tfy__tester (tfy_program.h); no other carries this. */
struct TfyTester {
    /* Runs those whose name has the --filter in it. EXIT_DONE, also when tests failed. */
    int (*run)(const TfyProgram *program, const TfyArgs *args);
};

#endif
