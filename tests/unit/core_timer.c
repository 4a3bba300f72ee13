/* core_timer.c: the timer wheel against a model: all timers in a list, in the order in which they have to fire. Random operations, deadlines
 * near and far, clocks that jump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/loop/state.h"

enum { MODEL_MAX = 4096 };
#define MS INT64_C(1000000)

typedef struct Expected {
    int64_t due_ns;
    uint64_t handle;
    int number; /* in order of creation */
} Expected;

typedef struct Model {
    Timers timers;
    Expected sorted[MODEL_MAX]; /* by (due_ns, number) */
    int count, made;
    int64_t now_ns;
    uint64_t random;
} Model;

static int fired; /* number of the last timer that fired; 0: none */

static void fire(void *arg)
{
    assert_int_equal(fired, 0);
    fired = (int)(intptr_t)arg;
}

static uint64_t draw(Model *model, uint64_t below)
{
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return model->random % below;
}

static void add(Model *model, int64_t due_ns)
{
    if (model->count == MODEL_MAX) return;
    Expected timer = {.due_ns = due_ns, .number = ++model->made};
    timer.handle = tfy__timers_add(&model->timers, due_ns, fire, (void *)(intptr_t)timer.number);
    assert_true(timer.handle != 0);
    int at = model->count++;
    for (; at > 0 && model->sorted[at - 1].due_ns > due_ns; at--) model->sorted[at] = model->sorted[at - 1];
    model->sorted[at] = timer;
}

static void take_away(Model *model, int at)
{
    model->count--;
    memmove(model->sorted + at, model->sorted + at + 1, (size_t)(model->count - at) * sizeof *model->sorted);
}

static void cancel(Model *model, int at)
{
    const uint64_t handle = model->sorted[at].handle;
    assert_true(tfy__timers_has(&model->timers, handle));
    tfy__timers_del(&model->timers, handle);
    assert_false(tfy__timers_has(&model->timers, handle));
    tfy__timers_del(&model->timers, handle); /* once more does nothing */
    take_away(model, at);
}

/* Fires at most `most` of those that are due, each of which must be the model's first. */
static void fire_due(Model *model, int most)
{
    while (most-- > 0) {
        fired = 0;
        const bool any = tfy__timers_fire_one(&model->timers, model->now_ns);
        const bool expected = model->count && model->sorted[0].due_ns <= model->now_ns;
        assert_int_equal(any, expected);
        if (!any) {
            assert_true(tfy__timers_next(&model->timers) > model->now_ns); /* else a loop would spin */
            return;
        }
        assert_int_equal(fired, model->sorted[0].number);
        assert_false(tfy__timers_has(&model->timers, model->sorted[0].handle));
        take_away(model, 0);
    }
}

static void check_next(Model *model)
{
    const int64_t next_ns = tfy__timers_next(&model->timers);
    assert_int_equal(model->timers.count, model->count);
    if (!model->count)
        assert_true(next_ns == INT64_MAX);
    else if (model->count <= 16)
        assert_true(next_ns == model->sorted[0].due_ns);
    else
        assert_true(next_ns <= model->sorted[0].due_ns);
}

/* Deadlines of every kind: past, now, within a tick, on the digits' borders, days and centuries ahead; often the same ones again. */
static int64_t some_deadline(Model *model)
{
    static const int64_t spans[] = {0, 1, 1000, MS, 3 * MS, 256 * MS, 65536 * MS, 16777216 * MS, INT64_MAX / 2};
    const int64_t span = spans[draw(model, sizeof spans / sizeof *spans)];
    switch (draw(model, 6)) {
    case 0: return model->now_ns - (int64_t)draw(model, 5 * MS);
    case 1: return model->count ? model->sorted[draw(model, (uint64_t)model->count)].due_ns : model->now_ns;
    case 2: return (model->now_ns / (256 * MS) + 1) * 256 * MS + (int64_t)draw(model, 3) - 1;
    default: return model->now_ns + (int64_t)draw(model, (uint64_t)span + 1);
    }
}

