/* shown.c: see shown.h. */
#include "shown.h"
#include "utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Whether a terminal obeys this character, or it misleads the eye. */
static bool is_obeyed(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x08},       {0x0b, 0x1f},     {0x7f, 0x9f},     /* controls, except tab and line feed */
        {0x61c, 0x61c},     {0x200b, 0x200f}, {0x202a, 0x202e}, /* directions, and characters of no width */
        {0x2060, 0x206f},   {0xfeff, 0xfeff},                   /* more of them; the byte order mark */
        {0xe0000, 0xe007f},                                     /* tags: invisible ASCII */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return true;
    return false;
}

size_t tfy__shown_step(const char *text, size_t left, char shown[TFY_SHOWN_MAX])
{
    const unsigned char *bytes = (const unsigned char *)text;
    const int len = tfy__utf8_step(bytes, left);
    uint32_t point = len > 1 ? bytes[0] & 0xffu >> (len + 1) : bytes[0];
    for (int i = 1; i < len; i++) point = point << 6 | (bytes[i] & 0x3fu);
    shown[0] = '\0';
    if (point == '\r')
        strcpy(shown, "\\r");
    else if (len < 0 || is_obeyed(point))
        snprintf(shown, TFY_SHOWN_MAX, "\\u{%x}", point);
    return len < 0 ? 1 : (size_t)len;
}

void tfy__shown_each(const char *text, size_t len, TfyShownPut *put, void *to)
{
    char shown[TFY_SHOWN_MAX];
    size_t from = 0, at = 0;
    while (at < len) {
        const size_t step = tfy__shown_step(text + at, len - at, shown);
        at += step;
        if (!shown[0]) continue;
        if (at - step > from) put(to, text + from, at - step - from);
        put(to, shown, strlen(shown));
        from = at;
    }
    if (at > from) put(to, text + from, at - from);
}
