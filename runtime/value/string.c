/* string.c: strings. Lengths and indexes count code points. In text that is all ASCII (len == byte_len) an index is
 * an address; other text is walked, and the walk costs fuel. */
#include "value/heap.h"
#include "base/utf8.h"

#include <string.h>

static const TfyString empty = {.head = {.refs = TFY_IMMORTAL, .type = &tfy_type_string}, .bytes = ""};

static const TfyString *string(const TfyObj *object)
{
    return (const TfyString *)object;
}

/* Room for cap bytes; the caller fills them in and sets the lengths. */
static TfyString *allocate(TfyTask *task, uint32_t line, const TfyType *type, uint64_t cap)
{
    if (cap > TFY_STRING_MAX) {
        tfy_panic(task, line, "a string would be longer than %u bytes", TFY_STRING_MAX);
        return NULL;
    }
    TfyString *made = (TfyString *)tfy__new_object(task, type, sizeof(TfyString) + cap + 1);
    if (made) made->cap = (uint32_t)cap;
    return made;
}

TfyString *tfy__string_room(TfyTask *task, uint32_t line, uint64_t cap)
{
    return allocate(task, line, &tfy_type_string, cap);
}

/* The caller has counted the code points. */
TfyObj *tfy__string_piece(TfyTask *task, const char *bytes, uint32_t byte_len, uint32_t len)
{
    TfyString *made = allocate(task, 0, &tfy_type_string, byte_len);
    if (!made) return NULL;
    memcpy(made->bytes, bytes, byte_len);
    made->byte_len = byte_len;
    made->len = len;
    return &made->head;
}

/* How much room a text from outside needs as valid UTF-8. */
typedef struct Measure {
    uint64_t byte_len; /* after replacing every broken sequence */
    uint64_t len;      /* code points after that */
    bool valid;        /* nothing needs replacing */
} Measure;

static Measure measure(const unsigned char *bytes, size_t len)
{
    Measure result = {.valid = true};
    for (size_t at = 0; at < len; result.len++) {
        int step = tfy__utf8_step(bytes + at, len - at);
        result.byte_len += step > 0 ? (uint64_t)step : 3;
        if (step < 0) result.valid = false;
        at += (size_t)(step > 0 ? step : -step);
    }
    return result;
}

static void copy_repaired(char *out, const unsigned char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        int step = tfy__utf8_step(bytes + at, len - at);
        size_t used = (size_t)(step > 0 ? step : -step);
        memcpy(out, step > 0 ? (const char *)bytes + at : TFY__REPLACEMENT, step > 0 ? used : 3);
        out += step > 0 ? used : 3;
        at += used;
    }
}

TfyObj *tfy__string_new(TfyTask *task, const TfyType *type, const char *bytes, size_t len)
{
    const unsigned char *raw = (const unsigned char *)bytes;
    Measure size = {.byte_len = len, .len = len, .valid = true};
    if (type->kind != TFY_BYTES) size = measure(raw, len);
    TfyString *made = allocate(task, 0, type, size.byte_len);
    if (!made) return NULL;
    made->byte_len = (uint32_t)size.byte_len;
    made->len = (uint32_t)size.len;
    if (size.valid && len) memcpy(made->bytes, bytes, len);
    if (!size.valid) copy_repaired(made->bytes, raw, len);
    return &made->head;
}

TfyObj *tfy_string_of(TfyTask *task, const char *bytes, size_t len)
{
    return tfy_temp(task, tfy__string_new(task, &tfy_type_string, bytes, len));
}

/* ---- secrets ---- */

/* Where the stretches start: behind the text and its NUL, aligned. Only a string that was created with them has them.
 * An operation that changes the text drops them; the result is the plain text that it shows. */
static TfyStretch *stretches_of(TfyString *made)
{
    return (TfyStretch *)(void *)(made->bytes + ((made->byte_len + 1 + 3) & ~UINT32_C(3)));
}

static uint64_t stretch_room(uint32_t secrets)
{
    return secrets ? 4 + (uint64_t)secrets * sizeof(TfyStretch) : 0;
}

const TfyStretch *tfy__string_secrets(const TfyObj *object)
{
    const TfyString *text = string(object);
    return (const TfyStretch *)(const void *)(text->bytes + ((text->byte_len + 1 + 3) & ~UINT32_C(3)));
}

/* ---- joining ---- */

/* The size of a concatenation. */
typedef struct Sum {
    uint64_t byte_len, len;
    uint32_t secrets;
} Sum;

static void copy_parts(TfyString *made, uint32_t count, TfyObj *const *parts)
{
    TfyStretch *stretches = made->secrets ? stretches_of(made) : NULL;
    char *out = made->bytes;
    for (uint32_t i = 0; i < count; i++) {
        const TfyString *part = string(parts[i]);
        for (uint32_t n = 0; n < part->secrets; n++) {
            const TfyStretch *from = &tfy__string_secrets(parts[i])[n];
            *stretches++ = (TfyStretch){from->at + (uint32_t)(out - made->bytes), from->len};
        }
        memcpy(out, part->bytes, part->byte_len);
        out += part->byte_len;
    }
}

