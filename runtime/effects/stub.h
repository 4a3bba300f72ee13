/* stub.h: the process between the watcher and one tool.
 *
 * It is the subreaper of the tool: every descendant whose parent has died becomes its child, even if that changed
 * its session, its group or its environment. So the stub always finds all of them, and no processes of other
 * tools; it is without children exactly when nothing is left. It is busy until then: processes that a tool leaves
 * running keep its stub, and the death of the stub's watcher ends those, too.
 *
 * The watcher orders the end of all this by a byte in shared memory, and nudges the stub with a signal. The signal
 * itself carries no meaning, so tools may send it freely. The kernel sends the same signal when the watcher dies.
 *
 * A stub that is kept then waits for the watcher's next tool, on a socket whose other end only the watcher has.
 *
 * A stub is a fork of the watcher without exec: it uses only system calls and its stack. This is the place where
 * another kind of process, such as a sandbox's first one, can be inserted between watcher and tool. */
#ifndef TFY_EFFECTS_STUB_H
#define TFY_EFFECTS_STUB_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "effects/watcher.h"

#define TFY_STUB_NUDGE SIGUSR1

/* The stub's orders, in its byte of shared memory. A later order replaces an earlier one. */
enum {
    TFY_STUB_GO_ON,
    TFY_STUB_END, /* SIGTERM, and SIGKILL after TFY_WATCHER_TERM_MS */
    /* the owner is gone: the same after TFY_FAREWELL_MS, and no more reports */
    TFY_STUB_FAREWELL,
};

typedef struct TfyStub {
    int socket; /* to the runtime; carries STARTED and EXITED */
    /* where it waits for its next tool, after it has sent a byte; -1: there is only one */
    int work;
    int mark_file; /* open in the tool and its descendants (former.h) */
    pid_t watcher;
    const _Atomic uint8_t *order;
} TfyStub;

/* In a fresh fork of the watcher, with all signals blocked: starts the tool, reports, and exits with 0 when
 * nothing is left of it, or of the last one. */
__attribute__((noreturn)) void tfy__stub_run(const TfyStub *stub, const TfyWatcherRequest *request, const int *fds);

#endif
