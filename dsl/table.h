/* table.h: the one hash table of the compiler: from bytes to a pointer or a number.
 *
 * Whatever is looked up has a key of bytes: a name, a path, the numbers of a type's parts. A key is not copied, so it
 * lives as long as its table. Nothing is removed, and nothing walks a table: what comes out of the compiler never
 * depends on the order of one. */
#ifndef DSL_TABLE_H
#define DSL_TABLE_H

#include "arena.h"

typedef struct TableItem {
    struct TableItem *next; /* in its bucket */
    const void *key;
    uint32_t len; /* bytes of the key */
    uint32_t hash;
    union { /* the user's; all zero in a new item */
        void *value;
        uint64_t number;
    };
} TableItem;

/* All zero is an empty table. */
typedef struct Table {
    TableItem **buckets;
    uint32_t cap; /* buckets, a power of two; 0 at first */
    uint32_t count;
} Table;

/* NULL: there is none. */
TableItem *table_find(const Table *table, const void *key, size_t len);

/* The item of a key, a new one if there was none. */
TableItem *table_add(Arena *arena, Table *table, const void *key, size_t len);

#endif
