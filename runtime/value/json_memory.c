/* json_memory.c: see json.h. */
#include <jansson.h>
#include <pthread.h>

#include "json.h"

static json_malloc_t outer_malloc; /* the process may have set its own */
static json_free_t outer_free;
static _Thread_local bool ran_out;

static void *watched_malloc(size_t size)
{
    void *memory = outer_malloc(size);
    if (!memory) ran_out = true;
    return memory;
}

static void begin(void)
{
    json_get_alloc_funcs(&outer_malloc, &outer_free);
    json_set_alloc_funcs(watched_malloc, outer_free);
}

void tfy__json_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
}

bool tfy__json_starved(void)
{
    const bool was = ran_out;
    ran_out = false;
    return was;
}
