/* table.h: two hash tables. Both double when they are full, and neither owns what it finds.
 *
 * TfyTable finds things that exist by themselves: they carry a link, so that adding needs no memory of its own and
 * removing no search of the whole table. Things of the same hash are found newest first.
 *
 * TfyIndex finds items of an array by their numbers: open addressing in four bytes for each, for what there may be a
 * million of. Its keys are 64 bits and differ from one another; the owner's array says what the key of a number is.
 *
 * The low bits of a hash choose the place: keys that are no hashes go through tfy__mix. */
#ifndef TFY_BASE_TABLE_H
#define TFY_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Spreads numbers that lie close together, and pointers. No two numbers become the same one. */
static inline uint64_t tfy__mix(uint64_t number)
{
    number *= 0x9e3779b97f4a7c15u;
    return number ^ number >> 32;
}

/* ---- things with a link ---- */

typedef struct TfyLink {
    struct TfyLink *next; /* in its bucket */
    uint64_t hash;
} TfyLink;

/* All zero is an empty table. */
typedef struct TfyTable {
    TfyLink **buckets;
    size_t cap; /* buckets, a power of two; 0 at first */
    size_t count;
} TfyTable;

/* The thing whose member is this link; NULL for NULL. */
#define TABLE_ITEM(link, Type, member)                                                                                 \
    ({                                                                                                                 \
        const TfyLink *table_link = (link);                                                                            \
        table_link ? (Type *)(void *)((char *)table_link - offsetof(Type, member)) : NULL;                             \
    })

bool tfy__table_reserve(TfyTable *table);                           /* for one more; false: no memory */
void tfy__table_add(TfyTable *table, TfyLink *link, uint64_t hash); /* there was room */
void tfy__table_remove(TfyTable *table, TfyLink *link);             /* it is there */
TfyLink *tfy__table_walk(const TfyTable *table,
                         const TfyLink *after); /* all things, in no order that means anything; after NULL: the first */
void tfy__table_free(TfyTable *table);          /* empty again; things stay where they are */

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

/* All zero is an empty index. */
typedef struct TfyIndex {
    uint32_t *places; /* numbers from 1; 0: free */
    uint32_t cap;     /* a power of two; 0 at first */
    uint32_t count;
} TfyIndex;

typedef uint64_t TfyIndexKey(const void *owner, uint32_t number);

/* The place of a key, or the free one where it would be. The index has places. */
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

bool tfy__index_reserve(TfyIndex *index, TfyIndexKey *key_of, const void *owner); /* for one more; false: no memory */
void tfy__index_add(TfyIndex *index, uint32_t number, TfyIndexKey *key_of, const void *owner);    /* there was room */
void tfy__index_remove(TfyIndex *index, uint32_t number, TfyIndexKey *key_of, const void *owner); /* it is there */
void tfy__index_free(TfyIndex *index);                                                            /* empty again */

/* ---- things that are numbered as they are met ---- */

/* All zero: none was met yet. */
typedef struct TfyNumbers {
    const void **things; /* by number - 1, in the order in which they were met */
    uint32_t cap;
    TfyIndex index; /* by address */
} TfyNumbers;

/* The thing's number, from 1; a new one if it has none yet. 0: no memory. */
uint32_t tfy__number_of(TfyNumbers *numbers, const void *thing, bool *is_new);
void tfy__numbers_free(TfyNumbers *numbers);

#endif
