/* text.c: writes scalars as text, the same in JSON, in `${...}` and on the screen; and reads that text back. */
#include "value/clock.h"
#include "value/heap.h"
#include "value/json.h"
#include "value/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- floats ---- */

/* A finite double as digits d.ddd * 10^exponent. */
typedef struct Digits {
    char text[20]; /* the digits, without point and trailing zeros */
    int count;     /* how many */
    int exponent;  /* of the first digit */
} Digits;

/* Whether this scientific notation reads back as the value; if so, splits it into out. The locale may make the C
 * library write the point as a comma; strtod reads it all the same, and the point is skipped. */
static bool take_apart(const char *text, double value, Digits *out)
{
    if (strtod(text, NULL) != value) return false;
    out->count = 0;
    for (; *text != 'e'; text++)
        if (isdigit((unsigned char)*text)) out->text[out->count++] = *text;
    out->exponent = atoi(text + 1);
    while (out->count > 1 && out->text[out->count - 1] == '0') out->count--;
    return true;
}

/* The shortest digits of a positive value. A decimal of up to 15 digits survives a round trip through a normal
 * double, so rounding to 15 finds all short ones; numbers below the normal range have fewer. With 16 digits the
 * nearest decimal may fail while its neighbour succeeds (powers of two). */
static void shortest(double value, Digits *out)
{
    char text[40];
    for (int digits = value < 0x1p-1022 ? 1 : 15; digits <= 16; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
        if (take_apart(text, value, out)) return;
    }
    char *last = strchr(text, 'e') - 1; /* the last of 16 digits: try one more and one less */
    for (int change = -1; change <= 1; change += 2) {
        char digit = (char)(*last + change), was = *last;
        if (!isdigit((unsigned char)digit)) continue;
        *last = digit;
        if (take_apart(text, value, out)) return;
        *last = was;
    }
    snprintf(text, sizeof text, "%.16e", value);
    take_apart(text, value, out);
}

void tfy__write_float(TfyBuffer *out, double value)
{
    Digits digits = {.text = "0", .count = 1};
    if (signbit(value)) tfy__buffer_char(out, '-');
    if (value != 0) shortest(fabs(value), &digits);
    int before = digits.exponent + 1; /* digits before the point */
    if (before > 16 || before < -5) {
        tfy__buffer_char(out, digits.text[0]);
        if (digits.count > 1) tfy__buffer_char(out, '.');
        tfy__buffer_add(out, digits.text + 1, (size_t)digits.count - 1);
        tfy__buffer_printf(out, "e%d", digits.exponent);
        return;
    }
    if (before <= 0) tfy__buffer_add(out, "0.000000", (size_t)(2 - before));
    for (int i = 0; i < digits.count || i < before; i++) {
        if (i == before && before > 0) tfy__buffer_char(out, '.');
        tfy__buffer_char(out, i < digits.count ? digits.text[i] : '0');
    }
    if (digits.count <= before) tfy__buffer_text(out, ".0");
}

static locale_t our_locale;

static void make_locale(void)
{
    our_locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    if (!our_locale) our_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t tfy__locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    return our_locale;
}

#define DECIMALS_MAX 100

TfyObj *tfy_float_format(TfyTask *task, uint32_t line, double value, int64_t decimals)
{
    char text[DECIMALS_MAX + 320]; /* the largest double has 309 digits before the point */
    if (decimals < 0 || decimals > DECIMALS_MAX) {
        tfy_panic(task, line, "format takes 0 to %d decimals, not %lld", DECIMALS_MAX, (long long)decimals);
        return NULL;
    }
    locale_t before = uselocale(tfy__locale());
    int len = snprintf(text, sizeof text, "%.*f", (int)decimals, value);
    uselocale(before);
    return tfy_string_of(task, text, (size_t)len);
}

