/* shared.h: what the tasks of a run share: queues of waiting steps, channels, locks, signals, groups. */
#ifndef CORE_TASK_SHARED_H
#define CORE_TASK_SHARED_H

#include "core/effect.h"
#include "base/list.h"
#include "base/buffer.h"
#include "wal/log/log.h"

typedef struct TaskRest TaskRest;
typedef struct Run Run;
typedef struct Step Step;
typedef struct FdWait FdWait; /* wait_fd.c */

/* Steps that wait for the same thing, in order of arrival. A step is in at most one queue. */
typedef struct WaitQueue {
    Step *first, *last;
} WaitQueue;

typedef struct Message {
    uint64_t seq;   /* of its channel, from 1 */
    TfyValue value; /* kept */
} Message;

/* A channel. Its number follows from its maker and is the same in every replay; making one is not recorded. */
typedef struct Channel {
    /* "1.2/1": its maker's path, and its ordinal among the maker's channels; owned */
    char *name;
    int64_t capacity;          /* messages that are accepted before somebody receives */
    const TfyType *elem;       /* the type of its messages; NULL before the first */
    Message *ring;             /* messages accepted and not received */
    uint32_t head, count, cap; /* cap: a power of two, or 0 */
    uint64_t sent;             /* messages ever accepted: the newest seq */
    bool closed;
    WaitQueue senders, receivers;
} Channel;

/* A lock or semaphore of a run, made by its first use. */
typedef struct Lock {
    TfyObj *name;    /* string, kept */
    int64_t permits; /* 1: a lock */
    int64_t free;    /* permits that are not held */
    WaitQueue waiters;
    struct Lock *next; /* bucket of the run's table */
} Lock;
#define LOCK_BUCKETS 256u

/* A signal that was sent to a run. */
typedef struct Signal {
    char *value;  /* JSON, owned */
    uint64_t seq; /* of its run, from 1 */
    struct SignalName *name;
    struct Signal *next;
} Signal;

/* The signals of one name that no task has received, oldest first, and the tasks that wait for one; none of the
 * kept signals fits any of the waiters. */
typedef struct SignalName {
    TfyObj *text; /* string, kept */
    LIST(Signal) kept;
    WaitQueue waiters;
    struct SignalName *next; /* all names of the run */
} SignalName;

/* The id that a sender gave a signal, so that sending it again has no effect. */
typedef struct SignalId {
    struct SignalId *next;
    char text[];
} SignalId;

/* A permit that a task holds. */
typedef struct Hold {
    Lock *lock;
    struct Hold *next;
} Hold;

/* The bodies of one parallel or race. It lives as long as its run. */
typedef struct Group {
    uint32_t alive;         /* bodies that have not ended */
    TaskRest *first_ended;  /* the first to end, in the order of the log; NULL: none yet */
    TaskRest *first_failed; /* the first that did not end well; NULL: none yet */
    WaitQueue waiter;       /* the parent's step, while it waits for them: parallel, race, room or abandon */
    struct Group *next;     /* all groups of the run */
} Group;

/* A task that starts when another has finished. */
typedef struct Follower {
    TaskRest *child;
    struct Follower *next;
} Follower;

/* group.c: the bodies of parallel and race */
Group *tfy__group_new(Run *run);            /* NULL: no memory */
void tfy__group_body_ended(TaskRest *body); /* the body's last record is written */
void tfy__groups_free(Run *run);

/* channel.c */
Channel *tfy__channel_add(TaskRest *maker); /* the maker's next one; NULL: no memory */
/* appends the message and takes over its value */
bool tfy__channel_put(TfyLoop *loop, Channel *channel, Message message);
void tfy__channels_free(TaskRest *maker);
/* returns a message that was received but not used to the head of its queue */
void tfy__channel_return(TaskRest *rest);

/* lock.c */
Lock *tfy__lock_of(Run *run, TfyObj *name, int64_t permits); /* made if absent; NULL: no memory */
void tfy__locks_free(TfyLoop *loop, Run *run);
bool tfy__locks_release(TaskRest *rest); /* all locks the task holds; false: halted */
void tfy__lock_return(TaskRest *rest);   /* releases a lock that was granted but not used */

/* signal.c */
SignalName *tfy__signal_name_of(Run *run, const char *text, size_t len); /* made if absent; NULL: no memory */
bool tfy__signal_remember(Run *run, const char *id);
void tfy__signals_free(TfyLoop *loop, Run *run);
void tfy__signal_recorded(Run *run, const TfyLogRecord *record); /* the history contains a signal */
void tfy__signal_return(TaskRest *rest); /* returns a signal that was handed over but not used */
void tfy__signal_taken(TaskRest *rest);

#endif
