/* lease.pml: who may write a run, and when a tool may work, while several workers share one database.
 *
 * One run has one step: `once`, or with -DIDEMPOTENT one that may be repeated. There are W workers with one session each; a database that
 * applies the requests of different sessions in any order and as late as it likes; answers that are late or lost; runtimes that are killed or
 * stopped (a stopped one does not move) at any moment; watchers, whose deadlines the kernel keeps; and observers that end a session whose
 * commits have stopped.
 *
 * Time is relative: each tick takes one from what is left of a lease and adds one to what an observer has waited. A lease lasts L ticks, an
 * observer waits WAIT. No clock is compared with one of another machine.
 *
 * Commit n of a session has the condition "the session lives and has made n-1 commits". This condition is the fence, the renewal of the lease,
 * and the answer to "did it happen?".
 *
 * A session that has ended and a runtime that is dead forget what nobody reads any more, so that fewer states differ.
 *
 * cluster.sh checks this, and then breaks each rule by a macro; spin must then show what goes wrong:
 *
 *   NO_FENCE              a commit has no condition at all: the hold is missing
 *   ANY_NUMBER            the condition is "the session lives", without the number
 *   RESEND_NEW            a commit of unknown outcome is repeated under a new number
 *   FROM_ANSWER           the deadline is counted from the answer, not from the first sending
 *   NO_KILL               nothing is killed at the deadline
 *   EARLY_RELEASE         a session is ended by its own machine before its tools are dead
 *   WAIT=L                an observer waits only as long as the lease
 *   STALE, NO_CONDITION   an observer reads an old state, and ends a session without the condition `beat=`
 *   TOOLS_ONLY, NO_CHECK  the deadline kills tools only, and the runtime does not check it before a start
 *   LOSSY_FAILOVER        a failover loses an acknowledged commit
 *
 * With REACH the model claims that a second worker never finishes what the first one started. That is wrong, and spin must say so: the checks
 * above would pass also in a model in which nothing happens. */
#ifndef W
#define W 2
#endif
#ifndef L
#define L 2
#endif
#ifndef WAIT
#define WAIT (L + 1)
#endif
#ifndef N
#define N 5              /* commits of a session, at most */
#endif
#define NONE 7
mtype = { CLAIM, START, RESULT, RENEW, EMPTY, STARTED, DONE, DOUBT, IDLE, OWNS, TOOLING, HAS_RESULT };

/* the database */
byte owner = NONE;
mtype rec = EMPTY;                              /* what the run's records say */
bool live[W];                                   /* the session has not ended */
byte beat[W];                                   /* its commits that happened */
/* what travels: at most two requests of a session, as one that was given up may still be under way; and answers, which may get lost */
chan req[W] = [2] of { mtype, byte };           /* what, number of the commit */
bool ack[W]; byte ack_n[W];
/* workers */
bool up[W];                                     /* the runtime has not been killed */
bool tool[W];                                   /* a tool of this worker runs */
byte left[W];                                   /* of the lease, as the watcher knows it */
byte credit[W];                                 /* the lease that the commit under way would give, counted from its first sending */
byte began;                                     /* how often the step really started */
/* observers, one for each session */
byte seen[W], waited[W];

#ifdef TOOLS_ONLY        /* the watcher spares the runtime */
#define DUE(s) (left[s] == 0 && tool[s])
#define END_RUNTIME(s)
#else
#define DUE(s) (left[s] == 0 && (up[s] || tool[s]))
#define END_RUNTIME(s) up[s] = false
#endif
#ifdef NO_KILL
#define PUNCTUAL true
#elif W == 2
#define PUNCTUAL (!DUE(0) && !DUE(1))
#else
#define PUNCTUAL (!DUE(0) && !DUE(1) && !DUE(2))
#endif
#if W == 2
#define TOOLS (tool[0] + tool[1])
#else
#define TOOLS (tool[0] + tool[1] + tool[2])
#endif
#if defined(NO_FENCE)
#define FENCED(s) (false)
#elif defined(ANY_NUMBER)
#define FENCED(s) (!live[s])
#else
#define FENCED(s) (!live[s] || beat[s] != n - 1)
#endif
#ifdef STALE             /* an observer reads an old state of the database */
#define STANDS_STILL(s) (live[s])
#else
#define STANDS_STILL(s) (live[s] && beat[s] == seen[s])
#endif
#define FREE (owner == NONE || !live[owner])

inline end_session(s) { live[s] = false; waited[s] = 0; seen[s] = 0 }

inline tick(s) {
    if :: left[s] > 0 -> left[s]-- :: else fi;
    if :: credit[s] > 0 -> credit[s]-- :: else fi;
    if :: STANDS_STILL(s) && waited[s] < WAIT -> waited[s]++ :: else fi
}

active proctype Clock()
{
end:
    do
    :: atomic { PUNCTUAL -> tick(0); tick(1);
#if W == 3
        tick(2)
#endif
      }
    od
}

