/* JSON both ways, and schemas. */
#include "value_fixture.h"
#include <sys/wait.h>
#include <unistd.h>
#include "base/sys_memory.h"

/* Reads, writes again and compares. */
static void round_trip(const TfyType *type, const char *json, const char *expected)
{
    Fixture f;
    char error[TFY_ERROR_TEXT] = "";
    TfyValue value;
    fixture_init(&f);
    if (!tfy__decode_text(&f.task, type, json, strlen(json), &value, error)) fail_msg("%s: %s", json, error);
    expect_json(type, value, expected);
    fixture_deinit(&f);
}

static void refused(const TfyType *type, const char *json, const char *expected)
{
    Fixture f;
    char error[TFY_ERROR_TEXT] = "";
    TfyValue value;
    fixture_init(&f);
    assert_false(tfy__decode_text(&f.task, type, json, strlen(json), &value, error));
    assert_string_equal(error, expected);
    assert_null(f.task.error);
    assert_null(value.o);
    fixture_deinit(&f);
}

static void same(const TfyType *type, const char *json)
{
    round_trip(type, json, json);
}

static void test_scalars(void **state)
{
    same(&tfy_type_int, "9223372036854775807");
    same(&tfy_type_int, "-9223372036854775808");
    same(&tfy_type_bool, "true");
    same(&tfy_type_float, "1.0");
    round_trip(&tfy_type_float, "3", "3.0");
    same(&tfy_type_duration, "\"90s\"");
    same(&tfy_type_time, "\"2026-11-20T10:00:00.000Z\"");
    same(&tfy_type_nothing, "null");
    refused(&tfy_type_int, "1.5", "$: expected int, got 1.5");
    round_trip(&tfy_type_int, "1.0", "1");
    round_trip(&tfy_type_int, "-2e3", "-2000");
    refused(&tfy_type_int, "9223372036854775808",
            "not valid JSON at line 1, column 19: too big integer near '9223372036854775808'");
    refused(&tfy_type_int, "\"3\"", "$: expected int, got \"3\"");
    refused(&tfy_type_bool, "null", "$: expected bool, got null");
    refused(&tfy_type_float, "\"x\"", "$: expected float, got \"x\"");
    refused(&tfy_type_duration, "\"5sec\"", "$: expected a duration such as \"90s\", got \"5sec\"");
    refused(&tfy_type_time, "7", "$: expected a time such as \"2026-01-31T12:00:00Z\", got 7");
}

static void test_strings_and_bytes(void **state)
{
    same(&tfy_type_string, "\"ü \\\"\\\\\\n\\t\\u0001 \\u0000 end\"");
    round_trip(&tfy_type_string, "\"\\u00fc\\/\"", "\"ü/\"");
    same(&tfy_type_bytes, "\"\"");
    same(&tfy_type_bytes, "\"AA==\"");
    same(&tfy_type_bytes, "\"/+8=\"");
    same(&tfy_type_bytes, "\"AAEC\"");
    refused(&tfy_type_bytes, "\"AB==\"", "$: expected bytes in base64, got \"AB==\"");
    refused(&tfy_type_bytes, "\"AAA\"", "$: expected bytes in base64, got \"AAA\"");
    refused(&tfy_type_bytes, "\"A=AA\"", "$: expected bytes in base64, got \"A=AA\"");
    refused(&tfy_type_bytes, "\"====\"", "$: expected bytes in base64, got \"====\"");
    refused(&tfy_type_bytes, "4", "$: expected bytes in base64, got 4");
    refused(&tfy_type_string, "[1, 2]", "$: expected string, got a list of 2");
}

