/* Where this program is, what is beside it, and names that are too long for a path. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/own_path.h"

static void stands_beside_itself(void **state)
{
    char own[PATH_MAX], beside[PATH_MAX];
    assert_true(tfy__own_path(own));
    assert_int_equal(access(own, X_OK), 0);
    assert_true(tfy__path_beside("unit_base_own_path", beside));
    assert_string_equal(beside, own);
    assert_true(tfy__path_beside("../tests/unit_base_own_path", beside));
    assert_int_equal(access(beside, X_OK), 0);
}

static void refuses_a_name_that_is_too_long(void **state)
{
    static char name[PATH_MAX];
    char own[PATH_MAX], beside[PATH_MAX];
    assert_true(tfy__own_path(own));
    const size_t dir = (size_t)(strrchr(own, '/') + 1 - own);
    memset(name, 'n', PATH_MAX - dir - 1);
    assert_true(tfy__path_beside(name, beside));
    assert_int_equal(strlen(beside), PATH_MAX - 1);
    name[PATH_MAX - dir - 1] = 'n';
    errno = 0;
    assert_false(tfy__path_beside(name, beside));
    assert_int_equal(errno, ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stands_beside_itself),
                                       cmocka_unit_test(refuses_a_name_that_is_too_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
