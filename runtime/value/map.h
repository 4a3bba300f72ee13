/* map.h: the layout of maps, for those who walk them (encode, compare, release).
 *
 * One block: the head, then the entries in insertion order, then a table of positions found by hash. Maps of up to
 * TFY__MAP_SMALL entries have no table; comparing eight stored hashes is cheaper than keeping one. */
#ifndef TFY_VALUE_MAP_H
#define TFY_VALUE_MAP_H

#include "tfy_program.h"

#define TFY__MAP_SMALL 8
#define TFY__MAP_MAX   (1u << 26) /* entries; more panic */

typedef struct TfyEntry {
    TfyValue key;    /* owned where the key type is an object */
    TfyValue value;  /* owned where the value type is an object */
    uint32_t hash;   /* of the key; compared before the keys are */
    uint32_t unused; /* keeps the entry a multiple of 8 bytes */
} TfyEntry;

typedef struct TfyMap {
    TfyObj head;
    uint32_t len;       /* entries in use */
    uint32_t cap;       /* entries there is room for: up to 8, or a power of two */
    TfyEntry entries[]; /* cap entries; behind them 2 * cap positions + 1 (0: empty) unless the map is small */
} TfyMap;

size_t tfy__map_size(uint32_t cap);                             /* bytes of the block, head included */
const TfyEntry *tfy__map_find(const TfyMap *map, TfyValue key); /* NULL: absent */
/* Adds or replaces in a map that has one owner; the entry keeps its own references. *place may move. */
bool tfy__map_store(TfyTask *task, uint32_t line, TfyObj **place, TfyValue key, TfyValue value);

#endif
