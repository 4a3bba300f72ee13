/* cluster.h: what is done to a shared database besides the log of a session: sessions, runs that nobody owns, and what arrives
 * for runs. Databases in memory and in PostgreSQL have the same calls, with the same meaning.
 *
 * A handle is used by one thread, and has a connection of its own. Each call is one transaction, and what it was decided on is a
 * condition of its statements: a call that comes too late finds nothing to do.
 *
 * A count or an id, or a negative code, with a message in `error`:
 *   TFY_STORE_AWAY     the database cannot be reached, or others are in the way; nothing happened, and it may be tried again
 *   TFY_STORE_UNKNOWN  the answer got lost; to call again does no harm, as each call says
 *   TFY_STORE_FENCED   the session has ended
 *   TFY_STORE_FULL, and those of other databases */
#ifndef WAL_STORE_CLUSTER_H
#define WAL_STORE_CLUSTER_H

#include "wal/rows/row.h"
#include "wal/store/store.h"

typedef struct TfyCluster TfyCluster;

typedef struct TfyNewSession {
    const char *worker, *address, *version; /* for people; NULL: unknown */
    int64_t lease_ms;                       /* how long its tools may work without news; 0: as the database says */
    const char *pool, *name; /* from which it claims, and what its program is called; NULL: it claims none */
    const uint8_t *program;  /* the program's hash; NULL: it has none */
    int64_t capacity;        /* how many runs it works on at once */
} TfyNewSession;

/* A session that lives. */
typedef struct TfyLiving {
    int64_t session;
    int64_t beat; /* commits it has had */
    int64_t lease_ms;
} TfyLiving;

/* How a session ends. */
typedef struct TfySessionEnd {
    int64_t session;
    int64_t beat;    /* it has had so many commits, and no more */
    int64_t by;      /* the session that ends it; 0: none */
    const char *why; /* for people */
    bool in_order;   /* its process has ended as it was told to */
    int64_t blamed;  /* the run that its process executed as it died; 0: none is to blame */
    /* So many commits were acknowledged to it. If it has had fewer, the database has lost them: all of its runs are held, and none is
     * blamed. 0: nobody knows. */
    int64_t acknowledged;
} TfySessionEnd;

/* A run that its owner's end has told something of. */
typedef struct TfyBlame {
    int64_t run;
    uint8_t uuid[16];
    int64_t crashes; /* processes that died of it */
    int64_t vain;    /* claims in a row after which nothing was recorded */
    bool held;       /* nobody may claim it from now on; else it needs a process of its own */
} TfyBlame;

/* When a run needs a process of its own, and when it is held. */
enum { TFY_SOLO_CRASHES = 1, TFY_HELD_CRASHES = 3, TFY_SOLO_VAIN = 5, TFY_HELD_VAIN = 20 };

/* A run that a session owns. */
typedef struct TfyClaimed {
    int64_t run;
    int64_t claims; /* how often it has had an owner, with this one */
    int64_t mail;   /* how much has ever arrived for it */
} TfyClaimed;

/* Something that was sent to a run. */
typedef struct TfyMail {
    int64_t run;
    int64_t n;           /* 1, 2, 3 … of its run; set by the database */
    const char *body;    /* a JSON object: what it asks for (tfy__arrive_request) */
    const char *id;      /* its sender's own name for it, of which a run takes one; NULL: none */
    const char *sender;  /* who wants it */
    const char *verdict; /* what became of it; NULL: that is not known yet … */
    int code;            /* … and then 0: it was taken, or TFY_E_…: why not */
} TfyMail;

/* A hint: something was sent to runs of session `id`, or runs of queue `id` are ready. */
typedef struct TfyNotice {
    char kind;
    int64_t id;
} TfyNotice;
enum { TFY_NOTICE_MAIL = 's', TFY_NOTICE_READY = 'q' };

