/* known.c: which values are secret, how they can be spelt, and where a text contains one of them. */
#include "effects/known.h"

#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/sys_memory.h"
#include "base/utf8.h"
#include "tfy.h"

#define PREFIX "TFY_SECRET_"

extern char **environ;

/* A variable that was removed from the environment. */
typedef struct Taken {
    char *name, *value; /* owned */
    struct Taken *next;
} Taken;

/* One spelling of one value. */
typedef struct Pattern {
    char *text; /* owned */
    /* least: how many first bytes at the end of a cut text count as the pattern */
    size_t len, least;
    bool wraps; /* writers break it into lines of any length */
    const char *label;
} Pattern;

static Taken *taken;      /* before there are threads */
static Pattern *patterns; /* the longest first: one value may be a prefix of another */
static _Atomic size_t pattern_count;
static uint64_t pairs[1024]; /* a bit for every two bytes that a pattern starts with */
/* Loops learn and mask at the same time. Without any pattern there is nothing to lock. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

/* ---- the environment ---- */

static bool is_secret(const char *entry)
{
    return strncmp(entry, PREFIX, sizeof PREFIX - 1) == 0 || strncmp(entry, "TFY_LLM_KEY=", 12) == 0;
}

static bool take(char *entry)
{
    const char *equals = strchr(entry, '=');
    Taken *one = equals ? tfy__sys_calloc(1, sizeof *one) : NULL;
    if (!one) return false;
    one->name = tfy__sys_printf("%.*s", (int)(equals - entry), entry);
    one->value = tfy__sys_strdup(equals + 1);
    if (!one->name || !one->value) {
        free(one->name);
        free(one->value);
        free(one);
        return false;
    }
    one->next = taken;
    taken = one;
    bool key = strcmp(one->name, "TFY_LLM_KEY") == 0;
    char label[96];
    snprintf(label, sizeof label, "%s%s", key ? "key" : "secret:", key ? "" : one->name + sizeof PREFIX - 1);
    size_t len = strlen(one->value);
    return (key && len < TFY_KNOWN_SPELT) || tfy__known_add(label, one->value, len);
}

void tfy__known_take(void)
{
    char **to = environ;
    for (char **from = environ; from && *from; from++) {
        char *entry = *from;
        if (is_secret(entry) && take(entry))
            explicit_bzero(entry, strlen(entry));
        else
            *to++ = entry;
    }
    if (to) *to = NULL;
}

void tfy_hide_secrets(bool debuggers)
{
    tfy__known_take();
    if (!debuggers) prctl(PR_SET_DUMPABLE, 0L);
}

const char *tfy__known_variable(const char *name)
{
    const char *set = getenv(name);
    for (const Taken *one = set ? NULL : taken; one; one = one->next)
        if (strcmp(one->name, name) == 0) return one->value;
    return set;
}

/* ---- spellings ---- */

static bool have_pattern(const char *text, size_t len)
{
    for (size_t i = 0; i < pattern_count; i++)
        if (patterns[i].len == len && memcmp(patterns[i].text, text, len) == 0) return true;
    return false;
}

/* Takes ownership of the text. */
static bool add_pattern(TfyBuffer *text, const char *label, size_t least, bool wraps)
{
    bool fine = !text->failed;
    if (!fine || text->len < TFY_KNOWN_MIN || have_pattern(text->data, text->len)) {
        tfy__buffer_free(text);
        return fine;
    }
    Pattern *more = tfy__sys_realloc(patterns, (pattern_count + 1) * sizeof *more);
    if (!more) {
        tfy__buffer_free(text);
        return false;
    }
    patterns = more;
    size_t at = pattern_count++;
    for (; at && patterns[at - 1].len < text->len; at--) patterns[at] = patterns[at - 1];
    patterns[at] = (Pattern){text->data, text->len, least, wraps, label};
    unsigned pair = (unsigned)(unsigned char)text->data[0] << 8 | (unsigned char)text->data[1];
    pairs[pair / 64] |= UINT64_C(1) << pair % 64;
    *text = (TfyBuffer){0};
    return true;
}

static const unsigned char *octets(const char *value)
{
    return (const unsigned char *)value;
}

/* The characters of a base64 text that `value` alone determines, with `skip` bytes before it in its group of
 * three. */
static bool add_base64(const char *label, const char *value, size_t len, size_t skip, const char *last_two)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    TfyBuffer out = {0};
    for (size_t bit = (skip * 8 + 5) / 6 * 6; bit + 6 <= (skip + len) * 8; bit += 6) {
        size_t at = bit / 8 - skip;
        unsigned two = (unsigned)octets(value)[at] << 8 | (at + 1 < len ? octets(value)[at + 1] : 0);
        unsigned six = two >> (10 - bit % 8) & 63;
        tfy__buffer_char(&out, six < 62 ? letters[six] : last_two[six - 62]);
    }
    return add_pattern(&out, label, TFY_KNOWN_SPELT, true);
}

