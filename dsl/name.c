/* name.c: an open-addressing table of interned names in the compilation's arena. */
#include "name.h"

#include <string.h>

typedef struct Slot {
    const char *text; /* NULL: free */
    uint32_t len;     /* bytes */
    uint32_t hash;
} Slot;

struct NameTable {
    Slot *slots;
    uint32_t cap;   /* a power of two */
    uint32_t count; /* at most three quarters of cap */
};

static uint32_t hash_bytes(const char *text, size_t len)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static void double_table(Arena *arena, NameTable *table)
{
    Slot *old = table->slots;
    uint32_t old_cap = table->cap;
    table->cap = old_cap ? old_cap * 2 : 256;
    table->slots = arena_alloc(arena, table->cap * sizeof *table->slots);
    for (uint32_t i = 0; i < old_cap; i++) {
        if (!old[i].text) continue;
        uint32_t at = old[i].hash & (table->cap - 1);
        while (table->slots[at].text) at = (at + 1) & (table->cap - 1);
        table->slots[at] = old[i];
    }
}

const char *name_intern(SourceSet *set, const char *text, size_t len)
{
    if (!set->names) set->names = arena_new(set->arena, NameTable);
    NameTable *table = set->names;
    if (table->count * 4 >= table->cap * 3) double_table(set->arena, table);
    uint32_t hash = hash_bytes(text, len);
    uint32_t at = hash & (table->cap - 1);
    for (; table->slots[at].text; at = (at + 1) & (table->cap - 1)) {
        const Slot *slot = &table->slots[at];
        if (slot->hash == hash && slot->len == len && memcmp(slot->text, text, len) == 0) return slot->text;
    }
    table->slots[at] = (Slot){arena_strndup(set->arena, text, len), (uint32_t)len, hash};
    table->count++;
    return table->slots[at].text;
}
