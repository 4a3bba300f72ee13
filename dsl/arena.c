/* arena.c: blocks of zeroed memory, handed out front to back.
 *
 * Blocks come from calloc: large ones are fresh pages of the system, so zeroing costs nothing, and nodes are used
 * only once. */
#include "arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bug.h"

enum {
    ALIGNMENT = 16,
    FIRST_BLOCK_SIZE = 64 << 10,
    MAX_BLOCK_SIZE = 4 << 20,
    EXIT_SOFTWARE = 70,
};

struct ArenaBlock {
    ArenaBlock *next; /* the one filled before this */
    size_t used;      /* bytes handed out of data */
    size_t size;      /* bytes in data */
    _Alignas(ALIGNMENT) unsigned char data[];
};

void arena_init(Arena *arena, size_t limit)
{
    *arena = (Arena){.limit = limit};
}

void arena_deinit(Arena *arena)
{
    for (ArenaBlock *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *arena = (Arena){0};
}

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "tfyc: %s; split the program into smaller files\n", why);
    exit(EXIT_SOFTWARE);
}

/* Each block doubles the one before, so small programs stay small and large ones make few blocks. */
static ArenaBlock *add_block(Arena *arena, size_t want)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK_SIZE;
    if (size > MAX_BLOCK_SIZE) size = MAX_BLOCK_SIZE;
    if (size < want) size = want;
    ArenaBlock *block = calloc(1, sizeof *block + size);
    if (!block) give_up("out of memory");
    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

static size_t align_up(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void *arena_alloc(Arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) give_up("out of memory");
    size = align_up(size);
    arena->used += size;
    if (arena->limit && arena->used > arena->limit) give_up("the program needs more memory than the compiler may use");
    ArenaBlock *block = arena->blocks;
    if (!block || block->size - block->used < size) block = add_block(arena, size);
    void *memory = block->data + block->used;
    block->used += size;
    CHECK(block->used <= block->size);
    return memory;
}

void *arena_grow(Arena *arena, void *items, uint32_t *cap, uint32_t want, size_t item_size)
{
    if (want <= *cap) return items;
    CHECK(!items == !*cap);
    if (want > UINT32_MAX / 2) give_up("a table became too large");
    uint32_t new_cap = *cap < 8 ? 8 : *cap * 2;
    if (new_cap < want) new_cap = want;
    void *grown = arena_alloc(arena, new_cap * item_size);
    if (*cap) memcpy(grown, items, *cap * item_size);
    *cap = new_cap;
    return grown;
}

/* A piece that is larger than a block gets a block that holds nothing else. */
static void give_back(Arena *arena, const void *items)
{
    for (ArenaBlock **link = &arena->blocks; *link; link = &(*link)->next) {
        ArenaBlock *block = *link;
        if (block->data != items || block->size <= MAX_BLOCK_SIZE) continue;
        *link = block->next;
        arena->used -= block->used;
        free(block);
        return;
    }
}

/* Is this the newest allocation, with room behind it? */
static bool grow_in_place(Arena *arena, const void *items, size_t old_size, size_t new_size)
{
    ArenaBlock *block = arena->blocks;
    size_t old_end = align_up(old_size), more = align_up(new_size) - old_end;
    bool newest = block && (const unsigned char *)items + old_end == block->data + block->used;
    if (!newest || block->size - block->used < more) return false;
    block->used += more;
    arena->used += more;
    return true;
}

void *arena_regrow(Arena *arena, void *items, uint32_t *cap, uint32_t want, size_t item_size)
{
    if (want <= *cap) return items;
    if (items && want <= UINT32_MAX / 4) {
        uint32_t new_cap = want < *cap * 2 ? *cap * 2 : want;
        if (grow_in_place(arena, items, *cap * item_size, new_cap * item_size)) {
            *cap = new_cap;
            return items;
        }
    }
    void *grown = arena_grow(arena, items, cap, want, item_size);
    if (items) give_back(arena, items);
    return grown;
}

char *arena_strndup(Arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);
    if (len) memcpy(copy, text, len);
    return copy;
}

char *arena_vprintf(Arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    if (len < 0) give_up("a message cannot be formatted");
    char *text = arena_alloc(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}
