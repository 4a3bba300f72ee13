/* The methods of strings, lists, maps, numbers and json: that each one gives up cleanly wherever memory runs out, what lies at the edges,
 * and that regular expressions keep to their budget. */
#include "value_fixture.h"

#include <math.h>

static const TfyType list_list = {.kind = TFY_LIST, .name = "list<list<int>>", .elem = &list_int};
static const TfyType optional_json = {.kind = TFY_OPTIONAL, .name = "json?", .elem = &tfy_type_json};
static const TfyType list_optional = {.kind = TFY_LIST, .name = "list<int?>", .elem = &optional_int};
static const TfyType list_match = {.kind = TFY_LIST, .name = "list<Match>", .elem = &tfy_type_match};
static const TfyType map_int = {
    .kind = TFY_MAP, .name = "map<string, int>", .key = &tfy_type_string, .elem = &tfy_type_int};
static const TfyType map_names = {
    .kind = TFY_MAP, .name = "map<string, list<int>>", .key = &tfy_type_string, .elem = &list_int};
static const TfyType map_groups = {
    .kind = TFY_MAP, .name = "map<int, list<int>>", .key = &tfy_type_int, .elem = &list_int};

static TfyObj *ints(TfyTask *t, uint32_t count, const int64_t *from)
{
    TfyValue items[16];
    for (uint32_t i = 0; i < count; i++) items[i].i = from[i];
    return tfy_list_of(t, &list_int, count, items);
}

/* ---- memory runs out ---- */

static bool cut_strings(TfyTask *t)
{
    TfyObj *s = text_of(t, "ä, b, c"), *comma = text_of(t, ", "), *found;
    return s && comma && tfy_string_split(t, 1, s, comma, INT64_MAX) && tfy_string_chars(t, s) &&
           tfy_string_replace(t, 1, s, comma, s) && tfy_string_repeat(t, 1, s, 3) &&
           tfy_string_pad(t, 1, s, 20, comma, true) && tfy_string_case(t, s, true) && tfy_string_trim_start(t, comma) &&
           tfy_string_trim_end(t, comma) && tfy_string_index_of(t, &optional_int, s, comma, &found);
}

static bool read_strings(TfyTask *t)
{
    TfyObj *number = text_of(t, "12"), *json = text_of(t, "{\"a\":[1,2]}"), *path = text_of(t, "a[1]"), *found, *value;
    TfyValue out;
    return number && json && path && tfy_parse(t, &optional_int, number, &found) &&
           tfy_parse(t, &optional_json, json, &value) && tfy_json_get(t, 1, value, path, &found) &&
           tfy_json_decode(t, 1, &tfy_type_int, value, path, &out) &&
           tfy_json_decode(t, 1, &map_names, value, NULL, &out);
}

static bool change_lists(TfyTask *t)
{
    TfyObj *list = ints(t, 4, (int64_t[]){3, 1, 3, 2}), *nested, *found, *room;
    if (!list || !(nested = tfy_list_of(t, &list_list, 2, (TfyValue[]){{.o = list}, {.o = list}}))) return false;
    if (!(room = tfy_list_room(t, &list_int, 4))) return false;
    tfy_list_add(room, tfy_of_int(7));
    return tfy_list_inserted(t, 1, list, 4, tfy_of_int(1)) && tfy_list_without(t, 1, list, 0) &&
           tfy_list_reversed(t, list) && tfy_list_sorted(t, list, list) && tfy_list_unique(t, list) &&
           tfy_list_flatten(t, 1, nested) && tfy_list_fitted(t, room) && tfy_list_grouped(t, &map_groups, list, list) &&
           tfy_list_last(t, &optional_int, list, &found) && tfy_list_extreme(t, &optional_int, list, 1, &found) &&
           tfy_list_index_of(t, &optional_int, list, tfy_of_int(2), &found);
}

static bool change_maps(TfyTask *t)
{
    TfyObj *a = text_of(t, "a"), *b = text_of(t, "b"), *fives = ints(t, 2, (int64_t[]){5, 6}), *map, *keys;
    if (!a || !b || !fives) return false;
    TfyValue names[] = {{.o = a}, {.o = b}}, numbers[] = {{.i = 1}, {.i = 2}};
    if (!(map = tfy_map_of(t, &map_int, 2, names, numbers))) return false;
    if (!(keys = tfy_map_keys(t, &tfy_type_list_string, map))) return false;
    return tfy_map_values(t, &list_int, map) && tfy_map_without(t, map, names[0]) && tfy_map_merged(t, 1, map, map) &&
           tfy_map_only(t, map, keys) && tfy_map_with_values(t, &map_int, map, fives) &&
           tfy_to_json(t, 1, &map_int, tfy_of_obj(map));
}

static bool use_patterns(TfyTask *t)
{
    TfyObj *s = text_of(t, "a1 ü22"), *pattern = text_of(t, "(\\w)(\\d)?"), *with = text_of(t, "$1"), *found;
    bool matches;
    return s && pattern && with && tfy_string_matches(t, 1, s, pattern, &matches) &&
           tfy_string_find_match(t, 1, s, pattern, &found) && tfy_string_find_matches(t, 1, &list_match, s, pattern) &&
           tfy_string_replace_matches(t, 1, s, pattern, with) && tfy_string_split_matches(t, 1, s, pattern);
}