typedef int TfySeeLiving(void *state, const TfyLiving *living);
typedef int TfySeeMail(void *state, const TfyMail *mail);
typedef int TfySeeProgram(void *state, const TfyStoreProgram *program); /* valid during the call */

typedef struct TfyClusterOps {
    /* A new session, which is the handle's from now on; its id, and its lease. Again: another one, and the first ends for its
     * silence. */
    int64_t (*open_session)(TfyCluster *cluster, const TfyNewSession *session, int64_t *lease_ms);
    /* Whether what is acknowledged stays also if a standby takes over. TFY_E_IO: a standby follows without being waited for,
     * and the database was not made to allow that. */
    int (*check_standbys)(TfyCluster *cluster);
    /* The sessions that live, by their ids. A result of `see` other than 0 ends the walk. */
    int (*see_living)(TfyCluster *cluster, TfySeeLiving *see, void *state);
    /* Ends a session that has had so many commits, and no more. 1: it has ended by this; 0: it has had more, or had ended. If it
     * owns the blamed run, that one is made ready for a process of its own, or held, and `blame` hears of it. Again: 0 if the
     * first call did it. */
    int (*end_session)(TfyCluster *cluster, const TfySessionEnd *end);
    /* Makes runs of an ended session ready, at most so many; how many. 0: of all sessions that have ended. Each of which nothing
     * was recorded since it was claimed counts that, unless the session ended in order; `blame` hears of those that are held for
     * it. */
    int (*free_runs)(TfyCluster *cluster, int64_t session, uint32_t most);
    /* Keeps a program; its row id. Again, by its hash: that of the one that is there. */
    int64_t (*keep_program)(TfyCluster *cluster, const TfyStoreProgram *program);
    /* Lets new runs of this name have a program that is kept, instead of the one that they had. 1; 0: they have it already. */
    int (*deploy)(TfyCluster *cluster, const char *name, int64_t program);
    /* Lets so many of 100 new runs of this name have a program that is kept, and the others what they had, which shrinks in
     * proportion. 1. NULL in place of the function: a name has one program. */
    int (*deploy_share)(TfyCluster *cluster, const char *name, int64_t program, int percent);
    /* Shows the program that a new run of this name has; of several, a random one by their shares. TFY_E_ABSENT: there is none. */
    int (*deployed)(TfyCluster *cluster, const char *name, TfySeeProgram *see, void *state);
    /* Shows the program that is kept whose hash begins so, in hexadecimal digits. TFY_E_ABSENT; TFY_E_INVALID: there are several.
     * NULL in place of the function: nobody asks. */
    int (*find_program)(TfyCluster *cluster, const char *hash, TfySeeProgram *see, void *state);
    /* Where runs of a program wait for workers of this pool; the queue is made if it is new. */
    int64_t (*queue)(TfyCluster *cluster, const char *pool, int64_t program);
    /* The same for the pool and the needs of a run, whatever its program is. NULL in place of the function: there is one pool. */
    int64_t (*queue_beside)(TfyCluster *cluster, int64_t run, int64_t program);
    /* A run that nobody owns, and that is ready; its id, which row->id gets. birth: the payload of its InstructionStart, which
     * becomes its first record; NULL: it has none yet. Again, by its uuid: the run that is there. */
    int64_t (*submit)(TfyCluster *cluster, int64_t queue, TfyLogRun *row, const char *birth);
    /* The number of a run to be, which its session begins (tfy__log_begin_run). TFY_E_STATE: the database has a run of this uuid.
     * Again: another number. */
    int64_t (*number)(TfyCluster *cluster, const uint8_t uuid[16]);
    /* Gives ready runs of a queue to a session, the oldest first, at most `room`; how many. solo: those that need a process of
     * their own; else the others. Again: others; see_owned. */
    int (*claim)(TfyCluster *cluster, int64_t session, int64_t queue, bool solo, TfyClaimed *claimed, uint32_t room);
    /* Gives one run to a session, also if it is held, or is due later, at *due_ms. 1; 0: another session has it, it has ended, or
     * others have to end before it. Again: see_owned. NULL in place of the function: nobody asks. */
    int (*take)(TfyCluster *cluster, int64_t session, int64_t run, TfyClaimed *claimed, int64_t *due_ms);
    /* 1: a run of the queue is ready that needs a process of its own; 0: none is. */
    int (*solo_waits)(TfyCluster *cluster, int64_t queue);
    /* The runs that a session owns and whose ids are above `after`, by their ids, at most `room`; how many. */
    int (*see_owned)(TfyCluster *cluster, int64_t session, int64_t after, TfyClaimed *owned, uint32_t room);
    /* Reads what is needed to take up runs that this session owns and has not taken up; free it. NULL in place of the function:
     * reading ahead gains nothing. */
    int (*read_ahead)(TfyCluster *cluster, const int64_t *runs, uint32_t count, TfyAhead **ahead);
    /* Holds a run, which nobody claims from then on. 1; 0: it was held already; TFY_E_ABSENT: no such run; TFY_E_STATE: it has
     * ended. *owner: the session that has it, until it leaves; 0: none. */
    int (*hold)(TfyCluster *cluster, int64_t run, int64_t *owner);
    /* Lets a run be claimed again, whatever it was held for, together with others, and forgets what it is to blame for. The rest
     * as for hold; 0: it was not held. */
    int (*release)(TfyCluster *cluster, int64_t run, int64_t *owner);
    /* Makes runs ready that are due by the database's clock, at most so many; how many. */
    int (*wake_due)(TfyCluster *cluster, uint32_t most);
    /* Sends something to a run, which becomes ready if nobody owns it; its number. *owner: the session that is to see it; 0:
     * whoever claims the run. TFY_E_ABSENT: no such run; TFY_E_STATE: it has ended. Again, with an id: the number of the first
     * one, and nothing is sent. */
    int64_t (*mail)(TfyCluster *cluster, const TfyMail *mail, int64_t *owner);
    /* What was sent to a run behind number `after`, in its order; `open`: of that, what has no verdict yet. */
    int (*see_mail)(TfyCluster *cluster, int64_t run, int64_t after, bool open, TfySeeMail *see, void *state);
    /* What was sent to runs while this session owned them and has no verdict yet, by the runs' ids, then in its order. */
    int (*see_inbox)(TfyCluster *cluster, int64_t session, TfySeeMail *see, void *state);
    /* Makes room for the records of more runs, if it gets short; 1: it did, 0: there is enough. NULL: there always is. */
    int (*make_room)(TfyCluster *cluster);
    /* Tells a run's owner, or those who may claim it, that there is something new; nobody is told if that fails. The calls that
     * make runs ready tell by themselves. NULL in place of these three: there are no notices, and all of them are hints. */
    void (*notify)(TfyCluster *cluster, int64_t run);
    /* A descriptor that is readable when there may be notices; -1: there is none now. It may change with each call. */
    int (*listen)(TfyCluster *cluster);
    /* The next notice, to whomever it is; false: none for now. */
    bool (*notice)(TfyCluster *cluster, TfyNotice *notice);
    void (*close)(TfyCluster *cluster);
} TfyClusterOps;

struct TfyCluster {
    const TfyClusterOps *ops;
    char error[300];
    /* What the end of a session told of its runs, after the call that did it; NULL: nobody wants to know. */
    void (*blame)(void *state, const TfyBlame *blame);
    void *blame_state;
    bool outdated; /* the tables have a format for newer programs, as see_living has found */
    uint32_t lost; /* runs that calls of end_session have held, since they may have lost records */
};

struct TfyShared;

/* A handle for a database in memory; the clock is the database's. 0 or TFY_E_NOMEM. */
int tfy__shared_cluster(TfyCluster **cluster, struct TfyShared *shared, int64_t (*now_ms)(void *state),
                        void *clock_state);

#endif
