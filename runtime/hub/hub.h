/* hub.h: what a loop needs of a shared database besides its log: runs to work on, and what arrives for them.
 *
 * A hub belongs to one session and one loop; a session of several loops has one for each. The loop asks and goes on; nothing
 * here waits for the database. A run that was claimed is the session's until it leaves by the log (tfy__log_leave), or the
 * session ends. */
#ifndef HUB_HUB_H
#define HUB_HUB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct TfyAhead;
struct TfyClaimOps;
struct TfyLog;
struct TfyStore;
struct TfyMail;

typedef struct TfyHub TfyHub;

enum { TFY_RUNS_MOST = 1000, /* of a session at once */ TFY_LOOPS_MOST = 64 };

/* A run that the session owns from now on. */
typedef struct TfyClaim {
    int64_t run;    /* row id */
    int64_t claims; /* how often it has had an owner, with this */
    int64_t seen;   /* up to which number what was sent to it has its verdict */
    /* What was read of it meanwhile, valid until the next claim; NULL: nothing. */
    const struct TfyAhead *ahead;
} TfyClaim;

typedef struct TfyHubOps {
    /* A handle for the log, which closes it. 0, or a negative code with a message (TFY_ERROR_TEXT bytes). */
    int (*join)(TfyHub *hub, struct TfyStore **store, char *error_text);
    /* A commit was acknowledged that was first sent then (CLOCK_BOOTTIME). In the thread that writes the log. */
    void (*renewed)(TfyHub *hub, int64_t sent_ns);
    /* Whether a commit may be sent now, which renews the lease: not while a loop of the session hangs. In that thread. */
    bool (*may_send)(TfyHub *hub);
    /* The loop has room for so many more runs of a program, by its row id, and so many live tasks. */
    void (*want)(TfyHub *hub, int64_t program, uint32_t room, uint32_t tasks);
    /* The next run that was claimed; false: none for now. */
    bool (*claimed)(TfyHub *hub, TfyClaim *claim);
    /* The next run of the session that has mail which the loop has not asked for; 0: none for now. */
    int64_t (*news)(TfyHub *hub);
    /* What was sent to a run as the first one behind that number; false: nothing, as far as the session has been told. The
     * strings are valid until the next call. What has a lower number is not asked for again in this claim. */
    bool (*mail)(TfyHub *hub, int64_t run, int64_t after, struct TfyMail *mail);
    /* Has the hub call this, from any thread, when there is something new; NULL: no more. */
    void (*wake_by)(TfyHub *hub, void (*wake)(void *arg), void *arg);
    /* 0, or why the hub has given up (TFY_ERROR_TEXT bytes) and its code. */
    int (*failed)(TfyHub *hub, char *error_text);
} TfyHubOps;

/* What a loop does with a hub (core/loop/claim.h). Hubs name it, so that a program without one has nothing of it. */
extern const struct TfyClaimOps tfy__claims;

/* The loop is given one (TfyOptions), and whoever opened it frees it after tfy_close. */
struct TfyHub {
    const TfyHubOps *ops;
    int64_t session;
    int64_t lease_ms;
    const char *worker;               /* the name of its machine's worker; NULL: it has none */
    const struct TfyClaimOps *claims; /* &tfy__claims */
    uint32_t most;                    /* how many runs the loop works on at once; 0: TFY_RUNS_MOST */
    uint32_t place;                   /* among the loops of the session, from 0 */
    /* The log of the session's first loop, which is closed behind that of this one; NULL: this is the first. */
    struct TfyLog *with;
    /* When the loop began its turn, by its monotonic clock; 0: it sleeps in its poller. The loop writes it. */
    _Atomic int64_t awake_ns;
    /* Where the loop writes the row id of the run that it executes, and 0 between two of them, for those who find out why the
     * process has died; NULL: nobody does. */
    volatile int64_t *executes;
    /* Where the hub writes how many commits of the session were acknowledged, for those who end it; NULL: nobody does. */
    volatile int64_t *acknowledged;
};

#endif
