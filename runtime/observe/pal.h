/* pal.h: the process activity log: the newest live events of a process, kept in memory for subscribers, never on
 * disk.
 *
 * The log is a ring, bounded in events and in bytes: a new event drops the oldest. A subscriber's only state here is
 * the number of the next event that it wants, so no subscriber can make the process wait or grow. One that is too
 * late for some events learns which are missing, and continues behind them.
 *
 * Invariants
 *   - Events are numbered 1, 2, 3 … in the order in which they happened; the kept ones are first … next - 1, without
 *     gaps.
 *   - An event may leave the process as soon as it is pushed: the records that it reports are synced.
 *   - The newest event is always kept, however long it is. */
#ifndef OBSERVE_PAL_H
#define OBSERVE_PAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct TfyPalEvent {
    char *text;       /* one JSON object without a newline, owned by the ring */
    uint32_t len;     /* length in bytes */
    uint32_t task_at; /* offset of the task's id, "run/path", in text */
    uint32_t task_len;
} TfyPalEvent;

typedef struct TfyPal {
    TfyPalEvent *ring;
    uint32_t mask;        /* places - 1; places are a power of two, and grow as events arrive … */
    uint32_t places_max;  /* … up to this limit */
    uint64_t first, next; /* the oldest kept event, and the next to come; equal: none is kept */
    size_t bytes, max;    /* of all texts now, and the limit */
    uint64_t lost;        /* events that were reported to subscribers as missed */
    uint32_t subscribers; /* current number; the server of the stream counts */
} TfyPal;

/* What a subscriber wants: events from `next` on, about the task `filter` and all tasks below it. A run's uuid
 * selects all its tasks, "" selects everything. */
typedef struct TfyPalCursor {
    uint64_t next;
    const char *filter;
} TfyPalCursor;

typedef enum TfyPalFound { TFY_PAL_NONE, TFY_PAL_EVENT, TFY_PAL_GAP } TfyPalFound;

/* events is rounded up to a power of two. False: out of memory. */
bool tfy__pal_init(TfyPal *pal, uint32_t events, size_t bytes);
void tfy__pal_deinit(TfyPal *pal);

/* Takes over the text. Its number is pal->next; a higher seq means that the events between could not be kept. */
void tfy__pal_push(TfyPal *pal, uint64_t seq, const TfyPalEvent *event);

/* Finds the next event for a subscriber; *event is valid until the next push. A gap: the events from `from` to the
 * cursor's new next - 1 are lost. */
TfyPalFound tfy__pal_read(TfyPal *pal, TfyPalCursor *cursor, const TfyPalEvent **event, uint64_t *from);

/* Whether a task's id ("run/path") is the one in the filter, or below it. */
bool tfy__pal_matches(const char *filter, const char *task, size_t task_len);

#endif