static void test_broken_text(void **state)
{
    TfyBuffer out = {0};
    tfy__buffer_json_string(&out, "a\xFF\xE2\x82z\x7F", 6);
    assert_string_equal(out.data, "\"a\uFFFD\uFFFDz\x7F\"");
    tfy__buffer_free(&out);
    volatile size_t too_long = SIZE_MAX / 2; /* a compiler that saw it would refuse the call */
    tfy__buffer_add(&out, "x", too_long);
    assert_true(out.failed);
    tfy__buffer_text(&out, "y");
    assert_int_equal(out.len, 0);
    tfy__buffer_reset(&out);
    assert_false(out.failed);
    tfy__buffer_printf(&out, "%s-%d", "a", 5);
    assert_string_equal(out.data, "a-5");
    tfy__buffer_free(&out);
}

static void test_records(void **state)
{
    round_trip(&list_step, "[{\"name\": \"a\", \"argv\": [\"make\"], \"unknown\": [{}]}]",
               "[{\"name\":\"a\",\"argv\":[\"make\"],\"risky\":false,\"note\":null}]");
    same(&step_type, "{\"name\":\"a\",\"argv\":[],\"risky\":true,\"note\":\"n\"}");
    refused(&list_step, "[{\"name\": \"a\", \"argv\": []}, {\"name\": 3}]", "$[1].name: expected string, got 3");
    refused(&step_type, "{\"name\": \"a\"}", "$.argv: expected list<string>, but it is missing");
    refused(&step_type, "{\"name\": \"a\", \"argv\": [\"x\", null]}", "$.argv[1]: expected string, got null");
    refused(&step_type, "{\"name\": \"a\", \"argv\": [], \"risky\": null}", "$.risky: expected bool, got null");
    refused(&step_type, "[]", "$: expected Step, got a list of 0");
    refused(&step_type, "", "not valid JSON: it is empty");
    refused(&step_type, "{\"name\": \"a\", \"name\": \"b\"}",
            "not valid JSON at line 1, column 20: duplicate object key near '\"name\"'");
}

static void test_enums(void **state)
{
    same(&verdict_type, "\"keep\"");
    round_trip(&verdict_type, "{\"case\": \"drop\"}", "\"drop\"");
    same(&verdict_type, "{\"case\":\"redo\",\"reason\":\"r\",\"case_\":4}");
    refused(&verdict_type, "\"kepe\"",
            "$: expected Verdict: \"keep\" or \"drop\" or {\"case\": \"redo\", ...}, got \"kepe\"");
    refused(&verdict_type, "\"keep\\u0000\"",
            "$: expected Verdict: \"keep\" or \"drop\" or {\"case\": \"redo\", ...}, got \"keep\\u0000\"");
    refused(&verdict_type, "\"redo\"",
            "$: expected Verdict: \"keep\" or \"drop\" or {\"case\": \"redo\", ...}, got \"redo\"");
    refused(&verdict_type, "{}",
            "$: expected Verdict: \"keep\" or \"drop\" or {\"case\": \"redo\", ...}, got an object");
    refused(&verdict_type, "{\"case\": \"redo\", \"reason\": 1}", "$.reason: expected string, got 1");
}

static void test_maps(void **state)
{
    same(&map_string_int, "{\"b\":1,\"a\":2,\"\":3}");
    same(&map_int_string, "{\"-5\":\"x\",\"9223372036854775807\":\"y\"}");
    same(&map_verdict_int, "{\"drop\":1}");
    refused(&map_int_string, "{\"05\": \"x\"}", "$: expected keys of type int, got \"05\"");
    refused(&map_int_string, "{\"99999999999999999999\": \"x\"}",
            "$: expected keys of type int, got \"99999999999999999999\"");
    refused(&map_verdict_int, "{\"redo\": 1}", "$: expected keys of type Verdict, got \"redo\"");
    refused(&map_string_int, "{\"a b\": true}", "$[\"a b\"]: expected int, got true");
    refused(&map_string_int, "3", "$: expected map<string, int>, got 3");
}

static void test_optionals(void **state)
{
    same(&optional_int, "null");
    same(&optional_int, "7");
    same(&tfy_type_optional_string, "\"x\"");
    same(&tree_type, "{\"left\":{\"left\":null,\"value\":1,\"right\":null},\"value\":2,\"right\":null}");
    refused(&optional_int, "true", "$: expected int, got true");
}

