/* tfy__align against a table of longest common subsequences: random sequences over few and over many different elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../runtime/cli/look/align.c" /* of tfy, not of the library */

#define MOST 40

static uint32_t seed = 7;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static uint32_t longest(const uint64_t *a, uint32_t n, const uint64_t *b, uint32_t m)
{
    uint32_t table[MOST + 1][MOST + 1] = {{0}};
    for (uint32_t i = 1; i <= n; i++)
        for (uint32_t j = 1; j <= m; j++) {
            uint32_t best = table[i - 1][j] > table[i][j - 1] ? table[i - 1][j] : table[i][j - 1];
            table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : best;
        }
    return table[n][m];
}

static void check(const uint64_t *a, uint32_t n, const uint64_t *b, uint32_t m, uint32_t wanted)
{
    uint32_t *pair = malloc((n + 1) * sizeof *pair), pairs = 0;
    int64_t last = -1;
    assert_true(tfy__align(a, n, b, m, pair));
    for (uint32_t i = 0; i < n; i++) {
        if (pair[i] == ALIGN_NONE) continue;
        assert_true(pair[i] < m);
        assert_true((int64_t)pair[i] > last);
        assert_true(a[i] == b[pair[i]]);
        last = pair[i];
        pairs++;
    }
    assert_int_equal(pairs, wanted);
    free(pair);
}

static void it_pairs_as_many_as_can_be(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        uint64_t a[MOST], b[MOST];
        const uint32_t n = draw(MOST + 1), m = draw(MOST + 1), kinds = 1 + draw(round % 2 ? 3 : 30);
        for (uint32_t i = 0; i < n; i++) a[i] = draw(kinds);
        for (uint32_t i = 0; i < m; i++) b[i] = draw(kinds);
        check(a, n, b, m, longest(a, n, b, m));
    }
}

static void what_differs_too_much_keeps_its_beginning_and_end(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    uint64_t *a = calloc(COUNT, sizeof *a), *b = calloc(COUNT, sizeof *b);
    for (uint32_t i = 0; i < COUNT; i++) {
        const int same = i < 10 || i >= COUNT - 5;
        a[i] = i;
        b[i] = same ? i : COUNT + i;
    }
    check(a, COUNT, b, COUNT, 15);
    for (uint32_t i = 0; i < COUNT; i++)
        b[i] = i < 400 || i > 800 ? i : COUNT + i; /* 802 are left over: looked through */
    check(a, COUNT, b, COUNT, COUNT - 401);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_pairs_as_many_as_can_be),
        cmocka_unit_test(what_differs_too_much_keeps_its_beginning_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
