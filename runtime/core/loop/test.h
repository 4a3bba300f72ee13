/* test.h: tests of the language: one test is one run in a loop of its own, with everything from outside replaced.
 *
 * The loop has a log in memory, a virtual clock that begins at TFY_TEST_TIME_MS and never waits, and a fixed seed.
 * What the program asks of the outside is answered by mocks; what nobody answers fails the test, also when the
 * program would have caught the error. Nothing a test does leaves the process. */
#ifndef CORE_LOOP_TEST_H
#define CORE_LOOP_TEST_H

#include "tfy_program.h"
#include "base/buffer.h"

#define TFY_TEST_TIME_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define TFY_TEST_SEED    1

/* What became of a test. All texts are owned; tfy__test_report_free gives them back. */
typedef struct TfyTestReport {
    bool ok;
    char *message;      /* why it failed: one sentence; NULL when ok */
    char *missing;      /* the mock that nobody wrote, as a line of source; or NULL */
    const char *file;   /* where, when that is not the main file; else NULL. The program's */
    uint32_t line;      /* its line; 0: nowhere in particular */
    char *left, *right; /* the two values of a comparison that failed, as JSON; or NULL */
    TfyBuffer trail;    /* a JSON list of texts: what was answered, oldest first; of many the last */
    TfyBuffer output;   /* a JSON list of the lines it printed and logged */
} TfyTestReport;

/* Runs one test of a program. 0, or TFY_E_… when it could not be run at all. */
int tfy__test_run(const TfyProgram *program, const TfyWorkflow *test, TfyTestReport *report);
void tfy__test_report_free(TfyTestReport *report);

/* ---- for the rest of core/ ---- */

typedef struct TfyTest TfyTest; /* loop->test; NULL outside tests */
struct Step;

/* Answers a step that nothing is recorded of, by a mock or by failing the test. False: it runs here as anywhere. */
bool tfy__test_answers(struct Step *step);
/* Which workflow a call of this one really begins: itself, or a stand-in that looks for a mock. Counts the call. */
const TfyWorkflow *tfy__test_stand_in(TfyTest *test, const TfyWorkflow *workflow);
void tfy__test_said(TfyTest *test, bool printed, const char *text, size_t len); /* a line, without its newline */
void tfy__test_spent(TfyTest *test); /* a task ran a whole slice without stopping */
void tfy__test_free(TfyLoop *loop);  /* before the heap goes */

#endif
