/* pal.h: the process activity log: the newest live events of a process, kept for whoever asks, never on disk.
 *
 * A ring, bounded in events and in bytes: a new event drops the oldest. Subscribers hold nothing here but a number,
 * the next event they want; so none can make the process wait or grow. One that comes too late for events is told
 * which are missing, and goes on behind them.
 *
 * Invariants
 *   - events are numbered 1, 2, 3 … in the order in which they happened; those kept are first … next - 1, without
 *     holes.
 *   - what is pushed has left the process: the records behind it are synced.
 *   - the newest event is always kept, however long it is. */
#ifndef OBSERVE_PAL_H
#define OBSERVE_PAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct TfyPalEvent {
    char *text;       /* one JSON object without a newline, owned by the ring */
    uint32_t len;     /* bytes of it */
    uint32_t task_at; /* where in it the task's id stands: "run/path" … */
    uint32_t task_len;
} TfyPalEvent;

typedef struct TfyPal {
    TfyPalEvent *ring;
    uint32_t mask;        /* places - 1; places are a power of two, and grow as events come … */
    uint32_t places_max;  /* … to this many */
    uint64_t first, next; /* the oldest that is kept, and the next to come; equal: none is kept */
    size_t bytes, max;    /* of all texts now, and at most */
    uint64_t lost;        /* events that subscribers were told they missed */
    uint32_t subscribers; /* now; whoever serves them counts */
} TfyPal;

/* What a subscriber wants: events from `next` on, of the task `filter` and all below it; a run's uuid: of all its
 * tasks; "": of all. */
typedef struct TfyPalCursor {
    uint64_t next;
    const char *filter;
} TfyPalCursor;

typedef enum TfyPalFound { TFY_PAL_NONE, TFY_PAL_EVENT, TFY_PAL_GAP } TfyPalFound;

bool tfy__pal_init(TfyPal *pal, uint32_t events,
                   size_t bytes); /* events: rounded up to a power of two; false: no memory */
void tfy__pal_deinit(TfyPal *pal);

/* Takes the text. Its number is pal->next; seq, if it is higher, says that events between could not be kept. */
void tfy__pal_push(TfyPal *pal, uint64_t seq, const TfyPalEvent *event);

/* The next event for a subscriber; *event is valid until the next push. A gap: those from `from` to the cursor's new
 * next - 1 are gone. */
TfyPalFound tfy__pal_read(TfyPal *pal, TfyPalCursor *cursor, const TfyPalEvent **event, uint64_t *from);

/* Whether a task's id ("run/path") is the one the filter names, or below it. */
bool tfy__pal_matches(const char *filter, const char *task, size_t task_len);

#endif
