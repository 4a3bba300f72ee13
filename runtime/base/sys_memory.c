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
static bool keeps; /* blocks that jansson frees */
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

/* ---- small blocks ---- */

/* A JSON text is read into a tree of some dozen blocks that are freed together soon after, and malloc keeps only seven
 * blocks of a size for a thread at hand. So a thread that reads much keeps more. A block is told by its size alone, so
 * one that was kept can also be freed by free(), and the other way round. */
enum {
    SIZE_FIRST = 24, /* bytes that the smallest block of malloc's has room for */
    SIZE_STEP = 16,  /* … more that each larger one has */
    SIZES = 8,       /* that are kept: up to what the eight buckets of an object take */
    KEPT_MOST = 64,  /* blocks of a size */
};

typedef struct Block {
    struct Block *next;
} Block;

typedef struct Blocks {
    Block *first[SIZES];
    int count[SIZES];
} Blocks;

static _Thread_local Blocks kept;

/* The blocks with room for so many bytes. From SIZES on: none are kept. */
static size_t blocks_for(size_t size)
{
    return size <= SIZE_FIRST ? 0 : (size - SIZE_FIRST + SIZE_STEP - 1) / SIZE_STEP;
}

/* NULL: none is kept. */
static void *take_kept(size_t size)
{
    const size_t which = blocks_for(size);
    Block *block = which < SIZES ? kept.first[which] : NULL;
    if (!block) return NULL;
    kept.first[which] = block->next;
    kept.count[which]--;
    return block;
}

/* False: it is not kept. */
static bool keep(void *memory)
{
    const size_t room = malloc_usable_size(memory);
    if (room < SIZE_FIRST) return false;
    const size_t which = (room - SIZE_FIRST) / SIZE_STEP;
    if (which >= SIZES || kept.count[which] == KEPT_MOST) return false;
    Block *block = memory;
    block->next = kept.first[which];
    kept.first[which] = block;
    kept.count[which]++;
    return true;
}

static void free_kept(void)
{
    for (size_t which = 0; which < SIZES; which++)
        for (Block *block; (block = kept.first[which]); kept.count[which]--) {
            kept.first[which] = block->next;
            free(block);
        }
}

void tfy__sys_trim(void)
{
    free_kept();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* ---- jansson ---- */

static pthread_key_t ended; /* of each thread that keeps blocks: they are freed at its end */

static void on_end(void *unused)
{
    (void)unused;
    watches = false;
    free_kept();
}

static void *watched_malloc(size_t size)
{
    void *memory = take_kept(size);
    if (memory) return memory;
    memory = noted(outer_malloc(size), size);
    if (!memory && size && watches) tfy__stop("memory ran out; every recorded step is kept");
    return memory;
}

static void keeping_free(void *memory)
{
    if (!memory || !watches || !keep(memory)) free(memory);
}

static void begin(void)
{
    json_get_alloc_funcs(&outer_malloc, &outer_free);
    keeps = TFY_KEEPS_BLOCKS && outer_malloc == malloc && outer_free == free && pthread_key_create(&ended, on_end) == 0;
    json_set_alloc_funcs(watched_malloc, keeps ? keeping_free : outer_free);
}

void tfy__sys_watch_json(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    watches = true;
    if (keeps) pthread_setspecific(ended, &kept);
}
