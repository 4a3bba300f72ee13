/* sse.c: the framing of server-sent events, cut at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/sse.h"

#include <stdlib.h>

/* The events as one text, "<data>" for each; `refuses` stops after so many. */
typedef struct Heard {
    TfyBuffer text;
    int count, refuses;
} Heard;

static bool hear(void *arg, const char *data, size_t len)
{
    Heard *heard = arg;
    assert_int_equal(data[len], '\0');
    tfy__buffer_char(&heard->text, '<');
    tfy__buffer_add(&heard->text, data, len);
    tfy__buffer_char(&heard->text, '>');
    return ++heard->count != heard->refuses;
}

static void check_pieces(const char *stream, size_t len, size_t first, size_t each, const char *wanted)
{
    TfySse sse = {.most = 1000};
    Heard heard = {.count = 0};
    for (size_t at = 0, n = first; at < len; at += n, n = each) {
        if (n > len - at) n = len - at;
        char *piece = malloc(n + 1); /* of its own, so that a sanitizer sees what is read behind it */
        memcpy(piece, stream + at, n);
        assert_true(tfy__sse_feed(&sse, piece, n, hear, &heard));
        free(piece);
    }
    assert_string_equal(heard.text.data ? heard.text.data : "", wanted);
    tfy__buffer_free(&heard.text);
    tfy__sse_free(&sse);
}

/* The stream whole, byte by byte, and in two parts cut at each place. */
static void check(const char *stream, size_t len, const char *wanted)
{
    check_pieces(stream, len, 1, 1, wanted);
    for (size_t cut = 1; cut <= len; cut++) check_pieces(stream, len, cut, len, wanted);
}

#define CHECK_STREAM(stream, wanted) check(stream, sizeof stream - 1, wanted)

static void lines_end_in_three_ways(void **state)
{
    CHECK_STREAM("data: a\n\ndata: b\n\n", "<a><b>");
    CHECK_STREAM("data: a\r\rdata: b\r\r", "<a><b>");
    CHECK_STREAM("data: a\r\n\r\ndata: b\r\n\r\n", "<a><b>");
    CHECK_STREAM("data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", "<a><b><c>");
    CHECK_STREAM("data: a\n\r", "<a>");
}

static void what_is_an_event(void **state)
{
    CHECK_STREAM("", "");
    CHECK_STREAM("\n\n\n", "");
    CHECK_STREAM(": comment\n\n:\ndata: a\n: between\ndata: b\n\n", "<a\nb>");
    CHECK_STREAM("event: ping\n\nevent: x\nid: 7\nretry: 10\ndata: a\n\n", "<a>");
    CHECK_STREAM("data: cut off", "");
    CHECK_STREAM("data: cut off\n", "");
    CHECK_STREAM("data\n\ndata:\n\ndata: \n\n", "<><><>");
    CHECK_STREAM("data\ndata\n\n", "<\n>");
    CHECK_STREAM("data:a\n\ndata:  b\n\ndata: c: d\n\n", "<a>< b><c: d>");
    CHECK_STREAM("dat: a\n\ndatas: a\n\n data: a\n\nDATA: a\n\n{\"a\": 1}\n\n", "");
}

static void a_mark_at_the_start_is_passed_over(void **state)
{
    CHECK_STREAM("\xef\xbb\xbf"
                 "data: a\n\n",
                 "<a>");
    CHECK_STREAM("\xef\xbb\xbf\ndata: a\n\n", "<a>");
    CHECK_STREAM("\n\xef\xbb\xbf"
                 "data: a\n\n",
                 "");
    CHECK_STREAM("\xef\xbb"
                 "data: a\n\n",
                 "");
}

static void any_byte_may_be_in_the_data(void **state)
{
    static const char stream[] = "data: a\0b\xff\n\n";
    TfySse sse = {.most = 100};
    Heard heard = {.count = 0};
    assert_true(tfy__sse_feed(&sse, stream, sizeof stream - 1, hear, &heard));
    assert_int_equal(heard.text.len, 6);
    assert_memory_equal(heard.text.data, "<a\0b\xff>", 6);
    tfy__buffer_free(&heard.text);
    tfy__sse_free(&sse);
}

static void long_events_fail(void **state)
{
    char line[64];
    Heard heard = {.count = 0};
    TfySse sse = {.most = 40};
    memset(line, 'x', sizeof line);
    memcpy(line, "data: ", 6);
    assert_true(tfy__sse_feed(&sse, line, 30, hear, &heard));
    assert_false(tfy__sse_feed(&sse, line, 30, hear, &heard)); /* a line */
    assert_false(tfy__sse_feed(&sse, "\n", 1, hear, &heard));  /* … and it stays so */
    tfy__sse_free(&sse);
    assert_int_equal(sse.most, 40);
    for (int i = 0; i < 3; i++) /* 17 bytes each, with their line feeds */
        assert_int_equal(tfy__sse_feed(&sse, "data: 0123456789abcdef\n", 23, hear, &heard), i < 2);
    assert_int_equal(heard.count, 0);
    tfy__sse_free(&sse);
    assert_true(tfy__sse_feed(&sse, "data: a\n\n", 9, hear, &heard)); /* freed, it takes another stream */
    tfy__sse_free(&sse);
    tfy__buffer_free(&heard.text);
}

static void nothing_more_is_read_than_is_wanted(void **state)
{
    TfySse sse = {.most = 100};
    Heard heard = {.refuses = 2};
    assert_false(tfy__sse_feed(&sse, "data: a\n\ndata: b\n\ndata: c\n\n", 27, hear, &heard));
    assert_string_equal(heard.text.data, "<a><b>");
    tfy__sse_free(&sse);
    tfy__buffer_free(&heard.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_in_three_ways),
        cmocka_unit_test(what_is_an_event),
        cmocka_unit_test(a_mark_at_the_start_is_passed_over),
        cmocka_unit_test(any_byte_may_be_in_the_data),
        cmocka_unit_test(long_events_fail),
        cmocka_unit_test(nothing_more_is_read_than_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
