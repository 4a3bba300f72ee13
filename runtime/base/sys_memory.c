/* sys_memory.c: see sys_memory.h. */
#include "sys_memory.h"
#include "check.h"

#include <jansson.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_malloc_t outer_malloc; /* the process may have set its own */
static json_free_t outer_free;
static _Thread_local bool refused;
static _Thread_local bool watches; /* a refusal to jansson ends the process */

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

void tfy__sys_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
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

static void *watched_malloc(size_t size)
{
    void *memory = noted(outer_malloc(size), size);
    if (!memory && size && watches) tfy__stop("memory ran out; every recorded step is kept");
    return memory;
}

static void begin(void)
{
    json_get_alloc_funcs(&outer_malloc, &outer_free);
    json_set_alloc_funcs(watched_malloc, outer_free);
}

void tfy__sys_watch_json(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    watches = true;
}
