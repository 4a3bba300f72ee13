/* cluster.h: the simulated world with several workers: `--workers N`. Each worker is a machine with one process after another; a process
 * has the real scheduler and log (libtfy.a as it is), a session, and a clock of its own. In most seeds it has the real hub
 * (hub/hub_cluster.h), whose thread is an event; else that of hub_memory, and an observer. All share one database in memory
 * (wal/store/shared.h). sim.h has the clock of the world, its events, chance, and the ledger of tools.
 *
 * What happens: senders submit runs and send mail to them, with ids and without, sometimes twice, sometimes to runs that have ended; people
 * answer what the database shows. Requests to the database take their time, come late, get lost, or leave their answer behind; one that was
 * given up may arrive beside its repetition. Machines are cut off, the database is away or restarts and forgets what was under way.
 * Processes are closed, run out of memory, are killed alone, with their watchers, or in the middle of a commit; they are stopped, alone or
 * with their watchers, for longer than their lease lasts. Clocks start anywhere and differ by 5 %. After some time all faults stop, and
 * every run has to end.
 *
 * Tools live outside, as the watcher keeps them: they die some time after their runtime, and at the latest with the deadline of their session, or a
 * twentieth of a lease later if everything on the machine is stopped (base/lease.h). Only when none is left the machine ends its session itself.
 *
 * What must hold (docs/cluster.md); the rest is as in sim.h:
 *   I1  a record is written by the session that owns its run, and once; each stretch of a run's records begins with the Claimed of its owner
 *   I2  no tool of a run starts while one of a former owner works, nor is its run claimed or its session ended then
 *   I3  a once step begins outside once, and again only if somebody said so
 *   I4  what was acknowledged is there: each submit, each mail once and with a verdict, each result one that the ledger gave
 *   I5  a tool starts with its newest record in the database, in a living session, with the deadline ahead
 *   I6  an ended session stays ended, and has no commit more
 *   I7  no mail without verdict lies with a run that nobody owns and nobody will take
 *   I8  mail is in the log once, in the order in which it was sent
 *   L1  of a tool with `limit N` no more than N work at any time, in all sessions
 *   L2  of a tool with `rate N/D` no more than N begin in any D, in all sessions
 *   d2  every line that was shown is in a log, as often as it was shown at least
 *   e1  when the faults have stopped, all runs end
 *   e2  a program of work.tfy or cluster.tfy comes to what it comes to undisturbed, unless somebody killed a task of it
 *   e4  the same seed makes the same trace
 *   e6  where nothing fails, sleeps and timeouts end when they are due, but for clocks that differ and the time until somebody claims the run,
 *       and mail has its verdict soon
 *   e7  where nothing fails any more, no process loses its lease
 *   d4  each history replays without a difference */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "sim.h"
#include "hub/hub_memory.h"
#include "wal/store/cluster.h"
#include "hub/observe.h"

enum { CLUSTER_MACHINES = 5, CLUSTER_RUNS = 8, CLUSTER_MAILS = 400, CLUSTER_CLAIMS = 400 };
#define CLUSTER_MS INT64_C(1000000)

/* One tool that works outside, from its beginning to its end. */
typedef struct Life {
    char key[200]; /* of its entry in the ledger */
    uint32_t run;  /* index into cluster.runs */
    struct Machine *machine;
    uint32_t process; /* of that machine */
    int64_t session;
    const TfyTool *tool;
    int64_t fence; /* how often the run had an owner, with its own */
    bool once;
    TfyCall *call; /* NULL: nobody waits for it any more */
    bool works;
    struct Life *next;
} Life;

/* When the newest steps of a tool with `rate` began. */
typedef struct Paced {
    const TfyTool *tool;
    int64_t at_ns[16]; /* by count, modulo */
    uint32_t count;
} Paced;

typedef struct Machine {
    uint32_t number; /* from 1 */
    int64_t base_ns; /* what its clock shows at the beginning */
    int64_t rate;    /* of its clock, in millionths of the true one */
    int64_t wall_ms; /* by how much its wall clock is ahead */
    /* Its process. */
    TfyHub *hub; /* hub_memory's, or that of hub_cluster.h, which is real */
    TfyHubMemory memory;
    TfyCluster link;      /* what the real one asks … */
    TfyCluster *database; /* … and what stands behind it */
    int64_t session;
    TfyHubOps ops; /* the hub's, with the simulation's between them and the loop */
    const TfyHubOps *inner;
    TfyWorld world;
    TfyLoop *loop;
    TfyObserver observer;
    uint32_t process;    /* how many it has had */
    bool up;             /* it lives */
    uint32_t inside;     /* its loop is on the stack, so often: nothing new happens to it then */
    bool committing;     /* its writer is; its loop goes on meanwhile */
    uint32_t waiting;    /* some of its code is, so often, and waits for time to pass … */
    int64_t busy_ns;     /* … until then, at least */
    int64_t deadline_ns; /* by its clock; 0: no commit was acknowledged yet */
    bool ending;         /* its tools were asked to end: no renewal stops that (base/lease.h, rule 4) */
    int64_t turn_ns;     /* when its loop makes its next turn, true time */
    bool writer_planned;
    int64_t frozen_ns;   /* it is stopped until then, true time */
    bool watcher_frozen; /* … with its watcher and the stubs */
    int64_t cut_ns;      /* it does not reach the database until then */
} Machine;

