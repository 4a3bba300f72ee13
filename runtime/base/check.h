/* check.h: facts that only a bug of ours can break, checked in every build.
 *
 * A process that continues in a wrong state writes a wrong log, and that cannot be undone. A process that stops loses
 * nothing, because a stop looks like a kill to the log. So a fact that only a bug can break is a CHECK; a fact that
 * input, a disk or a peer can break is an error with a code. A check costs a comparison and a branch that is never
 * taken, so it belongs everywhere except in the path of a plain yield. */
#ifndef TFY_BASE_CHECK_H
#define TFY_BASE_CHECK_H

#include <stddef.h>

/* One fact each, so that the message names the broken one. */
#define CHECK(fact) (__builtin_expect(!(fact), 0) ? tfy__check_failed(#fact, __FILE__, __LINE__) : (void)0)

_Noreturn void tfy__check_failed(const char *fact, const char *file, int line) __attribute__((cold));

/* Ends the process with a message on stderr and status 70. To the log this looks like a kill at the last commit, so
 * its runs can be resumed. The message is cut at 1000 bytes and needs no memory. */
_Noreturn void tfy__stop(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

/* Describes what this thread is working on, for the message of a failed check: writes "run …" into text, or leaves it
 * unchanged. NULL: nothing in particular. */
typedef void TfyCheckPlace(const void *arg, char *text, size_t size);
void tfy__check_place(TfyCheckPlace *place, const void *arg);

#endif