static bool add_hex(const char *label, const char *value, size_t len, const char *format)
{
    TfyBuffer out = {0};
    for (size_t i = 0; i < len; i++) tfy__buffer_printf(&out, format, octets(value)[i]);
    return add_pattern(&out, label, TFY_KNOWN_SPELT, true);
}

/* kept: the characters beside letters and digits that the writer leaves as they are; form: as in a form, where a space is
 * a plus. */
static bool add_percent(const char *label, const char *value, size_t len, const char *format, const char *kept,
                        bool form)
{
    TfyBuffer out = {0};
    for (size_t i = 0; i < len; i++) {
        unsigned char c = octets(value)[i];
        bool plain =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr(kept, c));
        if (plain || (form && c == ' '))
            tfy__buffer_char(&out, plain ? (char)c : '+');
        else
            tfy__buffer_printf(&out, format, c);
    }
    return add_pattern(&out, label, TFY_KNOWN_SPELT, false);
}

/* Writers differ in what they keep: RFC 3986 names four characters; older ones keep less, forms others, paths and whole
 * addresses more, and JavaScript five that RFC 2396 had named. */
static bool add_percents(const char *label, const char *value, size_t len)
{
    static const char *const kept[] = {"-._~",
                                       "-._",
                                       "*-._",
                                       "-._~/",
                                       "-._~!*'()",
                                       "-._~!*'()/",
                                       "-._~!$&'()*+,;=:@",
                                       "-._~!$&'()*+,;=:@/",
                                       "-._~!$&'()*+,;=:@/?",
                                       "-._~!$&'()*+,;=:@/?#"};
    bool fine = true;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        for (int form = 0; form < 2; form++) {
            fine &= add_percent(label, value, len, "%%%02x", kept[i], form);
            fine &= add_percent(label, value, len, "%%%02X", kept[i], form);
        }
    }
    return fine;
}

/* U+0001 to U+FFFF as \uXXXX, others as two of them. */
static void add_unit(TfyBuffer *out, const char *bytes, int step)
{
    uint32_t point = octets(bytes)[0] & (0xffu >> (step + 1));
    for (int i = 1; i < step; i++) point = point << 6 | (octets(bytes)[i] & 0x3fu);
    if (point < 0x10000) {
        tfy__buffer_printf(out, "\\u%04x", point);
    } else {
        point -= 0x10000;
        tfy__buffer_printf(out, "\\u%04x\\u%04x", 0xd800 + (point >> 10), 0xdc00 + (point & 0x3ff));
    }
}

/* The ways in which JSON writers spell a value: `/` after a backslash or not, non-ASCII characters as \u or not. */
static bool add_json(const char *label, const char *value, size_t len, bool slash, bool ascii)
{
    TfyBuffer quoted = {0}, out = {0};
    tfy__buffer_json_string(&quoted, value, len);
    for (size_t i = 1; !quoted.failed && i + 1 < quoted.len;) {
        int step = tfy__utf8_step(octets(quoted.data) + i, quoted.len - i);
        if (slash && quoted.data[i] == '/') tfy__buffer_char(&out, '\\');
        if (ascii && step > 1)
            add_unit(&out, quoted.data + i, step);
        else
            tfy__buffer_add(&out, quoted.data + i, (size_t)(step < 0 ? 1 : step));
        i += (size_t)(step < 0 ? 1 : step);
    }
    bool fine = !quoted.failed;
    tfy__buffer_free(&quoted);
    return add_pattern(&out, label, TFY_KNOWN_SPELT, false) && fine;
}

static bool add_spellings(const char *label, const char *value, size_t len)
{
    bool fine = true;
    for (size_t skip = 0; skip < 3; skip++) {
        fine &= add_base64(label, value, len, skip, "+/");
        fine &= add_base64(label, value, len, skip, "-_");
    }
    static const char *const digits[] = {"%02x", "%02X", "%%%02x", "%%%02X"};
    for (int form = 0; form < 4; form++) fine &= add_hex(label, value, len, digits[form]);
    fine &= add_percents(label, value, len);
    for (int way = 0; way < 4; way++) fine &= add_json(label, value, len, way & 1, way & 2);
    return fine;
}

