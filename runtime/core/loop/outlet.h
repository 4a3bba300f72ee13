/* outlet.h: queues text for a descriptor whose reader may be slow or absent: standard output, standard error.
 *
 * The descriptors are shared with other processes (a shell, a pipeline), so they cannot be made nonblocking:
 * O_NONBLOCK belongs to the open file and would break the others. poll(2) does not help either: it reports a
 * terminal that was stopped (Ctrl-S) as writable, and also a pipe whose room another process takes first. So a
 * separate thread does the blocking writes, and the loop's thread only queues. Regular files never block: they are
 * written directly.
 *
 * The thread writes whole lines, as many as fit in PIPE_BUF per write, so that lines of several writers to one
 * pipe do not mix. Descriptors of the same file share one outlet, which keeps the order of everything queued for
 * them. */
#ifndef CORE_LOOP_OUTLET_H
#define CORE_LOOP_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFY_OUTLET_FULL  ((size_t)1 << 20)  /* bytes queued above which tasks that print wait */
#define TFY_OUTLET_SPARE ((size_t)16 << 20) /* … above which messages and events of the runtime are dropped */

#define TFY_OUTLET_RESERVE ((size_t)4096) /* bytes that can be queued when there is no memory */

typedef struct TfyOutlet TfyOutlet;

/* NULL: there is no memory, no thread or no signal left; the caller must write itself. wake_fd: an eventfd that is
 * written when the condition of tfy__outlet_want holds, or a write has failed. It must stay open until the outlet
 * is closed. */
TfyOutlet *tfy__outlet_open(int wake_fd);
/* Queues a copy of the text for fd. False: no memory, and the reserve is in use or too small. */
bool tfy__outlet_put(TfyOutlet *outlet, int fd, const char *text, size_t len);
size_t tfy__outlet_held(const TfyOutlet *outlet); /* bytes queued and not written */
/* Wakes the loop when at most `most` bytes are left; true: that is so already. */
bool tfy__outlet_want(TfyOutlet *outlet, size_t most);
/* errno of the write that failed; 0: none did. The text after it is thrown away. */
int tfy__outlet_error(const TfyOutlet *outlet, int fd);
/* Discards the unwritten rest. A signal to the thread ends a write that is stuck. */
void tfy__outlet_close(TfyOutlet *outlet);

#endif
