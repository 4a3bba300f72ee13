/* leaving.h: what leaves the process: printed text, live events, questions. */
#ifndef CORE_LOOP_LEAVING_H
#define CORE_LOOP_LEAVING_H

#include "core/task/task.h"
#include "observe/metrics.h"
#include "observe/pal.h"

typedef struct Outgoing {
    TfyTicket ticket; /* it may leave when this is durable */
    enum {
        OUT_STDOUT,
        OUT_STDERR,
        OUT_EVENT,
        OUT_LET_GO, /* text is a run's uuid, arg a handle */
        OUT_DOUBT,  /* reports a step in doubt; arg is its task's tid */
        OUT_NUDGE   /* subscribers may be sent what waited for the ticket */
    } to;
    int64_t arg;
    char *text; /* owned */
    size_t len;
    uint64_t seq; /* OUT_EVENT: its number */
    TfyPalEvent event;
    struct Outgoing *next;
} Outgoing;

/* output.c */
void tfy__out_push(TfyLoop *loop, int to, TfyTicket ticket, const char *text, size_t len);
/* Descriptors are closed through the queue: an observer of the close also sees everything recorded before it.
 * handle 0: all of the run. */
void tfy__out_let_go(TfyLoop *loop, const char *run_uuid, int64_t handle);
void tfy__out_push_event(TfyLoop *loop, const char *text, uint64_t seq, const TfyPalEvent *event);
/* what must be durable before a fact that is known now may leave */
TfyTicket tfy__out_ticket(const TfyLoop *loop);
void tfy__out_flush(TfyLoop *loop); /* sends everything that is durable */
void tfy__out_free(TfyLoop *loop);
void tfy__out_charge(TfyTask *task, int fd); /* it has printed there: it waits if too much is queued */
bool tfy__out_holds(TfyTask *task);          /* a muffled task; true: it was set aside */
void tfy__out_release(TfyLoop *loop);        /* the tasks that were set aside may try again */
int tfy__out_await(TfyLoop *loop);           /* waits until the outlets are read, see tfy__out_finish */
void tfy__out_look(TfyLoop *loop);           /* after a write has failed, or there is room again */

/* activity.c */
const char *tfy__state_name(TfyTaskState state);
void tfy__count_call(const Step *step, bool failed, bool timeout); /* an attempt of its tool has finished */
void tfy__count_end(uint64_t counts[TFY_ENDED_COUNT], TfyTaskState state);
int tfy__activity_init(TfyLoop *loop, char *error_text);
void tfy__activity_run_ended(const Run *run); /* its last record is appended */
/* An event of the program itself: with a stage of its own (level: NULL), or one that accompanies a log line. */
void tfy__activity_say(TfyTask *task, const TfyPoint *point, const char *stage, const char *level, const char *text,
                       size_t len);
void tfy__line_say(TfyTask *task, const TfyPoint *point, const char *level, const char *text, size_t len);
void tfy__line_report(TfyLoop *loop, const char *text, size_t len);

#endif
