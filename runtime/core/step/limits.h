/* limits.h: limits on the use of a tool: what limiter.c keeps of steps that wait for their turn, and of those that had it. */
#ifndef CORE_STEP_LIMITS_H
#define CORE_STEP_LIMITS_H

#include "core/task/task.h"

/* The steps of one run that wait for a tool, in order of arrival. */
typedef struct LimitTurn {
    const Run *run;
    WaitQueue waiters;
    struct LimitTurn *next; /* the run whose turn is next */
} LimitTurn;

/* The start of a step of a tool with `rate`. */
typedef struct LimitStart {
    /* monotonic clock; the age of a start in an earlier process is that of its record by the wall clock */
    int64_t at_ns;
    int64_t run; /* row id of its run */
} LimitStart;

/* A tool with `limit` or `rate`, made by its first use. */
typedef struct Limiter {
    TfyLoop *loop;
    const TfyProgram *program; /* the first whose step asked */
    const TfyTool *tool;
    char *host;                       /* the effect http: whom it bounds, as an address has it; owned; else NULL */
    uint32_t in_use;                  /* steps that were admitted and have not left */
    uint32_t start_head, start_count; /* of the ring starts */
    LimitStart *starts;               /* ring of tool->rate entries: the newest starts, earliest first */
    struct TfyPermit *permit;         /* in a shared database: what it lends instead of a window here; else NULL */
    int64_t fresh_ms;                 /* … of the one that was taken last (TfyPermitsOps) */
    uint64_t timer;                   /* fires when the window has moved; 0: no step waits for it */
    LIST(LimitTurn) turns;            /* runs that have waiting steps, in the order of their turns */
    struct Limiter *next;
} Limiter;

#endif
