/* string_parts.c: splits strings and builds new ones from parts. UTF-8 is self-synchronizing: a valid text inside a
 * valid text always starts and ends at code points, so searching works on bytes. */
#include "value/heap.h"
#include "value/text.h"
#include "base/utf8.h"

#include <string.h>
#include <wctype.h>

static const TfyString *string(const TfyObj *object)
{
    return (const TfyString *)object;
}

static const char *find(const char *at, const char *end, const TfyString *part)
{
    return memmem(at, (size_t)(end - at), part->bytes, part->byte_len);
}

/* ---- searching ---- */

bool tfy_string_starts_with(const TfyObj *s, const TfyObj *part)
{
    uint32_t len = string(part)->byte_len;
    return len <= string(s)->byte_len && memcmp(string(s)->bytes, string(part)->bytes, len) == 0;
}

bool tfy_string_ends_with(const TfyObj *s, const TfyObj *part)
{
    uint32_t len = string(part)->byte_len, whole = string(s)->byte_len;
    return len <= whole && memcmp(string(s)->bytes + whole - len, string(part)->bytes, len) == 0;
}

bool tfy_string_index_of(TfyTask *task, const TfyType *optional, TfyObj *s, TfyObj *part, TfyObj **out)
{
    const char *bytes = string(s)->bytes, *found = find(bytes, bytes + string(s)->byte_len, string(part));
    tfy_charge(task, string(s)->byte_len);
    *out = NULL;
    if (!found) return true;
    *out = tfy_box(task, optional, tfy_of_int(tfy__count_points(bytes, (uint32_t)(found - bytes))));
    return *out != NULL;
}

bool tfy_int_within(TfyTask *task, const TfyType *optional, int64_t number, int64_t from, int64_t to, TfyObj **out)
{
    *out = NULL;
    if (number < from || number > to) return true;
    *out = tfy_box(task, optional, tfy_of_int(number));
    return *out != NULL;
}

/* ---- into lists ---- */

/* Puts a complete list on the release stack; releases an incomplete one. */
static TfyObj *finish(TfyTask *task, TfyObj *list, bool ok)
{
    if (ok) return tfy_temp(task, list);
    tfy_drop(task, list);
    return NULL;
}

TfyObj *tfy_string_chars(TfyTask *task, TfyObj *s)
{
    const char *at = string(s)->bytes, *end = at + string(s)->byte_len;
    TfyObj *list = tfy__list_new(task, &tfy_type_list_string, string(s)->len);
    bool ok = list != NULL;
    tfy_charge(task, 16 * (uint64_t)string(s)->len);
    for (; ok && at < end; at += tfy__utf8_len(*at)) ok = tfy__add_piece(task, &list, at, tfy__utf8_len(*at));
    return finish(task, list, ok);
}

TfyObj *tfy_string_split(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *separator, int64_t parts)
{
    const char *at = string(s)->bytes, *end = at + string(s)->byte_len;
    if (!string(separator)->byte_len) {
        tfy_panic(task, line, "split needs a separator that is not empty; chars() gives single characters");
        return NULL;
    }
    if (parts < 1) {
        tfy_panic(task, line, "split cannot make %lld parts", (long long)parts);
        return NULL;
    }
    TfyObj *list = tfy__list_new(task, &tfy_type_list_string, 0);
    bool ok = list != NULL;
    tfy_charge(task, string(s)->byte_len);
    while (ok) {
        const char *stop = parts-- > 1 ? find(at, end, string(separator)) : NULL;
        ok = tfy__add_piece(task, &list, at, (uint32_t)((stop ? stop : end) - at));
        if (!stop) break;
        at = stop + string(separator)->byte_len;
        tfy_charge(task, 64);
    }
    return finish(task, list, ok);
}

/* ---- into strings ---- */

TfyObj *tfy_string_replace(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *old, TfyObj *with)
{
    const TfyString *from = string(old), *to = string(with);
    const char *start = string(s)->bytes, *end = start + string(s)->byte_len;
    uint64_t count = 0;
    if (!from->byte_len) {
        tfy_panic(task, line, "replace needs a text to look for that is not empty");
        return NULL;
    }
    for (const char *at = start; (at = find(at, end, from)); at += from->byte_len) count++;
    uint64_t byte_len = string(s)->byte_len + count * to->byte_len - count * from->byte_len;
    tfy_charge(task, string(s)->byte_len + byte_len);
    if (!count) return tfy_temp(task, tfy_keep(s));
    TfyString *made = tfy__string_room(task, line, byte_len);
    if (!made) return NULL;
    char *out = made->bytes;
    for (const char *at = start, *next; at; at = next ? next + from->byte_len : NULL) {
        next = find(at, end, from);
        out = mempcpy(out, at, (size_t)((next ? next : end) - at));
        if (next) out = mempcpy(out, to->bytes, to->byte_len);
    }
    made->byte_len = (uint32_t)byte_len;
    made->len = (uint32_t)(string(s)->len + count * to->len - count * from->len);
    return tfy_temp(task, &made->head);
}

