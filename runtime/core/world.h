/* world.h: everything the scheduler takes from outside, in one table: clock, randomness, memory, descriptors,
 * performers of effects.
 *
 * Tests and simulations replace any part of it: a virtual clock jumps to the next deadline, any call can be made
 * to fail, the test answers effects. Core calls the operating system only through this table. */
#ifndef CORE_WORLD_H
#define CORE_WORLD_H

#include "tfy_program.h"

struct TfyRoot;

/* What the poller reports for one descriptor. */
enum {
    TFY_FD_READ = 1,
    TFY_FD_WRITE = 2,
    TFY_FD_HANGUP = 4,
    TFY_FD_ONCE = 8, /* to add: an event is reported once, and again after arm */
};

typedef struct TfyFdEvent {
    uint64_t tag;    /* as given to add: slot and generation, which expose a stale event */
    uint32_t events; /* TFY_FD_… */
} TfyFdEvent;

/* Waits for descriptors. Registration is persistent and edge-triggered: a watcher reads until EAGAIN; of a pipe or a
 * stream it may stop when it gets less than it wanted, unless TFY_FD_HANGUP was reported. del comes before close. */
typedef struct TfyPoller {
    const char *name;
    int (*open)(void **poller);
    void (*close)(void *poller);
    int (*add)(void *poller, int fd, uint32_t events, uint64_t tag);
    /* The watcher of a descriptor that was added with TFY_FD_ONCE got EAGAIN: report the next change. NULL: the
     * poller reports edges without it. */
    void (*arm)(void *poller, int fd, uint32_t events);
    void (*del)(void *poller, int fd);
    /* Waits at most timeout_ns (0: not at all, -1: for ever). Returns the number of events, 0 on a signal. */
    int (*wait)(void *poller, TfyFdEvent *events, int cap, int64_t timeout_ns);
    int (*fd)(void *poller); /* a descriptor that can be read when wait would report something; NULL: it has none */
} TfyPoller;

extern const TfyPoller tfy__poller_epoll;
extern const TfyPoller tfy__poller_poll;
const TfyPoller *tfy__poller_of_choice(void); /* epoll, or poll if TFY_POLLER says so */
int tfy__poller_check(char *error_text);      /* 0, or TFY_E_INVALID: TFY_POLLER names no poller */

/* A whole number from the environment. 1: *value holds it; 0: the variable is not set; TFY_E_INVALID with a
 * sentence: its value is not a whole number, or is above max. */
int tfy__env_number(const char *name, int64_t max, int64_t *value, char *error_text);

struct TfyWorld {
    void *state;
    int64_t (*mono_ns)(void *state); /* monotonic clock, nanoseconds */
    int64_t (*wall_ms)(void *state); /* wall clock, milliseconds since 1970 */
    /* The wall clock, some milliseconds late and much cheaper, so that a record in the middle of a turn does not
     * wait for the clock. NULL: wall_ms is used. */
    int64_t (*wall_late_ms)(void *state);
    void (*random)(void *state, void *bytes, size_t len);
    void *(*alloc)(void *state, void *old, size_t old_size, size_t new_size); /* NULL: malloc and free */
    /* A virtual clock: moves to the deadline instead of sleeping. NULL: real time; the loop blocks in the poller. */
    void (*jump)(void *state, int64_t deadline_ns);
    const TfyPoller *poller;
    /* The log has no writer thread: the world commits what is queued by calling tfy__log_write (wal/log/log.h).
     * For simulations: one thread, one order of events. */
    bool writer_by_hand;
    /* for tests: tasks are folded (core/task/folded.h) whenever possible, not only if there are many */
    bool folds;
    uint32_t mark_every; /* records between marks of the log; 0: the log decides */
    /* Identifies the directory of the working root (wal/log/root.h): fills in everything but the path. NULL: runs
     * do not record their roots. */
    bool (*look_root)(int fd, struct TfyRoot *root);
    /* Which effects the program's own performers perform (TfyProgram.performers). */
    enum { TFY_PERFORMS_NONE, TFY_PERFORMS_EXTERN /* only tools in C */, TFY_PERFORMS_ALL } performs;
    /* Performers that replace the program's, by family. A family that has neither fails its calls with "not
     * available here". */
    const TfyPerformer *performers[TFY_F_COUNT];
};

extern const TfyWorld tfy__world_real;

/* A virtual world for tests: time starts at wall_ms and moves only by jumps; no performers; randomness from the
 * seed. Free it with tfy__world_free. */
TfyWorld *tfy__world_virtual(int64_t wall_ms, uint64_t seed);
void tfy__world_free(TfyWorld *world);

#endif
