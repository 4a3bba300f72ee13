/* sys_memory.c: see sys_memory.h. */
#include "sys_memory.h"

#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_malloc_t outer_malloc; /* the process may have set its own */
static json_free_t outer_free;
static _Thread_local bool refused;

static void *noted(void *memory, size_t size)
{
    if (!memory && size) refused = true;
    return memory;
}

void *tfy__sys_malloc(size_t size)
{
    return noted(malloc(size), size);
}

void *tfy__sys_calloc(size_t count, size_t size)
{
    return noted(calloc(count, size), count && size);
}

void *tfy__sys_realloc(void *old, size_t size)
{
    return noted(realloc(old, size), size);
}

char *tfy__sys_strdup(const char *text)
{
    return noted(strdup(text), 1);
}

char *tfy__sys_printf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    return noted(text, 1);
}

void tfy__sys_refused(void)
{
    refused = true;
}

bool tfy__sys_starved(void)
{
    const bool was = refused;
    refused = false;
    return was;
}

/* ---- jansson ---- */

enum { RESERVE = 64 << 10, ALIGN = 16, STATUS = 70 };

/* What was taken of it is free again when all of it was given back. */
static struct {
    pthread_mutex_t mutex;
    size_t used;
    uint32_t live;
    _Alignas(ALIGN) char bytes[RESERVE];
} reserve = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *from_reserve(size_t size)
{
    void *place = NULL;
    pthread_mutex_lock(&reserve.mutex);
    if (size <= RESERVE - reserve.used) {
        place = reserve.bytes + reserve.used;
        const size_t rounded = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        reserve.used = rounded < RESERVE - reserve.used ? reserve.used + rounded : RESERVE;
        reserve.live++;
    }
    pthread_mutex_unlock(&reserve.mutex);
    return place;
}

static bool to_reserve(const void *place)
{
    const uintptr_t at = (uintptr_t)place, first = (uintptr_t)reserve.bytes;
    if (at < first || at >= first + RESERVE) return false;
    pthread_mutex_lock(&reserve.mutex);
    if (--reserve.live == 0) reserve.used = 0;
    pthread_mutex_unlock(&reserve.mutex);
    return true;
}

static void give_up(void)
{
    static const char words[] = "memory ran out; what is recorded is kept, and `tfy resume` goes on from there\n";
    const ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
    (void)written;
    _exit(STATUS);
}

static void *watched_malloc(size_t size)
{
    void *memory = noted(outer_malloc(size), size);
    if (!memory && size && !(memory = from_reserve(size))) give_up();
    return memory;
}

static void watched_free(void *memory)
{
    if (!to_reserve(memory)) outer_free(memory);
}

static void begin(void)
{
    json_get_alloc_funcs(&outer_malloc, &outer_free);
    json_set_alloc_funcs(watched_malloc, watched_free);
}

void tfy__sys_watch_json(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
}