static void test_errors(void **state)
{
    same(&failed_type, "{\"error\":\"StepFailed\",\"message\":\"m\",\"step\":\"s\",\"line_\":4,\"line\":12}");
    same(&tfy_type_any_error, "{\"error\":\"ToolError\",\"message\":\"m\",\"tool\":\"t\",\"code\":-1,\"line\":0}");
    refused(&tfy_type_any_error, "{\"error\":\"StepFailed\"}", "$: expected a built-in error, got an object");
    refused(&failed_type, "{\"error\":\"Timeout\"}", "$: expected StepFailed, got an object");
    refused(&failed_type, "1", "$: expected StepFailed, got 1");
}

static void test_json(void **state)
{
    round_trip(&tfy_type_json, " { \"b\" : [ 1 , 2.50, null ], \"a\" : { } , \"c\": \"\\u0000\" } ",
               "{\"a\":{},\"b\":[1,2.5,null],\"c\":\"\\u0000\"}");
    same(&tfy_type_json, "null");
    same(&tfy_type_json, "[]");
}

/* count brackets, open and closed, around the inside. */
static char *nested(int count, const char *open, const char *inside, const char *close)
{
    TfyBuffer out = {0};
    for (int i = 0; i < count; i++) tfy__buffer_text(&out, open);
    tfy__buffer_text(&out, inside);
    for (int i = 0; i < count; i++) tfy__buffer_text(&out, close);
    return out.data;
}

static void test_depth(void **state)
{
    char *fits =
        nested(127, "{\"left\":null,\"value\":1,\"right\":", "{\"left\":null,\"value\":1,\"right\":null}", "}");
    char *deep =
        nested(128, "{\"left\":null,\"value\":1,\"right\":", "{\"left\":null,\"value\":1,\"right\":null}", "}");
    char *list = nested(128, "[", "", "]"), *deep_list = nested(129, "[", "", "]");
    same(&tree_type, fits);
    same(&tfy_type_json, list);
    refused(&tfy_type_json, deep_list, "$: nested deeper than 128 levels");
    Fixture f;
    char error[TFY_ERROR_TEXT];
    TfyValue value;
    fixture_init(&f);
    assert_false(tfy__decode_text(&f.task, &tree_type, deep, strlen(deep), &value, error));
    assert_int_equal(strlen(error), TFY_ERROR_TEXT - 1); /* the path alone fills it */
    fixture_deinit(&f);
    free(fits);
    free(deep);
    free(list);
    free(deep_list);
}

static void test_long_found(void **state)
{
    refused(&tfy_type_int, "\"ääääääääääääääääääääääääääääääääääääääää\"",
            "$: expected int, got \"ääääääääääääääääääääääääääääää\"...");
}

static bool decode_args(TfyTask *task, const char *text, TfyValue *values, char *error)
{
    return tfy__decode_args(task, step_fields, 4, text, strlen(text), values, error);
}

static void test_args(void **state)
{
    Fixture f;
    TfyValue values[4];
    char error[TFY_ERROR_TEXT];
    TfyBuffer out = {0};
    fixture_init(&f);
    assert_true(decode_args(&f.task, "{\"argv\": [\"x\"], \"name\": \"n\"}", values, error));
    assert_true(tfy__encode_args(&out, step_fields, 4, values));
    assert_string_equal(out.data, "{\"name\":\"n\",\"argv\":[\"x\"],\"risky\":false,\"note\":null}");
    tfy__buffer_free(&out);
    assert_false(decode_args(&f.task, "{\"argv\": [], \"nmae\": \"n\"}", values, error));
    assert_string_equal(error, "there is no parameter \"nmae\"");
    assert_false(decode_args(&f.task, "{\"name\": \"n\"}", values, error));
    assert_string_equal(error, "$.argv: expected list<string>, but it is missing");
    assert_null(values[0].o);
    assert_false(decode_args(&f.task, "[]", values, error));
    assert_string_equal(error, "$: expected an object with a member for each parameter, got a list of 0");
    fixture_deinit(&f);
}

