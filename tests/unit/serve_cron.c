/* serve_cron.c: the times of schedules: fields of cron, daylight saving in both hemispheres, what is missed, and clocks that are
 * set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "effects/zone_file.h"
#include "serve/schedule.h"
#include "value/json.h"

static int64_t seconds(const char *text)
{
    int64_t ms = 0;
    assert_true(tfy__read_time(text, strlen(text), &ms));
    return ms / 1000;
}

static char *rules_of(const char *zone)
{
    TfyBuffer rules = {0};
    char error[TFY_ERROR_TEXT];
    if (!zone) return strdup("UTC0");
    if (tfy__zone_read(zone, strlen(zone), &rules, error) != 0) fail_msg("%s", error);
    return rules.data;
}

/* The times after `from` are these, in UTC and without their date where it stays the same; "" ends them. */
static void come(const char *cron_text, const char *zone, const char *from, const char *const *times)
{
    TfyCron cron;
    char why[TFY_CRON_WHY] = "";
    char *rules = rules_of(zone);
    if (!tfy__cron_read(cron_text, &cron, why)) fail_msg("%s: %s", cron_text, why);
    int64_t at = seconds(from);
    for (; *times; times++) {
        at = tfy__cron_next(&cron, rules, at);
        TfyBuffer shown = {0};
        tfy__write_time(&shown, at * 1000);
        assert_string_equal(shown.data, *times);
        tfy__buffer_free(&shown);
    }
    free(rules);
}
#define COME(cron, zone, from, ...) come(cron, zone, from, (const char *const[]){__VA_ARGS__, NULL})

