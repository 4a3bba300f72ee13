/* cron.c: see cron.h. */
#include "serve/cron.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "value/clock.h"

/* ---- reading ---- */

typedef struct Field {
    const char *name;
    int least, most;
    const char *const *names; /* of its values, from `least` on; NULL: none */
} Field;

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const Field fields[] = {{"minute", 0, 59, NULL},
                               {"hour", 0, 23, NULL},
                               {"day of the month", 1, 31, NULL},
                               {"month", 1, 12, month_names},
                               {"day of the week", 0, 7, day_names}};

enum { FIELDS = 5, WEEKDAYS = 4 };

/* Reads a number or a name. False: it is neither, or not one of the field's. */
static bool read_value(const Field *field, const char **at, int *value)
{
    const size_t digits = strspn(*at, "0123456789");
    if (digits) {
        *value = digits < 4 ? atoi(*at) : -1;
        *at += digits;
        return *value >= field->least && *value <= field->most;
    }
    for (int i = 0; field->names && field->names[i]; i++)
        if (strncasecmp(*at, field->names[i], 3) == 0) {
            *at += 3;
            *value = field->least + i;
            return true;
        }
    return false;
}

/* Reads "*", "5", "1-5", and a step behind the first and the last. */
static bool read_range(const Field *field, const char **at, uint64_t *bits)
{
    int from = field->least, to = field->most, step = 1;
    const bool star = **at == '*';
    bool range = star;
    if (star) {
        ++*at;
        if (field == &fields[WEEKDAYS]) to = 6;
    } else {
        if (!read_value(field, at, &from)) return false;
        to = from;
        range = **at == '-';
        if (range && (++*at, !read_value(field, at, &to))) return false;
        if (field == &fields[WEEKDAYS] && to == 0 && range) to = 7; /* fri-sun */
        if (to < from) return false;
    }
    if (**at == '/') {
        char *end;
        step = range ? (int)strtol(*at + 1, &end, 10) : 0;
        if (step < 1 || step > 99 || (*at)[1] < '0' || (*at)[1] > '9') return false;
        *at = end;
    }
    for (int i = from; i <= to; i += step) *bits |= UINT64_C(1) << i;
    return true;
}

static bool read_field(const Field *field, const char *text, size_t len, uint64_t *bits, char *why)
{
    const char *at = text;
    bool fits;
    *bits = 0;
    do at += at != text;
    while ((fits = read_range(field, &at, bits)) && *at == ',');
    if (fits && at == text + len) return true;
    snprintf(why, TFY_CRON_WHY, "'%.*s' is not a %s: %d to %d, with lists, ranges and steps", len > 40 ? 40 : (int)len,
             text, field->name, field->least, field->most);
    return false;
}

static const char *expanded(const char *text)
{
    static const char *const of[][2] = {
        {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
        {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strcmp(text, of[i][0]) == 0) return of[i][1];
    return text;
}

bool tfy__cron_read(const char *text, TfyCron *cron, char *why)
{
    uint64_t bits[FIELDS];
    bool any[FIELDS];
    int count = 0;
    for (const char *at = expanded(text); *(at += strspn(at, " \t")); count++) {
        const size_t len = strcspn(at, " \t");
        if (count < FIELDS && !read_field(&fields[count], at, len, &bits[count], why)) return false;
        if (count < FIELDS) any[count] = *at == '*';
        at += len;
    }
    snprintf(why, TFY_CRON_WHY,
             "it is not five fields (minute, hour, day of the month, month, day of the week), or @hourly, @daily, "
             "@weekly, @monthly, @yearly");
    if (count != FIELDS) return false;
    *cron = (TfyCron){bits[0],
                      (uint32_t)bits[1],
                      (uint32_t)bits[2],
                      (uint32_t)bits[3],
                      (uint32_t)((bits[4] | bits[4] >> 7) & 127),
                      any[2],
                      any[4]};
    return true;
}

/* ---- times ---- */

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, YEARS = 9 };

static bool has_day(const TfyCron *cron, const struct tm *day)
{
    const bool in_month = cron->days >> day->tm_mday & 1, in_week = cron->weekdays >> day->tm_wday & 1;
    if (!(cron->months >> (day->tm_mon + 1) & 1)) return false;
    return cron->any_day || cron->any_weekday ? in_month && in_week : in_month || in_week;
}

/* The first time of this day that fits, from a minute on; negative: none. */
static int64_t in_day(const TfyCron *cron, int64_t from)
{
    for (int hour = (int)(from / HOUR), minute = (int)(from % HOUR / MINUTE); hour < 24; hour++, minute = 0) {
        if (!(cron->hours >> hour & 1)) continue;
        for (; minute < 60; minute++)
            if (cron->minutes >> minute & 1) return hour * HOUR + minute * MINUTE;
    }
    return -1;
}

/* The first local time that fits, from this one on, as if it were UTC; 0: none within some years. */
static int64_t next_local(const TfyCron *cron, int64_t from_s)
{
    int64_t day = from_s / DAY - (from_s % DAY < 0), from = from_s - day * DAY;
    from = (from + MINUTE - 1) / MINUTE * MINUTE;
    for (const int64_t end = day + YEARS * 366; day < end; day++, from = 0) {
        const time_t start = (time_t)(day * DAY);
        struct tm date;
        if (!gmtime_r(&start, &date) || !has_day(cron, &date)) continue;
        const int64_t found = in_day(cron, from);
        if (found >= 0) return day * DAY + found;
    }
    return 0;
}

typedef struct Span {
    int64_t least, most; /* seconds east of UTC */
} Span;

/* The offsets that clocks have around a time. */
static bool offsets_near(const char *rules, int64_t unix_s, Span *span)
{
    *span = (Span){INT64_MAX, INT64_MIN};
    for (int days = -2; days <= 2; days += 2) {
        TfyOffset offset;
        if (!tfy__zone_offset(rules, unix_s + days * DAY, &offset)) return false;
        if (offset.seconds < span->least) span->least = offset.seconds;
        if (offset.seconds > span->most) span->most = offset.seconds;
    }
    return true;
}

/* Where clocks are changed, a later local time may be an earlier one. So it is looked for from the first local time that can
 * be behind `after_s`, until no other one can be before the best. */
int64_t tfy__cron_next(const TfyCron *cron, const char *rules, int64_t after_s)
{
    int64_t best = 0, unix_s;
    Span span;
    if (!offsets_near(rules, after_s, &span)) return 0;
    for (int64_t local = after_s + span.least + 1; (local = next_local(cron, local)); local++) {
        if (!tfy__zone_unix(rules, local, &unix_s) || !offsets_near(rules, unix_s, &span)) return 0;
        if (best && local - span.most >= best) break;
        if (unix_s > after_s && (!best || unix_s < best)) best = unix_s;
        if (best && local + MINUTE - span.most >= best) break;
    }
    return best;
}
