/* clock.h: the rules of time zones, for who reads them from the system (effects/zone.c). */
#ifndef VALUE_CLOCK_H
#define VALUE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define TFY_ZONE_NAME 32 /* bytes of an abbreviation, with its NUL */

/* What a place's clocks show: seconds east of UTC, and what that is called there. */
typedef struct TfyOffset {
    int64_t seconds;
    char name[TFY_ZONE_NAME];
} TfyOffset;

/* By the rules of a TimeZone (clock.c says how they are written). False: they cannot be read. */
bool tfy__zone_offset(const char *rules, int64_t unix_s, TfyOffset *out);

/* When a place's clock shows this (local, as if it were UTC): the first of two times when the clock is set back, and as
 * much later as the clock is set forward when that leaves it out. False: the rules cannot be read. */
bool tfy__zone_unix(const char *rules, int64_t local_s, int64_t *out);

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
int64_t tfy__days_of(int64_t year, int month, int day);

#endif