static bool format_floats(TfyTask *t)
{
    return tfy_float_format(t, 1, 1e300, 3) && tfy_float_format(t, 1, -0.5, 0);
}

static void test_each_failure(void **state)
{
    try_each_failure(cut_strings);
    try_each_failure(read_strings);
    try_each_failure(change_lists);
    try_each_failure(change_maps);
    try_each_failure(use_patterns);
    try_each_failure(format_floats);
}

/* A value that does not fit is no failure of memory, but an error of its own. */
static void test_bad_value(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *json = text_of(t, "{\"a\":[1,true]}"), *value;
    TfyValue out;
    assert_true(tfy_parse(t, &optional_json, json, &value));
    assert_false(tfy_json_decode(t, 1, &tfy_type_int, value, text_of(t, "a[1]"), &out));
    assert_ptr_equal(t->error->type, &tfy_type_bad_value);
    assert_string_equal(bytes_of(tfy_field(t->error, 1).o), "$.a[1]");
    fixture_deinit(&f);
}

/* ---- edges ---- */

static void test_compact(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyValue items[] = {{.o = NULL}, {.o = tfy_box(t, &optional_int, tfy_of_int(4))}, {.o = NULL}};
    TfyObj *list = tfy_list_of(t, &list_optional, 3, items), *dense = tfy_list_compact(t, &list_int, list);
    assert_int_equal(tfy_list_len(dense), 1);
    assert_int_equal(tfy_list_item(dense, 0).i, 4);
    fixture_deinit(&f);
}

/* Ten thousand items with a hundred keys: equal keys keep their order. */
static void test_sort_is_stable(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *items = tfy_list_room(t, &list_int, 10000), *keys = tfy_list_room(t, &list_int, 10000);
    for (int64_t i = 0; i < 10000; i++) {
        tfy_list_add(items, tfy_of_int(i));
        tfy_list_add(keys, tfy_of_int(i * 7919 % 100));
    }
    TfyObj *sorted = tfy_list_sorted(t, items, keys);
    for (int64_t i = 1; i < 10000; i++) {
        int64_t a = tfy_list_item(sorted, i - 1).i, b = tfy_list_item(sorted, i).i;
        int64_t key_a = a * 7919 % 100, key_b = b * 7919 % 100;
        assert_true(key_a < key_b || (key_a == key_b && a < b));
    }
    fixture_deinit(&f);
}

static void test_time_parts(void **state)
{
    static const struct {
        int64_t ms;
        int parts[7];
    } cases[] = {
        {0, {1970, 1, 1, 0, 0, 0, 4}},
        {-1, {1969, 12, 31, 23, 59, 59, 3}},
        {951782400000, {2000, 2, 29, 0, 0, 0, 2}},
        {-62135596800000, {1, 1, 1, 0, 0, 0, 1}},
        {INT64_MAX, {292278994, 8, 17, 7, 12, 55, 7}},
        {INT64_MIN, {-292275055, 5, 16, 16, 47, 4, 7}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int part = 0; part < 7; part++) assert_int_equal(tfy_time_part(cases[i].ms, part), cases[i].parts[part]);
}

/* ---- regular expressions ---- */

/* More patterns than are kept, twice over. */
static void test_pattern_cache(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    for (int i = 0; i < 200; i++) {
        char name[16];
        bool matches = false;
        snprintf(name, sizeof name, "^n%d$", i % 100);
        TfyObj *pattern = text_of(t, name);
        name[strlen(name) - 1] = '\0';
        assert_true(tfy_string_matches(t, 1, text_of(t, name + 1), pattern, &matches));
        assert_true(matches);
        tfy_cut(t, 0);
    }
    fixture_deinit(&f);
}

static void test_pattern_budget(void **state)
{
    static const char *const patterns[] = {"(x+x+)+y", "(?:a?){40}b", "x*x*x*x*y", "(.*)(.*)(.*)(.*)(.*)[^x]",
                                           "x*+[yz]",  "(?=(x+))\\1z"};
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *hostile = tfy_keep(tfy_string_repeat(t, 1, text_of(t, "x"), 50000));
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        bool matches = true;
        t->fuel = 0;
        bool ok = tfy_string_matches(t, 1, hostile, text_of(t, patterns[i]), &matches);
        assert_true(!ok || !matches);
        if (!ok) assert_ptr_equal(t->error->type, &tfy_type_panic);
        assert_true(ok || t->fuel < -100000);
        tfy_clear(t, &t->error);
        tfy_cut(t, 0);
    }
    tfy_drop(t, hostile);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_failure),   cmocka_unit_test(test_bad_value),  cmocka_unit_test(test_compact),
        cmocka_unit_test(test_sort_is_stable), cmocka_unit_test(test_time_parts), cmocka_unit_test(test_pattern_cache),
        cmocka_unit_test(test_pattern_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