/* Digits, with an optional fraction and exponent; no blanks, and no names for infinities and NaN. */
static bool is_float_text(const char *text)
{
    if (*text == '-' || *text == '+') text++;
    size_t digits = strspn(text, "0123456789");
    text += digits;
    if (digits && *text == '.') {
        digits = strspn(++text, "0123456789");
        text += digits;
    }
    if (digits && (*text == 'e' || *text == 'E')) {
        text++;
        if (*text == '-' || *text == '+') text++;
        digits = strspn(text, "0123456789");
        text += digits;
    }
    return digits && !*text;
}

static bool read_float(const TfyString *text, double *out)
{
    if (strlen(text->bytes) != text->byte_len || !is_float_text(text->bytes)) return false;
    *out = strtod_l(text->bytes, NULL, tfy__locale());
    return isfinite(*out);
}

static bool read_int(const TfyString *text, int64_t *out)
{
    uint32_t at = text->byte_len && (text->bytes[0] == '-' || text->bytes[0] == '+');
    bool negative = text->bytes[0] == '-';
    *out = 0;
    if (at == text->byte_len) return false;
    for (; at < text->byte_len; at++) {
        int64_t digit = text->bytes[at] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, negative ? -digit : digit, out))
            return false;
    }
    return true;
}

/* ---- durations ---- */

static const struct {
    const char *name; /* as written */
    int64_t ms;       /* in milliseconds */
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

#define UNIT_COUNT (sizeof units / sizeof units[0])

void tfy__write_duration(TfyBuffer *out, int64_t ms)
{
    size_t unit = ms ? 0 : 3;
    while (ms % units[unit].ms) unit++;
    tfy__buffer_int(out, ms / units[unit].ms);
    tfy__buffer_text(out, units[unit].name);
}

bool tfy__read_duration(const char *text, size_t len, int64_t *ms)
{
    size_t at = len && text[0] == '-', start = at;
    int64_t value = 0;
    for (; at < len && isdigit((unsigned char)text[at]); at++) {
        /* Negative values are built downwards: INT64_MIN has no positive counterpart. */
        int64_t digit = start ? '0' - text[at] : text[at] - '0';
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) return false;
    }
    if (at == start) return false;
    for (size_t unit = 0; unit < UNIT_COUNT; unit++) {
        size_t name_len = strlen(units[unit].name);
        if (len - at == name_len && memcmp(text + at, units[unit].name, name_len) == 0)
            return !__builtin_mul_overflow(value, units[unit].ms, ms);
    }
    return false;
}

/* ---- times ---- */

#define DAY_MS INT64_C(86400000)

/* Converts days since 1970-01-01 to a date of the Gregorian calendar, and back. Eras of 400 years (146097 days) start
 * on March 1st, so that the leap day is the last day of a year. */
static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468; /* from 0000-03-01 to 1970-01-01 */
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    int from_march = (int)((5 * of_year + 2) / 153);
    *day = (int)(of_year - (153 * from_march + 2) / 5) + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = years + era * 400 + (*month <= 2);
}

int64_t tfy__days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* The last digits of a number. Streams have a time for each event, and printf would be a tenth of their cost. */
static void put_digits(char *at, int64_t value, int count)
{
    for (; count-- > 0; value /= 10) at[count] = (char)('0' + value % 10);
}

void tfy__write_time(TfyBuffer *out, int64_t ms)
{
    int64_t rest = ms % DAY_MS, year;
    int month, day;
    if (rest < 0) rest += DAY_MS;
    date_of(ms / DAY_MS - (ms % DAY_MS < 0), &year, &month, &day);
    /* four digits if they suffice, else a sign and six or more, the ISO 8601 form for such years */
    char text[] = "0000-00-00T00:00:00.000Z";
    const bool short_year = year >= 0 && year <= 9999;
    put_digits(text, short_year ? year : 0, 4);
    put_digits(text + 5, month, 2);
    put_digits(text + 8, day, 2);
    put_digits(text + 11, rest / 3600000, 2);
    put_digits(text + 14, rest / 60000 % 60, 2);
    put_digits(text + 17, rest / 1000 % 60, 2);
    put_digits(text + 20, rest % 1000, 3);
    if (!short_year) tfy__buffer_printf(out, "%+07" PRId64, year);
    tfy__buffer_text(out, short_year ? text : text + 4);
}

