/* Lists and maps. */
#include "value_fixture.h"

#include "value/map.h"

static TfyObj *ints(TfyTask *task, uint32_t count)
{
    TfyValue items[16];
    for (uint32_t i = 0; i < count; i++) items[i].i = i;
    return tfy_list_of(task, &list_int, count, items);
}

static void test_push_in_place(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *xs = tfy_keep(ints(t, 2)), *shared = tfy_keep(xs);
    tfy_cut(t, 0);
    assert_true(tfy_list_push(t, 1, &xs, tfy_of_int(2)));
    expect_json(&list_int, tfy_of_obj(xs), "[0,1,2]");
    expect_json(&list_int, tfy_of_obj(shared), "[0,1]");
    f.calls = 0;
    for (int i = 0; i < 100000; i++) assert_true(tfy_list_push(t, 1, &xs, tfy_of_int(i)));
    assert_true(f.calls < 30);
    assert_int_equal(f.heap.objects, 2);
    TfyValue item;
    assert_true(tfy_list_at(t, 1, xs, 100002, &item) && item.i == 99999);
    tfy_clear(t, &xs);
    tfy_clear(t, &shared);
    fixture_deinit(&f);
}

static void test_append_and_put(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *xs = tfy_keep(ints(t, 3));
    tfy_cut(t, 0);
    assert_true(tfy_list_append(t, 1, &xs, xs)); /* with itself, in place */
    expect_json(&list_int, tfy_of_obj(xs), "[0,1,2,0,1,2]");
    TfyObj *shared = tfy_keep(xs);
    assert_true(tfy_list_append(t, 1, &xs, xs)); /* and copied */
    assert_int_equal(tfy_list_len(xs), 12);
    assert_int_equal(tfy_list_len(shared), 6);
    assert_true(tfy_list_put(t, 1, &shared, 5, tfy_of_int(9)));
    assert_false(tfy_list_put(t, 4, &shared, 6, tfy_of_int(9)));
    expect_panic(t, 4, "index 6 is outside a list of length 6");
    expect_json(&list_int, tfy_of_obj(shared), "[0,1,2,0,1,9]");
    tfy_clear(t, &xs);
    tfy_clear(t, &shared);
    fixture_deinit(&f);
}

static void test_items_that_are_objects(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyValue words[2] = {{.o = text_of(t, "a")}, {.o = text_of(t, "b")}};
    TfyObj *xs = tfy_keep(tfy_list_of(t, &tfy_type_list_string, 2, words));
    tfy_cut(t, 0);
    assert_true(tfy_list_put(t, 1, &xs, 0, tfy_list_item(xs, 1)));
    assert_true(tfy_list_put(t, 1, &xs, 0, tfy_list_item(xs, 0))); /* an item by itself */
    assert_true(tfy_list_append(t, 1, &xs, xs));
    expect_json(&tfy_type_list_string, tfy_of_obj(xs), "[\"b\",\"b\",\"b\",\"b\"]");
    assert_int_equal(f.heap.objects, 2);
    expect_json(&tfy_type_list_string, tfy_of_obj(tfy_list_pushed(t, 1, xs, tfy_list_item(xs, 0))),
                "[\"b\",\"b\",\"b\",\"b\",\"b\"]");
    TfyObj *replaced = tfy_list_with(t, 1, xs, 1, tfy_of_obj(text_of(t, "c")));
    expect_json(&tfy_type_list_string, tfy_of_obj(replaced), "[\"b\",\"c\",\"b\",\"b\"]");
    assert_string_equal(bytes_of(tfy_list_join(t, 1, replaced, text_of(t, ", "))), "b, c, b, b");
    assert_string_equal(bytes_of(tfy_list_join(t, 1, tfy_list_slice(t, xs, 2, 2), text_of(t, ", "))), "");
    assert_true(tfy_list_contains(t, replaced, tfy_of_obj(text_of(t, "c"))));
    assert_false(tfy_list_contains(t, xs, tfy_of_obj(text_of(t, "c"))));
    assert_null(tfy_list_with(t, 3, xs, -1, tfy_of_obj(replaced)));
    tfy_clear(t, &xs);
    fixture_deinit(&f);
}

