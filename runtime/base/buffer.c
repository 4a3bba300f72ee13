/* buffer.c: see buffer.h. */
#include "buffer.h"
#include "check.h"
#include "grow.h"
#include "shown.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64 /* bytes */
#define FORMATTED  64 /* bytes that suffice for most formatted texts */

bool tfy__buffer_reserve(TfyBuffer *buffer, size_t len)
{
    if (buffer->failed) return false;
    if (len < buffer->cap && buffer->len < buffer->cap - len) return true;
    const size_t max = buffer->max ? buffer->max : TFY_BUFFER_MAX;
    if (len > max || buffer->len + len > max) {
        buffer->failed = true;
        return false;
    }
    CHECK(!buffer->data || buffer->len < buffer->cap);
    if (!GROW(buffer->data, buffer->cap, buffer->len + len + 1, FIRST_ROOM)) buffer->failed = buffer->starved = true;
    return !buffer->failed;
}

void tfy__buffer_printf(TfyBuffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tfy__buffer_vprintf(buffer, format, args);
    va_end(args);
}

void tfy__buffer_vprintf(TfyBuffer *buffer, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    /* Format into the room there is: it is usually enough. */
    size_t room = tfy__buffer_reserve(buffer, FORMATTED) ? buffer->cap - buffer->len : 0;
    int len = vsnprintf(room ? buffer->data + buffer->len : NULL, room, format, args);
    if (len < 0) buffer->failed = true;
    if (len >= 0 && (size_t)len >= room && tfy__buffer_reserve(buffer, (size_t)len))
        vsnprintf(buffer->data + buffer->len, (size_t)len + 1, format, again);
    if (!buffer->failed) buffer->len += (size_t)len;
    va_end(again);
    if (buffer->failed && buffer->data) buffer->data[buffer->len] = '\0';
}

void tfy__buffer_int(TfyBuffer *buffer, int64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[20];
    char *at = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (; rest > 9; rest /= 100) memcpy(at -= 2, &pairs[rest % 100 * 2], 2);
    if (rest || at == digits + sizeof digits) *--at = (char)('0' + rest);
    if (value < 0) *--at = '-';
    tfy__buffer_add(buffer, at, (size_t)(digits + sizeof digits - at));
}

static void add_escaped(TfyBuffer *buffer, unsigned char c)
{
    static const char shorts[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    char text[8] = "\\";
    if (c == '"' || c == '\\') {
        text[1] = (char)c;
    } else if (c < sizeof shorts && shorts[c]) {
        text[1] = shorts[c];
    } else {
        snprintf(text, sizeof text, "\\u%04x", c);
    }
    tfy__buffer_text(buffer, text);
}

void tfy__buffer_json_string(TfyBuffer *buffer, const char *bytes, size_t len)
{
    const unsigned char *text = (const unsigned char *)bytes;
    tfy__buffer_char(buffer, '"');
    size_t start = 0, at = 0; /* text[start..at) needs no escape */
    while (at < len) {
        unsigned char c = text[at];
        int step = c < 0x80 ? 1 : tfy__utf8_step(text + at, len - at);
        if (step > 0 && c >= 0x20 && c != '"' && c != '\\') {
            at += (size_t)step;
            continue;
        }
        tfy__buffer_add(buffer, text + start, at - start);
        if (step > 0) {
            add_escaped(buffer, c);
        } else {
            tfy__buffer_text(buffer, TFY__REPLACEMENT);
        }
        at += (size_t)(step > 0 ? 1 : -step);
        start = at;
    }
    tfy__buffer_add(buffer, text + start, at - start);
    tfy__buffer_char(buffer, '"');
}

static void put_shown(void *to, const char *bytes, size_t len)
{
    tfy__buffer_add(to, bytes, len);
}

void tfy__buffer_shown(TfyBuffer *buffer, const char *text, size_t len)
{
    tfy__shown_each(text, len, put_shown, buffer);
}

void tfy__buffer_reset(TfyBuffer *buffer)
{
    buffer->len = 0;
    buffer->depth = 0;
    buffer->failed = buffer->starved = false;
    if (buffer->data) buffer->data[0] = '\0';
}

void tfy__buffer_free(TfyBuffer *buffer)
{
    free(buffer->data);
    *buffer = (TfyBuffer){0};
}
