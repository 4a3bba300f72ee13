/* outlet.h: text on its way to a descriptor that may take it late or never: standard output, standard error.
 *
 * The descriptors are shared with other processes (a shell, a pipeline), so they cannot be made nonblocking:
 * O_NONBLOCK belongs to the open file and would break the others. Nor does poll(2) help: a terminal that was stopped
 * (Ctrl-S) is writable as far as poll knows, and so is a pipe whose room somebody else takes first. So a thread of
 * its own does the blocking writes, and the loop's thread only queues. Regular files take what they get at once: they
 * are written directly.
 *
 * The thread writes whole lines, as many as fit PIPE_BUF in one write, so that lines of several writers to one pipe
 * do not mix. Descriptors that are the same file share one outlet, and the order of what is queued is kept between
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

/* NULL: there is no memory, no thread or no signal left; the caller writes by itself. wake_fd: an eventfd that is
 * written when what was asked for with tfy__outlet_want is there, or an error came. It must stay open until the
 * outlet is closed. */
TfyOutlet *tfy__outlet_open(int wake_fd);
/* Queues a copy. fd is where it goes. False: no memory, and the reserve is in use or too small. */
bool tfy__outlet_put(TfyOutlet *outlet, int fd, const char *text, size_t len);
size_t tfy__outlet_held(const TfyOutlet *outlet); /* bytes that were queued and not written */
/* Wakes the loop when at most so many are left; true: that is so already. */
bool tfy__outlet_want(TfyOutlet *outlet, size_t most);
/* errno of the write that failed; 0: none did. What comes behind it is thrown away. */
int tfy__outlet_error(const TfyOutlet *outlet, int fd);
/* What is left is not written. A write that is stuck is ended by a signal to its thread. */
void tfy__outlet_close(TfyOutlet *outlet);

#endif
