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

bool tfy__buffer_grow(TfyBuffer *buffer, size_t len)
{
    if (buffer->failed) return false;
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

/* Copies the bytes of a text up to the first that is not ASCII or that JSON escapes; returns how many. */
static inline size_t copy_plain(char *to, const unsigned char *text, size_t len)
{
    static const bool plain[256] = {[' ' ... '!'] = true, ['#' ... '['] = true, [']' ... 0x7f] = true};
    size_t at = 0;
    for (; at < len && plain[text[at]]; at++) to[at] = (char)text[at];
    return at;
}

/* Most strings are names: they are plain as a whole. */
void tfy__buffer_json_string(TfyBuffer *buffer, const char *bytes, size_t len)
{
    const unsigned char *text = (const unsigned char *)bytes;
    tfy__buffer_char(buffer, '"');
    for (size_t at = 0; tfy__buffer_reserve(buffer, len - at + 1);) {
        const size_t plain = copy_plain(buffer->data + buffer->len, text + at, len - at);
        buffer->len += plain;
        at += plain;
        if (at == len) break;
        const int step = tfy__utf8_step(text + at, len - at);
        if (step < 0)
            tfy__buffer_text(buffer, TFY__REPLACEMENT);
        else if (step > 1)
            tfy__buffer_add(buffer, text + at, (size_t)step);
        else
            add_escaped(buffer, text[at]);
        at += (size_t)(step > 0 ? step : -step);
    }
    tfy__buffer_char(buffer, '"');
}

static void put_shown(void *to, const char *bytes, size_t len)
{
    tfy__buffer_add(to, bytes, len);
}

static bool is_unreserved(unsigned char byte)
{
    const unsigned char letter = byte | 0x20;
    return (letter >= 'a' && letter <= 'z') || (byte >= '0' && byte <= '9') || (byte && strchr("-._~", byte));
}

void tfy__buffer_url_part(TfyBuffer *buffer, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (is_unreserved(byte))
            tfy__buffer_char(buffer, (char)byte);
        else
            tfy__buffer_printf(buffer, "%%%02X", byte);
    }
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

void tfy__buffer_wipe(TfyBuffer *buffer)
{
    if (buffer->data) explicit_bzero(buffer->data, buffer->cap);
    tfy__buffer_free(buffer);
}
