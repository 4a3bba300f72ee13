/* fuzz_follow.c: what a follower reads from outside: an address of a configuration, and the file of a cursor. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "publish/address.h"
#include "publish/cursor.h"

static void read_address(const char *text)
{
    static const char *const names[] = {"stream", "max", NULL};
    TfyAddress address;
    char error[TFY_ERROR_TEXT];
    if (!tfy__address_read(&address, text, error)) return;
    if (tfy__address_parameters(&address, names, error)) tfy__address_parameter(&address, "max");
    assert(strlen(address.shown) < sizeof address.shown);
    tfy__address_free(&address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), place[TFY_CURSOR_PLACE];
    TfyCursorState state;
    memcpy(text, data, size);
    text[size] = '\0';
    read_address(text);
    memset(place, ' ', sizeof place);
    memcpy(place, data, size < sizeof place ? size : sizeof place);
    tfy__follow_cursor_seal(place);
    if (tfy__follow_cursor_read(place, &state)) assert(state.lsn >= 0);
    free(text);
    return 0;
}
