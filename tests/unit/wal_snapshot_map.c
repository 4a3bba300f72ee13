/* wal_snapshot_map.c: a snapshot in the terms of another program: what is found by name, what is refused, and that what a snapshot says wrongly
 * does no harm. */
#include "wal_fixture.h"

#include <jansson.h>

#include "wal/history/compat.h"
#include "wal/history/snapshot_map.h"

/* One workflow with one point. {slots} are the "live" of its point. */
#define LAYOUT(SLOTS)                                                                                                  \
    "{\"workflows\":[{\"name\":\"main\",\"slots\":8,\"params\":[{\"name\":\"n\",\"type\":\"int\"},{\"name\":\"s\","    \
    "\"type\":\"string\"}],"                                                                                           \
    "\"result\":\"int\"}],\"types\":[],\"points\":["                                                                   \
    "{\"n\":1,\"id\":\"main/effect/ask/1\",\"kind\":\"effect\",\"workflow\":\"main\",\"line\":3,\"asks\":\"aa\","      \
    "\"callee\":\"ask\",\"result\":\"int\",\"live\":[" SLOTS "],\"dead\":[]}]}"

#define FRAME(SLOTS)                                                                                                   \
    "{\"v\":1,\"tasks\":[{\"task\":0,\"path\":\"1\",\"routine\":0,\"frames\":[{\"routine\":0,\"point\":1,\"slots\":"   \
    "{" SLOTS "}}]}],\"ended\":[]}"

static char said[TFY_ERROR_TEXT];

/* The snapshot for the new program, as text (the caller's); NULL: refused, and said says why. */
static char *map(const char *old_layout, const char *new_layout, const char *snapshot)
{
    TfyCompat *compat;
    json_t *json = json_loads(snapshot, 0, NULL), *mapped;
    assert_non_null(json);
    said[0] = '\0';
    assert_int_equal(tfy__compat_new(old_layout, new_layout, &compat), 0);
    const int code = tfy__snapshot_map(compat, json, &mapped, said);
    char *text = code ? NULL : json_dumps(mapped, JSON_COMPACT);
    assert_true(code == 0 || code == TFY_E_DIVERGED);
    tfy__compat_free(compat);
    json_decref(mapped);
    json_decref(json);
    return text;
}

static void expect(const char *old_layout, const char *new_layout, const char *before, const char *after)
{
    char *text = map(old_layout, new_layout, before);
    if (!text) fail_msg("refused: %s", said);
    assert_string_equal(text, after);
    free(text);
}

static void refuse(const char *old_layout, const char *new_layout, const char *snapshot, const char *why)
{
    char *text = map(old_layout, new_layout, snapshot);
    if (text) fail_msg("not refused: %s", text);
    if (!strstr(said, why)) fail_msg("it says: %s", said);
}

static void test_same(void **state)
{
    (void)state;
    const char *layout = LAYOUT("[0,\"n\",\"int\",0],[2,\"items\",\"list<int>\",3,\"f1\"]");
    const char *snapshot = FRAME("\"n\":[7],\"#2\":[[1,2]]");
    expect(layout, layout, snapshot, snapshot);
}

/* Values that are shared are written at the first place that has them, and counted from there. */
static void test_shared_values_follow_the_slots(void **state)
{
    (void)state;
    const char *old =
        LAYOUT("[0,\"a\",\"string\",0],[1,\"b\",\"string?\",1],[2,\"c\",\"string\",2],[3,\"d\",\"string\",3]");
    const char *before = FRAME("\"a\":[\"x\",1],\"b\":0,\"c\":[\"y\",1],\"d\":1");
    expect(old, LAYOUT("[0,\"d\",\"string\",3],[1,\"c\",\"string\",2],[2,\"b\",\"string?\",1],[3,\"a\",\"string\",0]"),
           before, FRAME("\"d\":[\"y\",1],\"c\":0,\"b\":[\"x\",1],\"a\":1"));
    /* Nobody needs the first ones any more. */
    expect(old, LAYOUT("[0,\"d\",\"string\",3],[2,\"b\",\"string?\",1]"), before,
           FRAME("\"d\":[\"y\",1],\"b\":[\"x\",1]"));
    /* What any error can be is written otherwise than a certain one. */
    refuse(LAYOUT("[0,\"a\",\"error\",0],[1,\"b\",\"Bad\",1]"), LAYOUT("[1,\"b\",\"Bad\",1]"),
           FRAME("\"a\":[{\"error\":\"Bad\"},1],\"b\":0"), "shares a value with a variable of another type");
}

