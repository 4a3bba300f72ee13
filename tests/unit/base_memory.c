/* base_memory.c: the blocks that a thread keeps for jansson are used again, and go back to malloc. */
#include "base/sys_memory.h"

#include <jansson.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 64, BYTES = 32 }; /* numbers of a list, and what malloc takes for each at least */

#if TFY_KEEPS_BLOCKS
static size_t in_use(void)
{
    return mallinfo2().uordblks;
}

static void read_and_drop(void)
{
    json_t *list = json_array();
    for (int i = 0; i < COUNT; i++) assert_int_equal(json_array_append_new(list, json_integer(i)), 0);
    assert_int_equal(json_integer_value(json_array_get(list, COUNT - 1)), COUNT - 1);
    json_decref(list);
}

static void *keep_some(void *kept)
{
    tfy__sys_watch_json();
    const size_t before = in_use();
    read_and_drop();
    const size_t after = in_use();
    read_and_drop();
    *(bool *)kept = after >= before + COUNT / 2 * BYTES && in_use() == after;
    return NULL;
}

static void blocks_are_kept_until_their_thread_ends(void **state)
{
    (void)state;
    bool kept = false;
    pthread_t thread;
    tfy__sys_watch_json();
    assert_int_equal(pthread_create(&thread, NULL, keep_some, &kept), 0); /* its stack and arena stay */
    pthread_join(thread, NULL);
    const size_t before = in_use();
    kept = false;
    assert_int_equal(pthread_create(&thread, NULL, keep_some, &kept), 0);
    pthread_join(thread, NULL);
    assert_true(kept);
    assert_true(in_use() < before + COUNT / 2 * BYTES);
}

static void blocks_are_kept_until_memory_is_given_back(void **state)
{
    (void)state;
    tfy__sys_watch_json();
    tfy__sys_trim();
    const size_t before = in_use();
    read_and_drop();
    assert_true(in_use() >= before + COUNT / 2 * BYTES);
    tfy__sys_trim();
    assert_true(in_use() < before + COUNT / 2 * BYTES);
}
#endif

/* Of each size up to beyond those that are kept. */
static void texts_of_all_sizes_are_whole(void **state)
{
    (void)state;
    char text[301];
    tfy__sys_watch_json();
    for (size_t len = 0; len < sizeof text; len++) {
        memset(text, 'a' + (int)(len % 26), len);
        for (int twice = 0; twice < 2; twice++) {
            json_t *one = json_stringn(text, len), *other = json_stringn(text, len);
            assert_true(json_equal(one, other) && json_string_length(one) == len);
            json_decref(one);
            assert_memory_equal(json_string_value(other), text, len);
            json_decref(other);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_all_sizes_are_whole),
#if TFY_KEEPS_BLOCKS
        cmocka_unit_test(blocks_are_kept_until_their_thread_ends),
        cmocka_unit_test(blocks_are_kept_until_memory_is_given_back),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
