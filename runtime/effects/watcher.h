/* watcher.h: the helper process under which every tool runs, and the messages between it and the runtime.
 *
 * Why a process of its own: when the runtime is killed, nobody inside it can end the tools it started, and a `once` step must not be
 * asked about, or done again, while its old tool still works. The watcher outlives the runtime by moments: it sees the socket close, ends
 * every group and every descendant (it is their subreaper), reaps them, and only then lets go of its lock, byte 1 of the lock file. It
 * also keeps starting processes cheap: it is small, lives in its own session without a terminal, and starts tools by vfork.
 *
 * It is a fork of the runtime without exec, so it uses only what is safe after a fork in a process with threads: system calls and
 * memory of its own. The price is that it shares the runtime's pages as they were at the fork.
 *
 * Requests and reports are single datagrams of a SOCK_SEQPACKET pair; a SPAWN carries descriptors. Everything of variable length travels
 * in a memfd, so that no message can be too big for the socket. */
#ifndef TFY_EFFECTS_WATCHER_H
#define TFY_EFFECTS_WATCHER_H

#include <stdint.h>
#include <sys/types.h>

#define TFY_LOCK_WATCHER_BYTE 1    /* place of the watcher's lock in the lock file */
#define TFY_WATCHER_TERM_MS   2000 /* what a tool gets between SIGTERM and SIGKILL when its step is aborted */

enum { TFY_W_SPAWN = 1, TFY_W_KILL, TFY_W_FORGET };
enum { TFY_W_STARTED = 1, TFY_W_EXITED, TFY_W_GONE };

/* The descriptors of a SPAWN, in this order. */
enum { TFY_W_FD_BLOB, TFY_W_FD_CWD, TFY_W_FD_STDIN, TFY_W_FD_STDOUT, TFY_W_FD_STDERR, TFY_W_FD_COUNT };

/* runtime → watcher. The blob of a SPAWN holds NUL-terminated strings: candidates (absolute or relative paths to try in turn), argv, env;
 * env[0] is the mark by which descendants that left the group are recognised. */
typedef struct TfyWatcherRequest {
    uint32_t
        kind; /* TFY_W_SPAWN: start; TFY_W_KILL: SIGTERM, later SIGKILL; TFY_W_FORGET: exited and no longer of interest */
    uint32_t id;         /* chosen by the runtime, not 0, unique among the living */
    uint32_t candidates; /* number of strings of each sort in the blob */
    uint32_t argc;
    uint32_t envc;
    uint32_t blob_len; /* bytes */
} TfyWatcherRequest;

/* watcher → runtime. */
typedef struct TfyWatcherReport {
    uint32_t
        kind; /* TFY_W_STARTED: answer to SPAWN; TFY_W_EXITED: the tool itself ended; TFY_W_GONE: answer to KILL, nothing is left */
    uint32_t id;
    int32_t value; /* STARTED: 0 or an errno value; EXITED: the status as wait(2) gives it */
    int32_t pid;   /* STARTED: the tool's process and group */
} TfyWatcherReport;

/* Forks the watcher. Answers the runtime's end of the socket (close-on-exec, non-blocking) and *pid, or -errno. lock_path may be NULL. */
int tfy__watcher_start(const char *lock_path, pid_t *pid);

/* Waits until no watcher of an earlier owner of the log lives. 0, or TFY_E_HELD after timeout_ms. A missing file is free. Called by the
 * new owner after it has taken the writer lock. */
int tfy__watcher_wait_old(const char *lock_path, int timeout_ms);

#endif