static void fields(void **state)
{
    COME("*/20 9-10 * * *", NULL, "2026-11-23T09:00:00Z", "2026-11-23T09:20:00.000Z", "2026-11-23T09:40:00.000Z",
         "2026-11-23T10:00:00.000Z", "2026-11-23T10:20:00.000Z", "2026-11-23T10:40:00.000Z",
         "2026-11-24T09:00:00.000Z");
    COME("0 12 * * mon-fri", NULL, "2026-11-27T12:00:00Z", "2026-11-30T12:00:00.000Z", "2026-12-01T12:00:00.000Z");
    COME("0 12 * * 5-7", NULL, "2026-11-26T13:00:00Z", "2026-11-27T12:00:00.000Z", "2026-11-28T12:00:00.000Z",
         "2026-11-29T12:00:00.000Z", "2026-12-04T12:00:00.000Z");
    COME("0 12 * * Fri-SUN", NULL, "2026-11-28T13:00:00Z", "2026-11-29T12:00:00.000Z", "2026-12-04T12:00:00.000Z");
    COME("5,10-12,50-59/5 0 1 jan *", NULL, "2026-01-01T00:00:00Z", "2026-01-01T00:05:00.000Z",
         "2026-01-01T00:10:00.000Z", "2026-01-01T00:11:00.000Z", "2026-01-01T00:12:00.000Z", "2026-01-01T00:50:00.000Z",
         "2026-01-01T00:55:00.000Z", "2027-01-01T00:05:00.000Z");
    COME("@daily", NULL, "2026-11-23T00:00:00Z", "2026-11-24T00:00:00.000Z");
    COME("@weekly", NULL, "2026-11-23T00:00:00Z", "2026-11-29T00:00:00.000Z");
    COME("@yearly", NULL, "2026-11-23T00:00:00Z", "2027-01-01T00:00:00.000Z");
    COME("  0\t0  29 2 * ", NULL, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00.000Z");
}

/* Two fields for days: either, when both are restricted. */
static void days(void **state)
{
    COME("0 0 13 * fri", NULL, "2026-11-09T00:00:00Z", "2026-11-13T00:00:00.000Z", "2026-11-20T00:00:00.000Z",
         "2026-11-27T00:00:00.000Z", "2026-12-04T00:00:00.000Z", "2026-12-11T00:00:00.000Z",
         "2026-12-13T00:00:00.000Z");
    COME("0 0 */2 * fri", NULL, "2026-11-09T00:00:00Z", "2026-11-13T00:00:00.000Z", "2026-11-27T00:00:00.000Z");
}

static void refused(void **state)
{
    static const char *const wrong[] = {"",           "* * * *",     "* * * * * *",   "60 * * * *",  "* 24 * * *",
                                        "* * 0 * *",  "* * 32 * *",  "* * * 13 *",    "* * * * 8",   "a * * * *",
                                        "1- * * * *", "5-1 * * * *", "*/0 * * * *",   "5/2 * * * *", "1,, * * * *",
                                        ", * * * *",  "@reboot",     "* * * janu *",  "*/ * * * *",  "-1 * * * *",
                                        "* * * * mo", "*-5 * * * *", "*/100 * * * *", "1,* x * * *", "0x1 * * * *"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TfyCron cron;
        char why[TFY_CRON_WHY] = "";
        if (tfy__cron_read(wrong[i], &cron, why)) fail_msg("'%s' was taken", wrong[i]);
        assert_true(*why);
    }
    TfyCron never;
    char why[TFY_CRON_WHY];
    assert_true(tfy__cron_read("0 0 30 feb *", &never, why));
    assert_int_equal(tfy__cron_next(&never, "UTC0", 0), 0);
}

/* Clocks are set forward at 2:00 on 2026-03-29, and back at 3:00 on 2026-10-25. */
static void berlin(void **state)
{
    COME("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", "2026-03-28T01:30:00.000Z", "2026-03-29T01:30:00.000Z",
         "2026-03-30T00:30:00.000Z");
    COME("30 2 * * *", "Europe/Berlin", "2026-10-23T12:00:00Z", "2026-10-24T00:30:00.000Z", "2026-10-25T00:30:00.000Z",
         "2026-10-26T01:30:00.000Z");
    COME("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T00:30:00.000Z", "2026-03-29T01:30:00.000Z",
         "2026-03-29T02:30:00.000Z");
    COME("30 * * * *", "Europe/Berlin", "2026-10-24T23:40:00Z", "2026-10-25T00:30:00.000Z", "2026-10-25T02:30:00.000Z",
         "2026-10-25T03:30:00.000Z");
    COME("0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z", "2026-03-30T01:00:00.000Z");
    COME("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z", "2026-03-30T00:00:00.000Z",
         "2026-03-30T01:00:00.000Z");
    COME("45 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:45:00.000Z",
         "2026-03-30T00:45:00.000Z");
    COME("50 2 29 3 *", "Europe/Berlin", "2080-01-01T00:00:00Z", "2080-03-29T01:50:00.000Z");
}

/* Clocks are set back at 3:00 on 2026-04-05, and forward at 2:00 on 2026-10-04. */
static void sydney(void **state)
{
    COME("30 2 * * *", "Australia/Sydney", "2026-10-02T12:00:00Z", "2026-10-02T16:30:00.000Z",
         "2026-10-03T16:30:00.000Z", "2026-10-04T15:30:00.000Z");
    COME("30 2 * * *", "Australia/Sydney", "2026-04-03T00:00:00Z", "2026-04-03T15:30:00.000Z",
         "2026-04-04T15:30:00.000Z", "2026-04-05T16:30:00.000Z");
    COME("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T12:00:00Z", "2026-10-02T15:45:00.000Z",
         "2026-10-03T15:45:00.000Z", "2026-10-04T15:15:00.000Z"); /* by half an hour */
    COME("0 0 * * *", "America/Santiago", "2026-09-04T12:00:00Z", "2026-09-05T04:00:00.000Z",
         "2026-09-06T04:00:00.000Z", "2026-09-07T03:00:00.000Z"); /* midnight itself is left out on 2026-09-06 */
    COME("0 12 30 dec *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T22:00:00.000Z",
         "2012-12-29T22:00:00.000Z"); /* a whole day was left out */
}

/* Every minute until `end`: in order, each once, and never skipping more than what the clocks skip. Returns the skips. */
static int walk_minutes(const TfyCron *cron, const char *rules, const char *start, const char *end)
{
    int leaps = 0;
    for (int64_t at = seconds(start), next; at < seconds(end); at = next) {
        next = tfy__cron_next(cron, rules, at);
        assert_true(next - at == 60 || next - at == 3660);
        leaps += next - at != 60;
    }
    return leaps;
}

/* The hours around both changes of the clocks; the whole summer takes a minute, longer with sanitizers: only with
 * CRON_EVERY_MINUTE, which ./dev soak sets. */
static void each_minute(void **state)
{
    char *rules = rules_of("Europe/Berlin");
    TfyCron cron;
    char why[TFY_CRON_WHY];
    assert_true(tfy__cron_read("* * * * *", &cron, why));
    /* The hour that comes twice is skipped once. */
    assert_int_equal(walk_minutes(&cron, rules, "2026-03-28T22:00:00Z", "2026-03-29T04:00:00Z"), 0);
    assert_int_equal(walk_minutes(&cron, rules, "2026-10-24T22:00:00Z", "2026-10-25T04:00:00Z"), 1);
    if (getenv("CRON_EVERY_MINUTE")) {
        assert_int_equal(walk_minutes(&cron, rules, "2026-03-20T00:00:00Z", "2026-11-01T00:00:00Z"), 1);
    }
    free(rules);
}

/* ---- what is due ---- */

static TfySchedule schedule(const char *cron, const char *catch_up)
{
    static char name[] = "nightly", rules[] = "UTC0";
    TfySchedule made = {.name = name, .rules = {.data = rules}};
    char why[TFY_CRON_WHY];
    assert_true(tfy__cron_read(cron, &made.cron, why));
    assert_true(tfy__read_duration(catch_up, strlen(catch_up), &made.catch_up_ms));
    return made;
}

static void on_time(void **state)
{
    const TfySchedule hourly = schedule("0 * * * *", "0s");
    const int64_t ten = seconds("2026-11-23T10:00:00Z");
    TfyDue due = tfy__schedule_due(&hourly, ten, 0, (ten + 3599) * 1000);
    assert_int_equal(due.at_s, ten + 3600);
    assert_true(due.due_ms > (ten + 3599) * 1000);
    due = tfy__schedule_due(&hourly, ten, 0, (ten + 3600) * 1000);
    assert_int_equal(due.due_ms, (ten + 3600) * 1000);
    assert_false(due.missed);
    due = tfy__schedule_due(&hourly, ten, 0, (ten + 3609) * 1000); /* a start of the server takes a moment */
    assert_int_equal(due.at_s, ten + 3600);
    due = tfy__schedule_due(&hourly, ten, 0, (ten + 3620) * 1000);
    assert_int_equal(due.at_s, ten + 7200); /* nothing is made good */
}

static void missed(void **state)
{
    const TfySchedule hourly = schedule("0 * * * *", "3h");
    const int64_t ten = seconds("2026-11-23T10:00:00Z"), now = ten + 24 * 3600 + 60;
    int64_t done = ten;
    uint32_t made_good = 0;
    for (int i = 0; i < 3; i++) {
        const TfyDue due = tfy__schedule_due(&hourly, done, made_good++, now * 1000);
        assert_true(due.missed);
        assert_int_equal(due.at_s, ten + (22 + i) * 3600); /* the oldest first */
        done = due.at_s;
    }
    assert_int_equal(tfy__schedule_due(&hourly, done, made_good, now * 1000).at_s, ten + 25 * 3600);
}

static void at_most(void **state)
{
    const TfySchedule often = schedule("* * * * *", "1d");
    const int64_t ten = seconds("2026-11-23T10:00:00Z"), now = ten + 10 * 3600 + 30;
    int64_t done = ten;
    for (uint32_t i = 0; i < TFY_SCHEDULE_MISSED_MOST; i++) {
        const TfyDue due = tfy__schedule_due(&often, done, i, now * 1000);
        assert_int_equal(due.at_s, ten + 60 * (i + 1));
        done = due.at_s;
    }
    const TfyDue due = tfy__schedule_due(&often, done, TFY_SCHEDULE_MISSED_MOST, now * 1000);
    assert_int_equal(due.at_s, now + 30);
    assert_int_equal(due.passed_s, now);
}

static void set_back(void **state)
{
    const TfySchedule hourly = schedule("0 * * * *", "3h");
    const int64_t ten = seconds("2026-11-23T10:00:00Z");
    for (int64_t now = ten - 3600; now <= ten + 3599; now += 61) {
        const TfyDue due = tfy__schedule_due(&hourly, ten, 0, now * 1000);
        assert_int_equal(due.at_s, ten + 3600);
        assert_true(due.due_ms > now * 1000);
    }
}

static void jitter(void **state)
{
    TfySchedule hourly = schedule("0 * * * *", "0s");
    const int64_t ten = seconds("2026-11-23T10:00:00Z");
    hourly.jitter_ms = 60000;
    bool differs = false;
    for (int64_t at = ten, last = -1; at < ten + 24 * 3600; at += 3600) {
        const TfyDue due = tfy__schedule_due(&hourly, at - 1, 0, at * 1000);
        assert_int_equal(due.at_s, at);
        const int64_t later = due.due_ms - at * 1000;
        assert_true(later >= 0 && later < 60000);
        assert_int_equal(tfy__schedule_due(&hourly, at - 1, 0, due.due_ms + 9000).due_ms, due.due_ms);
        differs |= last >= 0 && later != last;
        last = later;
    }
    assert_true(differs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields),  cmocka_unit_test(days),        cmocka_unit_test(refused), cmocka_unit_test(berlin),
        cmocka_unit_test(sydney),  cmocka_unit_test(each_minute), cmocka_unit_test(on_time), cmocka_unit_test(missed),
        cmocka_unit_test(at_most), cmocka_unit_test(set_back),    cmocka_unit_test(jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