static void test_list_reading(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *xs = ints(t, 4), *out;
    assert_true(tfy_list_get(t, &optional_int, xs, 3, &out) && tfy_unbox(out).i == 3);
    assert_true(tfy_list_get(t, &optional_int, xs, 4, &out) && !out);
    assert_true(tfy_list_get(t, &optional_int, xs, -1, &out) && !out);
    expect_json(&list_int, tfy_of_obj(tfy_list_slice(t, xs, -3, 2)), "[0,1]");
    expect_json(&list_int, tfy_of_obj(tfy_list_slice(t, xs, 3, 99)), "[3]");
    expect_json(&list_int, tfy_of_obj(tfy_list_slice(t, xs, 99, 3)), "[]");
    expect_json(&list_int, tfy_of_obj(tfy_list_slice(t, xs, 99, 120)), "[]");
    expect_json(&list_int, tfy_of_obj(tfy_list_concat(t, 1, xs, xs)), "[0,1,2,3,0,1,2,3]");
    assert_ptr_equal(tfy_list_slice(t, xs, 0, 4), xs);
    assert_false(tfy_list_at(t, 2, xs, 4, &(TfyValue){0}));
    fixture_deinit(&f);
}

static void test_own_item(void **state)
{
    static const TfyType list_verdict = {.kind = TFY_LIST, .name = "list<Verdict>", .elem = &verdict_type};
    Fixture f;
    fixture_init(&f);
    TfyObj *xs = tfy_keep(tfy_list_of(&f.task, &list_verdict, 0, NULL));
    tfy_cut(&f.task, 0);
    assert_true(tfy_list_push(&f.task, 1, &xs, tfy_of_obj(&verdict_keep)));
    TfyValue *item = tfy_own_item(&f.task, 1, &xs, 0);
    item->o = &verdict_drop;
    assert_null(tfy_own_item(&f.task, 6, &xs, 1));
    expect_panic(&f.task, 6, "index 1 is outside a list of length 1");
    expect_json(&list_verdict, tfy_of_obj(xs), "[\"drop\"]");
    tfy_clear(&f.task, &xs);
    fixture_deinit(&f);
}

static void test_map_order(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyValue keys[3] = {{.o = text_of(t, "b")}, {.o = text_of(t, "a")}, {.o = text_of(t, "b")}};
    TfyValue values[3] = {{.i = 1}, {.i = 2}, {.i = 3}};
    TfyObj *m = tfy_keep(tfy_map_of(t, &map_string_int, 3, keys, values)), *out;
    expect_json(&map_string_int, tfy_of_obj(m), "{\"b\":3,\"a\":2}");
    TfyObj *more = tfy_map_with(t, 1, m, tfy_of_obj(text_of(t, "c")), tfy_of_int(4));
    expect_json(&map_string_int, tfy_of_obj(more), "{\"b\":3,\"a\":2,\"c\":4}");
    assert_int_equal(tfy_map_len(m), 2);
    TfyValue swapped_keys[2] = {keys[1], keys[0]}, swapped[2] = {{.i = 2}, {.i = 3}};
    TfyObj *other = tfy_map_of(t, &map_string_int, 2, swapped_keys, swapped);
    assert_true(tfy_equal(&map_string_int, tfy_of_obj(m), tfy_of_obj(other)));
    assert_false(tfy_equal(&map_string_int, tfy_of_obj(m), tfy_of_obj(more)));
    TfyValue found;
    assert_true(tfy_map_at(t, 1, m, keys[1], &found) && found.i == 2);
    assert_false(tfy_map_at(t, 8, m, tfy_of_obj(text_of(t, "zz")), &found));
    expect_panic(t, 8, "key \"zz\" is not in the map");
    assert_true(tfy_map_get(t, &optional_int, m, keys[0], &out) && tfy_unbox(out).i == 3);
    assert_true(tfy_map_get(t, &optional_int, m, tfy_of_obj(text_of(t, "zz")), &out) && !out);
    assert_true(tfy_map_contains(t, m, keys[0]));
    assert_string_equal(bytes_of(tfy_map_key_at(m, 1).o), "a");
    assert_int_equal(tfy_map_value_at(m, 1).i, 2);
    tfy_clear(t, &m);
    fixture_deinit(&f);
}

