/* schedule.c: see schedule.h. */
#include "serve/schedule.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void tfy__schedule_free(TfySchedule *schedule)
{
    if (!schedule) return;
    free(schedule->name);
    free(schedule->times);
    free(schedule->zone);
    free(schedule->start);
    free(schedule->program);
    free(schedule->args);
    tfy__buffer_free(&schedule->rules);
    free(schedule);
}

const char *tfy__overlap_name(TfyOverlap overlap)
{
    static const char *const names[] = {"skip", "queue", "cancel_old", "allow"};
    return overlap < sizeof names / sizeof *names ? names[overlap] : NULL;
}

static int64_t next_after(const TfySchedule *schedule, int64_t after_s)
{
    return tfy__cron_next(&schedule->cron, schedule->rules.data, after_s);
}

/* The same for each start of the same time, so that a crash in between changes nothing. */
static int64_t jitter_of(const TfySchedule *schedule, int64_t at_s)
{
    if (!schedule->jitter_ms) return 0;
    const uint64_t hash = XXH3_64bits_withSeed(schedule->name, strlen(schedule->name), (uint64_t)at_s);
    return (int64_t)(hash % (uint64_t)schedule->jitter_ms);
}

TfyDue tfy__schedule_due(const TfySchedule *schedule, int64_t done_s, uint32_t made_good, int64_t now_ms)
{
    const int64_t window_ms =
        schedule->catch_up_ms > TFY_SCHEDULE_GRACE_MS ? schedule->catch_up_ms : TFY_SCHEDULE_GRACE_MS;
    const int64_t oldest_s = (now_ms - window_ms - schedule->jitter_ms) / 1000 - 1;
    TfyDue due = {.passed_s = done_s, .at_s = next_after(schedule, done_s)};
    if (due.at_s && due.at_s <= oldest_s) due = (TfyDue){.passed_s = oldest_s, .at_s = next_after(schedule, oldest_s)};
    due.due_ms = due.at_s * 1000 + jitter_of(schedule, due.at_s);
    due.missed = due.at_s && now_ms - due.due_ms > TFY_SCHEDULE_GRACE_MS;
    if (!due.missed || made_good < TFY_SCHEDULE_MISSED_MOST) return due;
    return tfy__schedule_due(schedule, now_ms / 1000, 0, now_ms);
}
