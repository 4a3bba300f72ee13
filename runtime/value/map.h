/* map.h: the layout of maps, for code that walks them (encode, compare, release).
 *
 * A map is one block: the head, then the entries in insertion order, then a hash table of positions. Maps of up to
 * TFY__MAP_SMALL entries have no table: comparing eight stored hashes is cheaper. */
#ifndef TFY_VALUE_MAP_H
#define TFY_VALUE_MAP_H

#include "tfy_program.h"

#define TFY__MAP_SMALL 8
#define TFY__MAP_MAX   (1u << 26) /* entries; adding more is a panic */

typedef struct TfyEntry {
    TfyValue key;    /* owned if the key type is an object */
    TfyValue value;  /* owned if the value type is an object */
    uint32_t hash;   /* of the key; compared before the keys */
    uint32_t unused; /* keeps the entry a multiple of 8 bytes */
} TfyEntry;

typedef struct TfyMap {
    TfyObj head;
    uint32_t len; /* entries in use */
    uint32_t cap; /* room for entries: up to 8, or a power of two */
    /* cap entries. Unless the map is small, 2 * cap positions + 1 follow (0: empty). */
    TfyEntry entries[];
} TfyMap;

size_t tfy__map_size(uint32_t cap);                             /* bytes of the block, with the head */
const TfyEntry *tfy__map_find(const TfyMap *map, TfyValue key); /* NULL: absent */
/* Adds or replaces an entry of a map that has one owner; the entry takes its own references. *place may move. */
bool tfy__map_store(TfyTask *task, uint32_t line, TfyObj **place, TfyValue key, TfyValue value);

#endif
