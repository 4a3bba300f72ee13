/* stub.h: the process between the watcher and one tool.
 *
 * It is the subreaper of the tool: every descendant whose parent has died becomes its child, whatever that did to its
 * session, its group or its environment. So the stub always finds all of them, and nothing of other tools; it has no
 * child any more exactly when nothing is left. It is busy until then: what a tool leaves running keeps its stub, and
 * what ends the stub's watcher ends that, too.
 *
 * The watcher tells it by a byte in shared memory that it must end all this, and nudges it with a signal. The signal
 * itself says nothing, so tools may send it as they like. The kernel sends the same signal when the watcher dies.
 *
 * A stub that is kept then waits for the watcher's next tool, on a socket whose other end only the watcher has.
 *
 * A fork of the watcher without exec: system calls and its stack only. It is the place at which a process of another
 * kind, a sandbox's first one, can stand between watcher and tool. */
#ifndef TFY_EFFECTS_STUB_H
#define TFY_EFFECTS_STUB_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "effects/watcher.h"

#define TFY_STUB_NUDGE SIGUSR1

/* What it must do, in its byte of shared memory. A later one replaces an earlier one. */
enum {
    TFY_STUB_GO_ON,
    TFY_STUB_END,      /* SIGTERM, and SIGKILL after TFY_WATCHER_TERM_MS */
    TFY_STUB_FAREWELL, /* the owner is gone: the same after TFY_FAREWELL_MS, and nothing is reported any more */
};

typedef struct TfyStub {
    int socket;    /* to the runtime: STARTED and EXITED go there */
    int work;      /* what it waits for its next tool on, after it has sent a byte; -1: there is only one */
    int mark_file; /* what the tool and its descendants have open (former.h) */
    pid_t watcher;
    const _Atomic uint8_t *order;
} TfyStub;

/* In a fresh fork of the watcher, with all signals blocked: starts the tool, reports, and exits with 0 when nothing
 * is left of it, or of the last one. */
__attribute__((noreturn)) void tfy__stub_run(const TfyStub *stub, const TfyWatcherRequest *request, const int *fds);

#endif
