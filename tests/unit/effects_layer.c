/* The layer of partial cells: kept as long as nothing changes that its rules are about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "effects/cell.h"

static void test_kept(void **state)
{
    TfyCellLayer layer = {0};
    TfyCellAnswer answer;
    const int program = tfy__cell_open();
    (void)state;
    assert_true(program >= 0);
    if (tfy__cell_probe(TFY_CELL_PARTIAL, &answer) != 0) skip();
    const int ruleset = tfy__cell_layer(&layer, program);
    if (ruleset < 0) skip(); /* /etc was changed this very moment */
    assert_int_equal(tfy__cell_layer(&layer, program), ruleset);
    for (int i = 0; i < TFY_CELL_RULED; i++) {
        const TfyCellRuled before = layer.ruled[i];
        layer.ruled[i].changed_ns++;
        layer.ruled[2 - i].inode++;
        assert_true(tfy__cell_layer(&layer, program) > 0);
        assert_int_equal(layer.ruled[i].changed_ns, before.changed_ns);
    }
    tfy__cell_layer_free(&layer);
    assert_int_equal(layer.ruleset, 0);
    close(program);
}

/* What is not tfy-cell hands out nothing, and the cell makes its rules itself. */
static void test_none(void **state)
{
    TfyCellLayer layer = {0};
    (void)state;
    assert_int_equal(tfy__cell_layer(&layer, STDIN_FILENO), -1);
    assert_int_equal(layer.ruleset, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