int64_t tfy_time_part(int64_t ms, int part)
{
    int64_t rest = ms % DAY_MS, days = ms / DAY_MS - (ms % DAY_MS < 0), year;
    int month, day;
    if (rest < 0) rest += DAY_MS;
    date_of(days, &year, &month, &day);
    switch (part) {
    case 0: return year;
    case 1: return month;
    case 2: return day;
    case 3: return rest / 3600000;
    case 4: return rest / 60000 % 60;
    case 5: return rest / 1000 % 60;
    default: return ((days + 3) % 7 + 7) % 7 + 1; /* day 0, 1970-01-01, was a Thursday */
    }
}

/* Reads a number of min to max digits and advances *at. Negative: no such number. */
static int64_t read_digits(const char **at, const char *end, int min, int max)
{
    int64_t value = 0;
    int count = 0;
    for (; count < max && *at < end && isdigit((unsigned char)**at); count++) value = value * 10 + (*(*at)++ - '0');
    return count >= min ? value : -1;
}

static bool read_char(const char **at, const char *end, const char *allowed)
{
    if (*at == end || !strchr(allowed, **at) || !**at) return false;
    ++*at;
    return true;
}

static bool read_date(const char **at, const char *end, int64_t *days)
{
    bool negative = *at < end && **at == '-';
    bool extended = read_char(at, end, "+-");
    int64_t year = read_digits(at, end, extended ? 6 : 4, extended ? 9 : 4);
    if (year < 0 || !read_char(at, end, "-")) return false;
    if (negative) year = -year;
    int64_t month = read_digits(at, end, 2, 2);
    if (month < 1 || month > 12 || !read_char(at, end, "-")) return false;
    int64_t day = read_digits(at, end, 2, 2), back_year;
    int back_month, back_day;
    if (day < 1 || day > 31) return false;
    *days = tfy__days_of(year, (int)month, (int)day);
    date_of(*days, &back_year, &back_month, &back_day);
    return back_day == day; /* otherwise the month is shorter */
}

static bool read_clock(const char **at, const char *end, int64_t *ms)
{
    int64_t hour = read_digits(at, end, 2, 2);
    if (hour < 0 || hour > 23 || !read_char(at, end, ":")) return false;
    int64_t minute = read_digits(at, end, 2, 2);
    if (minute < 0 || minute > 59 || !read_char(at, end, ":")) return false;
    int64_t second = read_digits(at, end, 2, 2);
    /* 60 is a leap second; it equals second 0 of the next minute */
    if (second < 0 || second > 60) return false;
    *ms = hour * 3600000 + minute * 60000 + second * 1000;
    if (!read_char(at, end, ".")) return true;
    const char *start = *at;
    int64_t fraction = read_digits(at, end, 1, 3);
    if (fraction < 0) return false;
    for (int64_t digits = *at - start; digits < 3; digits++) fraction *= 10;
    while (*at < end && isdigit((unsigned char)**at)) ++*at;
    *ms += fraction;
    return true;
}

static bool read_offset(const char **at, const char *end, int64_t *ms)
{
    *ms = 0;
    if (read_char(at, end, "Zz")) return true;
    int64_t sign = *at < end && **at == '-' ? -1 : 1;
    if (!read_char(at, end, "+-")) return false;
    int64_t hour = read_digits(at, end, 2, 2);
    if (hour < 0 || hour > 23 || !read_char(at, end, ":")) return false;
    int64_t minute = read_digits(at, end, 2, 2);
    *ms = sign * (hour * 3600000 + minute * 60000);
    return minute >= 0 && minute <= 59;
}

