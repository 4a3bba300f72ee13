/* HMAC-SHA256 against the test cases 1, 2 and 6 of RFC 4231. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hmac.h"

static void comes_to(const void *key, size_t key_len, const char *text, const char *wanted)
{
    unsigned char mac[TFY_SHA256_SIZE];
    char hex[2 * TFY_SHA256_SIZE + 1];
    assert_true(tfy__hmac_sha256(key, key_len, text, strlen(text), mac));
    for (int i = 0; i < TFY_SHA256_SIZE; i++) snprintf(hex + 2 * i, 3, "%02x", mac[i]);
    assert_string_equal(hex, wanted);
}

static void keys_of_all_lengths(void **state)
{
    char key[131];
    memset(key, 0x0b, 20);
    comes_to(key, 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    comes_to("Jefe", 4, "what do ya want for nothing?",
             "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    comes_to(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First",
             "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_of_all_lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
