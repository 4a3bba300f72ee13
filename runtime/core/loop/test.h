/* test.h: what the rest of core/ asks a test of the language (core/loop.h). */
#ifndef CORE_LOOP_TEST_H
#define CORE_LOOP_TEST_H

#include "base/buffer.h"
#include "tfy_program.h"

typedef struct TfyTest TfyTest; /* loop->test; NULL outside tests */
struct Step;

/* Answers a step without a record, by a mock or by failing the test. False: the step runs here as anywhere. */
bool tfy__test_answers(struct Step *step);
/* The workflow that a call of this one starts: itself, or a stand-in that finds the mock. Counts the call. */
const TfyWorkflow *tfy__test_stand_in(TfyTest *test, const TfyWorkflow *workflow);
void tfy__test_said(TfyTest *test, bool printed, const char *text, size_t len); /* a line, without its newline */
void tfy__test_spent(TfyTest *test);                           /* a task ran a whole slice without stopping */
void tfy__test_forget(TfyTest *test, const struct Step *step); /* its mock's answer is no longer awaited */
void tfy__test_free(TfyLoop *loop);                            /* must be called before the heap is freed */

/* test_source.c */
#define TFY_TEST_SHOWN_MAX 400 /* bytes of a value in a sentence */
/* A value in a sentence: as source, or "_" if that is impossible or too long. */
void tfy__test_write_pattern(TfyBuffer *out, const TfyType *type, TfyValue value);
void tfy__test_write_shown(TfyBuffer *out, const TfyType *type, TfyValue value); /* any value, shortened */
/* name(args) */
void tfy__test_write_call(TfyBuffer *out, const char *name, const TfyField *params, uint32_t count,
                          const TfyValue *args, void (*write)(TfyBuffer *, const TfyType *, TfyValue));

#endif
