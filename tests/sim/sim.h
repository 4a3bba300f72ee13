/* sim.h: the simulated world: the real scheduler, log, recovery and replay code (libtfy.a as it is) in one thread, on a clock, a disk, a set of
 * tools and people that are the simulation's own. One seed decides everything that happens, so that a failure is a number to run again.
 *
 * A seed takes a few programs, runs them in one database, and disturbs them: the process dies (its memory is gone, what it wrote stays), the
 * machine dies (what was not synced is partly gone), a sync fails, the disk is full, memory runs out, people kill tasks, send signals twice,
 * answer late. After each death the next life opens the same disk and goes on, until every run has ended.
 *
 * The disk (disk.c): a file is the bytes that are surely on the disk, and the list of what was written since its last sync. When the machine
 * dies, each write of that list is kept, lost or torn in sectors of 512 bytes, in any combination, so that later ones can be there without
 * earlier ones. Names of files (created, renamed, removed) are lost from the end of their list, as a journal loses them, until the directory,
 * or the file that was created, is synced. After a failed sync, what it was to sync is written and may get lost all the same, until the same
 * bytes are written and synced again. When only the process dies, the list stays as it is: a later power loss can still take it.
 *
 * Time: a turn of the loop takes no time in a still seed and some microseconds in a moving one; when nothing can run the clock goes to the next
 * event or timer. The writer of the log is an event too: it commits some turns after the loop has handed records over.
 *
 * Tools are performed outside, in the ledger: it survives every death. A tool begins, later has happened or not, and later answers; deaths fall
 * between. What comes and goes by sockets is simulated as well: net.h. So are the models that agents ask: models.h.
 *
 * What must hold, checked while it runs (w), after each death (d), and at the end (e):
 *   w1  what begins outside, is shown or is asked has the newest record of its task behind it, durable; nothing leaves after a failed write
 *   w2  a `once` tool begins outside once per key, and again only when its step was resolved with retry or it failed with a key of its own
 *   w3  a key that begins again has the same arguments
 *   w4  what a lock keeps apart is never under way twice in a run
 *   w5  a connection ends outside when what was recorded before its close is durable
 *   w6  the bytes that leave by a socket are those of its writes, in order, each once, and none behind a write that was stopped in the middle
 *   w7  a descriptor stands for one socket and no other, in one life
 *   w8  nobody waits for a socket that is ready, when nothing else is to be done
 *   w9  a process that was asked to stop begins nothing, but for a once step whose beginning was recorded before
 *   w10 a request to a model leaves when all that its task has recorded is durable, and each one of a conversation holds all that the one
 *       before it held, whatever died between them
 *   w11 what a budget bounds is never above it, by the count of the endpoint, which counts answers that nobody received, too
 *   w12 an endpoint that named a time is not asked again before it, in one life
 *   w13 what a model said stands in a conversation once and whole; where that is shortened, the summary takes the place of all that is older than
 *       the newest rounds and says how many messages that is, only older long results are cleared, and all else is as it was
 *   w14 a conversation is longer than the window of its model only if there is nothing in it that is older
 *   d1  the database opens; its newest record is at least the newest that the log ever called durable
 *   d2  acknowledged runs, signals, answers, kills and ends are in it; every line that was shown is, in the order in which it was shown
 *   d3  each `once` tool that began outside has its StepStart
 *   d4  the history so far replays without a difference, and prints what the log says was printed
 *   d5  what it says was read of a socket came there, in order, each byte once; what it says was written has left as a whole; a step hears Lost
 *       when its socket is of an earlier life, and only then
 *   d6  whoever listened, connected or wrote has in the log how it came to do so
 *   d7  a once step whose newest beginning ended without saying what became of it has not simply failed in the log
 *   d8  every payload holds the members that its type may have, each of its kind (wal/rows/payload.h)
 *   d9  a tool that was performed because a model chose it has the answer with its call in the log
 *   d10 a request that left under a budget has its LLMRequest in the log, one for each time its step was begun
 *   d11 an answer is in the log whole and once, in however many pieces it came, and however many of them were lost
 *   e1  every run has ended, has one TaskComplete, and each task one end; a signal was taken once, a question answered once
 *   e2  in a still seed where nobody interfered, the run ended as it does when nothing disturbs it, and told the same
 *   e3  a byte changed behind the log's back, in a page with its sum or without, is refused, or nothing that is read is other than it was
 *   e4  the same seed makes the same trace, in another process and by another compiler
 *   e5  a replay notices a digest that is another one
 *   e6  a sleep and a timeout end when they are due, or as soon as somebody lives who could see it (unless the disk was full) */
#ifndef SIM_H
#define SIM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/loop/state.h"
#include "core/loop.h"
#include "wal/history/history.h"

#define SIM_DB      "/sim/runs.db"
#define SIM_WALL_MS INT64_C(1700000000000)

