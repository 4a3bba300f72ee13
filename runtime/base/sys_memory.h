/* sys_memory.h: memory of the system for what is no value: what effects keep, what libraries do for the runtime.
 *
 * Code that finds none goes another way than a replay will, with memory, at the same place: a tool could not be started, a
 * timer was not set, a text lost its end. Nothing of that may be recorded. So a refusal is noted for the thread,
 * wherever it happened, and the loop asks: then the process ends as if it had been killed at its last commit. What
 * the caller does until then only has to be harmless. */
#ifndef TFY_BASE_SYS_MEMORY_H
#define TFY_BASE_SYS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Like those of the C library, whose free() takes what they give. */
void *tfy__sys_malloc(size_t size);
void *tfy__sys_calloc(size_t count, size_t size);
void *tfy__sys_realloc(void *old, size_t size);
char *tfy__sys_strdup(const char *text);
char *tfy__sys_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Notes that this thread was refused memory. */
void tfy__sys_refused(void);
/* Whether that was so since this was last asked. */
bool tfy__sys_starved(void);

/* jansson leaves bytes of a text out that it finds no memory for, and does not say so; a text that could not be read
 * looks like one that is none; and where the lost byte was an escape's or the closing quote, it runs into an
 * assertion or beyond the text. So what it is refused on this thread, in whatever way the process makes its
 * allocations, ends the process from here on: with a sentence and status 70, and for the log as if it had been
 * killed. */
void tfy__sys_watch_json(void);

#endif
