/* Counting, releasing, panics, errors, arithmetic, fuel. */
#include "value_fixture.h"

/* A chain of the given depth, owned; deep on the left or on the right. */
static TfyObj *chain(TfyTask *task, int depth, bool left)
{
    TfyObj *top = NULL;
    for (int i = 0; i < depth; i++) {
        uint32_t mark = tfy_mark(task);
        TfyValue fields[3] = {{.o = left ? top : NULL}, {.i = i}, {.o = left ? NULL : top}};
        TfyObj *next = tfy_record_of(task, &tree_type, fields);
        tfy_set(task, &top, next);
        tfy_cut(task, mark);
    }
    return top;
}

static void test_deep_values(void **state)
{
    Fixture f;
    fixture_init(&f);
    for (int left = 0; left < 2; left++) {
        TfyObj *a = chain(&f.task, 1000000, left), *b = chain(&f.task, 1000000, left);
        assert_int_equal(f.heap.objects, 2000000);
        assert_true(tfy_equal(&tree_type, tfy_of_obj(a), tfy_of_obj(b)));
        TfyBuffer out = {0};
        assert_true(tfy__encode(&out, &tree_type, tfy_of_obj(a)));
        assert_true(out.len > 30000000);
        tfy__buffer_free(&out);
        tfy_clear(&f.task, &a);
        tfy_clear(&f.task, &b);
        assert_int_equal(f.heap.objects, 0);
    }
    fixture_deinit(&f);
}

static void test_deep_differences(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyObj *a = chain(&f.task, 1000, true), *b = chain(&f.task, 999, true), *c = chain(&f.task, 1000, false);
    assert_false(tfy_equal(&tree_type, tfy_of_obj(a), tfy_of_obj(b)));
    assert_false(tfy_equal(&tree_type, tfy_of_obj(a), tfy_of_obj(c)));
    tfy_clear(&f.task, &a);
    tfy_clear(&f.task, &b);
    tfy_clear(&f.task, &c);
    fixture_deinit(&f);
}

static void test_release_of_every_kind(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyValue text = tfy_of_obj(text_of(t, "some text"));
    TfyValue redo[2] = {text, {.i = 7}};
    TfyValue verdict = tfy_of_obj(tfy_enum_of(t, &verdict_type, 2, redo));
    TfyType list = {.kind = TFY_LIST, .name = "list<Verdict>", .elem = &verdict_type};
    TfyType map = {.kind = TFY_MAP, .name = "map<string, list<Verdict>>", .elem = &list, .key = &tfy_type_string};
    TfyValue items = tfy_of_obj(tfy_list_of(t, &list, 1, &verdict));
    TfyObj *all = tfy_keep(tfy_map_of(t, &map, 1, &text, &items));
    assert_int_equal(tfy_tag(verdict.o), 2);
    assert_ptr_equal(tfy_enum_of(t, &verdict_type, 1, NULL), &verdict_drop);
    assert_non_null(tfy_box(t, &optional_int, tfy_of_int(3)));
    tfy_cut(t, 0);
    assert_int_equal(f.heap.objects, 4); /* the map holds the list, it the case, that the text; the box is gone */
    tfy_drop(t, all);
    assert_int_equal(f.heap.objects, 0);
    fixture_deinit(&f);
}

static bool fill_temps(TfyTask *task)
{
    for (int i = 0; i < 200; i++)
        if (!text_of(task, "x")) return false;
    return true;
}

static void test_temps(void **state)
{
    Fixture f;
    fixture_init(&f);
    assert_non_null(text_of(&f.task, "below"));
    uint32_t mark = tfy_mark(&f.task);
    assert_true(fill_temps(&f.task));
    assert_int_equal(f.heap.objects, 201);
    tfy_cut(&f.task, mark);
    assert_int_equal(f.heap.objects, 1);
    fixture_deinit(&f);
    try_each_failure(fill_temps);
}

static void test_limit(void **state)
{
    Fixture f;
    fixture_init(&f);
    f.heap.limit = 4096;
    static const char zeros[8192];
    assert_null(tfy_string_of(&f.task, zeros, sizeof zeros));
    expect_panic(&f.task, 0, "memory has run out");
    assert_non_null(text_of(&f.task, "small"));
    fixture_deinit(&f);
}

static void test_own_field(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyValue fields[3] = {{.o = NULL}, {.i = 1}, {.o = NULL}};
    TfyObj *a = tfy_keep(tfy_record_of(t, &tree_type, fields)), *b = tfy_keep(a);
    tfy_cut(t, 0);
    tfy_own_field(t, &a, 1)->i = 2;
    assert_ptr_not_equal(a, b);
    assert_int_equal(tfy_field(b, 1).i, 1);
    TfyObj *same = a;
    tfy_own_field(t, &a, 1)->i = 3;
    assert_ptr_equal(a, same);
    assert_int_equal(tfy_field(a, 1).i, 3);
    tfy_clear(t, &a);
    tfy_clear(t, &b);
    fixture_deinit(&f);
}