/* `times` copies of one text, then the first `rest` bytes of it; after or before another text. */
static TfyString *repeated(TfyTask *task, uint32_t line, const TfyString *s, uint64_t times, uint32_t rest,
                           const TfyString *other, bool before)
{
    uint64_t most = s->byte_len ? TFY_STRING_MAX / s->byte_len + 1 : 0;
    uint64_t fill = (uint64_t)s->byte_len * (times < most ? times : most) + rest, more = other ? other->byte_len : 0;
    TfyString *made = tfy__string_room(task, line, fill + more);
    if (!made) return NULL;
    tfy_charge(task, fill + more);
    char *out = made->bytes;
    if (more && !before) out = mempcpy(out, other->bytes, more);
    for (uint64_t left = fill; left; left -= left < s->byte_len ? left : s->byte_len)
        out = mempcpy(out, s->bytes, left < s->byte_len ? (size_t)left : s->byte_len);
    if (more && before) memcpy(out, other->bytes, more);
    made->byte_len = (uint32_t)(fill + more);
    return made;
}

TfyObj *tfy_string_repeat(TfyTask *task, uint32_t line, TfyObj *s, int64_t times)
{
    if (times < 0) {
        tfy_panic(task, line, "a string cannot be repeated %lld times", (long long)times);
        return NULL;
    }
    TfyString *made = repeated(task, line, string(s), string(s)->byte_len ? (uint64_t)times : 0, 0, NULL, false);
    if (!made) return NULL;
    made->len = (uint32_t)(string(s)->byte_len ? string(s)->len * (uint64_t)times : 0);
    return tfy_temp(task, &made->head);
}

TfyObj *tfy_string_pad(TfyTask *task, uint32_t line, TfyObj *s, int64_t len, TfyObj *with, bool at_start)
{
    static const TfyString space = {
        .head = {.refs = TFY_IMMORTAL, .type = &tfy_type_string}, .byte_len = 1, .len = 1, .cap = 1, .bytes = " "};
    const TfyString *fill = with ? string(with) : &space;
    if (len <= string(s)->len) return tfy_temp(task, tfy_keep(s));
    if (!fill->byte_len) {
        tfy_panic(task, line, "a string cannot be padded with an empty one");
        return NULL;
    }
    uint64_t missing = (uint64_t)len - string(s)->len;
    uint32_t rest = 0;
    for (uint64_t i = missing % fill->len; i; i--) rest += tfy__utf8_len(fill->bytes[rest]);
    TfyString *made = repeated(task, line, fill, missing / fill->len, rest, string(s), at_start);
    if (!made) return NULL;
    made->len = (uint32_t)len;
    return tfy_temp(task, &made->head);
}

/* ---- upper and lower case ---- */

static uint32_t decode(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    switch (tfy__utf8_len(*at)) {
    case 1: return b[0];
    case 2: return (b[0] & 0x1Fu) << 6 | (b[1] & 0x3Fu);
    case 3: return (b[0] & 0x0Fu) << 12 | (b[1] & 0x3Fu) << 6 | (b[2] & 0x3Fu);
    default: return (b[0] & 0x07u) << 18 | (b[1] & 0x3Fu) << 12 | (b[2] & 0x3Fu) << 6 | (b[3] & 0x3Fu);
    }
}

static char *encode(char *out, uint32_t point)
{
    if (point < 0x80) {
        *out++ = (char)point;
        return out;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    *out++ = (char)((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | point >> 6 * more);
    while (more--) *out++ = (char)(0x80 | (point >> 6 * more & 0x3F));
    return out;
}

/* Maps one code point to one by Unicode's simple mapping, independent of the locale and of neighbours. */
static uint32_t change_case(uint32_t point, bool upper)
{
    if (point < 0x80) {
        bool other = upper ? point >= 'a' && point <= 'z' : point >= 'A' && point <= 'Z';
        return other ? point ^ 0x20 : point;
    }
    locale_t locale = tfy__locale();
    return (uint32_t)(upper ? towupper_l((wint_t)point, locale) : towlower_l((wint_t)point, locale));
}

TfyObj *tfy_string_case(TfyTask *task, TfyObj *s, bool upper)
{
    const char *start = string(s)->bytes, *end = start + string(s)->byte_len;
    uint64_t byte_len = 0;
    char scratch[4];
    tfy_charge(task, 2 * (uint64_t)string(s)->byte_len);
    for (const char *at = start; at < end; at += tfy__utf8_len(*at))
        byte_len += (uint64_t)(encode(scratch, change_case(decode(at), upper)) - scratch);
    TfyString *made = tfy__string_room(task, 0, byte_len);
    if (!made) return NULL;
    char *out = made->bytes;
    for (const char *at = start; at < end; at += tfy__utf8_len(*at)) out = encode(out, change_case(decode(at), upper));
    made->byte_len = (uint32_t)byte_len;
    made->len = string(s)->len;
    return tfy_temp(task, &made->head);
}