TfyObj *tfy_concat(TfyTask *task, uint32_t line, uint32_t count, TfyObj *const *parts)
{
    Sum sum = {0};
    for (uint32_t i = 0; i < count; i++) {
        sum.byte_len += string(parts[i])->byte_len;
        sum.len += string(parts[i])->len;
        sum.secrets += string(parts[i])->secrets;
    }
    tfy_charge(task, sum.byte_len + count);
    TfyString *made = allocate(task, line, &tfy_type_string, sum.byte_len + stretch_room(sum.secrets));
    if (!made) return NULL;
    made->byte_len = (uint32_t)sum.byte_len;
    made->len = (uint32_t)sum.len;
    made->secrets = sum.secrets;
    copy_parts(made, count, parts);
    return tfy_temp(task, &made->head);
}

TfyObj *tfy_secret(TfyTask *task, TfyObj *name)
{
    static const char prefix[] = "secret:";
    const uint32_t prefix_len = sizeof prefix - 1, len = prefix_len + string(name)->byte_len;
    TfyString *made = allocate(task, 0, &tfy_type_string, len + stretch_room(1));
    if (!made) return NULL;
    memcpy(made->bytes, prefix, prefix_len);
    memcpy(made->bytes + prefix_len, string(name)->bytes, string(name)->byte_len);
    made->byte_len = made->len = len; /* names are ASCII */
    made->secrets = 1;
    *stretches_of(made) = (TfyStretch){0, len};
    return tfy_temp(task, &made->head);
}

TfyObj *tfy__string_secret(TfyTask *task, const char *bytes, size_t len, uint32_t count, const TfyStretch *stretches)
{
    TfyString *made = allocate(task, 0, &tfy_type_string, len + stretch_room(count));
    if (!made) return NULL;
    memcpy(made->bytes, bytes, len);
    made->byte_len = (uint32_t)len;
    made->len = tfy__count_points(bytes, made->byte_len);
    for (uint32_t i = 0; i < count; i++)
        if (stretches[i].at <= len && stretches[i].len <= len - stretches[i].at)
            stretches_of(made)[made->secrets++] = stretches[i];
    return &made->head;
}

/* Makes *place the only owner of its string, with room for at least cap bytes. */
static bool grow(TfyTask *task, uint32_t line, TfyObj **place, uint64_t cap)
{
    const TfyString *old = string(*place);
    if (old->head.refs == 1) {
        if (cap <= old->cap) return true;
        if (cap > TFY_STRING_MAX) return allocate(task, line, &tfy_type_string, cap) != NULL;
        if (cap < 2 * (uint64_t)old->cap) cap = 2 * (uint64_t)old->cap;
        if (cap > TFY_STRING_MAX) cap = TFY_STRING_MAX;
        TfyObj *moved = tfy__resize_object(task, *place, tfy__object_size(*place), sizeof(TfyString) + cap + 1);
        if (!moved) return false;
        ((TfyString *)moved)->cap = (uint32_t)cap;
        *place = moved;
        return true;
    }
    TfyString *copy = allocate(task, line, &tfy_type_string, cap);
    if (!copy) return false;
    memcpy(copy->bytes, old->bytes, old->byte_len + 1);
    copy->byte_len = old->byte_len;
    copy->len = old->len;
    tfy_drop(task, *place);
    *place = &copy->head;
    return true;
}

bool tfy_string_append(TfyTask *task, uint32_t line, TfyObj **place, TfyObj *part)
{
    uint32_t byte_len = string(part)->byte_len, len = string(part)->len;
    /* s += s: the part moves with the place, or is the shared original */
    bool same = part == *place;
    tfy_charge(task, byte_len);
    if (!byte_len) return true;
    if (!grow(task, line, place, (uint64_t)string(*place)->byte_len + byte_len)) return false;
    TfyString *target = (TfyString *)*place;
    memcpy(target->bytes + target->byte_len, same ? target->bytes : string(part)->bytes, byte_len);
    target->byte_len += byte_len;
    target->len += len;
    target->secrets = 0;
    target->bytes[target->byte_len] = '\0';
    return true;
}

/* ---- parts ---- */

/* The byte at which a code point starts; index is at most the length. */
static uint32_t offset_of(const TfyString *s, uint32_t index)
{
    if (s->len == s->byte_len) return index;
    uint32_t at = 0;
    while (index--) at += tfy__utf8_len(s->bytes[at]);
    return at;
}

