/* table.h: two hash tables. Both double when they are full, and neither owns what it finds.
 *
 * TfyTable finds things that exist by themselves: they carry a link, so adding needs no memory and removing needs no
 * search of the whole table. Things with equal hashes are found newest first.
 *
 * TfyIndex finds items of an array by their numbers: open addressing with four bytes per item, for arrays that may
 * have a million items. Its keys are 64 bits and all different; the owner's array supplies the key of a number.
 *
 * The low bits of a hash select the place: keys that are not hashes go through tfy__mix. */
#ifndef TFY_BASE_TABLE_H
#define TFY_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Spreads numbers that are close together, and pointers. Different numbers stay different. */
static inline uint64_t tfy__mix(uint64_t number)
{
    number *= 0x9e3779b97f4a7c15u;
    return number ^ number >> 32;
}

/* ---- things with a link ---- */

typedef struct TfyLink {
    struct TfyLink *next; /* in the same bucket */
    uint64_t hash;
} TfyLink;

/* A zeroed struct is an empty table. */
typedef struct TfyTable {
    TfyLink **buckets;
    size_t cap; /* number of buckets, a power of two; 0 at first */
    size_t count;
} TfyTable;

/* The thing that contains this link as its member; NULL for NULL. */
#define TABLE_ITEM(link, Type, member)                                                                                 \
    ({                                                                                                                 \
        const TfyLink *table_link = (link);                                                                            \
        table_link ? (Type *)(void *)((char *)table_link - offsetof(Type, member)) : NULL;                             \
    })

bool tfy__table_reserve(TfyTable *table);                           /* for one more; false: out of memory */
void tfy__table_add(TfyTable *table, TfyLink *link, uint64_t hash); /* after tfy__table_reserve */
void tfy__table_remove(TfyTable *table, TfyLink *link);             /* it must be in the table */
/* Visits all things in arbitrary order; the one after NULL is the first. */
TfyLink *tfy__table_walk(const TfyTable *table, const TfyLink *after);
void tfy__table_free(TfyTable *table); /* empties the table; the things stay */

static inline TfyLink *tfy__table_same(TfyLink *link, uint64_t hash)
{
    while (link && link->hash != hash) link = link->next;
    return link;
}

/* The newest thing with a hash, and the next older one; NULL: none. */
static inline TfyLink *tfy__table_find(const TfyTable *table, uint64_t hash)
{
    return table->cap ? tfy__table_same(table->buckets[hash & (table->cap - 1)], hash) : NULL;
}

static inline TfyLink *tfy__table_next(const TfyLink *link)
{
    return tfy__table_same(link->next, link->hash);
}

/* ---- items of an array ---- */

/* A zeroed struct is an empty index. */
typedef struct TfyIndex {
    uint32_t *places; /* numbers from 1; 0: free */
    uint32_t cap;     /* number of places, a power of two; 0 at first */
    uint32_t count;
} TfyIndex;

typedef uint64_t TfyIndexKey(const void *owner, uint32_t number);

/* The place of a key, or the free place where it would be. The index must have places. */
static inline uint32_t tfy__index_place(const TfyIndex *index, uint64_t key, TfyIndexKey *key_of, const void *owner)
{
    uint32_t at = (uint32_t)key & (index->cap - 1);
    while (index->places[at] && key_of(owner, index->places[at]) != key) at = (at + 1) & (index->cap - 1);
    return at;
}

/* The number of the item with a key; 0: none. */
static inline uint32_t tfy__index_find(const TfyIndex *index, uint64_t key, TfyIndexKey *key_of, const void *owner)
{
    return index->cap ? index->places[tfy__index_place(index, key, key_of, owner)] : 0;
}

/* Makes room for one more number; false: out of memory. */
bool tfy__index_reserve(TfyIndex *index, TfyIndexKey *key_of, const void *owner);
/* Adds a number, after tfy__index_reserve. */
void tfy__index_add(TfyIndex *index, uint32_t number, TfyIndexKey *key_of, const void *owner);
/* Removes a number, which must be in the index. */
void tfy__index_remove(TfyIndex *index, uint32_t number, TfyIndexKey *key_of, const void *owner);
void tfy__index_free(TfyIndex *index); /* empties the index */

/* ---- things numbered in order of arrival ---- */

/* A zeroed struct has met no thing yet. */
typedef struct TfyNumbers {
    const void **things; /* by number - 1, in order of arrival */
    uint32_t cap;
    TfyIndex index; /* by address */
} TfyNumbers;

/* Returns the thing's number, from 1; assigns a new one if it has none. 0: out of memory. */
uint32_t tfy__number_of(TfyNumbers *numbers, const void *thing, bool *is_new);
void tfy__numbers_free(TfyNumbers *numbers);

#endif
