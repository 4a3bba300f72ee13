/* Forms: what people write is the content that a schema describes, or a sentence says why it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tfy.h"
#include "value/form.h"
#include "value/json.h"

static json_t *schema_of(const char *properties, const char *required)
{
    char text[2000];
    snprintf(text, sizeof text, "{\"type\": \"object\", \"properties\": %s, \"required\": %s}", properties, required);
    json_t *schema = json_loads(text, 0, NULL);
    assert_non_null(schema);
    return schema;
}

/* What a person's text becomes: the content as canonical JSON, or the sentence. Owned. */
static char *read_form(const char *properties, const char *required, const char *text)
{
    char error[TFY_ERROR_TEXT] = "";
    json_t *schema = schema_of(properties, required), *content = tfy__form_content(schema, text, error);
    TfyBuffer out = {0};
    if (content)
        tfy__encode_json(&out, content);
    else
        tfy__buffer_text(&out, error);
    json_decref(content);
    json_decref(schema);
    assert_false(out.failed);
    return out.data;
}

static void expect(const char *properties, const char *required, const char *text, const char *wanted)
{
    char *found = read_form(properties, required, text);
    assert_string_equal(found, wanted);
    free(found);
}

#define NAME  "{\"name\": {\"type\": \"string\", \"default\": \"bob\"}}"
#define COUNT "{\"n\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 9}}"
#define COLOR "{\"c\": {\"type\": \"string\", \"enum\": [\"red\", \"green\"]}}"
#define TITLE "{\"c\": {\"oneOf\": [{\"const\": \"r\", \"title\": \"red\"}, {\"const\": \"g\", \"title\": \"green\"}]}}"
#define LIST  "{\"l\": {\"type\": \"array\", \"items\": {\"anyOf\": [{\"const\": \"a\"}, {\"const\": \"b\"}]}}}"
#define SHORT "{\"s\": {\"type\": \"string\", \"minLength\": 2, \"maxLength\": 3}}"

static void test_contents(void **state)
{
    expect(NAME, "[]", "{\"name\": \"ann\"}", "{\"name\":\"ann\"}");
    expect(NAME, "[]", "yes", "{\"name\":\"bob\"}");
    expect(NAME, "[\"name\"]", "{}", "{\"name\":\"bob\"}");
    expect(COUNT, "[]", "{\"n\": 9}", "{\"n\":9}");
    expect(COUNT, "[]", "{}", "{}");
    expect(COLOR, "[]", "{\"c\": \"green\"}", "{\"c\":\"green\"}");
    expect(TITLE, "[]", "{\"c\": \"g\"}", "{\"c\":\"g\"}");
    expect(LIST, "[]", "{\"l\": [\"b\", \"a\"]}", "{\"l\":[\"b\",\"a\"]}");
    expect(SHORT, "[]", "{\"s\": \"äöü\"}", "{\"s\":\"äöü\"}");
    expect("{}", "[]", "yes", "{}");
}

static void test_misfits(void **state)
{
    expect(NAME, "[]", "ann", "'ann' is not an answer to this question; it takes a JSON object");
    expect(NAME, "[]", "[]", "'[]' is not an answer to this question; it takes a JSON object");
    expect(NAME, "[]", "{\"name\": \"a\", \"name\": \"b\"}",
           "'{\"name\": \"a\", \"name\": \"b\"}' is not an answer to this question; it takes a JSON object");
    expect(NAME, "[]", "{\"nam\": 1}", "'nam' is not asked for");
    expect(NAME, "[]", "{\"name\": 1}", "'name' must be: string");
    expect(COUNT, "[]", "{\"n\": 0}", "'n' must be: integer from 1 to 9");
    expect(COUNT, "[]", "{\"n\": 1.5}", "'n' must be: integer from 1 to 9");
    expect(COUNT, "[\"n\"]", "yes", "'n' is missing");
    expect(COLOR, "[]", "{\"c\": \"blue\"}", "'c' must be: one of \"red\", \"green\"");
    expect(TITLE, "[]", "{\"c\": \"red\"}", "'c' must be: one of \"r\", \"g\"");
    expect(LIST, "[]", "{\"l\": [\"c\"]}", "'l' must be: a list of one of \"a\", \"b\"");
    expect(LIST, "[]", "{\"l\": \"a\"}", "'l' must be: a list of one of \"a\", \"b\"");
    expect(SHORT, "[]", "{\"s\": \"a\"}", "'s' must be: string");
    expect(SHORT, "[]", "{\"s\": \"äöüß\"}", "'s' must be: string");
    expect("1", "2", "{\"a\": 1}", "'a' is not asked for");
}

static void test_descriptions(void **state)
{
    TfyBuffer out = {0};
    json_t *schema = schema_of("{\"name\": {\"type\": \"string\", \"description\": \"who\", \"default\": \"bob\"}, "
                               "\"c\": {\"enum\": [\"x\"], \"title\": \"what\"}, \"n\": {}}",
                               "[\"c\"]");
    tfy__form_describe(schema, &out);
    assert_string_equal(out.data, "name: string, who; usually \"bob\"\nc: one of \"x\", what\nn: any; may be left out");
    json_decref(schema);
    tfy__buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_misfits),
        cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