inline apply(s) {
    req[s]?what,n;
    if
    :: FENCED(s)                                 /* no row: nothing of it happens */
    :: else ->
        beat[s] = n;
        if
        :: what == CLAIM -> if :: FREE && rec != DONE && rec != DOUBT -> owner = s :: else fi
        :: what == START ->
            assert(owner == s);                  /* only its owner writes a run */
            if
            :: rec == EMPTY -> rec = STARTED
#ifdef IDEMPOTENT
            :: rec == STARTED                    /* one more attempt */
#else
            :: rec == STARTED -> rec = DOUBT     /* InDoubt: nobody repeats it unasked */
#endif
            :: else -> assert(false)             /* a record twice */
            fi
        :: what == RESULT -> assert(owner == s && rec == STARTED); rec = DONE;
#ifdef REACH
            assert(!(s == 1 && began == 2 && !live[0]))   /* wrong: see above */
#else
            skip
#endif
        :: what == RENEW
        fi;
        if :: up[s] -> ack[s] = true; ack_n[s] = n :: true fi
    fi;
    what = 0; n = 0
}

active proctype Database()
{
    mtype what; byte n;
end:
    do
    :: atomic { nempty(req[0]) -> apply(0) }
    :: atomic { nempty(req[1]) -> apply(1) }
#if W == 3
    :: atomic { nempty(req[2]) -> apply(2) }
#endif
#ifdef LOSSY_FAILOVER
    :: atomic { rec == STARTED && owner != NONE && live[owner] && beat[owner] > 1 -> rec = EMPTY; beat[owner] = beat[owner] - 1 }
#endif
    od
}

inline took(s) {                                 /* commit n+1 is known to have happened */
    n++; waits = false; ack[s] = false; ack_n[s] = 0;
#ifdef FROM_ANSWER
    left[s] = L;
#else
    left[s] = credit[s];
#endif
    credit[s] = 0;
    if
    :: what == CLAIM && owner == s -> st = OWNS
    :: what == CLAIM && owner != s
    :: what == START && rec == DOUBT -> up[s] = false
#ifndef NO_CHECK
    :: what == START && rec != DOUBT && left[s] == 0 -> up[s] = false     /* too late: refused */
    :: what == START && rec != DOUBT && left[s] > 0 ->
#else
    :: what == START && rec != DOUBT ->
#endif
        assert(TOOLS == 0);                      /* never two at once */
        tool[s] = true; st = TOOLING;
        if :: began < 3 -> began++ :: else fi;
#ifndef IDEMPOTENT
        assert(began <= 1)                       /* once */
#endif
    :: what == RESULT -> up[s] = false
    :: what == RENEW
    fi;
    what = 0
}

inline send(s, w) { what = w; credit[s] = L; req[s]!w,n+1; waits = true }

proctype Worker(byte s)
{
    byte n; bool waits; mtype what; mtype st = IDLE;
    atomic { live[s] = true; up[s] = true; left[s] = L }
    do
    :: atomic { !up[s] -> n = 0; waits = false; what = 0; st = IDLE; ack[s] = false; ack_n[s] = 0; credit[s] = 0; break }
    :: atomic { up[s] && !waits && nfull(req[s]) && n < N ->
        if
        :: st == IDLE && FREE && rec != DONE && rec != DOUBT -> send(s, CLAIM)
        :: st == OWNS -> send(s, START)
        :: st == TOOLING && tool[s] -> send(s, RENEW)
        :: st == TOOLING && !tool[s] -> send(s, RESULT)
        fi }
    :: atomic { up[s] && waits && ack[s] -> if :: ack_n[s] == n + 1 -> took(s) :: else -> ack[s] = false; ack_n[s] = 0 fi }
    /* No answer: the session's row is read. The commit happened; it did not, and is sent again under its number; or the session has ended. */
    :: atomic { up[s] && waits && !live[s] -> up[s] = false }
    :: atomic { up[s] && waits && live[s] && beat[s] == n + 1 -> took(s) }
    :: atomic { up[s] && waits && live[s] && beat[s] == n && nfull(req[s]) -> req[s]!what,n+1 }
#ifdef RESEND_NEW
    :: atomic { up[s] && waits && live[s] && beat[s] == n && nfull(req[s]) && what == RESULT -> req[s]!what,n+2 }
#endif
    :: atomic { up[s] && waits && live[s] && beat[s] < n -> up[s] = false }  /* an acknowledged commit is gone */
    od
}

/* Tools take effect and finish. Their watcher ends them and the runtime at the deadline, and ends the tools of a runtime that is gone. Only then
 * does the machine tell the database that the session has ended. */
inline outside(s) {
    if
    :: tool[s] -> tool[s] = false                /* it has happened */
#ifndef NO_KILL
    :: DUE(s) -> tool[s] = false; END_RUNTIME(s)
#endif
    :: up[s] -> up[s] = false                    /* killed */
    :: !up[s] && tool[s] -> tool[s] = false
#ifdef EARLY_RELEASE
    :: !up[s] && live[s] -> end_session(s)
#else
    :: !up[s] && !tool[s] && live[s] -> end_session(s)
#endif
    fi
}
active proctype Outside()
{
end:
    do
    :: atomic { outside(0) }
    :: atomic { outside(1) }
#if W == 3
    :: atomic { outside(2) }
#endif
    od
}

inline observe(s) {
    if
    :: live[s] && beat[s] != seen[s] -> seen[s] = beat[s]; waited[s] = 0
#ifdef NO_CONDITION
    :: live[s] && waited[s] >= WAIT -> end_session(s)
#else
    :: live[s] && waited[s] >= WAIT && beat[s] == seen[s] -> end_session(s)
#endif
    fi
}
active proctype Observers()
{
end:
    do
    :: atomic { observe(0) }
    :: atomic { observe(1) }
#if W == 3
    :: atomic { observe(2) }
#endif
    od
}

init { atomic { run Worker(0); run Worker(1);
#if W == 3
    run Worker(2)
#endif
} }
