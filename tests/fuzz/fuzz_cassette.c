/* fuzz_cassette.c: any bytes as a recorded session: refused with a place, or read; never more. What was read can be found. */
#include "effects/llm.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyCassette *cassette = tfy__cassette_new();
    if (!cassette) return 0;
    bool ok = tfy__cassette_read(cassette, (const char *)bytes, len, "input", error);
    assert(ok || strncmp(error, "input:", 6) == 0);
    tfy__cassette_find(cassette, 0, 1);
    tfy__cassette_free(cassette);
    return 0;
}