bool tfy__read_time(const char *text, size_t len, int64_t *ms)
{
    const char *at = text, *end = text + len;
    int64_t days, clock, offset;
    if (!read_date(&at, end, &days) || !read_char(&at, end, "Tt ") || !read_clock(&at, end, &clock) ||
        !read_offset(&at, end, &offset))
        return false;
    int64_t rest = clock - offset;
    /* the smallest int64_t is inside a day, and that day's start is below the range */
    if (days < 0) {
        days++;
        rest -= DAY_MS;
    }
    return at == end && !__builtin_mul_overflow(days, DAY_MS, ms) && !__builtin_add_overflow(*ms, rest, ms);
}

/* ---- bytes ---- */

void tfy__write_base64(TfyBuffer *out, const void *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = bytes;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t three = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63], left > 1 ? digits[three >> 6 & 63] : '=',
                        left > 2 ? digits[three & 63] : '='};
        tfy__buffer_add(out, four, 4);
    }
}

/* ---- values ---- */

static bool write_error(TfyBuffer *out, const TfyObj *error)
{
    const TfyString *message = (const TfyString *)tfy_field(error, 0).o;
    tfy__buffer_text(out, error->type->name);
    if (message && message->byte_len) {
        tfy__buffer_text(out, ": ");
        tfy__buffer_add(out, message->bytes, message->byte_len);
    }
    return !out->failed;
}

/* A case without fields is its name, unquoted, unlike in JSON. */
static bool write_enum(TfyBuffer *out, const TfyType *type, TfyValue value)
{
    const TfyCase *chosen = &type->cases[value.o->aux];
    if (chosen->field_count) return tfy__encode(out, type, value);
    tfy__buffer_add(out, chosen->name, strlen(chosen->name));
    return !out->failed;
}

bool tfy__write_text(TfyBuffer *out, const TfyType *type, TfyValue value)
{
    if (type->kind == TFY_OPTIONAL && value.o) {
        type = type->elem;
        if (type->scalar) value = tfy_unbox(value.o);
    }
    switch (type->kind) {
    case TFY_STRING:
        tfy__buffer_add(out, ((const TfyString *)value.o)->bytes, ((const TfyString *)value.o)->byte_len);
        break;
    case TFY_BYTES:
        tfy__write_base64(out, ((const TfyString *)value.o)->bytes, ((const TfyString *)value.o)->byte_len);
        break;
    case TFY_DURATION: tfy__write_duration(out, value.i); break;
    case TFY_TIME: tfy__write_time(out, value.i); break;
    case TFY_ERROR:
    case TFY_ANY_ERROR: return write_error(out, value.o);
    case TFY_ENUM: return write_enum(out, type, value);
    default: return tfy__encode(out, type, value);
    }
    return !out->failed;
}

TfyObj *tfy_text(TfyTask *task, const TfyType *type, TfyValue value)
{
    if (type->kind == TFY_STRING) return tfy_temp(task, tfy_keep(value.o));
    TfyBuffer text = {0};
    TfyObj *made = NULL;
    if (tfy__write_text(&text, type, value)) {
        made = tfy_string_of(task, text.data, text.len);
        tfy_charge(task, text.len);
    } else {
        tfy__buffer_refused(task, &text);
    }
    tfy__buffer_free(&text);
    return made;
}

/* ---- parsing input of a program ---- */

bool tfy_parse(TfyTask *task, const TfyType *optional, TfyObj *s, TfyObj **out)
{
    const TfyString *text = (const TfyString *)s;
    const TfyType *type = optional->elem;
    TfyValue value = {.i = 0};
    char error[TFY_ERROR_TEXT];
    bool ok;
    tfy_charge(task, text->byte_len);
    *out = NULL;
    switch (type->kind) {
    case TFY_INT: ok = read_int(text, &value.i); break;
    case TFY_FLOAT: ok = read_float(text, &value.f); break;
    case TFY_TIME: ok = tfy__read_time(text->bytes, text->byte_len, &value.i); break;
    case TFY_DURATION: ok = tfy__read_duration(text->bytes, text->byte_len, &value.i); break;
    default: ok = tfy__decode_text(task, type, text->bytes, text->byte_len, &value, error); break;
    }
    if (ok) *out = type->scalar ? tfy_box(task, optional, value) : value.o;
    return !task->error;
}
