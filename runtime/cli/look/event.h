/* event.h: records of the log as events, for whoever follows it: the streams of a server, publishers, `tfy events`.
 *
 * A record says little of itself: it has the number of a task and the number of a point. An event names the run, its program
 * and labels, the task's path, and where in the source it stands. What all events of a run have in common is looked up
 * once and shared by them.
 *
 * A TfyEvents belongs to one thread. The runs that it finds may be read by any, while they are kept (tfy__event_run_keep). */
#ifndef CLI_LOOK_EVENT_H
#define CLI_LOOK_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "wal/rows/record.h"

typedef struct TfyEvents TfyEvents;

/* What the events of a run share. */
typedef struct TfyEventRun {
    int64_t id;             /* row id */
    _Atomic uint32_t users; /* who keeps it, and the TfyEvents itself */
    bool left;              /* it has moved to another program since; the TfyEvents' own */
    char uuid[37];
    char *program, *workflow; /* names; "" where the log does not say */
    json_t *labels;           /* NULL: none */
    int64_t started_ms;
    int64_t moved_lsn; /* records up to this one are of the program `before`; 0: it never moved */
    const struct TfyEventProgram *now, *before;
} TfyEventRun;

/* A record with what is known of it; valid during the visit. */
typedef struct TfyEvent {
    const TfyLogRecord *record;
    TfyEventRun *run; /* NULL: the record is the database's own, or retention has removed its run since */
    const char *task; /* "1.2"; "": none */
    int64_t born;     /* lsn of the task's first record; 0: unknown */
} TfyEvent;

/* Opens the database for reading: a file, or where tfy__db_open_shared is set, the address of a shared one. NULL: error
 * (TFY_ERROR_TEXT bytes) says why. */
TfyEvents *tfy__events_open(const char *db, char *error);
/* The same database as a log that is only read. 0, or a code with a message. */
struct TfyLog;
int tfy__events_log(const char *db, struct TfyLog **log, char *error);
void tfy__events_close(TfyEvents *events);
void tfy__events_rest(TfyEvents *events);                 /* gives back memory that only speeds up the next reads */
const uint8_t *tfy__events_uuid(const TfyEvents *events); /* 16 bytes: the database's id */

/* Visits durable records from this lsn on, in their order, until the visitor returns another value than 0. 0, the visitor's
 * value above 0, or a negative code. */
int tfy__events_see(TfyEvents *events, int64_t from, int (*see)(void *arg, const TfyEvent *event), void *arg);
/* The same for those of one run of a shared database, by its row id; in a file, for those of all. */
int tfy__events_see_of(TfyEvents *events, int64_t run, int64_t from, int (*see)(void *arg, const TfyEvent *event),
                       void *arg);
/* The run with that uuid (36 characters). NULL: there is none. Valid until the next call, unless it is kept. */
TfyEventRun *tfy__events_run(TfyEvents *events, const char *uuid);

TfyEventRun *tfy__event_run_keep(TfyEventRun *run); /* NULL for NULL */
void tfy__event_run_drop(TfyEventRun *run);

/* The first digits of the hash of the program that made the record; "": unknown. */
const char *tfy__event_version(const TfyEvent *event);

/* The id of the point that made the record: a label, or "order/tool/price/1"; NULL: unknown. */
const char *tfy__event_point(const TfyEvent *event);

/* What the record ended: a task or a run began with its first record, a step after the record before it. */
typedef struct TfyEventBefore {
    int64_t ts_ms;          /* when it began, since 1970; 0: retention has removed that */
    uint32_t attempt;       /* which one of the step it ended, from 1 */
    char key[TFY_KEY_SIZE]; /* of the step; "": it is of no run */
} TfyEventBefore;
void tfy__event_before(TfyEvents *events, const TfyEvent *event, TfyEventBefore *before);

/* Appends the event as one JSON object on one line:
 *   {"lsn", "ts", "run", "task", "program", "workflow", "type", "step", "point", "file", "line", "payload"}
 * without the members that there are none of. A payload of more than 16 KiB is left out: "cut":true and "href", the path at
 * which a server has it, stand for it. */
void tfy__event_text(const TfyEvent *event, TfyBuffer *out);
void tfy__event_whole(const TfyEvent *event, TfyBuffer *out); /* … with the payload, however long */

/* Which events somebody wants. All zero: all. */
typedef struct TfyEventFilter {
    char run[37];     /* uuid */
    const char *task; /* a path, with all tasks below it */
    uint64_t types;   /* bits by TfyRecordType */
    const char *program, *workflow;
    const char *label, *label_value;
} TfyEventFilter;

/* Reads names of types, "ToolResult,Retry", into bits. False: error (TFY_ERROR_TEXT bytes) says which is none. */
bool tfy__event_types(const char *list, uint64_t *types, char *error);

/* type 0: it is no record. */
bool tfy__event_wanted(const TfyEventFilter *filter, const TfyEventRun *run, const char *task, int type);

#endif