/* ---- chance ---- */

typedef struct SimChance {
    uint64_t state;
} SimChance;

uint64_t sim_next(SimChance *chance);
uint32_t sim_below(SimChance *chance, uint32_t n); /* 0 … n-1; 0 for n = 0 */
bool sim_percent(SimChance *chance, uint32_t percent);

/* ---- the disk ---- */

typedef enum SimDeath {
    SIM_DIES_PROCESS, /* SIGKILL: what was written stays */
    SIM_DIES_MACHINE, /* what was not synced is lost, kept or torn */
    SIM_DIES_ALL,     /* … all of it is lost */
} SimDeath;

void sim_disk_register(void);      /* the VFS, as SQLite's default */
void sim_disk_die(SimDeath death); /* every handle is gone; sim_system_die as well */
void sim_disk_room(bool room);     /* false: writes find the disk full */
bool sim_disk_has_room(void);
uint64_t sim_disk_ops(void);          /* writes, syncs, changes of names so far */
bool sim_disk_rot(SimChance *chance); /* changes one byte of a record in the database; false: there is none */
/* Names, for system.c. */
bool sim_disk_exists(const char *name);
int64_t sim_disk_size(const char *name); /* -1: no such file */
bool sim_disk_create(const char *name);  /* false: it exists */
bool sim_disk_unlink(const char *name);
bool sim_disk_rename(const char *from, const char *to);
void sim_disk_sync_names(void);
/* Contents, for system.c. */
int64_t sim_disk_read(const char *name, void *to, int len, int64_t at);       /* how many bytes there were */
bool sim_disk_write(const char *name, const void *from, int len, int64_t at); /* false: no room */
bool sim_disk_sync(const char *name);                                         /* false: it failed */

void sim_system_die(void); /* descriptors of the life that ends are closed */

/* ---- one seed ---- */

typedef struct SimPlan {
    uint64_t seed;
    bool still;              /* turns, tools and deaths take no time */
    bool meddles;            /* people kill tasks, fail steps: results differ */
    bool eager;              /* tools answer in the turn they are asked */
    uint32_t deaths;         /* that will still come */
    uint64_t death_op;       /* the disk's operation in which this life dies; 0: none */
    uint32_t death_turn;     /* the turn after which it dies; 0: none */
    bool drains;             /* … or is asked to stop, and dies when it has */
    uint32_t death_act;      /* the thing that leaves the process after which it dies; 0: none */
    SimDeath death;          /* how */
    uint64_t fail_sync;      /* the disk's operation at or after which the next sync fails; 0: none */
    uint64_t full_op;        /* … at or after which the disk is full for a while; 0: none */
    uint32_t full_ms;        /* how long */
    bool scarce;             /* in some lives an allocation of a value fails, and the process ends */
    uint64_t no_memory;      /* … this one; 0: none */
    uint32_t mark_every;     /* records between marks of the log; 0: the runtime\'s own number */
    uint32_t snapshot_every; /* records between snapshots of a run; 0: the runtime's own number */
    uint32_t park_after_ms;  /* a run that waits leaves memory after so long; 0: likewise */
    bool sockets;            /* some of its programs may have them */
    bool models;             /* some of its programs may ask them */
    bool levels;             /* the poller tells levels once, not edges */
} SimPlan;

/* Something that will happen outside. */
typedef struct SimEvent {
    int64_t at_ns;  /* of sim time */
    uint64_t turn;  /* and not before this turn of the life */
    uint64_t order; /* ties: in the order they were planned */
    void (*happen)(struct SimEvent *event);
    void *arg;      /* a call, a run … */
    int64_t number; /* … or what the event needs */
    struct SimEvent *next;
} SimEvent;

/* One key that began outside: an entry of the ledger. */
typedef struct SimEntry {
    char key[200];
    char tool[40];
    char run[37], path[64];
    int64_t step;
    uint64_t digest;
    bool once, own_key;
    bool inside;      /* of the tool `alone`: it has begun and not ended */
    bool happened;    /* the newest beginning took effect outside */
    bool vague;       /* … and it ended without saying so, or that it did not */
    char *value;      /* JSON of its result, owned */
    bool failed;      /* its result is an error */
    uint32_t begun;   /* how often it began outside */
    uint32_t allowed; /* how often a once tool may */
} SimEntry;

typedef struct SimLine {
    char *text;
    size_t len;
} SimLine;

/* An acknowledgement people got. */
typedef struct SimAck {
    enum { ACK_SIGNAL, ACK_APPROVAL, ACK_KILL, ACK_RESOLVE } kind;
    uint32_t run; /* index into sim.runs */
    char path[64];
    int64_t step;
    char text[64]; /* the signal's id, the answer */
} SimAck;

