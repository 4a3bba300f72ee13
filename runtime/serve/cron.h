/* cron.h: times of a day as cron writes them: "30 2 * * 1-5", five fields for minute, hour, day of the month, month and day
 * of the week, with names, lists, ranges and steps; or "@daily".
 *
 * As in cron, a time fits when its day fits either of the two fields for days if both of them are restricted, and both
 * otherwise. The times are those of a place's clocks (value/clock.h): one that the clocks leave out is as much later as
 * they are set forward, and one that they show twice is the first of the two. */
#ifndef SERVE_CRON_H
#define SERVE_CRON_H

#include <stdbool.h>
#include <stdint.h>

typedef struct TfyCron {
    uint64_t minutes;                       /* bits 0 to 59 */
    uint32_t hours, days, months, weekdays; /* bits 0 to 23, 1 to 31, 1 to 12, 0 (Sunday) to 6 */
    bool any_day, any_weekday;              /* the field starts with * */
} TfyCron;

enum { TFY_CRON_WHY = 128 };
/* False: why (TFY_CRON_WHY bytes) says what is wrong. */
bool tfy__cron_read(const char *text, TfyCron *cron, char *why);
/* The first time after that one, in seconds since 1970; 0: there is none within nine years, or the rules cannot be read. */
int64_t tfy__cron_next(const TfyCron *cron, const char *rules, int64_t after_s);

#endif