static void move_clock(Model *model)
{
    static const int64_t spans[] = {1, 1000, MS, 40 * MS, 2000 * MS, 100000 * MS};
    if (draw(model, 40) == 0 && model->count && model->sorted[0].due_ns > model->now_ns)
        model->now_ns = tfy__timers_next(&model->timers); /* as a virtual clock jumps */
    else if (draw(model, 400) == 0)
        model->now_ns += INT64_C(1) << (50 + draw(model, 6)); /* days to years */
    else
        model->now_ns += (int64_t)draw(model, (uint64_t)spans[draw(model, sizeof spans / sizeof *spans)]);
}

static void play(uint64_t seed, int operations, uint64_t crowd)
{
    Model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->random = seed * 0x9e3779b97f4a7c15u | 1;
    model->now_ns = (int64_t)draw(model, 1u << 20) * MS * (int64_t)(seed % 3);
    for (int i = 0; i < operations; i++) {
        const uint64_t what = draw(model, 10);
        if (what < 4 || (uint64_t)model->count < crowd)
            add(model, some_deadline(model));
        else if (what < 6 && model->count)
            cancel(model, (int)draw(model, (uint64_t)model->count));
        else if (what < 8)
            fire_due(model, 1 + (int)draw(model, 8));
        else
            move_clock(model);
        check_next(model);
    }
    while (model->count) {
        if (model->sorted[0].due_ns > model->now_ns) model->now_ns = tfy__timers_next(&model->timers);
        fire_due(model, MODEL_MAX);
    }
    check_next(model);
    tfy__timers_deinit(&model->timers);
    free(model);
}

static void test_few(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) play(seed, 400, 0);
}

static void test_many(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) play(seed, 4000, 1000);
}

/* A thousand at the same time, in the order of their creation, whatever the distance from which they were set. */
static void test_ties(void **state)
{
    (void)state;
    Model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    const int64_t due_ns = 3600000 * MS + 7;
    for (int i = 0; i < 1000; i++) {
        add(model, due_ns);
        add(model, model->now_ns + 1);
        model->now_ns = i < 998 ? due_ns / 1000 * i : due_ns - 2 * (1000 - i);
        fire_due(model, 10);
    }
    model->now_ns = due_ns;
    fire_due(model, MODEL_MAX);
    assert_int_equal(model->count, 0);
    tfy__timers_deinit(&model->timers);
    free(model);
}

/* Numbers that were never a handle, and the handle of a timer whose node has another one now. */
static void test_strange_handles(void **state)
{
    (void)state;
    Timers *timers = calloc(1, sizeof *timers);
    assert_non_null(timers);
    static const uint64_t strange[] = {0, 1, UINT64_MAX, UINT64_C(1) << 32, UINT64_C(1) << 32 | 99};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        assert_false(tfy__timers_has(timers, strange[i]));
        tfy__timers_del(timers, strange[i]);
    }
    const uint64_t first = tfy__timers_add(timers, 5 * MS, fire, NULL);
    tfy__timers_del(timers, first);
    const uint64_t second = tfy__timers_add(timers, 5 * MS, fire, NULL);
    assert_int_equal((uint32_t)first, (uint32_t)second);
    assert_true(first != second);
    tfy__timers_del(timers, first);
    assert_false(tfy__timers_has(timers, first));
    assert_true(tfy__timers_has(timers, second));
    tfy__timers_deinit(timers);
    free(timers);
}

/* What a handler does to the timers while it runs. */
typedef struct Chain {
    Timers *timers;
    uint64_t victim;
    int left;
} Chain;

static void fire_chain(void *arg)
{
    Chain *chain = arg;
    tfy__timers_del(chain->timers, chain->victim);
    chain->victim = 0;
    if (chain->left--) assert_true(tfy__timers_add(chain->timers, 0, fire_chain, chain) != 0);
}

static void test_handlers_set_and_cancel(void **state)
{
    (void)state;
    Timers *timers = calloc(1, sizeof *timers);
    assert_non_null(timers);
    Chain chain = {.timers = timers, .left = 500};
    assert_true(tfy__timers_add(timers, 9 * MS, fire_chain, &chain) != 0);
    chain.victim = tfy__timers_add(timers, 9 * MS, fire, NULL);
    int count = 0;
    while (tfy__timers_fire_one(timers, 9 * MS)) count++;
    assert_int_equal(count, 501);
    assert_true(tfy__timers_next(timers) == INT64_MAX);
    tfy__timers_deinit(timers);
    free(timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_strange_handles),
        cmocka_unit_test(test_handlers_set_and_cancel),
    };
    return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
