/* check.h: facts that hold unless we made a mistake, checked in every build.
 *
 * A wrong state that goes on writes a wrong log, and that can no longer be taken back; a process that stops loses
 * nothing, because a stop is for the log what a kill is. So a fact whose breach would be a bug of ours is a CHECK,
 * and one that input, a disk or a peer can break is an error with a code. A check costs a comparison and a branch
 * that is never taken: it has no place only in the path of a plain yield. */
#ifndef TFY_BASE_CHECK_H
#define TFY_BASE_CHECK_H

#include <stddef.h>

/* One fact each, so that the sentence says which one it was. */
#define CHECK(fact) (__builtin_expect(!(fact), 0) ? tfy__check_failed(#fact, __FILE__, __LINE__) : (void)0)

_Noreturn void tfy__check_failed(const char *fact, const char *file, int line) __attribute__((cold));

/* Ends the process with a sentence on stderr and status 70. For the log it is as if it had been killed at its last
 * commit, so its runs can be resumed. The sentence is cut at 1000 bytes, and needs no memory. */
_Noreturn void tfy__stop(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

/* What this thread works on, for the sentence of a failed check: writes "run …" into text, or leaves it. NULL:
 * nothing in particular. */
typedef void TfyCheckPlace(const void *arg, char *text, size_t size);
void tfy__check_place(TfyCheckPlace *place, const void *arg);

#endif
