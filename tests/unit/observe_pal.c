/* The ring of live events: numbers, bounds, gaps, filters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/pal.h"

static void push(TfyPal *pal, uint64_t seq, const char *task, const char *rest)
{
    char text[512];
    snprintf(text, sizeof text, "%s|%s", task, rest);
    char *copy = strdup(text);
    assert_non_null(copy);
    tfy__pal_push(pal, seq,
                  &(TfyPalEvent){.text = copy, .len = (uint32_t)strlen(copy), .task_len = (uint32_t)strlen(task)});
}

static void numbers_ascend_and_the_oldest_go(void **state)
{
    (void)state;
    TfyPal pal;
    TfyPalCursor cursor = {1, ""};
    const TfyPalEvent *event;
    uint64_t from;
    assert_true(tfy__pal_init(&pal, 5, 1 << 20));
    assert_int_equal(pal.mask, 7);
    assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_NONE);
    for (uint64_t i = 1; i <= 20; i++) {
        char rest[32];
        snprintf(rest, sizeof rest, "event %d", (int)i);
        push(&pal, i, "r/1", rest);
        assert_true(pal.next - pal.first <= 8);
    }
    assert_int_equal(pal.next, 21);
    assert_int_equal(pal.first, 13);
    assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_GAP);
    assert_int_equal(from, 1);
    assert_int_equal(cursor.next, 13);
    assert_int_equal(pal.lost, 12);
    for (int i = 13; i <= 20; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "r/1|event %d", i);
        assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_EVENT);
        assert_string_equal(event->text, wanted);
    }
    assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_NONE);
    tfy__pal_deinit(&pal);
}

static void the_ring_grows_as_events_come(void **state)
{
    (void)state;
    TfyPal pal;
    TfyPalCursor cursor = {301, ""};
    const TfyPalEvent *event;
    uint64_t from;
    assert_true(tfy__pal_init(&pal, 1000, 1 << 20));
    assert_int_equal(pal.mask, 63);
    for (uint64_t i = 301; i <= 600; i++) { /* the ring's beginning is not where event 0 would be */
        char rest[32];
        snprintf(rest, sizeof rest, "event %d", (int)i);
        push(&pal, i, "r/1", rest);
        assert_int_equal(pal.next - pal.first, i - 300);
    }
    assert_int_equal(pal.mask, 511);
    for (int i = 301; i <= 600; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "r/1|event %d", i);
        assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_EVENT);
        assert_string_equal(event->text, wanted);
    }
    for (uint64_t i = 601; i <= 3000; i++) push(&pal, i, "r/1", "x");
    assert_int_equal(pal.mask, 1023);
    assert_int_equal(pal.next - pal.first, 1024);
    tfy__pal_deinit(&pal);
}

static void bytes_are_bounded_too(void **state)
{
    (void)state;
    TfyPal pal;
    char rest[301];
    memset(rest, 'x', 300);
    rest[300] = '\0';
    assert_true(tfy__pal_init(&pal, 64, 1000));
    for (uint64_t i = 1; i <= 10; i++) {
        push(&pal, i, "r/1", rest);
        assert_true(pal.bytes <= 1000);
    }
    assert_int_equal(pal.next - pal.first, 3);
    /* The newest is kept, however long it is. */
    TfyPal small;
    assert_true(tfy__pal_init(&small, 64, 10));
    push(&small, 1, "r/1", "a");
    push(&small, 2, "r/1", rest);
    assert_int_equal(small.next - small.first, 1);
    push(&small, 3, "r/1", "b");
    assert_int_equal(small.next - small.first, 1);
    assert_int_equal(small.bytes, 5);
    tfy__pal_deinit(&small);
    tfy__pal_deinit(&pal);
}

/* An event for which there was no memory is missing for everybody. */
static void a_number_left_out_is_a_gap(void **state)
{
    (void)state;
    TfyPal pal;
    TfyPalCursor cursor = {1, ""};
    const TfyPalEvent *event;
    uint64_t from;
    assert_true(tfy__pal_init(&pal, 8, 1000));
    push(&pal, 1, "r/1", "a");
    assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_EVENT);
    push(&pal, 4, "r/1", "d");
    assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_GAP);
    assert_int_equal(from, 2);
    assert_int_equal(cursor.next, 4);
    assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_EVENT);
    assert_string_equal(event->text, "r/1|d");
    tfy__pal_deinit(&pal);
}

static void filters_take_a_task_and_all_below(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *task;
        bool matches;
    } cases[] = {
        {"", "r/1", true},          {"r", "r/1", true},      {"r", "r2/1", false},      {"r/1", "r/1", true},
        {"r/1", "r/1.2", true},     {"r/1", "r/10", false},  {"r/1.2", "r/1.2", true},  {"r/1.2", "r/1.2.7", true},
        {"r/1.2", "r/1.20", false}, {"r/1.2", "r/1", false}, {"r/1.2", "s/1.2", false}, {"r/", "r/1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(tfy__pal_matches(cases[i].filter, cases[i].task, strlen(cases[i].task)), cases[i].matches);
    TfyPal pal;
    TfyPalCursor cursor = {1, "r/1.2"};
    const TfyPalEvent *event;
    uint64_t from;
    assert_true(tfy__pal_init(&pal, 8, 1000));
    push(&pal, 1, "r/1", "a");
    push(&pal, 2, "r/1.2", "b");
    push(&pal, 3, "r/1.3", "c");
    assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_EVENT);
    assert_string_equal(event->text, "r/1.2|b");
    assert_int_equal(tfy__pal_read(&pal, &cursor, &event, &from), TFY_PAL_NONE);
    assert_int_equal(cursor.next, 4);
    tfy__pal_deinit(&pal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_ascend_and_the_oldest_go),
        cmocka_unit_test(the_ring_grows_as_events_come),
        cmocka_unit_test(bytes_are_bounded_too),
        cmocka_unit_test(a_number_left_out_is_a_gap),
        cmocka_unit_test(filters_take_a_task_and_all_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