typedef struct ClusterRun {
    const char *workflow;
    char *expect; /* what it comes to; NULL: that is not known */
    int64_t id;   /* in the database; 0: not submitted yet */
    char uuid[37];
    bool killed;      /* somebody killed a task of it: it comes to something else */
    uint32_t signals; /* numbered so far */
    /* Its row as of the last look. */
    size_t records;
    int64_t owner, claims;
    int64_t stretch;                  /* claims of the newest Claimed */
    int64_t newest;                   /* the greatest fence with which a tool began */
    int64_t sessions[CLUSTER_CLAIMS]; /* by claims: whose it was */
} ClusterRun;

/* Something that is sent to a run until it is acknowledged. */
typedef struct Mail {
    uint32_t run;
    char id[100];    /* "": it has none, and is sent once */
    char *body;      /* owned */
    int64_t signal;  /* its value; 0: it is no signal */
    int64_t sent_ns; /* when it arrived for the first time */
    int64_t n;       /* the number that the database gave to it; 0: none yet */
    bool acked;
} Mail;

/* What a seed makes likely. */
typedef enum SimStyle {
    STYLE_MIXED,
    STYLE_CLOCKS, /* long leases, clocks of all rates, machines that are stopped as a whole, tools that outlast them */
    STYLE_SILENCE /* answers get lost, and then the machine hears nothing for some time */
} SimStyle;

typedef struct Cluster {
    SimStyle style;
    bool calm;    /* nothing fails */
    bool real;    /* processes have the real hub */
    bool scarce;  /* memory runs out now and then, which ends a process */
    bool outside; /* a tool works out what it comes to: it has memory of its own */
    TfyShared *shared;
    Machine machines[CLUSTER_MACHINES];
    uint32_t machine_count;
    ClusterRun runs[CLUSTER_RUNS];
    uint32_t run_count;
    Mail mails[CLUSTER_MAILS];
    uint32_t mail_count;
    Life *lives; /* newest first */
    Paced paced[4];
    int64_t beats[4096]; /* by session: of those that were seen to have ended; -1 else */
    int64_t lease_ms;
    int64_t quiet_ns; /* when all faults stop */
    uint32_t faults;  /* of a hundred requests, while there are faults */
    int64_t away_ns;  /* the database is away until then */
    uint32_t snapshot_every, park_after_ms;
    uint32_t long_tools; /* of a hundred, while there are faults */
    bool ended;          /* nothing is left to do */
} Cluster;

extern Cluster cluster;
extern uint32_t sim_workers; /* 0: the simulation of one process */

/* cluster.c: a seed */
void sim_run_cluster(uint64_t seed, bool verbose); /* sim.trace is its result */
bool cluster_faulty(void);                         /* faults may happen now */
bool cluster_chance(uint32_t percent);             /* … and this one does */
/* Plans an event for a machine's process; it does not happen if that has died. */
void cluster_plan(Machine *machine, int64_t delay_ns, void (*happen)(SimEvent *));
/* Time passes, and everybody but this machine goes on. */
void cluster_pass(Machine *machine, int64_t ns);
int64_t cluster_soon(uint32_t us); /* a random time below that, ns */
int64_t cluster_fault_ns(void);    /* how long a fault lasts */

/* machine.c: processes */
int64_t machine_clock(const Machine *machine);                  /* ns */
int64_t machine_when(const Machine *machine, int64_t clock_ns); /* true time at which its clock shows that */
int64_t machine_wait_ns(const Machine *machine);                /* until it may be ready for something new; 0: it is */
bool machine_cut_off(const Machine *machine);
bool machine_watcher_stopped(const Machine *machine);
Machine *machine_of_session(int64_t session);
void machine_start(SimEvent *event); /* arg: the machine */
/* watched: its watcher lives, and ends its session when its tools are dead, unless it is stopped. */
void machine_kill(Machine *machine, const char *why, bool watched);
void machine_close(Machine *machine); /* in order: nothing of it is left behind */
void machine_freeze(Machine *machine);
void machine_cut(Machine *machine, int64_t ns); /* from the database, for so long */
void machine_wake(Machine *machine);            /* something has happened for its loop */
TfySharedFate machine_fate(void *state, const TfyStoreHold *hold);
int64_t machine_margin_ns(void);
int64_t machine_travels_ns(void); /* how long a request is on its way */

/* lives.c: tools */
extern const TfyPerformer cluster_tools;
void lives_lose_runtime(Machine *machine, bool watched);                /* its process has died */
void lives_end_at(Machine *machine, int64_t least_ns, int64_t most_ns); /* they die between these times from now */
bool lives_work(int64_t session);

/* people.c: senders, and people who answer */
void people_begin(void);
bool people_done(void); /* all mail is acknowledged */
void people_check(uint32_t run);

/* link.c: the real hub */
void link_open(Machine *machine, int64_t (*now_ms)(void *state)); /* makes machine->hub */
void link_work(Machine *machine);                                 /* its thread begins */

/* ends.c: observers, and how sessions end */
void observer_begin(Machine *machine);
void observer_release(Machine *machine, uint32_t process,
                      int64_t session); /* the machine ends its own, when no tool is left */

/* watch.c: what must hold, as far as the database shows it */
void cluster_look(void); /* after everything that may have changed it */
int64_t cluster_fence(const ClusterRun *run, int64_t session);
ClusterRun *cluster_run_of(const char *uuid);
void cluster_check_end(void);

#endif
