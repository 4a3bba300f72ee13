/* fuzz_cookie.c: cookies that a browser sends, in which one of ours is looked for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "serve/cookie.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char *text = strndup((const char *)data, len), value[24];
    bool twice = false;
    if (!text) return 0;
    if (tfy__cookie_find(text, "tfy_session_1f0c", value, sizeof value, &twice)) {
        char whole[64] = "tfy_session_1f0c=";
        strcat(whole, value);
        CHECK(strstr(text, whole) && !strchr(value, ';'));
    }
    CHECK(!twice || strstr(strstr(text, "tfy_session_1f0c=") + 1, "tfy_session_1f0c="));
    free(text);
    return 0;
}
