/* shared.h: a database in memory that several sessions write: its rows, fences and conditions are those of a shared
 * database on a server, and it has no durability. For tests and simulations, in one thread.
 *
 * What a transaction puts stays with its handle until the commit, and then travels as one request. It happens at once
 * when it arrives, or not at all. A test decides what becomes of a request and its answer (TfySharedFate).
 *
 * Invariants
 *   - A transaction happens only if its session lives and has had all commits before it, and no other.
 *   - The records of a run are put by its owner alone, as 1, 2, 3 ….
 *   - A run has an owner only while it has not ended; what becomes of a session's runs is decided when the session has.
 *   - A run without owner that has not ended is ready, or due, or waits for mail, and then has none without a verdict. If it is
 *     held, nobody claims it nevertheless. */
#ifndef WAL_STORE_SHARED_H
#define WAL_STORE_SHARED_H

#include "base/list.h"
#include "wal/store/cluster.h"
#include "wal/store/memory_rows.h"
#include "wal/store/store.h"

typedef enum TfySessionState {
    TFY_SESSION_LIVES = 0,
    TFY_SESSION_DONE = 8 /* in order */,
    TFY_SESSION_ENDED = 9
} TfySessionState;

typedef struct TfySharedSession {
    int64_t id;       /* its place among the sessions, from 1 */
    int64_t beat;     /* commits that happened */
    int64_t lease_ms; /* how long its tools may work without news */
    int state;        /* TfySessionState */
} TfySharedSession;

typedef struct TfySharedRun {
    TfyLogRun row;         /* its id is its place among the runs, from 1 */
    int64_t owner;         /* session; 0: nobody's */
    int64_t due_ms;        /* of a run that is nobody's: 0: ready; INT64_MAX: when something arrives */
    int64_t claims;        /* how often it had an owner */
    int64_t crashes, vain; /* as in TfyBlame */
    int64_t freed;         /* how many records it had when its last owner's end made it free */
    bool solo;             /* it needs a process of its own */
    TfyRunHeld held;       /* nobody may claim it */
    TfyMemoryRows records; /* TfyLogRecord, payload owned; index is lsn - 1 */
    TfyMemoryRows tasks;   /* TfyStoreTask, path owned, in the order of birth */
    TfyMemoryRows gaps;    /* TfyStoreGap, lsn ascending */
    TfyMemoryRows mails;   /* TfyMail, strings owned; index is n - 1 */
    bool touched;          /* it has rows of the transaction that arrives */
} TfySharedRun;

/* What new runs of a name have. */
typedef struct TfySharedDeployment {
    char *name; /* owned */
    int64_t program;
} TfySharedDeployment;

/* Permits of a name. */
typedef struct TfySharedLimiter {
    char *name; /* owned */
    int64_t turn;
    TfyMemoryRows rows; /* TfyPermitRow, also of sessions that have ended */
    TfyMemoryRows uses; /* TfySharedUse */
} TfySharedLimiter;

typedef struct TfySharedUse {
    int64_t count, until_ms;
} TfySharedUse;

/* What becomes of a commit's request. */
typedef enum TfySharedFate {
    TFY_FATE_ARRIVES,
    TFY_FATE_AWAY,          /* it cannot be sent */
    TFY_FATE_LOST,          /* it never arrives, and nobody knows */
    TFY_FATE_LATE,          /* it arrives with tfy__shared_late_arrives; the sender knows nothing */
    TFY_FATE_ANSWER_IS_LOST /* it happens, or not, and the sender knows nothing */
} TfySharedFate;

typedef struct TfySharedRequest TfySharedRequest;

typedef struct TfyShared {
    TfyMemoryRows sessions;    /* TfySharedSession */
    TfyMemoryRows runs;        /* TfySharedRun */
    TfyMemoryRows programs;    /* TfyStoreProgram, strings owned; index is id - 1 */
    TfyMemoryRows deployments; /* TfySharedDeployment */
    TfyMemoryRows limiters;    /* TfySharedLimiter */
    uint8_t db[16];
    /* NULL: requests arrive. */
    TfySharedFate (*fate)(void *state, const TfyStoreHold *hold);
    void *fate_state;
    LIST(TfySharedRequest) late;
} TfyShared;

/* NULL: out of memory. */
TfyShared *tfy__shared_new(void);
/* Its handles must be closed. NULL is ignored. */
void tfy__shared_free(TfyShared *shared);

/* Opens a handle, as of one process; 0 or TFY_E_NOMEM. */
int tfy__shared_join(TfyShared *shared, TfyStore **store);

/* A new session that lives; its id, or a negative code. */
int64_t tfy__shared_open_session(TfyShared *shared, int64_t lease_ms);
/* NULL: there is none. Valid until the next session is opened. */
TfySharedSession *tfy__shared_session(const TfyShared *shared, int64_t id);
/* Ends a session of which somebody has seen this number of commits for too long; false: it has had more, or has ended. */
bool tfy__shared_end_session(TfyShared *shared, int64_t id, int64_t beat);
/* Makes runs of an ended session ready, at most so many; how many. 0: of all sessions that have ended. */
uint32_t tfy__shared_free_runs(TfyShared *shared, int64_t session, uint32_t most);

/* As the calls of cluster.h. */
int64_t tfy__shared_keep_program(TfyShared *shared, const TfyStoreProgram *program);
int tfy__shared_deploy(TfyShared *shared, const char *name, int64_t program);
/* NULL: there is none. Valid until the next one. */
TfySharedDeployment *tfy__shared_deployment(const TfyShared *shared, const char *name);

/* As the calls of cluster.h; the time is the database's. */
int tfy__shared_see_permits(TfyShared *shared, const char *name, TfyPermitNow *now, TfySeePermit *see, void *state);
int tfy__shared_put_permit(TfyShared *shared, const TfyPermitPut *put);
void tfy__shared_free_permits(TfyShared *shared); /* with the database */

/* A run that nobody owns, and that is ready; its id, or a negative code. A uuid that is known is the same run, whatever
 * became of it. row->id is set. birth: the payload of its InstructionStart, which becomes its first record; NULL: it has none
 * yet. */
int64_t tfy__shared_submit(TfyShared *shared, TfyLogRun *row, const char *birth);
/* The number of the next run; TFY_E_STATE: there is one of this uuid. */
int64_t tfy__shared_number(TfyShared *shared, const uint8_t uuid[16]);
/* False: somebody owns the run, it is held, has ended or is not due, or the session has ended. */
bool tfy__shared_claim(TfyShared *shared, int64_t session, int64_t run, int64_t now_ms);
/* As `mail` of cluster.h; mail->run is that run. */
int64_t tfy__shared_send(TfyShared *shared, const TfyMail *mail);
/* NULL: there is none. Valid until the next run. */
TfySharedRun *tfy__shared_run(const TfyShared *shared, int64_t id);

/* The oldest late request arrives now, of all or of a session; false: there is none. */
bool tfy__shared_late_arrives(TfyShared *shared);
bool tfy__shared_late_of(TfyShared *shared, int64_t session);
/* The database restarts: no late request will ever arrive. */
void tfy__shared_late_lost(TfyShared *shared);

#endif