TfyObj *tfy_string_at(TfyTask *task, uint32_t line, TfyObj *s, int64_t index)
{
    if (index < 0 || index >= string(s)->len) {
        tfy_panic(task, line, "index %lld is outside a string of length %u", (long long)index, string(s)->len);
        return NULL;
    }
    if (string(s)->len != string(s)->byte_len) tfy_charge(task, (uint64_t)index);
    uint32_t at = offset_of(string(s), (uint32_t)index);
    const char *bytes = string(s)->bytes + at;
    return tfy_temp(task, tfy__string_piece(task, bytes, tfy__utf8_len(*bytes), 1));
}

TfyObj *tfy_string_slice(TfyTask *task, TfyObj *s, int64_t from, int64_t to)
{
    int64_t len = string(s)->len;
    if (from < 0) from = 0;
    if (to > len) to = len;
    if (from >= to) return (TfyObj *)&empty;
    if (from == 0 && to == len) return tfy_temp(task, tfy_keep(s));
    uint32_t start = offset_of(string(s), (uint32_t)from), end = offset_of(string(s), (uint32_t)to);
    tfy_charge(task, string(s)->len == string(s)->byte_len ? end - start : end);
    return tfy_temp(task, tfy__string_piece(task, string(s)->bytes + start, end - start, (uint32_t)(to - from)));
}

/* Whether the character at p is white space, by the Unicode property. */
static bool is_space(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    if (b[0] < 0x80) return b[0] == ' ' || (b[0] >= '\t' && b[0] <= '\r');
    if (b[0] == 0xC2) return b[1] == 0x85 || b[1] == 0xA0;
    if (b[0] == 0xE1) return b[1] == 0x9A && b[2] == 0x80;
    if (b[0] == 0xE2 && b[1] == 0x80) return b[2] <= 0x8A || b[2] == 0xA8 || b[2] == 0xA9 || b[2] == 0xAF;
    if (b[0] == 0xE2) return b[1] == 0x81 && b[2] == 0x9F;
    return b[0] == 0xE3 && b[1] == 0x80 && b[2] == 0x80;
}

/* The text that remains after trimming the selected ends. */
static TfyObj *trim(TfyTask *task, TfyObj *s, bool at_start, bool at_end)
{
    const char *bytes = string(s)->bytes;
    uint32_t start = 0, end = string(s)->byte_len, len = string(s)->len;
    for (; at_start && start < end && is_space(bytes + start); len--) start += tfy__utf8_len(bytes[start]);
    while (at_end && end > start) {
        uint32_t last = end - 1;
        while ((bytes[last] & 0xC0) == 0x80) last--;
        if (!is_space(bytes + last)) break;
        end = last;
        len--;
    }
    tfy_charge(task, string(s)->byte_len);
    if (len == string(s)->len) return tfy_temp(task, tfy_keep(s));
    if (len == 0) return (TfyObj *)&empty;
    return tfy_temp(task, tfy__string_piece(task, bytes + start, end - start, len));
}

TfyObj *tfy_string_trim(TfyTask *task, TfyObj *s)
{
    return trim(task, s, true, true);
}

TfyObj *tfy_string_trim_start(TfyTask *task, TfyObj *s)
{
    return trim(task, s, true, false);
}

TfyObj *tfy_string_trim_end(TfyTask *task, TfyObj *s)
{
    return trim(task, s, false, true);
}

uint32_t tfy__count_points(const char *bytes, uint32_t len)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < len; i++) count += (bytes[i] & 0xC0) != 0x80;
    return count;
}

bool tfy__add_piece(TfyTask *task, TfyObj **list, const char *bytes, uint32_t byte_len)
{
    TfyObj *piece = tfy__string_piece(task, bytes, byte_len, tfy__count_points(bytes, byte_len));
    if (!piece) return false;
    bool ok = tfy_list_push(task, 0, list, tfy_of_obj(piece));
    tfy_drop(task, piece);
    return ok;
}

static bool add_line(TfyTask *task, TfyObj **lines, const char *bytes, uint32_t len)
{
    if (len && bytes[len - 1] == '\r') len--;
    return tfy__add_piece(task, lines, bytes, len);
}

TfyObj *tfy_string_lines(TfyTask *task, TfyObj *s)
{
    const char *at = string(s)->bytes, *end = at + string(s)->byte_len;
    TfyObj *lines = tfy__list_new(task, &tfy_type_list_string, 0);
    bool ok = lines != NULL;
    tfy_charge(task, string(s)->byte_len);
    while (ok && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        ok = add_line(task, &lines, at, (uint32_t)((stop ? stop : end) - at));
        at = stop ? stop + 1 : end;
    }
    if (ok) return tfy_temp(task, lines);
    tfy_drop(task, lines);
    return NULL;
}

bool tfy_string_contains(TfyTask *task, const TfyObj *s, const TfyObj *part)
{
    tfy_charge(task, string(s)->byte_len);
    return memmem(string(s)->bytes, string(s)->byte_len, string(part)->bytes, string(part)->byte_len) != NULL;
}
