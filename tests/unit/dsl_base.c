/* dsl_base.c: positions, messages and suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "name.h"

typedef struct World {
    Arena arena;
    SourceSet sources;
    DiagList diags;
} World;

static int open_world(void **state)
{
    World *w = calloc(1, sizeof *w);
    arena_init(&w->arena, 0);
    source_set_init(&w->sources, &w->arena);
    diag_init(&w->diags, &w->arena, &w->sources);
    *state = w;
    return 0;
}

static int close_world(void **state)
{
    World *w = *state;
    arena_deinit(&w->arena);
    free(w);
    return 0;
}

static Source *add(World *w, const char *name, const char *text)
{
    return source_add(&w->sources, name, text, strlen(text));
}

/* Out of line: gcc 12 takes what open_memstream returns for the address of text. */
__attribute__((noinline)) static char *printed(World *w, bool json)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (json) {
        diag_print_json(&w->diags, out);
    } else {
        diag_print(&w->diags, out, false);
    }
    fclose(out);
    return text;
}

static void assert_position(World *w, uint32_t off, const char *name, uint32_t line, uint32_t col)
{
    LineCol where = source_line_col(&w->sources, off);
    assert_string_equal(where.source->name, name);
    assert_int_equal(where.line, line);
    assert_int_equal(where.col, col);
}

static void columns_count_code_points(void **state)
{
    World *w = *state;
    Source *a = add(w, "a", "x\n\xc3\xa9\xe6\xbc\xa2z\n"), *b = add(w, "b", "");
    assert_position(w, a->base, "a", 1, 1);
    assert_position(w, a->base + 1, "a", 1, 2);
    assert_position(w, a->base + 7, "a", 2, 3);
    assert_position(w, a->base + a->len, "a", 3, 1);
    assert_position(w, b->base, "b", 1, 1);
}

static void names_are_interned_across_growth(void **state)
{
    World *w = *state;
    const char *first = name_intern(&w->sources, "name", 4);
    for (int i = 0; i < 5000; i++) {
        char text[16];
        int len = snprintf(text, sizeof text, "n%d", i);
        assert_ptr_equal(name_intern(&w->sources, text, (size_t)len), name_intern(&w->sources, text, (size_t)len));
    }
    assert_ptr_equal(name_intern(&w->sources, "name", 4), first);
    assert_ptr_not_equal(name_intern(&w->sources, "nam", 3), first);
}

static void grown_arrays_keep_their_items(void **state)
{
    World *w = *state;
    uint32_t cap = 0;
    int *items = NULL;
    for (int i = 0; i < 1000; i++) {
        items = arena_grow(&w->arena, items, &cap, (uint32_t)i + 1, sizeof *items);
        items[i] = i;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(items[i], i);
}

static void messages_come_in_source_order(void **state)
{
    World *w = *state;
    add(w, "f.tfy", "one\n\ttwo \xe6\xbc\xa2 three\n");
    Diag *second = diag_error(&w->diags, (Span){13, 5}, "second");
    diag_hint(&w->diags, second, "do %s", "this");
    diag_other(&w->diags, second, (Span){5, 3}, "because of this");
    diag_error(&w->diags, (Span){0, 3}, "first");
    char *text = printed(w, false);
    assert_string_equal(text, "f.tfy:1:1: error: first\n"
                              "    one\n"
                              "    ^~~\n"
                              "f.tfy:2:8: error: second\n"
                              "        two \xe6\xbc\xa2 three\n"
                              "               ^~~~~\n"
                              "    hint: do this\n"
                              "f.tfy:2:2: note: because of this\n"
                              "        two \xe6\xbc\xa2 three\n"
                              "        ^~~\n");
    free(text);
}

static void messages_are_bounded(void **state)
{
    World *w = *state;
    add(w, "f.tfy", "x\n");
    for (int i = 0; i < 60; i++) diag_error(&w->diags, (Span){0, 1}, "mistake %d", i);
    char *text = printed(w, false);
    assert_int_equal(w->diags.errors, 60);
    assert_non_null(strstr(text, "mistake 49"));
    assert_null(strstr(text, "mistake 50"));
    free(text);
}

static void long_lines_are_shown_in_part(void **state)
{
    World *w = *state;
    char line[2001];
    memset(line, 'x', 2000);
    line[1000] = '!';
    line[2000] = 0;
    add(w, "f.tfy", line);
    diag_error(&w->diags, (Span){1000, 1}, "here");
    char *text = printed(w, false), *excerpt = strchr(text, '\n') + 1, *carets = strchr(excerpt, '\n') + 1;
    assert_true(strlen(excerpt) < 500);
    assert_int_equal(strchr(excerpt, '!') - excerpt, strchr(carets, '^') - carets);
    free(text);
}

static void json_tells_the_same(void **state)
{
    World *w = *state;
    add(w, "f.tfy", "one \"two\"\n");
    diag_error(&w->diags, (Span){4, 5}, "quote \"this\"");
    char *text = printed(w, true);
    assert_non_null(strstr(text, "\"message\":\"quote \\\"this\\\"\""));
    assert_non_null(strstr(text, "\"end_col\":10"));
    free(text);
}

static void suggestions_are_near(void **state)
{
    (void)state;
    static const char *const words[] = {"while", "with", "return", "name", "reason"};
    assert_string_equal(diag_nearest("whlie", 5, words, 5), "while");
    assert_string_equal(diag_nearest("nmae", 4, words, 5), "name");
    assert_string_equal(diag_nearest("RETURN", 6, words, 5), "return");
    assert_string_equal(diag_nearest("retur", 5, words, 5), "return");
    assert_null(diag_nearest("zzz", 3, words, 5));
    assert_null(diag_nearest("x", 1, words, 5));
    assert_null(diag_nearest("", 0, words, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_count_code_points, open_world, close_world),
        cmocka_unit_test_setup_teardown(names_are_interned_across_growth, open_world, close_world),
        cmocka_unit_test_setup_teardown(grown_arrays_keep_their_items, open_world, close_world),
        cmocka_unit_test_setup_teardown(messages_come_in_source_order, open_world, close_world),
        cmocka_unit_test_setup_teardown(messages_are_bounded, open_world, close_world),
        cmocka_unit_test_setup_teardown(long_lines_are_shown_in_part, open_world, close_world),
        cmocka_unit_test_setup_teardown(json_tells_the_same, open_world, close_world),
        cmocka_unit_test(suggestions_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
