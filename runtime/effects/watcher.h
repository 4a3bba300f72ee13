/* watcher.h: the helper process under which every tool runs, and the messages between it and the runtime.
 *
 * Why a separate process: when the runtime is killed, nothing inside it can end the tools it started, and a `once`
 * step must not be asked about, or repeated, while its old tool still works. The watcher outlives the runtime by
 * moments: it sees the socket close, ends every tool with all its descendants, and only then releases its lock,
 * byte 1 of the lock file. It also keeps starting processes cheap: it runs in its own session without a terminal,
 * and has no threads.
 *
 *   runtime ── watcher ──┬── stub ── tool ── its descendants, in whatever session, group or environment
 *                        └── stub ── …
 *
 * Each tool has a stub (stub.h) between itself and the watcher, so that the end of one step ends everything that
 * belongs to it and nothing else. A stub shares the watcher's lock and its socket to the runtime, so both are free
 * when the watcher and all stubs are gone, however they ended. A watcher that dies while the runtime lives counts
 * as a crash of the runtime's process (process.h); a stub that dies takes the watcher with it.
 *
 * The watcher is a fork of the runtime without exec, so it uses only what is safe after a fork in a process with
 * threads: system calls and memory of its own. The price is that it shares the runtime's pages as they were at the
 * fork.
 *
 * With a lease (base/lease.h), the watcher ends its tools and then the runtime before the deadline, and starts none
 * that would be ended at once. It finds the deadline in shared memory: no message tells it, so none can be late.
 *
 * Requests and reports are single datagrams of a SOCK_SEQPACKET pair; a SPAWN carries descriptors. Data of
 * variable length travels in a memfd, so that no message can be too big for the socket. */
#ifndef TFY_EFFECTS_WATCHER_H
#define TFY_EFFECTS_WATCHER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "effects/family.h"

#define TFY_LOCK_WATCHER_BYTE 1    /* position of the watcher's lock in the lock file */
#define TFY_WATCHER_TERM_MS   2000 /* between SIGTERM and SIGKILL when a tool's step is aborted */
/* the same when the owner is gone: gives git and the like time to remove lock files */
#define TFY_FAREWELL_MS 500

/* The error of a SPAWN that comes when the lease runs out (base/lease.h). Nothing else here reports it. */
#define TFY_W_LATE ETIME

enum { TFY_W_SPAWN = 1, TFY_W_KILL };
enum { TFY_W_STARTED = 1, TFY_W_EXITED, TFY_W_GONE, TFY_W_PASSED };

/* The descriptors of a SPAWN, in this order; those of the cell only for a tool in one: the cell's end of its socket, and
 * tfy-cell. */
enum {
    TFY_W_FD_BLOB,
    TFY_W_FD_CWD,
    TFY_W_FD_STDIN,
    TFY_W_FD_STDOUT,
    TFY_W_FD_STDERR,
    TFY_W_FD_OPEN_COUNT, /* without a cell */
    TFY_W_FD_CELL = TFY_W_FD_OPEN_COUNT,
    TFY_W_FD_PROGRAM,
    TFY_W_FD_COUNT
};

/* runtime → watcher. The blob of a SPAWN holds NUL-terminated strings: candidates (absolute or relative paths to
 * try in turn), argv, env. With a cell there are no candidates: the descriptor TFY_W_FD_PROGRAM is executed. */
typedef struct TfyWatcherRequest {
    uint32_t kind; /* TFY_W_SPAWN: start; TFY_W_KILL: SIGTERM, later SIGKILL, to the tool and all its descendants */
    uint32_t id;   /* chosen by the runtime, not 0, unique among the living */
    uint32_t candidates; /* number of strings of each sort in the blob */
    uint32_t argc;
    uint32_t envc;
    uint32_t blob_len; /* bytes */
    uint32_t fds;      /* of a SPAWN: TFY_W_FD_OPEN_COUNT or TFY_W_FD_COUNT */
    TfyLimits limits;  /* of a SPAWN: memory and processes of the whole family, which the stub looks at */
} TfyWatcherRequest;

/* watcher or stub → runtime. The reports of a SPAWN, in this order: STARTED; PASSED if the stub ends it for that; EXITED
 * if STARTED reported 0; GONE when the tool has no descendant left. After a KILL those before GONE may be missing; GONE
 * always comes. */
typedef struct TfyWatcherReport {
    /* TFY_W_STARTED; TFY_W_EXITED: the tool itself exited; TFY_W_GONE: no descendant is left either */
    uint32_t kind;
    uint32_t id;
    /* STARTED: 0 or an errno value; EXITED: the status as wait(2) returns it; PASSED: a TfyLimit */
    int32_t value;
} TfyWatcherReport;

/* Forks the watcher. Returns the runtime's end of the socket (close-on-exec, non-blocking) and *pid, or -errno.
 * lock_path may be NULL. mark: the mark of its tools (former.h), not 0. */
int tfy__watcher_start(const char *lock_path, uint64_t mark, pid_t *pid);

/* ---- messages, for all three processes ---- */

/* Sends a request; fds: for a SPAWN, else NULL. 0 or an errno value. */
int tfy__watcher_send(int socket, const TfyWatcherRequest *request, const int *fds);
/* Receives one, and *fd_count descriptors (close-on-exec) in room for TFY_W_FD_COUNT. False: the other side is
 * gone. */
bool tfy__watcher_receive(int socket, TfyWatcherRequest *request, int *fds, uint32_t *fd_count);

#endif
