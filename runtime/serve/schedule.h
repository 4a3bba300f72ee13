/* schedule.h: starts at times, as the configuration has them; and which time comes next. What has come of them is elsewhere
 * (schedules.h). */
#ifndef SERVE_SCHEDULE_H
#define SERVE_SCHEDULE_H

#include "base/buffer.h"
#include "serve/cron.h"

typedef enum TfyOverlap {
    TFY_OVERLAP_SKIP,       /* a time that comes while the run before it goes on starts nothing */
    TFY_OVERLAP_QUEUE,      /* … starts a run that begins when that one has ended */
    TFY_OVERLAP_CANCEL_OLD, /* … ends that run, and starts */
    TFY_OVERLAP_ALLOW,      /* … starts */
} TfyOverlap;

typedef struct TfySchedule {
    struct TfySchedule *next;
    char *name, *times; /* times: "30 2 * * *"; all texts are owned */
    char *zone;         /* "Europe/Berlin"; NULL: UTC */
    TfyBuffer rules;    /* of the zone (value/clock.h) */
    TfyCron cron;
    char *start;          /* "shop.report" */
    char *program;        /* "shop" */
    const char *workflow; /* in `start` */
    char *args;           /* JSON */
    TfyOverlap overlap;
    int64_t catch_up_ms; /* how late a time may be made good */
    int64_t jitter_ms;   /* starts are later by up to so much, each always by the same */
} TfySchedule;

enum {
    TFY_SCHEDULE_GRACE_MS = 10000, /* what is late by less was not missed */
    TFY_SCHEDULE_MISSED_MOST = 100,
};

/* What to do at a time. */
typedef struct TfyDue {
    int64_t passed_s; /* what was missed up to here is not made good */
    int64_t at_s;     /* the next time; 0: there is none */
    int64_t due_ms;   /* when it starts */
    bool missed;      /* it is late */
} TfyDue;
/* done_s: the newest time that is dealt with. made_good: how many times that were missed have started since the schedule was
 * on time. A clock that was set back is before done_s, and nothing is due until it is there again. */
TfyDue tfy__schedule_due(const TfySchedule *schedule, int64_t done_s, uint32_t made_good, int64_t now_ms);

const char *tfy__overlap_name(TfyOverlap overlap);
void tfy__schedule_free(TfySchedule *schedule);

#endif