/* As test_args, of trees. */
static void test_args_of_trees(void **state)
{
    static const struct {
        const char *text, *error;
    } refused[] = {{"[]", "$: expected an object with a member for each parameter, got a list of 0"},
                   {"null", "$: expected an object with a member for each parameter, got null"},
                   {"{\"name\": \"n\", \"argv\": 1}", "$.argv: expected list<string>, got 1"}};
    Fixture f;
    TfyValue values[4];
    char error[TFY_ERROR_TEXT];
    TfyBuffer out = {0};
    fixture_init(&f);
    json_t *tree = json_loads("{\"argv\": [\"x\"], \"name\": \"n\"}", 0, NULL);
    assert_true(tfy__decode_args_json(&f.task, step_fields, 4, tree, values, error));
    json_decref(tree); /* the values do not borrow from it */
    assert_true(tfy__encode_args(&out, step_fields, 4, values));
    assert_string_equal(out.data, "{\"name\":\"n\",\"argv\":[\"x\"],\"risky\":false,\"note\":null}");
    tfy__buffer_free(&out);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tree = json_loads(refused[i].text, JSON_DECODE_ANY, NULL);
        assert_false(tfy__decode_args_json(&f.task, step_fields, 4, tree, values, error));
        assert_string_equal(error, refused[i].error);
        assert_null(values[0].o);
        json_decref(tree);
    }
    fixture_deinit(&f);
}

static bool make_panic(TfyTask *task, TfyValue *out)
{
    return tfy_panic(task, 5, "no default today");
}

static void test_default_that_panics(void **state)
{
    static const TfyField fields[] = {{"a", &tfy_type_string, NULL, NULL}, {"b", &tfy_type_int, make_panic, NULL}};
    static const TfyType type = {.kind = TFY_RECORD, .name = "T", .fields = fields, .field_count = 2};
    Fixture f;
    TfyValue value;
    char error[TFY_ERROR_TEXT];
    fixture_init(&f);
    assert_false(tfy__decode_text(&f.task, &type, "{\"a\": \"x\"}", 10, &value, error));
    assert_string_equal(error, "Panic: no default today");
    expect_panic(&f.task, 5, "no default today");
    fixture_deinit(&f);
}

static bool read_everything(TfyTask *task)
{
    static const struct {
        const TfyType *type;
        const char *json;
    } all[] = {
        {&list_step, "[{\"name\":\"a\",\"argv\":[\"make\",\"test\"],\"note\":\"n\"},{\"name\":\"b\",\"argv\":[]}]"},
        {&verdict_type, "{\"case\":\"redo\",\"reason\":\"r\",\"case_\":4}"},
        {&map_int_string, "{\"1\":\"a\",\"2\":\"b\",\"3\":\"c\",\"4\":\"d\",\"5\":\"e\",\"6\":\"f\",\"7\":\"g\",\"8\":"
                          "\"h\",\"9\":\"i\"}"},
        {&failed_type, "{\"error\":\"StepFailed\",\"message\":\"m\",\"step\":\"s\",\"line_\":4}"},
        {&optional_int, "5"},
        {&tfy_type_bytes, "\"AAEC\""},
        {&tfy_type_json, "{\"x\":[1,2]}"},
    };
    char error[TFY_ERROR_TEXT];
    TfyValue value, args[4];
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!tfy__decode_text(task, all[i].type, all[i].json, strlen(all[i].json), &value, error)) return false;
    return decode_args(task, "{\"argv\":[\"x\"],\"name\":\"n\",\"note\":\"m\"}", args, error);
}

static void test_without_memory(void **state)
{
    try_each_failure(read_everything);
}

static void expect_schema(const TfyType *type, const char *schema)
{
    TfyBuffer out = {0};
    assert_true(tfy__schema(&out, type));
    assert_string_equal(out.data, schema);
    json_t *parsed = json_loads(out.data, 0, NULL);
    assert_non_null(parsed);
    json_decref(parsed);
    tfy__buffer_free(&out);
}

