/* tests.h: the tests of a compiled program. They print one JSON line for each event: `tfy test` runs the program and
 * reads the lines.
 *
 * {"begin": name, "line": N} precedes a test, so that a test that crashes the process is known by name; {"end": name,
 * "ok": bool, "message", "in": another file than the program's, "line", "missing", "left", "right", "trail": […],
 * "output": […]} follows it. */
#ifndef CLI_PROGRAM_TESTS_H
#define CLI_PROGRAM_TESTS_H

#include "cli/frame/cli.h"
#include "tfy.h"

/* A program compiled with its tests refers to tfy__tester (tfy_program.h); other programs do not contain it. */
struct TfyTester {
    /* Runs the tests whose name contains the --filter. Returns EXIT_DONE, also when tests failed. */
    int (*run)(const TfyProgram *program, const TfyArgs *args);
};

#endif
