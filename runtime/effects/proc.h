/* proc.h: finds processes in /proc and signals them without ever hitting another one.
 *
 * The number of a process can belong to another one a moment after it was read. So each candidate is tested, held
 * by a descriptor (pidfd), tested again, and signalled through the descriptor: the process that passed the second
 * test receives the signal.
 *
 * These functions use only system calls and the caller's stack, so they can be called after a fork in a process
 * with threads. */
#ifndef TFY_EFFECTS_PROC_H
#define TFY_EFFECTS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether a process is one of those to be signalled. */
typedef bool TfyProcTest(pid_t pid, void *arg);

/* Sends the signals, up to a 0, to every process that passes the test. Returns how many passed, including those
 * that may not be signalled. */
uint32_t tfy__proc_signal(const int *signals, TfyProcTest *test, void *arg);

/* A test: whether the process descends from the process that arg (pid_t *) names. A process that has exited still
 * passes until it is reaped. */
bool tfy__proc_descends(pid_t pid, void *arg);

/* A test: whether the process that arg (pid_t *) names is its parent. */
bool tfy__proc_is_child(pid_t pid, void *arg);

/* Reads /proc/PID/NAME: the number of bytes, 0 if nothing can be read. */
size_t tfy__proc_read(pid_t pid, const char *name, char *room, size_t cap);

/* Opens the directory /proc/PID/NAME, or /proc itself for pid 0; -1 with errno. */
int tfy__proc_open_dir(pid_t pid, const char *name);

/* Calls visit(dir, name, arg) for each entry whose name is a number, until visit returns false. False: it did. */
bool tfy__proc_each(int dir, bool (*visit)(int dir, const char *name, void *arg), void *arg);

#endif