static void test_schemas(void **state)
{
    expect_schema(&tfy_type_int, "{\"type\":\"integer\"}");
    expect_schema(&tfy_type_list_string, "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
    expect_schema(&map_int_string, "{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^-?[0-9]+$\"},"
                                   "\"additionalProperties\":{\"type\":\"string\"}}");
    expect_schema(&step_type,
                  "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"argv\":{\"type\":\"array\","
                  "\"items\":{\"type\":\"string\"}},"
                  "\"risky\":{\"type\":\"boolean\"},\"note\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}},"
                  "\"required\":[\"name\",\"argv\"],\"additionalProperties\":false}");
    expect_schema(&tree_type, "{\"type\":\"object\",\"properties\":{\"left\":{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":"
                              "\"null\"}]},\"value\":{\"type\":\"integer\"},"
                              "\"right\":{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}},\"required\":[\"value\"],"
                              "\"additionalProperties\":false}");
    expect_schema(&map_verdict_int, "{\"type\":\"object\",\"propertyNames\":{\"enum\":[\"keep\",\"drop\"]},"
                                    "\"additionalProperties\":{\"type\":\"integer\"}}");
    static const TfyType list = {.kind = TFY_LIST, .name = "list<Verdict>", .elem = &verdict_type};
    expect_schema(
        &list,
        "{\"allOf\":[{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/Verdict\"}}],\"$defs\":{\"Verdict\":{\"anyOf\":["
        "{\"type\":\"string\",\"enum\":[\"keep\",\"drop\"]},{\"type\":\"object\",\"properties\":{\"case\":{\"const\":"
        "\"redo\"},"
        "\"reason\":{\"type\":\"string\"},\"case_\":{\"type\":\"integer\"}},\"required\":[\"case\",\"reason\",\"case_"
        "\"],"
        "\"additionalProperties\":false}]}}}");
}

static int until_none; /* allocations; -1: all are granted */

static void *granted(size_t size)
{
    if (!until_none) return NULL;
    if (until_none > 0) until_none--;
    return malloc(size);
}

/* Reads the text in a process that is granted so many allocations. Answers its status. */
static int read_with(int allocations, const char *text)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        until_none = allocations;
        json_t *json = json_loads(text, 0, NULL);
        const bool whole = json && json_equal(json_object_get(json, "n"), json_object_get(json, "m"));
        _exit(whole ? 0 : 1);
    }
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Whichever allocation of jansson's is refused: either the text is read as it stands, or the process ends and says so. */
static void test_starved_tree(void **state)
{
    static const char text[] =
        "{\"why\":\"a reason that is \\u00fc longer than what a string\\n begins with\",\"n\":[1,{}],\"m\":[1,{}]}";
    json_set_alloc_funcs(granted, free);
    until_none = -1;
    tfy__sys_watch_json();
    tfy__sys_watch_json(); /* each loop does */
    int count = 0;
    while (read_with(count, text) == 70) count++;
    assert_true(count > 10);
    assert_int_equal(read_with(count, text), 0);
}

/* What is read of a text of these bytes, nothing behind it, is what jansson reads of it. */
static void same_as_jansson(const char *text, size_t len, size_t flags)
{
    const size_t form = JSON_COMPACT | JSON_ENCODE_ANY; /* in the order of reading */
    char *own = malloc(len ? len : 1);
    memcpy(own, text, len);
    json_error_t error = {.line = 0}, our_error = {.line = 0};
    json_t *json = json_loadb(own, len, flags, &error), *ours = tfy__json_read(own, len, flags, &our_error);
    char *dump = json ? json_dumps(json, form) : NULL, *our_dump = ours ? json_dumps(ours, form) : NULL;
    if (!json != !ours || !json_equal(json, ours) != !json || (json && strcmp(dump, our_dump) != 0))
        fail_msg("%.*s reads as %s, not as %s", (int)len, text, our_dump, dump);
    if (!json) assert_string_equal(our_error.text, error.text);
    if (!json) assert_int_equal(our_error.position, error.position);
    json_decref(json);
    json_decref(ours);
    free(dump);
    free(our_dump);
    free(own);
}