static bool add(const char *label, const char *value, size_t len)
{
    TfyBuffer raw = {0};
    if (have_pattern(value, len)) return true;
    char *kept = tfy__sys_strdup(label); /* as long as the process */
    if (!kept) return false;
    tfy__buffer_add(&raw, value, len);
    return add_pattern(&raw, kept, TFY_KNOWN_MIN, false) && (len < TFY_KNOWN_SPELT || add_spellings(kept, value, len));
}

bool tfy__known_add(const char *label, const char *value, size_t len)
{
    if (len < TFY_KNOWN_MIN) return true;
    pthread_rwlock_wrlock(&lock);
    const bool added = add(label, value, len);
    pthread_rwlock_unlock(&lock);
    return added;
}

/* ---- masking ---- */

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

/* How many bytes of a text spell the pattern, or its beginning, which has `done` characters; 0: none do. */
static size_t spells(const Pattern *pattern, const char *text, size_t left, size_t *done)
{
    size_t at = 0;
    *done = 0;
    while (*done < pattern->len && at < left) {
        if (text[at] == pattern->text[*done])
            ++*done;
        else if (!*done || !pattern->wraps || !is_break(text[at]))
            return 0;
        at++;
    }
    return at;
}

/* The pattern that starts at this place, and how long it is there; or, with cut, whose start the text ends with. */
static const Pattern *starts_here(const char *text, size_t left, bool cut, size_t *len)
{
    size_t done;
    for (size_t i = 0; i < pattern_count; i++) {
        const Pattern *pattern = &patterns[i];
        *len = spells(pattern, text, left, &done);
        if (*len && (done == pattern->len || (cut && done >= pattern->least))) return pattern;
    }
    return NULL;
}

static bool is_pair(char first, char second)
{
    unsigned pair = (unsigned)(unsigned char)first << 8 | (unsigned char)second;
    return pairs[pair / 64] >> pair % 64 & 1;
}

/* Do the first two bytes say that a pattern may start here? One byte says nothing. */
static bool may_start(const char *text, size_t left)
{
    size_t next = 1;
    if (left == 1 || is_pair(text[0], text[1])) return true;
    if (is_break(text[0])) return false;
    while (next < left && is_break(text[next])) next++;
    return next == left || (next > 1 && is_pair(text[0], text[next]));
}

static bool mask(const char *text, size_t len, bool cut, TfyBuffer *out)
{
    size_t from = 0, used;
    bool any = false;
    for (size_t at = 0; at + 1 < len;) {
        const Pattern *pattern = may_start(text + at, len - at) ? starts_here(text + at, len - at, cut, &used) : NULL;
        if (!pattern) {
            at++;
            continue;
        }
        any = true;
        tfy__buffer_add(out, text + from, at - from);
        tfy__buffer_printf(out, "[%s]", pattern->label);
        at = from = at + used;
    }
    if (any) tfy__buffer_add(out, text + from, len - from);
    return any;
}

bool tfy__known_mask(const char *text, size_t len, bool cut, TfyBuffer *out)
{
    if (!pattern_count) return false;
    pthread_rwlock_rdlock(&lock);
    const bool any = mask(text, len, cut, out);
    pthread_rwlock_unlock(&lock);
    return any;
}

void tfy__known_mask_in(TfyBuffer *text, bool cut)
{
    TfyBuffer masked = {0};
    if (!tfy__known_mask(text->data, text->len, cut, &masked)) return;
    tfy__buffer_wipe(text);
    *text = masked;
}

/* The pattern that starts at this place, or may: *whole says which. The longest comes first, so a value of which another
 * is the beginning is waited for. */
static const Pattern *starts_piece(const char *text, size_t left, bool *whole, size_t *len)
{
    size_t done;
    for (size_t i = 0; i < pattern_count; i++) {
        const Pattern *pattern = &patterns[i];
        *len = spells(pattern, text, left, &done);
        *whole = done == pattern->len;
        if (*len) return pattern;
    }
    return NULL;
}

static size_t mask_piece(const char *text, size_t len, TfyBuffer *out)
{
    size_t from = 0, at = 0, used;
    bool whole = true;
    while (at < len) {
        const Pattern *pattern =
            may_start(text + at, len - at) ? starts_piece(text + at, len - at, &whole, &used) : NULL;
        if (pattern && !whole) break;
        if (!pattern) {
            at++;
            continue;
        }
        tfy__buffer_add(out, text + from, at - from);
        tfy__buffer_printf(out, "[%s]", pattern->label);
        from = at += used;
    }
    tfy__buffer_add(out, text + from, at - from);
    return at;
}

size_t tfy__known_mask_piece(const char *text, size_t len, TfyBuffer *out)
{
    pthread_rwlock_rdlock(&lock);
    const size_t masked = mask_piece(text, len, out);
    pthread_rwlock_unlock(&lock);
    return masked;
}