/* Slots are given out again: which of two lies first says nothing. */
static void test_made_variables_go_by_their_statement(void **state)
{
    (void)state;
    const char *before = FRAME("\"#1\":[10],\"#2\":[20]");
    const char *old = LAYOUT("[1,\"end\",\"int\",1,\"outer\"],[2,\"end\",\"int\",2,\"inner\"]");
    expect(old, LAYOUT("[1,\"end\",\"int\",4,\"inner\"],[5,\"end\",\"int\",3,\"outer\"]"), before,
           FRAME("\"#1\":[20],\"#5\":[10]"));
    refuse(old, LAYOUT("[1,\"end\",\"int\",1,\"outer\"],[2,\"end\",\"int\",2,\"other\"]"), before,
           "a statement around it that keeps a value there was changed");
    /* Two of one statement go by the order in which the workflow comes to them. */
    expect(LAYOUT("[1,\"arg\",\"int\",1,\"one\"],[2,\"arg\",\"int\",2,\"one\"]"),
           LAYOUT("[1,\"arg\",\"int\",9,\"one\"],[2,\"arg\",\"int\",8,\"one\"]"), before,
           FRAME("\"#1\":[20],\"#2\":[10]"));
    refuse(LAYOUT("[1,\"arg\",\"int\",1,\"one\"],[2,\"arg\",\"int\",2,\"one\"]"),
           LAYOUT("[1,\"arg\",\"int\",9,\"one\"]"), before, "keeps a value there was changed");
}

static void test_names_that_occur_twice(void **state)
{
    (void)state;
    const char *before = FRAME("\"x#1\":[10],\"x#2\":[20]");
    const char *old = LAYOUT("[1,\"x\",\"int\",1],[2,\"x\",\"int\",2]");
    expect(old, LAYOUT("[1,\"x\",\"int\",9],[3,\"x\",\"int\",8]"), before, FRAME("\"x#1\":[20],\"x#3\":[10]"));
    refuse(old, LAYOUT("[1,\"x\",\"int\",1]"), before, "x names another number of variables than before");
}

