/* value_fixture.h: a task with a heap and nothing else, for tests of values. Its allocator checks the sizes it is
 * told, counts what is live, and can fail at any one call; try_each_failure runs a body once for each allocation it
 * makes, with that one failing. */
#ifndef VALUE_FIXTURE_H
#define VALUE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "value/heap.h"
#include "value/json.h"

typedef struct Fixture {
    TfyTask task;    /* what the functions under test get; the first member, so that a task leads to its fixture */
    TfyHeap heap;    /* the task's heap */
    int64_t blocks;  /* allocations that were not freed */
    int64_t calls;   /* allocations asked for */
    int64_t fail_at; /* the call that fails; -1: none */
    bool failed;     /* it did */
} Fixture;

static void *fixture_alloc(void *state, void *old, size_t old_size, size_t new_size)
{
    Fixture *fixture = state;
    size_t *block = old ? (size_t *)old - 2 : NULL;
    if (block) assert_int_equal(*block, old_size);
    if (new_size == 0) {
        fixture->blocks--;
        free(block);
        return NULL;
    }
    if (fixture->calls++ == fixture->fail_at) {
        fixture->failed = true;
        return NULL;
    }
    size_t *made = realloc(block, new_size + 2 * sizeof *made);
    assert_non_null(made);
    *made = new_size;
    fixture->blocks += !old;
    return made + 2;
}

static inline void fixture_init(Fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->fail_at = -1;
    fixture->task.heap = &fixture->heap;
    fixture->task.fuel = TFY_FUEL_SLICE;
    assert_int_equal(tfy__heap_init(&fixture->heap, fixture_alloc, fixture), TFY_OK);
}

/* Everything the test made must be gone by now, but for the release stack and the pending error. */
static inline void fixture_deinit(Fixture *fixture)
{
    tfy_clear(&fixture->task, &fixture->task.error);
    tfy_cut(&fixture->task, 0);
    assert_int_equal(fixture->heap.objects, 0);
    tfy__heap_deinit(&fixture->heap);
    assert_int_equal(fixture->heap.in_use, 0);
    assert_int_equal(fixture->blocks, 0);
}

/* The body gives up (false) when anything fails, after giving back what it owns. Without a failure it must come to its
 * end. */
static inline void try_each_failure(bool (*body)(TfyTask *task))
{
    for (int64_t n = 0;; n++) {
        Fixture fixture;
        fixture_init(&fixture);
        fixture.calls = 0;
        fixture.fail_at = n;
        bool done = body(&fixture.task);
        bool failed = fixture.failed;
        assert_true(done || failed);
        if (!done) assert_non_null(fixture.task.error);
        if (!done) assert_ptr_equal(fixture.task.error->type, &tfy_type_panic);
        fixture_deinit(&fixture);
        if (!failed) return;
    }
}

static inline TfyObj *text_of(TfyTask *task, const char *text)
{
    return tfy_string_of(task, text, strlen(text));
}

static inline const char *bytes_of(const TfyObj *string)
{
    return ((const TfyString *)string)->bytes;
}

static inline void expect_panic(TfyTask *task, uint32_t line, const char *text)
{
    assert_non_null(task->error);
    assert_ptr_equal(task->error->type, &tfy_type_panic);
    assert_string_equal(bytes_of(tfy_field(task->error, 0).o), text);
    assert_int_equal(task->error->aux, line);
    tfy_clear(task, &task->error);
}

/* Compares with the JSON text of a value. */
static inline void expect_json(const TfyType *type, TfyValue value, const char *json)
{
    TfyBuffer out = {0};
    assert_true(tfy__encode(&out, type, value));
    assert_string_equal(out.data, json);
    tfy__buffer_free(&out);
}

/* ---- types as a compiler would write them ---- */

static const TfyType list_int = {.kind = TFY_LIST, .name = "list<int>", .elem = &tfy_type_int};
static const TfyType optional_int = {.kind = TFY_OPTIONAL, .name = "int?", .elem = &tfy_type_int};
static const TfyType map_string_int = {
    .kind = TFY_MAP, .name = "map<string, int>", .elem = &tfy_type_int, .key = &tfy_type_string};
static const TfyType map_int_string = {
    .kind = TFY_MAP, .name = "map<int, string>", .elem = &tfy_type_string, .key = &tfy_type_int};

/* type Step { name: string, argv: list<string>, risky: bool = false, note: string? } */
static bool make_false(TfyTask *task, TfyValue *out)
{
    *out = tfy_of_bool(false);
    return true;
}
static const TfyField step_fields[] = {
    {"name", &tfy_type_string, NULL, NULL},
    {"argv", &tfy_type_list_string, NULL, NULL},
    {"risky", &tfy_type_bool, make_false, NULL},
    {"note", &tfy_type_optional_string, NULL, NULL},
};
static const TfyType step_type = {.kind = TFY_RECORD, .name = "Step", .fields = step_fields, .field_count = 4};
static const TfyType list_step = {.kind = TFY_LIST, .name = "list<Step>", .elem = &step_type};

/* enum Verdict { keep, drop, redo(reason: string, case: int) } */
extern const TfyType verdict_type;
static TfyObj verdict_keep = {TFY_IMMORTAL, 0, &verdict_type}, verdict_drop = {TFY_IMMORTAL, 1, &verdict_type};
static const TfyField redo_fields[] = {{"reason", &tfy_type_string, NULL, NULL}, {"case", &tfy_type_int, NULL, NULL}};
static const TfyCase verdict_cases[] = {{"keep", NULL, 0, &verdict_keep, NULL},
                                        {"drop", NULL, 0, &verdict_drop, NULL},
                                        {"redo", redo_fields, 2, NULL, NULL}};
const TfyType verdict_type = {.kind = TFY_ENUM, .name = "Verdict", .cases = verdict_cases, .case_count = 3};
static const TfyType map_verdict_int = {
    .kind = TFY_MAP, .name = "map<Verdict, int>", .elem = &tfy_type_int, .key = &verdict_type};

/* type Tree { left: Tree?, value: int, right: Tree? } */
extern const TfyType tree_type;
static const TfyType optional_tree = {.kind = TFY_OPTIONAL, .name = "Tree?", .elem = &tree_type};
static const TfyField tree_fields[] = {
    {"left", &optional_tree, NULL, NULL}, {"value", &tfy_type_int, NULL, NULL}, {"right", &optional_tree, NULL, NULL}};
const TfyType tree_type = {.kind = TFY_RECORD, .name = "Tree", .fields = tree_fields, .field_count = 3};

/* error StepFailed { step: string, line: int } */
static const TfyField failed_fields[] = {{"message", &tfy_type_string, NULL, NULL},
                                         {"step", &tfy_type_string, NULL, NULL},
                                         {"line", &tfy_type_int, NULL, NULL}};
static const TfyType failed_type = {.kind = TFY_ERROR, .name = "StepFailed", .fields = failed_fields, .field_count = 3};

#endif