typedef struct SimRun {
    const char *workflow;
    char uuid[37];        /* of its newest submission; "" before */
    int64_t submit_lsn;   /* its first record */
    bool acked;           /* that was durable: it may not be lost */
    int found;            /* its state in the log as this life found it; 0: it is not there */
    bool over;            /* it was seen to end, durable */
    int state;            /* how, TfyTaskState */
    char *result, *error; /* then, owned */
    char *expect;         /* what it comes to when nothing disturbs it; NULL: not known */
    int64_t takes_ns;     /* and how long that takes */
    uint32_t signals;     /* sent so far */
    uint32_t signals_acked;
    uint32_t fetched; /* brought back to memory by people */
} SimRun;

enum { SIM_LIVES = 64, SIM_RUNS = 3, SIM_SIGNALS = 3 };

typedef struct Sim {
    SimPlan plan;
    SimChance chance;      /* of what happens */
    SimChance disk_chance; /* of what the disk does */
    uint64_t trace;        /* hash over everything that happened */
    bool verbose;
    jmp_buf death;
    bool closed; /* the last life closed its log in order */
    bool alive;  /* between the beginning and the end of a life */
    uint32_t life;
    int64_t boots_ms[SIM_LIVES]; /* when each life began, wall clock */

    int64_t now_ns, boot_ns; /* since the beginning; when this life began */
    uint64_t turn;           /* of this life */
    uint64_t drained_at;     /* the turn in which this life was asked to stop; 0: it was not */
    uint64_t orders;
    SimEvent *events;
    bool writer_planned;
    uint32_t acts; /* things that left the process in this life */
    uint64_t allocs;
    TfyLoop *loop;
    int64_t opened_lsn; /* of this life's Opened: once it is durable, all that was found is */
    TfyWorld world;
    bool expecting; /* the undisturbed run: nothing is checked */

    SimRun runs[SIM_RUNS];
    uint32_t run_count;
    SimEntry *entries;
    uint32_t entry_count, entry_cap;
    SimAck acks[64];
    uint32_t ack_count;
    SimLine *lines; /* everything that was ever shown on stdout */
    uint32_t line_count, line_cap;
    int64_t durable; /* newest lsn that any life's log called durable */

    bool failed; /* an invariant does not hold; why is printed */
    uint32_t deaths_done, checks;
} Sim;

extern Sim sim;
extern bool sim_cuts; /* every death is a power cut, amid an operation of the disk, and there are more of them */
extern const TfyProgram tfyg_program;
extern TfyProgram
    sim_program; /* the same, but for the text of its source: nobody reads it here, and it would be most of what is written */

/* Something happened: into the trace. */
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* An invariant does not hold: says so and ends the process of this seed. */
void sim_broken(const char *invariant, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/* The process or the machine dies here. Never returns while a life is alive. */
void sim_die(void);

/* world.c */
void sim_world_begin(void); /* of a life */
SimEvent *sim_plan_event(int64_t delay_ns, uint32_t turns, void (*happen)(SimEvent *), void *arg, int64_t number);
bool sim_event_due(void);             /* makes the first due one happen; false: none is due */
int64_t sim_next_event_ns(void);      /* INT64_MAX: none */
bool sim_events_wait_for_turns(void); /* one could happen now but for its turn */
void sim_forget_events(void);
void sim_ledger_die(void);                        /* nothing is under way any more */
void sim_left(void);                              /* something has left the process */
SimEntry *sim_entry_of_key(const char *key);      /* NULL: it never began */
SimEntry *sim_entry_new(const TfyCall *call);     /* valid until the next one */
void sim_foresee(TfyCall *call, SimEntry *entry); /* what the tool comes to is known when it begins */
SimEntry *sim_entry_of_step(const char *run, const char *path, int64_t step);

/* check.c */
typedef struct SimLate {
    int64_t early_ms, late_ms; /* how far from its time something may be */
} SimLate;
void sim_check_behind(const TaskRest *rest, const char *what);
json_t *sim_record_json(const TfyLogRecord *record);                                            /* its payload, owned */
void sim_check_recovered(TfyLog *log);                                                          /* d1 to d4, d7, d8 */
void sim_check_end(TfyLog *log);                                                                /* e1, e2 */
void sim_check_history(const TfyHistory *history, const char *uuid);                            /* d3, d4, d7, d8 */
void sim_check_ends(const char *workflow, const TfyHistory *history);                           /* e1 */
void sim_check_timers(const char *workflow, const TfyHistory *history, const SimLate *allowed); /* e6 */
bool sim_history(TfyLog *log, const char *uuid, TfyHistory **history, char *error);
char *sim_told(const TfyHistory *history, int state); /* owned by the caller */

/* seed.c */
void sim_show(const char *text, size_t len);    /* keeps a line that was shown */
bool sim_expect(SimRun *run);                   /* what it comes to by itself; false: it waits for ever */
void sim_run_seed(uint64_t seed, bool verbose); /* sim.trace is its result */

#endif
