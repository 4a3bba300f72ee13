/* Growing arrays, lists and tables against what plain code says of the same numbers. */
#include "base/grow.h"
#include "base/list.h"
#include "base/sys_memory.h"
#include "base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 3000 };

/* ---- arrays ---- */

static void an_array_keeps_its_items_and_refuses_what_cannot_be(void **state)
{
    uint32_t *items = NULL, cap = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        assert_true(GROW(items, cap, i + 1, 3));
        items[i] = i;
    }
    assert_int_equal(cap, 3072);
    for (uint32_t i = 0; i < MANY; i++) assert_int_equal(items[i], i);
    assert_int_equal(tfy__grow_cap(0, 1, 16, 8), 16);
    assert_int_equal(tfy__grow_cap(16, 100, 16, 8), 128);
    assert_int_equal(tfy__grow_cap(16, SIZE_MAX / 8, 16, 8), 0);
    assert_int_equal(tfy__grow_cap(16, (size_t)INT32_MAX + 1, 16, 8), 0);
    assert_int_equal(tfy__grow_cap((size_t)1 << 30, ((size_t)1 << 30) + 1, 16, 8), INT32_MAX);
    assert_true(tfy__sys_starved());
    const size_t too_many = SIZE_MAX / 4;
    assert_false(GROW(items, cap, too_many, 16));
    assert_int_equal(cap, 3072);
    assert_int_equal(items[MANY - 1], MANY - 1);
    assert_true(tfy__sys_starved());
    free(items);
}

/* ---- lists ---- */

typedef struct Item {
    int number;
    struct Item *prev, *next;
} Item;

typedef LIST(Item) Items;

static const char *numbers(const Items *items)
{
    static char text[64];
    text[0] = '\0';
    const Item *before = NULL;
    for (const Item *item = items->first; item; before = item, item = item->next)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d", item->number);
    assert_ptr_equal(items->last, before);
    return text;
}

static void a_list_linked_one_way_keeps_its_last(void **state)
{
    Item item[5] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    Items items = {0}, others = {0};
    assert_null(LIST_TAKE(&items, next));
    LIST_APPEND(&items, &item[1], next);
    LIST_APPEND(&items, &item[2], next);
    LIST_PREPEND(&items, &item[0], next);
    assert_string_equal(numbers(&items), "012");
    assert_true(LIST_REMOVE(&items, &item[2], next));
    assert_false(LIST_REMOVE(&items, &item[2], next));
    assert_string_equal(numbers(&items), "01");
    LIST_APPEND(&others, &item[3], next);
    LIST_APPEND(&others, &item[4], next);
    LIST_PREPEND_ALL(&items, &others, next);
    assert_string_equal(numbers(&items), "3401");
    assert_string_equal(numbers(&others), "");
    LIST_PREPEND_ALL(&items, &others, next);
    LIST_PREPEND_ALL(&others, &items, next);
    assert_string_equal(numbers(&others), "3401");
    assert_int_equal(LIST_TAKE(&others, next)->number, 3);
    assert_true(LIST_REMOVE(&others, &item[0], next));
    assert_string_equal(numbers(&others), "41");
    assert_int_equal(LIST_TAKE(&others, next)->number, 4);
    assert_int_equal(LIST_TAKE(&others, next)->number, 1);
    assert_string_equal(numbers(&others), "");
    LIST_PREPEND(&others, &item[2], next);
    assert_string_equal(numbers(&others), "2");
}

static void a_list_linked_both_ways_loses_any_item(void **state)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        Item item[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
        Items items = {0};
        for (int k = 0; k < 3; k++) LIST2_APPEND(&items, &item[k], prev, next);
        assert_string_equal(numbers(&items), "012");
        for (int k = 0; k < 3; k++) {
            LIST2_REMOVE(&items, &item[orders[i][k]], prev, next);
            assert_null(strchr(numbers(&items), '0' + orders[i][k]));
            assert_int_equal(strlen(numbers(&items)), 2 - k);
        }
        assert_null(items.first);
    }
}

/* ---- tables ---- */

typedef struct Thing {
    TfyLink link;
    uint64_t key;
    bool there;
} Thing;

static void things_are_found_newest_first_whatever_came_and_went(void **state)
{
    TfyTable table = {0};
    Thing *things = calloc(MANY, sizeof *things);
    assert_null(tfy__table_find(&table, 1));
    for (size_t i = 0; i < MANY; i++) { /* three of each key */
        things[i] = (Thing){.key = i % (MANY / 3), .there = true};
        assert_true(tfy__table_reserve(&table));
        tfy__table_add(&table, &things[i].link, tfy__mix(things[i].key));
    }
    for (size_t i = 0; i < MANY; i += 5) {
        tfy__table_remove(&table, &things[i].link);
        things[i].there = false;
    }
    for (size_t key = 0; key < MANY / 3; key++) {
        const TfyLink *link = tfy__table_find(&table, tfy__mix(key));
        for (size_t round = 3; round--;) {
            Thing *thing = &things[key + round * (MANY / 3)];
            if (!thing->there) continue;
            assert_ptr_equal(link, &thing->link);
            link = tfy__table_next(link);
        }
        assert_null(link);
    }
    size_t seen = 0;
    for (const TfyLink *link = tfy__table_walk(&table, NULL); link; link = tfy__table_walk(&table, link)) seen++;
    assert_int_equal(seen, table.count);
    assert_int_equal(seen, MANY - MANY / 5);
    tfy__table_free(&table);
    free(things);
}

/* Its low bits are the same for many, so that searches are long and cross one another. */
static uint64_t key_of(const void *owner, uint32_t number)
{
    return ((const uint64_t *)owner)[number];
}

static void an_index_finds_what_is_there_and_nothing_else(void **state)
{
    uint64_t *keys = calloc(MANY + 1, sizeof *keys);
    bool *there = calloc(MANY + 1, sizeof *there);
    TfyIndex index = {0};
    uint64_t seed = 7;
    uint32_t count = 0;
    for (uint32_t i = 1; i <= MANY; i++) keys[i] = (uint64_t)i << 32 | (i * 7 % 64) << 3;
    assert_int_equal(tfy__index_find(&index, keys[1], key_of, keys), 0);
    for (int round = 0; round < 20000; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const uint32_t number = 1 + (uint32_t)(seed >> 33) % 300;
        if (there[number]) {
            tfy__index_remove(&index, number, key_of, keys);
            count--;
        } else {
            assert_true(tfy__index_reserve(&index, key_of, keys));
            tfy__index_add(&index, number, key_of, keys);
            count++;
        }
        there[number] = !there[number];
        assert_int_equal(index.count, count);
        for (uint32_t i = 1; round % 97 == 0 && i <= MANY; i++)
            assert_int_equal(tfy__index_find(&index, keys[i], key_of, keys), there[i] ? i : 0);
    }
    tfy__index_free(&index);
    free(there);
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_its_items_and_refuses_what_cannot_be),
        cmocka_unit_test(a_list_linked_one_way_keeps_its_last),
        cmocka_unit_test(a_list_linked_both_ways_loses_any_item),
        cmocka_unit_test(things_are_found_newest_first_whatever_came_and_went),
        cmocka_unit_test(an_index_finds_what_is_there_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
