/* lease.h: how long a process and its tools may work without news from the database that it shares with other machines.
 *
 * The database gives a session a lease of L. Commit n renews it: from then on the deadline is when n was first sent,
 * plus L, minus L/10. Another machine ends the session when it has seen no new commit for L + L/10, which is behind the
 * deadline. tests/model/lease.pml is the protocol; these are its rules on this machine:
 *
 *   1  The deadline is counted from the sending, never from the answer (tfy__lease_renew).
 *   2  Behind the deadline nothing of the process lives, whether it runs, is stopped or hangs. A timer of the kernel
 *      kills the runtime at the deadline, and watchers and stubs L/20 later: on a busy machine they may be late, and
 *      only they can end what a tool has started outside a cell. That is still long before another machine ends the
 *      session. A tool goes with its stub, and a cell with its first process, by PDEATHSIG (below).
 *   3  Tools end before their runtime. In the margin before the deadline (2 s, or L/10 if that is less) no tool starts.
 *      At its beginning tools receive SIGTERM, in its middle SIGKILL; then the watcher kills the runtime.
 *   4  Once that has begun, no renewal stops it: a tool that received SIGTERM has no result, and its runtime must not
 *      go on as if it had one. The deadline and "it has begun" are one word in memory that all share, so they agree.
 *   5  Nobody but this machine says early that all is over, and only when it is: see tfy__lease_tell.
 *
 * The deadline is in a page that the runtime shares with its watchers and their stubs. A renewal is a store and one
 * system call, which moves the timer of the runtime. The others find the new deadline when they wake, which is before
 * the margin of the old one; one that is stopped then dies at the old deadline, which is earlier and harmless.
 *
 *   runtime ──── watcher ──── stub ──── tfy-cell ──── first process of the cell ──── tool
 *   timer        timer        timer     PDEATHSIG     PDEATHSIG
 *
 * The first process of a cell has no timer: the kernel does not let a timer of its own kill the first process of a
 * namespace. It dies as tfy-cell does, and that as the stub does, also when all of them are stopped. What a tool leaves
 * running without a full cell, or behind the end of the tool in one, is ended by its stub and by the watcher only.
 *
 * Without a lease nothing here happens, and nothing is allocated. Safe after a fork: system calls only, but for
 * tfy__lease_renew. It is in the lowest room because the log, the steps and the effects use it. */
#ifndef TFY_BASE_LEASE_H
#define TFY_BASE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

/* ---- the runtime ---- */

/* CLOCK_BOOTTIME: it is never set, and goes on while the machine sleeps. */
int64_t tfy__lease_now_ns(void);

/* The deadline of a commit that was first sent then. */
static inline int64_t tfy__lease_deadline_ns(int64_t sent_ns, int64_t lease_ms)
{
    return sent_ns + lease_ms * 900000; /* the tenth that is left covers clocks that advance at different rates */
}

/* Commit n was acknowledged: sent_ns is when it was first sent, by tfy__lease_now_ns. The first call, which begins the
 * lease, comes before the first tool starts. An older commit changes nothing, nor does one that is newer by less than a
 * thousandth of L: many commits a second cost no system call each. Called by one thread at a time.
 *
 * 0; -ECANCELED: too late, the end has begun; -EBUSY: a watcher was started without a lease; -EPERM: this is the first
 * process of its namespace, which no timer can kill; or another -errno. After an error the process must end. */
int tfy__lease_renew(int64_t sent_ns, int64_t lease_ms);

/* May an effect start? Without a lease always. */
bool tfy__lease_ahead(void);

/* Quick release. fd is the writing end of a pipe or socket whose other end the worker has that started this process; it
 * stays the caller's, is close-on-exec, and is set before the first tool starts. On it are written:
 *
 *   TFY_LEASE_WATCHED    by the runtime, before a watcher is forked
 *   TFY_LEASE_RELEASED   by that watcher, when nothing is left of its tools and it will start no more; at the deadline
 *                        also the runtime is dead. By the runtime if the fork failed.
 *
 * The worker may end the session when the runtime has exited, the end of file was read, and both bytes came equally
 * often. A watcher that is killed writes nothing, so then nobody speaks, and time decides. */
enum { TFY_LEASE_WATCHED = 'W', TFY_LEASE_RELEASED = 'w' };
void tfy__lease_tell(int fd);
/* That descriptor; -1: there is none. */
int tfy__lease_told(void);

/* ---- watchers and stubs ---- */

typedef enum TfyLeasePhase {
    TFY_LEASE_NONE,   /* there is no lease */
    TFY_LEASE_HELD,   /* the margin has not begun */
    TFY_LEASE_ENDING, /* its first half: SIGTERM */
    TFY_LEASE_LAST,   /* its second half, and all that is behind the deadline: SIGKILL */
} TfyLeasePhase;

/* A watcher is about to be forked; from then on it is too late to begin a lease. */
void tfy__lease_watched(void);

TfyLeasePhase tfy__lease_phase(void);
/* Milliseconds, rounded up, until SIGKILL; -1: there is no lease. */
int64_t tfy__lease_kill_ms(void);

/* Begins the end if the margin has begun (rule 4). True: the end has begun, now or before. */
bool tfy__lease_end(void);
/* The end has begun. */
bool tfy__lease_ended(void);

/* A timer of the kernel that kills the calling process L/20 behind the deadline. Each process has its own, zeroed at first. */
typedef struct TfyLeaseTimer {
    int id;
    bool made;
    int64_t deadline; /* for which it is armed; 0: it is not */
} TfyLeaseTimer;

/* Moves it to the deadline as it is now; without a lease nothing happens. 0 or an errno value. */
int tfy__lease_timer_set(TfyLeaseTimer *timer);
void tfy__lease_timer_stop(TfyLeaseTimer *timer);
/* How long its process may sleep: milliseconds, rounded up, until the next phase of the deadline that it is armed for,
 * which may be an older one; -1: there is no lease. Whoever slept until the newest one would be killed at the older. */
int64_t tfy__lease_sleep_ms(const TfyLeaseTimer *timer);

#endif
