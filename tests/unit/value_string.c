/* Strings, and the text forms of scalars. */
#include "value_fixture.h"

#include <math.h>

#include "base/utf8.h"

static void expect_text(const TfyObj *string, const char *text, int64_t len)
{
    assert_non_null(string);
    assert_string_equal(bytes_of(string), text);
    assert_int_equal(tfy_string_byte_len(string), strlen(text));
    assert_int_equal(tfy_string_len(string), len);
}

static void test_invalid_utf8(void **state)
{
    static const struct {
        const char *raw, *repaired;
        int64_t len;
    } cases[] = {
        {"plain", "plain", 5},
        {"gr\xC3\xBC\xC3\x9F", "grüß", 4},
        {"\xF0\x9F\x98\x80", "😀", 1},
        {"a\xFFz", "a\uFFFDz", 3},
        {"\xC0\xAF", "\uFFFD\uFFFD", 2},           /* overlong */
        {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD", 3}, /* a surrogate */
        {"\xE2\x82z", "\uFFFDz", 2},               /* cut short: one replacement for what belongs together */
        {"\xF0\x9F\x98", "\uFFFD", 1},
        {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD", 4},
        {"", "", 0},
    };
    Fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_text(text_of(&f.task, cases[i].raw), cases[i].repaired, cases[i].len);
    fixture_deinit(&f);
}

static void test_torn_tail(void **state)
{
    static const struct {
        const char *bytes;
        size_t torn;
    } cases[] = {
        {"", 0},
        {"a", 0},
        {"a\xC3", 1},
        {"\xE2\x82", 2},
        {"\xE2\x82\xAC", 0},
        {"a\xF0\x9F\x98", 3},
        {"\xF0\x9F\x98\x80", 0},
        {"\xFF", 0}, /* no character begins like this and the next four: more bytes do not help */
        {"\xC0", 0},
        {"\xED\xA0", 0},
        {"\xF4\x90\x80", 0},
        {"\x80\x80\x80\x80", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(tfy__utf8_torn_tail(cases[i].bytes, strlen(cases[i].bytes)), cases[i].torn);
}

static void test_concat_and_append(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *parts[3] = {text_of(t, "a"), text_of(t, "ü"), text_of(t, "")};
    expect_text(tfy_concat(t, 1, 3, parts), "aü", 2);
    expect_text(tfy_concat(t, 1, 0, NULL), "", 0);
    TfyObj *s = tfy_keep(parts[0]);
    assert_true(tfy_string_append(t, 1, &s, parts[1])); /* shared: copied */
    expect_text(s, "aü", 2);
    expect_text(parts[0], "a", 1);
    assert_true(tfy_string_append(t, 1, &s, s));
    expect_text(s, "aüaü", 4);
    for (int i = 0; i < 1000; i++) assert_true(tfy_string_append(t, 1, &s, parts[0]));
    assert_int_equal(tfy_string_len(s), 1004);
    TfyObj *other = tfy_keep(s);
    assert_true(tfy_string_append(t, 1, &s, s)); /* shared and doubled */
    assert_int_equal(tfy_string_len(s), 2008);
    assert_int_equal(tfy_string_len(other), 1004);
    tfy_clear(t, &s);
    tfy_clear(t, &other);
    fixture_deinit(&f);
}

static void test_too_long(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyObj *s = tfy_keep(tfy__string_new(&f.task, &tfy_type_string, "0123456789abcdef", 16));
    tfy_drop(&f.task, s);
    TfyObj *parts[64];
    for (int i = 0; i < 64; i++) parts[i] = s;
    ((TfyString *)s)->byte_len = TFY_STRING_MAX / 32; /* a lie that is never read: the sum is refused first */
    assert_null(tfy_concat(&f.task, 5, 64, parts));
    expect_panic(&f.task, 5, "a string would be longer than 1073741824 bytes");
    ((TfyString *)s)->byte_len = 16;
    tfy_clear(&f.task, &s);
    fixture_deinit(&f);
}

static void test_parts(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    TfyObj *s = text_of(t, "aüb😀c");
    expect_text(tfy_string_at(t, 1, s, 1), "ü", 1);
    expect_text(tfy_string_at(t, 1, s, 4), "c", 1);
    assert_null(tfy_string_at(t, 7, s, 5));
    expect_panic(t, 7, "index 5 is outside a string of length 5");
    assert_null(tfy_string_at(t, 7, s, -1));
    tfy_clear(t, &t->error);
    expect_text(tfy_string_slice(t, s, 1, 4), "üb😀", 3);
    expect_text(tfy_string_slice(t, s, -5, 99), "aüb😀c", 5);
    expect_text(tfy_string_slice(t, s, 4, 2), "", 0);
    expect_text(tfy_string_slice(t, s, INT64_MAX, INT64_MIN), "", 0);
    assert_true(tfy_string_contains(t, s, text_of(t, "b😀")));
    assert_true(tfy_string_contains(t, s, text_of(t, "")));
    assert_false(tfy_string_contains(t, s, text_of(t, "x")));
    fixture_deinit(&f);
}

static void test_trim_and_lines(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    expect_text(tfy_string_trim(t, text_of(t, " \t\u00A0\u3000ä b\u2028\r\n")), "ä b", 3);
    expect_text(tfy_string_trim(t, text_of(t, " \n ")), "", 0);
    expect_text(tfy_string_trim(t, text_of(t, "x")), "x", 1);
    TfyValue lines = tfy_of_obj(tfy_string_lines(t, text_of(t, "a\r\n\nü\nlast")));
    expect_json(&tfy_type_list_string, lines, "[\"a\",\"\",\"ü\",\"last\"]");
    expect_json(&tfy_type_list_string, tfy_of_obj(tfy_string_lines(t, text_of(t, "a\n"))), "[\"a\"]");
    expect_json(&tfy_type_list_string, tfy_of_obj(tfy_string_lines(t, text_of(t, ""))), "[]");
    fixture_deinit(&f);
}

static bool use_strings(TfyTask *task)
{
    TfyObj *a = text_of(task, " a text that is longer than what small sizes hold "), *s, *lines;
    if (!a || !(s = tfy_keep(tfy_string_trim(task, a)))) return false;
    bool ok = true;
    for (int i = 0; ok && i < 5; i++) ok = tfy_string_append(task, 1, &s, a);
    ok = ok && tfy_string_slice(task, s, 2, 9) && tfy_string_at(task, 1, s, 3);
    ok = ok && (lines = tfy_string_lines(task, text_of(task, "one\ntwo\nthree\nfour\nfive\nsix") ?: s));
    ok = ok && tfy_list_join(task, 1, lines, a) && tfy_text(task, &tfy_type_list_string, tfy_of_obj(lines));
    tfy_drop(task, s);
    return ok && !task->error;
}

static void test_without_memory(void **state)
{
    try_each_failure(use_strings);
}

static void test_floats(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.30000000000000004, "0.30000000000000004"},
        {100, "100.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e16"},
        {1.5e300, "1.5e300"},
        {5e-324, "5e-324"},
        {1e-6, "0.000001"},
        {1e-7, "1e-7"},
        {0x1p89, "6.189700196426902e26"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {9007199254740993.0, "9007199254740992.0"},
        {0.000012345, "0.000012345"},
        {123456.789, "123456.789"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TfyBuffer out = {0};
        tfy__write_float(&out, cases[i].value);
        assert_string_equal(out.data, cases[i].text);
        tfy__buffer_free(&out);
    }
}

static void test_float_round_trip(void **state)
{
    uint64_t bits = 88172645463325252;
    TfyBuffer out = {0};
    for (int i = 0; i < 200000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        tfy__buffer_reset(&out);
        tfy__write_float(&out, value);
        assert_true(strtod(out.data, NULL) == value);
    }
    tfy__buffer_free(&out);
}

static void test_durations(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{0, "0s"},
                 {250, "250ms"},
                 {90000, "90s"},
                 {60000, "1m"},
                 {7200000, "2h"},
                 {86400000, "1d"},
                 {-5000, "-5s"},
                 {1001, "1001ms"},
                 {INT64_MAX, "9223372036854775807ms"},
                 {INT64_MIN, "-9223372036854775808ms"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TfyBuffer out = {0};
        int64_t back = 1;
        tfy__write_duration(&out, cases[i].ms);
        assert_string_equal(out.data, cases[i].text);
        assert_true(tfy__read_duration(out.data, out.len, &back));
        assert_int_equal(back, cases[i].ms);
        tfy__buffer_free(&out);
    }
    static const char *const bad[] = {
        "", "5", "s", "-s", "5 s", "5x", "5msx", "9223372036854775807s", "99999999999999999999ms", "1.5s"};
    int64_t ms;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(tfy__read_duration(bad[i], strlen(bad[i]), &ms));
}

static void expect_time(const char *text, int64_t ms)
{
    int64_t back;
    assert_true(tfy__read_time(text, strlen(text), &back));
    assert_int_equal(back, ms);
}

static void test_times(void **state)
{
    static const int64_t some[] = {0,
                                   -1,
                                   1,
                                   951782400000,
                                   1709164800123,
                                   -62167219200000,
                                   -62167219200001,
                                   253402300799999,
                                   253402300800000,
                                   INT64_MAX,
                                   INT64_MIN};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        TfyBuffer out = {0};
        tfy__write_time(&out, some[i]);
        expect_time(out.data, some[i]);
        tfy__buffer_free(&out);
    }
    TfyBuffer out = {0};
    tfy__write_time(&out, 1709164800123);
    assert_string_equal(out.data, "2024-02-29T00:00:00.123Z");
    tfy__buffer_free(&out);
    expect_time("1970-01-01T01:00:00+01:00", 0);
    expect_time("1969-12-31 23:30:00.5-00:30", 500);
    expect_time("1970-01-01t00:00:00.123456789z", 123);
    expect_time("1970-01-01T00:00:60Z", 60000);
    static const char *const bad[] = {"",
                                      "1970-01-01",
                                      "1970-02-30T00:00:00Z",
                                      "1970-13-01T00:00:00Z",
                                      "1970-01-01T24:00:00Z",
                                      "1970-01-01T00:00:00",
                                      "1970-01-01T00:00:00.Z",
                                      "1970-01-01T00:00:00Zx",
                                      "70-01-01T00:00:00Z",
                                      "+999999999-01-01T00:00:00Z",
                                      "1970-01-01T00:00:00+25:00",
                                      "1900-02-29T00:00:00Z"};
    int64_t ms;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(tfy__read_time(bad[i], strlen(bad[i]), &ms));
}

static void test_print_form(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyTask *t = &f.task;
    expect_text(tfy_text(t, &tfy_type_int, tfy_of_int(INT64_MIN)), "-9223372036854775808", 20);
    expect_text(tfy_text(t, &tfy_type_bool, tfy_of_bool(true)), "true", 4);
    expect_text(tfy_text(t, &tfy_type_duration, tfy_of_int(90000)), "90s", 3);
    expect_text(tfy_text(t, &tfy_type_time, tfy_of_int(0)), "1970-01-01T00:00:00.000Z", 24);
    expect_text(tfy_text(t, &tfy_type_optional_string, tfy_of_obj(NULL)), "null", 4);
    expect_text(tfy_text(t, &tfy_type_optional_string, tfy_of_obj(text_of(t, "as it is"))), "as it is", 8);
    expect_text(tfy_text(t, &optional_int, tfy_of_obj(tfy_box(t, &optional_int, tfy_of_int(4)))), "4", 1);
    expect_text(tfy_text(t, &verdict_type, tfy_of_obj(&verdict_keep)), "keep", 4);
    fixture_deinit(&f);
}

static void test_order(void **state)
{
    Fixture f;
    fixture_init(&f);
    TfyValue a = tfy_of_obj(text_of(&f.task, "a")), ab = tfy_of_obj(text_of(&f.task, "ab")),
             ue = tfy_of_obj(text_of(&f.task, "ü"));
    assert_true(tfy_compare(&tfy_type_string, a, ab) < 0 && tfy_compare(&tfy_type_string, ue, ab) > 0);
    assert_int_equal(tfy_compare(&tfy_type_string, a, a), 0);
    assert_true(tfy_compare(&tfy_type_int, tfy_of_int(INT64_MIN), tfy_of_int(1)) < 0);
    assert_true(tfy_compare(&tfy_type_float, tfy_of_float(-0.0), tfy_of_float(0.0)) == 0);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_torn_tail),
        cmocka_unit_test(test_concat_and_append),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_trim_and_lines),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_float_round_trip),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_print_form),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