static char *edited(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

/* The old layout, edited, is the new one. */
static void refuse_edited(const char *from, const char *to, const char *snapshot, const char *why)
{
    const char *old = LAYOUT("[0,\"n\",\"int\",0]");
    char *new = edited(old, from, to);
    refuse(old, new, snapshot, why);
    free(new);
}

#define SECOND                                                                                                         \
    "\"dead\":[]},{\"n\":2,\"id\":\"main/effect/ask/"                                                                  \
    "2\",\"kind\":\"effect\",\"workflow\":\"main\",\"line\":4,\"asks\":\"aa\","                                        \
    "\"callee\":\"ask\",\"result\":\"int\",\"live\":[],\"dead\":[]}]"

static void test_places(void **state)
{
    (void)state;
    const char *at = FRAME("\"n\":[7]");
    refuse_edited("\"asks\":\"aa\"", "\"asks\":\"bb\"", at, "or one around it, was changed");
    refuse_edited("main/effect/ask/1", "main/effect/ask/2", at, "the new program has no such point");
    refuse_edited("\"dead\":[]}]", SECOND, at, "another statement of main reads the same");
    refuse_edited("\"callee\":\"ask\"", "\"callee\":\"ask\",\"class\":\"once\"", at,
                  "or its repeat class, were changed");
    refuse_edited("\"callee\":\"ask\"", "\"callee\":\"ask\",\"args\":[{\"name\":\"q\",\"type\":\"int\"}]", at,
                  "the arguments of ask");
    refuse_edited("\"name\":\"main\"", "\"name\":\"other\"", at, "the new program has no main");
    refuse_edited("\"result\":\"int\"}", "\"result\":\"float\"}", at, "the result of main was int");
    refuse_edited("\"workflows\":[", "\"workflows\":[{\"name\":\"main\",\"result\":\"int\"},", at,
                  "several parts of the program are called main");
    refuse_edited("\"name\":\"main\"", "\"name\":\"main\",\"of\":\"main/effect/ask/1\"", at,
                  "belongs to another statement");
}

/* A frame that has not begun has its arguments, by name. */
static void test_arguments(void **state)
{
    (void)state;
    const char *old = LAYOUT("");
    const char *before = "{\"tasks\":[{\"path\":\"1\",\"routine\":0,\"frames\":[{\"routine\":0,\"point\":0,\"params\":["
                         "[7],[\"x\"]]}]}]}";
    const char *after = "{\"tasks\":[{\"path\":\"1\",\"routine\":0,\"frames\":[{\"routine\":0,\"point\":0,\"params\":[["
                        "\"x\"],[7]]}]}]}";
    char *swapped = edited(old, "{\"name\":\"n\",\"type\":\"int\"},{\"name\":\"s\",\"type\":\"string\"}",
                           "{\"name\":\"s\",\"type\":\"string\"},{\"name\":\"n\",\"type\":\"int\"}");
    expect(old, swapped, before, after);
    free(swapped);
    refuse_edited("\"name\":\"s\",\"type\":\"string\"", "\"name\":\"t\",\"type\":\"string\"", before,
                  "has no value for t, which main needs now");
    refuse_edited("\"name\":\"s\",\"type\":\"string\"", "\"name\":\"s\",\"type\":\"int\"", before,
                  "its type was changed");
}

/* Damage, or somebody who wants it to do harm. */
static void test_impossible_snapshots(void **state)
{
    (void)state;
    static const char *const bad[] = {
        FRAME(""),
        FRAME("\"n\":7"),
        FRAME("\"n\":[]"),
        FRAME("\"n\":{}"),
        FRAME("\"m\":[7]"),
        "{\"tasks\":[{\"path\":\"1\",\"routine\":9}]}",
        "{\"tasks\":[{\"path\":\"1\",\"routine\":-1}]}",
        "{\"tasks\":[{\"path\":\"1\"}]}",
        "{\"tasks\":[{\"routine\":0,\"frames\":[{\"routine\":0,\"point\":99,\"slots\":{\"n\":[7]}}]}]}",
        "{\"tasks\":[{\"routine\":0,\"frames\":[{\"routine\":0,\"point\":-1}]}]}",
        "{\"tasks\":[{\"routine\":0,\"frames\":[{\"routine\":0,\"point\":0,\"params\":[[1],[2],[3]]}]}]}",
        "{\"tasks\":[{\"routine\":0,\"frames\":[3]}]}",
        "{\"tasks\":[3]}",
        "{\"tasks\":[{\"routine\":0,\"frames\":[],\"channels\":[{\"sender\":4,\"messages\":[{\"value\":[1]}]}]}]}",
        "{\"tasks\":[{\"routine\":0,\"frames\":[],\"undos\":[{\"routine\":0,\"point\":1,\"args\":[[1]]}]}]}",
        "{\"ended\":[{\"routine\":0,\"value\":4}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(LAYOUT("[0,\"n\",\"int\",0]"), LAYOUT("[1,\"n\",\"int\",0]"), bad[i], "is not in the snapshot");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_shared_values_follow_the_slots),
        cmocka_unit_test(test_made_variables_go_by_their_statement),
        cmocka_unit_test(test_names_that_occur_twice),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_impossible_snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
