/* test.h: tests of the language: one test is one run in a loop of its own, with everything from outside replaced.
 *
 * The loop has a log in memory, a virtual clock that starts at TFY_TEST_TIME_MS and never waits, and a fixed seed.
 * Mocks answer the program's requests to the outside; a request without a mock fails the test, even if the program
 * would have caught the error. Nothing in a test leaves the process. */
#ifndef CORE_LOOP_TEST_H
#define CORE_LOOP_TEST_H

#include "tfy_program.h"
#include "base/buffer.h"

#define TFY_TEST_TIME_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define TFY_TEST_SEED    1

/* The result of a test. All texts are owned; tfy__test_report_free frees them. */
typedef struct TfyTestReport {
    bool ok;
    char *message;      /* why it failed: one sentence; NULL if ok */
    char *missing;      /* the missing mock, as a line of source; or NULL */
    const char *file;   /* where, if not in the main file; else NULL. The program owns it */
    uint32_t line;      /* its line; 0: no particular line */
    char *left, *right; /* the two values of a comparison that failed, as JSON; or NULL */
    /* a JSON list of texts: the answers given, oldest first; if there are many, the last ones */
    TfyBuffer trail;
    TfyBuffer output; /* a JSON list of the lines that it printed and logged */
} TfyTestReport;

/* Runs one test of a program. 0, or TFY_E_… if it could not be run at all. */
int tfy__test_run(const TfyProgram *program, const TfyWorkflow *test, TfyTestReport *report);
void tfy__test_report_free(TfyTestReport *report);

/* ---- for the rest of core/ ---- */

typedef struct TfyTest TfyTest; /* loop->test; NULL outside tests */
struct Step;

/* Answers a step without a record, by a mock or by failing the test. False: the step runs here as anywhere. */
bool tfy__test_answers(struct Step *step);
/* The workflow that a call of this one starts: itself, or a stand-in that finds the mock. Counts the call. */
const TfyWorkflow *tfy__test_stand_in(TfyTest *test, const TfyWorkflow *workflow);
void tfy__test_said(TfyTest *test, bool printed, const char *text, size_t len); /* a line, without its newline */
void tfy__test_spent(TfyTest *test); /* a task ran a whole slice without stopping */
void tfy__test_free(TfyLoop *loop);  /* must be called before the heap is freed */

#endif