static void test_as_jansson_reads(void **state)
{
    static const char *const texts[] = {
        "{\"tool\":\"t\",\"tries\":0,\"ms\":-12,\"ok\":true,\"value\":{\"a\":[1.5,\"x\"]},\"error\":null}",
        "{\"text\":\"a\\\"b\\u00e9\\n\",\"why\":\"\xc3\xa9\\/\",\"name\":\"\"}",
        "[\"\\ud83d\\ude00\",\"\\u0000\",\"\x7f\"]",
        "[\"\\ud83d\"]",
        "[\"\\ude00\\ud83d\"]",
        "{\"tid\":123456789012345678,\"lsn\":1234567890123456789,\"least\":-9223372036854775808}",
        "[9223372036854775808]",
        "[1.0,-0,-0.0,0,1e5,1E-2,12345678901234567890.5]",
        "[1e999]",
        "{\"tid\":1,\"ms\":3,\"tid\":2}",
        "{\"t\\u0069d\":1,\"\xc3\xa9\":2,\"\":3}",
        "{\"a\\u0000b\":1}",
        " {\t\"tid\" : 1 ,\r\n\"ok\" : [ false , { } , [ ] ] } ",
        "{}",
        "{ ,\"tid\":1}",
        "{\"tid\":1,}",
        "{\"tid\":1,,\"ms\":2}",
        "{\"tid\":1]",
        "{\"tid\":1}}",
        "{\"tid\":1} x",
        "[01]",
        "[-]",
        "[-01]",
        "[1-2]",
        "[1.]",
        "[1e]",
        "[+1]",
        "[1 2]",
        "[1,2",
        "[1,2}",
        "{\"tid\":\"a\"\"b\"}",
        "{\"tid\":}",
        "{\"tid\" 1}",
        "{\"tid\"",
        "{tid:1}",
        "[nul]",
        "[nullx]",
        "[True]",
        "[\"a\tb\"]",
        "[\"a\\",
        "[\"a\\x\"]",
        "[\"a",
        "[\"\xff\"]",
        "[\"\xed\xa0\x80\"]",
        "[\"\xc0\x80\"]",
        "{\"w\xff\":1}",
        "1",
        "-12.5 ",
        "\"a\"",
        "true",
        "",
        " ",
        "\xef\xbb\xbf{}",
    };
    (void)state;
    for (size_t i = 0; i < 8 * sizeof texts / sizeof *texts; i++)
        same_as_jansson(texts[i / 8], strlen(texts[i / 8]),
                        (i & 1 ? JSON_ALLOW_NUL : 0) | (i & 2 ? JSON_REJECT_DUPLICATES : 0) |
                            (i & 4 ? JSON_DECODE_ANY : 0));
    same_as_jansson("[1]\0", 4, JSON_ALLOW_NUL);
    same_as_jansson("[\"a\0b\"]", 7, JSON_ALLOW_NUL);
}

/* … also where it nests as deeply as jansson reads, and deeper. */
static void test_deep_as_jansson_reads(void **state)
{
    static const int depths[] = {63, 64, 65, 2047, 2048, 2049};
    char text[5000];
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        memset(text, '[', (size_t)depths[i]);
        memset(text + depths[i], ']', (size_t)depths[i]);
        same_as_jansson(text, 2 * (size_t)depths[i], JSON_ALLOW_NUL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_strings_and_bytes),
        cmocka_unit_test(test_broken_text),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_enums),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_optionals),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_long_found),
        cmocka_unit_test(test_args),
        cmocka_unit_test(test_args_of_trees),
        cmocka_unit_test(test_default_that_panics),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_as_jansson_reads),
        cmocka_unit_test(test_deep_as_jansson_reads),
        cmocka_unit_test(test_starved_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
