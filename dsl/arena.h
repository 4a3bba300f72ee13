/* arena.h: the memory of one compilation. Everything the compiler makes lives until the compilation ends, so nothing
 * is freed one by one and pointers into the tree stay valid in every pass. */
#ifndef DSL_ARENA_H
#define DSL_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *blocks; /* newest first */
    size_t used;        /* bytes handed out, for limits and reports */
    /* 0 = none; above it allocation stops the compiler with a message and exit status 70 */
    size_t limit;
} Arena;

void arena_init(Arena *arena, size_t limit);
void arena_deinit(Arena *arena);

/* Zeroed, aligned to 16 bytes. Never NULL: running out of memory ends the compiler. */
void *arena_alloc(Arena *arena, size_t size);

/* Grows an array inside the arena: returns the array to use from now on (the old one stays valid but stale). */
void *arena_grow(Arena *arena, void *items, uint32_t *cap, uint32_t want, size_t item_size);

/* The same for what nobody else points into: the old array is gone. The newest allocation grows where it is, and
 * a large one gives its memory back. */
void *arena_regrow(Arena *arena, void *items, uint32_t *cap, uint32_t want, size_t item_size);

/* A NUL-terminated copy. */
char *arena_strndup(Arena *arena, const char *text, size_t len);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));
char *arena_vprintf(Arena *arena, const char *format, va_list args) __attribute__((format(printf, 2, 0), nonnull(2)));

#define arena_new(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))

#endif