static void test_panics(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    assert_false(tfy_panic(t, 12, "first %d", 1));
    assert_false(tfy_panic(t, 13, "second"));
    assert_false(tfy_fail(t, &tfy_type_denied, 14, NULL));
    assert_false(tfy_catchable(t));
    assert_false(tfy_replaceable(t));
    assert_false(tfy_retriable(t));
    expect_panic(t, 12, "first 1");
    assert_true(tfy_assert(t, 1, true, "x > 0"));
    assert_false(tfy_assert(t, 2, false, "x > 0"));
    expect_panic(t, 2, "assertion failed: x > 0");
    tfy__overflow(t, 3);
    expect_panic(t, 3, "the result does not fit an int (64 bits)");
    fixture_deinit(&f);
}

static void test_errors(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyValue fields[3] = {{.o = text_of(t, "it broke")}, {.o = text_of(t, "build")}, {.i = 3}};
    assert_false(tfy_fail(t, &failed_type, 9, fields));
    tfy_cut(t, 0);
    assert_true(tfy_catchable(t) && tfy_replaceable(t) && tfy_retriable(t) && tfy_error_is(t, &failed_type));
    TfyObj *error = tfy_take_error(t);
    assert_string_equal(bytes_of(tfy_text(t, &tfy_type_any_error, tfy_of_obj(error))), "StepFailed: it broke");
    assert_false(tfy_fail_with(t, error));
    assert_int_equal(t->error->aux, 9);
    tfy_drop(t, error);
    tfy_clear(t, &t->error);
    TfyValue message = tfy_of_obj(text_of(t, "no"));
    tfy_fail(t, &tfy_type_denied, 1, &message);
    assert_true(tfy_catchable(t) && !tfy_replaceable(t) && !tfy_retriable(t));
    assert_ptr_equal(tfy__builtin_error("ToolError"), &tfy_type_tool_error);
    assert_null(tfy__builtin_error("Nonsense"));
    fixture_deinit(&f);
}

static bool raise_things(TfyTask *task)
{
    TfyValue fields[3] = {{.o = text_of(task, "it broke")}, {.o = NULL}, {.i = 3}};
    if (!fields[0].o || !(fields[1].o = text_of(task, "build"))) return false;
    tfy_fail(task, &failed_type, 9, fields);
    if (task->error->type != &failed_type) return false;
    tfy_clear(task, &task->error);
    tfy_panic(task, 1, "a panic");
    if (task->error->aux != 1) return false;
    tfy_clear(task, &task->error);
    return true;
}

static void test_errors_without_memory(void **state)
{
    try_each_failure(raise_things);
}

static void test_discard(void **state)
{
    Fixture f;
    fixture_init(&f);
    f.task.result.o = tfy_keep(text_of(&f.task, "an answer"));
    tfy_discard(&f.task, &tfy_type_string);
    tfy_discard(&f.task, &tfy_type_string);
    f.task.result.i = 7;
    tfy_discard(&f.task, &tfy_type_int);
    fixture_deinit(&f);
}

static void test_arithmetic(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    int64_t i;
    double d;
    assert_true(tfy_int_mod(t, 1, INT64_MIN, -1, &i) && i == 0);
    assert_false(tfy_int_div(t, 1, INT64_MIN, -1, &i));
    expect_panic(t, 1, "the result does not fit an int (64 bits)");
    assert_false(tfy_int_div(t, 2, 1, 0, &i));
    expect_panic(t, 2, "division by zero");
    assert_false(tfy_float_mul(t, 3, 1e308, 10, &d));
    expect_panic(t, 3, "the result is not a finite number");
    assert_true(tfy_float_mod(t, 4, 7.5, 2, &d) && d == 1.5);
    assert_false(tfy_float_mod(t, 4, 7.5, 0, &d));
    tfy_clear(t, &t->error);
    assert_true(tfy_float_to_int(t, 5, -3.9, &i) && i == -3);
    assert_true(tfy_float_to_int(t, 5, -0x1p63, &i) && i == INT64_MIN);
    assert_false(tfy_float_to_int(t, 5, 0x1p63, &i));
    fixture_deinit(&f);
}

static void test_fuel(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    t->fuel = 0;
    assert_true(tfy_fn_enter(t, 1) && tfy_fn_enter(t, 1));
    assert_int_equal(f.heap.fn_fuel, TFY_FN_FUEL); /* the outer one brings it */
    f.heap.fn_fuel = 2 * TFY_FUEL_SLICE;
    assert_true(tfy_spend(t));
    assert_true(tfy_fn_fuel(t, 1));
    tfy_fn_leave(t);
    assert_false(tfy_spend(t)); /* the outer fn goes on */
    tfy_fn_leave(t);
    assert_true(tfy_spend(t)); /* the workflow stops */
    assert_true(tfy_fn_fuel(t, 1));
    assert_false(tfy_fn_fuel(t, 8));
    expect_panic(t, 8, "this fn ran too long without letting others run");
    for (int i = 0; i < TFY_FN_DEPTH; i++) assert_true(tfy_fn_enter(t, 1));
    assert_false(tfy_fn_enter(t, 9));
    expect_panic(t, 9, "fn calls are nested deeper than 1000");
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_values),
        cmocka_unit_test(test_deep_differences),
        cmocka_unit_test(test_release_of_every_kind),
        cmocka_unit_test(test_temps),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_own_field),
        cmocka_unit_test(test_panics),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_errors_without_memory),
        cmocka_unit_test(test_discard),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_fuel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
