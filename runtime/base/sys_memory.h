/* sys_memory.h: system memory for what is not a value: what effects keep, and what libraries do for the runtime.
 *
 * Code that runs out of memory takes another path than a replay with memory takes at the same place: a tool is not
 * started, a timer is not set, a text loses its end. None of that may be recorded. So a refusal is noted for the
 * thread, wherever it happens, and the loop checks for it: then the process ends as if killed at its last commit.
 * Until then the caller must only stay harmless. */
#ifndef TFY_BASE_SYS_MEMORY_H
#define TFY_BASE_SYS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Whether a thread keeps blocks that jansson has freed. The address sanitizer has to see each of them freed. */
#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define TFY_KEEPS_BLOCKS 0
#elif defined(__has_feature)
#define TFY_KEEPS_BLOCKS (!__has_feature(address_sanitizer))
#else
#define TFY_KEEPS_BLOCKS 1
#endif

/* Like those of the C library; free() accepts their memory. */
void *tfy__sys_malloc(size_t size);
void *tfy__sys_calloc(size_t count, size_t size);
void *tfy__sys_realloc(void *old, size_t size);
char *tfy__sys_strdup(const char *text);
char *tfy__sys_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Gives what this thread keeps back to malloc, and free pages of the heap to the system. It takes as long as the heap
 * is large: call it before a long wait. */
void tfy__sys_trim(void);
/* Notes that this thread was refused memory. */
void tfy__sys_refused(void);
/* Whether this thread was refused memory since the last call. */
bool tfy__sys_starved(void);

/* Makes every refusal of memory to jansson on this thread end the process from here on, however the process
 * allocates: with a message and status 70, and to the log as if killed. Without this, jansson silently omits bytes of
 * a text for which it finds no memory; a text that it could not read looks invalid; and if the lost byte belongs to
 * an escape or is the closing quote, jansson hits an assertion or reads past the text. */
void tfy__sys_watch_json(void);

#endif
