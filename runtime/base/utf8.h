/* utf8.h: steps through UTF-8, for strings, the JSON writer, and readers of text that arrives in pieces. Strings
 * inside the runtime are always valid; only bytes from outside need the full check. */
#ifndef TFY_BASE_UTF8_H
#define TFY_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the valid sequence at p (1 to 4), or minus the length of the broken one, which a decoder replaces
 * with a single U+FFFD. left must be above 0. */
static inline int tfy__utf8_step(const unsigned char *p, size_t left)
{
    unsigned char lead = p[0], low = 0x80, high = 0xBF;
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return -1;
    int need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead == 0xE0) low = 0xA0;  /* else overlong */
    if (lead == 0xED) high = 0x9F; /* else a surrogate */
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F; /* else beyond U+10FFFF */
    for (int i = 1; i < need; i++) {
        if ((size_t)i >= left || p[i] < low || p[i] > high) return -i;
        low = 0x80;
        high = 0xBF;
    }
    return need;
}

/* Where the first byte is that is not part of a valid sequence; len: all are. */
static inline size_t tfy__utf8_broken(const char *bytes, size_t len)
{
    size_t at = 0;
    for (int step; at < len; at += (size_t)step)
        if ((step = tfy__utf8_step((const unsigned char *)bytes + at, len - at)) < 0) break;
    return at;
}

/* The length of the sequence that starts with this byte, in valid text. */
static inline uint32_t tfy__utf8_len(char lead)
{
    unsigned char byte = (unsigned char)lead;
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/* How many bytes at the end are the start of an incomplete character, which more bytes may complete. Bytes that no
 * valid character starts with do not count. */
static inline size_t tfy__utf8_torn_tail(const char *bytes, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        const unsigned char *last = (const unsigned char *)bytes + len - back;
        if ((*last & 0xC0) == 0x80) continue;
        const bool begins = *last >= 0xC2 && *last <= 0xF4;
        return begins && tfy__utf8_step(last, back) == -(int)back ? back : 0;
    }
    return 0;
}

/* How many of the bytes fit into `most`, without tearing a character. */
static inline size_t tfy__utf8_fit(const char *bytes, size_t len, size_t most)
{
    return len <= most ? len : most - tfy__utf8_torn_tail(bytes, most);
}

#define TFY__REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

#endif
