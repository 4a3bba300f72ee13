/* clock.c: times as the clocks of a place show them.
 *
 * A time zone is a value, TimeZone {name, rules}: the step zone("Europe/Berlin") read the rules from the system once
 * and recorded them, so everything here is a function of its arguments and a replay computes the same, whatever the
 * zone's files say by then. The rules are parts separated by ';': "UNIX OFFSET ABBREVIATION" for each change, oldest
 * first (the first holds before all), and at the end, for all later times, a rule as POSIX.1 writes the variable TZ
 * ("CET-1CEST,M3.5.0,M10.5.0/3"). One of both may be missing. No time zone: UTC. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "value/clock.h"
#include "value/heap.h"
#include "value/json.h"

#define DAY_S INT64_C(86400)

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* ---- the rule for all later times ---- */

/* One date of a year on which the clocks change. */
typedef struct Change {
    char kind; /* M: day `day` (0 Sunday) of week `week` (5: the last) of `month`; J: day 1 to 365; n: day 0 to 365 */
    int month, week, day;
    int64_t at; /* seconds after local midnight */
} Change;

typedef struct Rule {
    TfyOffset standard, summer;
    bool has_summer;
    Change start, end;
} Rule;

static bool read_number(const char **at, int most, int *out)
{
    *out = 0;
    if (!isdigit((unsigned char)**at)) return false;
    while (isdigit((unsigned char)**at) && *out <= most) *out = *out * 10 + (*(*at)++ - '0');
    return *out <= most;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool read_hours(const char **at, int64_t *out)
{
    const int sign = **at == '-' ? -1 : 1;
    int part;
    if (**at == '-' || **at == '+') ++*at;
    *out = 0;
    for (int64_t unit = 3600; unit; unit /= 60) {
        if (!read_number(at, unit == 3600 ? 167 : 59, &part)) return false;
        *out += part * unit;
        if (**at != ':') break;
        ++*at;
    }
    *out *= sign;
    return true;
}

static bool read_name(const char **at, char out[TFY_ZONE_NAME])
{
    const bool is_quoted = **at == '<';
    size_t len = 0;
    if (is_quoted) ++*at;
    while (is_quoted ? **at && **at != '>' : isalpha((unsigned char)**at) != 0) {
        if (len + 1 == TFY_ZONE_NAME) return false;
        out[len++] = *(*at)++;
    }
    out[len] = '\0';
    if (is_quoted && *(*at)++ != '>') return false;
    return len > 0;
}

static bool read_change(const char **at, Change *out)
{
    *out = (Change){.kind = 'n', .at = 7200};
    if (*(*at)++ != ',') return false;
    if (**at == 'M' || **at == 'J') out->kind = *(*at)++;
    if (out->kind == 'M') {
        if (!read_number(at, 12, &out->month) || !out->month || *(*at)++ != '.') return false;
        if (!read_number(at, 5, &out->week) || !out->week || *(*at)++ != '.') return false;
    }
    if (!read_number(at, out->kind == 'M' ? 6 : 365, &out->day)) return false;
    if (**at != '/') return true;
    ++*at;
    return read_hours(at, &out->at);
}

static bool read_rule(const char *text, Rule *out)
{
    *out = (Rule){.has_summer = false};
    if (!read_name(&text, out->standard.name) || !read_hours(&text, &out->standard.seconds)) return false;
    out->standard.seconds = -out->standard.seconds; /* POSIX counts to the west */
    if (!*text) return true;
    out->has_summer = true;
    out->summer.seconds = out->standard.seconds + 3600;
    if (!read_name(&text, out->summer.name)) return false;
    if (*text != ',') {
        if (!read_hours(&text, &out->summer.seconds)) return false;
        out->summer.seconds = -out->summer.seconds;
    }
    return read_change(&text, &out->start) && read_change(&text, &out->end) && !*text;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The local time of a change in a year, in seconds, as if it were UTC. */
static int64_t change_in(const Change *change, int64_t year)
{
    const int64_t first = tfy__days_of(year, change->kind == 'M' ? change->month : 1, 1);
    int64_t day = first + change->day;
    if (change->kind == 'J') day += is_leap(year) && change->day > 59 ? 0 : -1; /* February 29 is not counted */
    if (change->kind == 'M') {
        const int64_t weekday = ((first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
        const int64_t next =
            change->month == 12 ? tfy__days_of(year + 1, 1, 1) : tfy__days_of(year, change->month + 1, 1);
        day = first + (change->day - weekday + 7) % 7 + 7 * (change->week - 1);
        while (day >= next) day -= 7;
    }
    return day * DAY_S + change->at;
}

static TfyOffset offset_by(const Rule *rule, int64_t unix_s)
{
    if (!rule->has_summer) return rule->standard;
    const int64_t year = tfy_time_part((unix_s + rule->standard.seconds) * 1000, 0);
    const int64_t start = change_in(&rule->start, year) - rule->standard.seconds;
    const int64_t end = change_in(&rule->end, year) - rule->summer.seconds;
    const bool is_summer = start < end ? unix_s >= start && unix_s < end : unix_s >= start || unix_s < end;
    return is_summer ? rule->summer : rule->standard;
}

/* ---- rules ---- */

/* "UNIX OFFSET ABBREVIATION" */
static bool read_past(const char *part, int64_t *from, TfyOffset *out)
{
    char *end;
    *from = strtoll(part, &end, 10);
    if (end == part || *end != ' ') return false;
    out->seconds = strtoll(end + 1, &end, 10);
    if (*end != ' ' || out->seconds < -2 * DAY_S || out->seconds > 2 * DAY_S) return false;
    const size_t len = strcspn(++end, ";");
    if (!len || len >= sizeof out->name) return false;
    memcpy(out->name, end, len);
    out->name[len] = '\0';
    return true;
}

bool tfy__zone_offset(const char *rules, int64_t unix_s, TfyOffset *out)
{
    int64_t from = INT64_MIN;
    bool is_past = false;
    TfyOffset next;
    Rule rule;
    while (isdigit((unsigned char)*rules) || *rules == '-') {
        if (!read_past(rules, &from, &next)) return false;
        if (is_past && unix_s < from) return true;
        *out = next;
        is_past = true;
        rules += strcspn(rules, ";");
        rules += *rules == ';';
    }
    if (!*rules) return is_past;
    if (!read_rule(rules, &rule)) return false;
    if (!is_past || unix_s >= from) *out = offset_by(&rule, unix_s);
    return true;
}

bool tfy__zone_unix(const char *rules, int64_t local_s, int64_t *out)
{
    TfyOffset before, after, check;
    if (!tfy__zone_offset(rules, local_s - DAY_S, &before) || !tfy__zone_offset(rules, local_s + DAY_S, &after))
        return false;
    *out = local_s - before.seconds;
    if (before.seconds == after.seconds) return true;
    if (!tfy__zone_offset(rules, *out, &check)) return false;
    if (check.seconds == before.seconds) return true;
    if (!tfy__zone_offset(rules, local_s - after.seconds, &check)) return false;
    if (check.seconds == after.seconds) *out = local_s - after.seconds;
    return true;
}

/* ---- format ---- */

static const char *const days[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};

/* A time as its place shows it. */
typedef struct Shown {
    int64_t ms; /* local, as if it were UTC */
    int64_t unix_ms;
    TfyOffset offset;
} Shown;

/* The offset of a place; NULL: UTC. False after a panic. */
static bool offset_at(TfyTask *task, uint32_t line, const TfyObj *zone, int64_t unix_s, TfyOffset *out)
{
    *out = (TfyOffset){0, "UTC"};
    if (!zone) return true;
    const TfyValue *fields = ((const TfyRecord *)zone)->fields;
    const char *name = ((const TfyString *)fields[0].o)->bytes, *rules = ((const TfyString *)fields[1].o)->bytes;
    return tfy__zone_offset(rules, unix_s, out) ||
           tfy_panic(task, line, "the rules of time zone '%.64s' cannot be read", name);
}

static int64_t day_of_year(const Shown *shown)
{
    return floor_div(shown->ms, DAY_S * 1000) - tfy__days_of(tfy_time_part(shown->ms, 0), 1, 1) + 1;
}

/* ISO 8601: a week belongs to the year of its Thursday. */
static void iso_week(const Shown *shown, int64_t *year, int64_t *week)
{
    const Shown thursday = {.ms = shown->ms + (4 - tfy_time_part(shown->ms, 6)) * DAY_S * 1000};
    *year = tfy_time_part(thursday.ms, 0);
    *week = (day_of_year(&thursday) - 1) / 7 + 1;
}

static void write_offset(TfyBuffer *out, int64_t seconds)
{
    const int64_t size = llabs(seconds);
    tfy__buffer_printf(out, "%c%02d:%02d", seconds < 0 ? '-' : '+', (int)(size / 3600), (int)(size / 60 % 60));
}

/* One conversion, the letter behind '%'. False: there is none of that letter. */
static bool write_part(TfyBuffer *out, const Shown *shown, char letter)
{
    const int64_t hour = tfy_time_part(shown->ms, 3);
    int64_t year, week;
    switch (letter) {
    case 'Y': tfy__buffer_printf(out, "%04" PRId64, tfy_time_part(shown->ms, 0)); return true;
    case 'm': tfy__buffer_printf(out, "%02d", (int)tfy_time_part(shown->ms, 1)); return true;
    case 'd': tfy__buffer_printf(out, "%02d", (int)tfy_time_part(shown->ms, 2)); return true;
    case 'e': tfy__buffer_printf(out, "%d", (int)tfy_time_part(shown->ms, 2)); return true;
    case 'H': tfy__buffer_printf(out, "%02d", (int)hour); return true;
    case 'I': tfy__buffer_printf(out, "%02d", (int)((hour + 11) % 12 + 1)); return true;
    case 'M': tfy__buffer_printf(out, "%02d", (int)tfy_time_part(shown->ms, 4)); return true;
    case 'S': tfy__buffer_printf(out, "%02d", (int)tfy_time_part(shown->ms, 5)); return true;
    case 'L': tfy__buffer_printf(out, "%03d", (int)(shown->ms - floor_div(shown->ms, 1000) * 1000)); return true;
    case 'p': tfy__buffer_text(out, hour < 12 ? "AM" : "PM"); return true;
    case 'A': tfy__buffer_text(out, days[tfy_time_part(shown->ms, 6) - 1]); return true;
    case 'a': tfy__buffer_add(out, days[tfy_time_part(shown->ms, 6) - 1], 3); return true;
    case 'B': tfy__buffer_text(out, months[tfy_time_part(shown->ms, 1) - 1]); return true;
    case 'b': tfy__buffer_add(out, months[tfy_time_part(shown->ms, 1) - 1], 3); return true;
    case 'j': tfy__buffer_printf(out, "%03d", (int)day_of_year(shown)); return true;
    case 'G':
        iso_week(shown, &year, &week);
        tfy__buffer_printf(out, "%04" PRId64, year);
        return true;
    case 'V':
        iso_week(shown, &year, &week);
        tfy__buffer_printf(out, "%02d", (int)week);
        return true;
    case 'u': tfy__buffer_int(out, tfy_time_part(shown->ms, 6)); return true;
    case 's': tfy__buffer_int(out, floor_div(shown->unix_ms, 1000)); return true;
    case 'Z': tfy__buffer_text(out, shown->offset.name); return true;
    case 'z': write_offset(out, shown->offset.seconds); return true;
    case '%': tfy__buffer_char(out, '%'); return true;
    default: return false;
    }
}

TfyObj *tfy_time_format(TfyTask *task, uint32_t line, int64_t ms, const TfyObj *layout, const TfyObj *zone)
{
    const TfyString *text = (const TfyString *)layout;
    Shown shown = {.unix_ms = ms};
    TfyBuffer out = {0};
    TfyObj *made = NULL;
    bool ok = offset_at(task, line, zone, floor_div(ms, 1000), &shown.offset);
    shown.ms = ms + shown.offset.seconds * 1000;
    tfy_charge(task, text->byte_len);
    for (uint32_t i = 0; ok && i < text->byte_len; i++) {
        if (text->bytes[i] != '%')
            tfy__buffer_char(&out, text->bytes[i]);
        else if (!write_part(&out, &shown, text->bytes[++i]))
            ok = tfy_panic(task, line, "format: there is no '%%%.1s' in a layout; see \"time\" in the language guide",
                           text->bytes + i);
    }
    if (ok && out.failed) ok = tfy__buffer_refused(task, &out);
    if (ok) made = tfy_string_of(task, out.data ? out.data : "", out.len);
    tfy__buffer_free(&out);
    return made;
}

/* ---- the next time that a clock shows something ---- */

/* "9:00", "09:00" or "09:00:30": seconds after midnight; negative: it is none of them. */
static int64_t read_clock(const TfyString *text)
{
    const char *at = text->bytes;
    int hour, minute, second = 0;
    if (!read_number(&at, 23, &hour) || *at++ != ':' || !read_number(&at, 59, &minute)) return -1;
    if (*at == ':' && (at++, !read_number(&at, 59, &second))) return -1;
    return at == text->bytes + text->byte_len ? hour * 3600 + minute * 60 + second : -1;
}

static bool unix_of(TfyTask *task, uint32_t line, const TfyObj *zone, int64_t local_s, int64_t *out)
{
    *out = local_s;
    if (!zone) return true;
    const TfyValue *fields = ((const TfyRecord *)zone)->fields;
    return tfy__zone_unix(((const TfyString *)fields[1].o)->bytes, local_s, out) ||
           tfy_panic(task, line, "the rules of time zone '%.64s' cannot be read",
                     ((const TfyString *)fields[0].o)->bytes);
}

bool tfy_time_next(TfyTask *task, uint32_t line, int64_t ms, const TfyObj *clock, const TfyObj *zone, int64_t *out)
{
    const int64_t of_day = read_clock((const TfyString *)clock), unix_s = floor_div(ms, 1000);
    TfyOffset offset;
    *out = ms;
    if (of_day < 0)
        return tfy_panic(task, line, "next: \"%.20s\" is not a time of day such as \"09:00\"",
                         ((const TfyString *)clock)->bytes);
    if (!offset_at(task, line, zone, unix_s, &offset)) return false;
    int64_t day = floor_div(unix_s + offset.seconds, DAY_S) - 1, found = unix_s;
    for (; found * 1000 <= ms; day++)
        if (!unix_of(task, line, zone, day * DAY_S + of_day, &found)) return false;
    *out = found * 1000;
    return true;
}