static void test_map_growth(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *m = tfy_keep(tfy_map_of(t, &map_int_string, 0, NULL, NULL)), *shared = NULL;
    tfy_cut(t, 0);
    for (int64_t i = 0; i < 5000; i++) {
        TfyObj *text = text_of(t, "v");
        assert_true(tfy_map_put(t, 1, &m, tfy_of_int(i * 1000003 - 7), tfy_of_obj(text)));
        tfy_cut(t, 0);
        if (i == 100) tfy_set(t, &shared, m);
    }
    assert_int_equal(tfy_map_len(m), 5000);
    assert_int_equal(tfy_map_len(shared), 101);
    for (int64_t i = 0; i < 5000; i++) {
        assert_int_equal(tfy_map_key_at(m, i).i, i * 1000003 - 7);
        assert_true(tfy_map_contains(t, m, tfy_of_int(i * 1000003 - 7)));
        assert_false(tfy_map_contains(t, m, tfy_of_int(i * 1000003 - 6)));
    }
    assert_int_equal(f.heap.objects, 5002);
    tfy_clear(t, &m);
    tfy_clear(t, &shared);
    fixture_deinit(&f);
}

static void test_own_entry(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *m = tfy_keep(tfy_map_of(t, &map_string_int, 0, NULL, NULL)), *shared;
    TfyValue key = tfy_of_obj(text_of(t, "n"));
    assert_null(tfy_own_entry(t, 2, &m, key, false));
    expect_panic(t, 2, "key \"n\" is not in the map");
    tfy_own_entry(t, 2, &m, key, true)->i += 5;
    shared = tfy_keep(m);
    tfy_own_entry(t, 2, &m, key, false)->i += 5;
    expect_json(&map_string_int, tfy_of_obj(m), "{\"n\":10}");
    expect_json(&map_string_int, tfy_of_obj(shared), "{\"n\":5}");
    tfy_clear(t, &m);
    tfy_clear(t, &shared);
    fixture_deinit(&f);
}

static void test_enum_keys(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyValue keys[2] = {{.o = &verdict_drop}, {.o = &verdict_keep}}, values[2] = {{.i = 1}, {.i = 2}};
    TfyObj *m = tfy_map_of(t, &map_verdict_int, 2, keys, values);
    expect_json(&map_verdict_int, tfy_of_obj(m), "{\"drop\":1,\"keep\":2}");
    TfyValue fields[2] = {{.o = text_of(t, "why")}, {.i = 1}};
    assert_null(tfy_map_with(t, 3, m, tfy_of_obj(tfy_enum_of(t, &verdict_type, 2, fields)), values[0]));
    expect_panic(t, 3, "Verdict.redo has fields and cannot be a map key");
    fixture_deinit(&f);
}

static bool use_collections(TfyTask *task)
{
    TfyObj *word = text_of(task, "word"), *out;
    TfyObj *xs = tfy_keep(tfy_list_of(task, &tfy_type_list_string, 0, NULL));
    TfyObj *m = tfy_keep(tfy_map_of(task, &map_int_string, 0, NULL, NULL));
    TfyObj *also = tfy_keep(m);
    bool ok = word && xs && m;
    for (int i = 0; ok && i < 20; i++)
        ok = tfy_list_push(task, 1, &xs, tfy_of_obj(word)) && tfy_map_put(task, 1, &m, tfy_of_int(i), tfy_of_obj(word));
    ok = ok && tfy_list_append(task, 1, &xs, xs) && tfy_list_put(task, 1, &xs, 3, tfy_of_obj(word));
    ok = ok && tfy_list_with(task, 1, xs, 1, tfy_of_obj(word)) && tfy_list_concat(task, 1, xs, xs) &&
         tfy_list_pushed(task, 1, xs, tfy_of_obj(word));
    ok = ok && tfy_list_slice(task, xs, 1, 3) && tfy_list_join(task, 1, xs, word);
    ok = ok && tfy_map_with(task, 1, m, tfy_of_int(99), tfy_of_obj(word)) &&
         tfy_own_entry(task, 1, &m, tfy_of_int(77), true);
    ok = ok && tfy_map_get(task, &tfy_type_optional_string, m, tfy_of_int(3), &out);
    tfy_drop(task, xs);
    tfy_drop(task, m);
    tfy_drop(task, also);
    return ok;
}

static void test_without_memory(void **state)
{
    try_each_failure(use_collections);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_in_place),
        cmocka_unit_test(test_append_and_put),
        cmocka_unit_test(test_items_that_are_objects),
        cmocka_unit_test(test_list_reading),
        cmocka_unit_test(test_own_item),
        cmocka_unit_test(test_map_order),
        cmocka_unit_test(test_map_growth),
        cmocka_unit_test(test_own_entry),
        cmocka_unit_test(test_enum_keys),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
