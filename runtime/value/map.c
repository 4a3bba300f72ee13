/* map.c: hash maps that keep the order of insertion. Keys are strings, ints and bare enum cases; equal keys have
 * equal hashes. An update keeps the entry's place. Nothing is ever removed, so entries move only with the whole
 * block. */
#include "value/map.h"
#include "base/check.h"
#include "value/heap.h"

#include <string.h>
#include <xxhash.h>

static TfyMap *as_map(const TfyObj *object)
{
    return (TfyMap *)object;
}

static uint32_t *table(const TfyMap *map)
{
    return (uint32_t *)(map->entries + map->cap);
}

size_t tfy__map_size(uint32_t cap)
{
    size_t size = sizeof(TfyMap) + (size_t)cap * sizeof(TfyEntry);
    return cap > TFY__MAP_SMALL ? size + 2 * (size_t)cap * sizeof(uint32_t) : size;
}

/* The capacity that suffices for count entries. */
static uint32_t round_up(uint32_t count)
{
    uint32_t cap = count;
    if (count > TFY__MAP_SMALL)
        for (cap = 2 * TFY__MAP_SMALL; cap < count;) cap *= 2;
    return cap;
}

TfyObj *tfy__map_new(TfyTask *task, const TfyType *type, uint32_t cap)
{
    cap = round_up(cap);
    TfyMap *map = as_map(tfy__new_object(task, type, tfy__map_size(cap)));
    if (map) map->cap = cap;
    return (TfyObj *)map;
}

static uint32_t hash_key(const TfyType *type, TfyValue key)
{
    if (type->kind == TFY_STRING) {
        const TfyString *text = (const TfyString *)key.o;
        return (uint32_t)XXH3_64bits(text->bytes, text->byte_len);
    }
    uint64_t word = type->kind == TFY_ENUM ? key.o->aux : (uint64_t)key.i;
    word *= UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(word >> 32);
}

static bool same_key(const TfyType *type, TfyValue a, TfyValue b)
{
    if (type->kind == TFY_STRING) return tfy_equal(type, a, b);
    return type->kind == TFY_ENUM ? a.o->aux == b.o->aux : a.i == b.i;
}

static TfyEntry *find(const TfyMap *map, TfyValue key, uint32_t hash)
{
    const TfyType *type = map->head.type->key;
    TfyEntry *entries = (TfyEntry *)map->entries;
    if (map->cap <= TFY__MAP_SMALL) {
        for (uint32_t i = 0; i < map->len; i++)
            if (entries[i].hash == hash && same_key(type, entries[i].key, key)) return &entries[i];
        return NULL;
    }
    uint32_t mask = 2 * map->cap - 1;
    for (uint32_t at = hash & mask; table(map)[at]; at = (at + 1) & mask) {
        TfyEntry *entry = &entries[table(map)[at] - 1];
        if (entry->hash == hash && same_key(type, entry->key, key)) return entry;
    }
    return NULL;
}

const TfyEntry *tfy__map_find(const TfyMap *map, TfyValue key)
{
    return find(map, key, hash_key(map->head.type->key, key));
}

/* Enters the entry at this position into the hash table. */
static void note(TfyMap *map, uint32_t position)
{
    if (map->cap <= TFY__MAP_SMALL) return;
    uint32_t mask = 2 * map->cap - 1, at = map->entries[position].hash & mask;
    while (table(map)[at]) at = (at + 1) & mask;
    table(map)[at] = position + 1;
}

/* Adds an entry that is absent; there must be room. */
static TfyEntry *insert(TfyMap *map, TfyValue key, TfyValue value, uint32_t hash)
{
    const TfyType *type = map->head.type;
    CHECK(map->head.refs == 1 && map->len < map->cap);
    TfyEntry *entry = &map->entries[map->len];
    *entry =
        (TfyEntry){.key = tfy__keep_value(type->key, key), .value = tfy__keep_value(type->elem, value), .hash = hash};
    note(map, map->len++);
    return entry;
}

/* An owned copy with room for cap entries. moved: the copy takes over the entries' references. */
static TfyObj *copy(TfyTask *task, const TfyMap *map, uint32_t cap, bool moved)
{
    const TfyType *type = map->head.type;
    TfyObj *object = tfy__map_new(task, type, cap);
    if (!object) return NULL;
    TfyMap *made = as_map(object);
    tfy_charge(task, map->len);
    if (map->len) memcpy(made->entries, map->entries, map->len * sizeof(TfyEntry));
    for (; made->len < map->len; made->len++) {
        note(made, made->len);
        if (moved) continue;
        tfy__keep_value(type->key, made->entries[made->len].key);
        tfy__keep_value(type->elem, made->entries[made->len].value);
    }
    return object;
}

/* Makes *place the only owner of its map, with room for extra (0 or 1) entries. */
static bool own(TfyTask *task, uint32_t line, TfyObj **place, uint32_t extra)
{
    TfyMap *map = as_map(*place);
    bool sole = map->head.refs == 1;
    bool full = map->len + extra > map->cap;
    if (sole && !full) return true;
    if (map->len + extra > TFY__MAP_MAX)
        return tfy_panic(task, line, "a map would have more than %u entries", TFY__MAP_MAX);
    uint32_t cap = !full ? map->cap : map->cap < 4 ? 4 : 2 * map->cap;
    TfyObj *made = copy(task, map, cap, sole);
    if (!made) return false;
    CHECK(as_map(made)->len + extra <= as_map(made)->cap);
    if (sole) map->len = 0; /* the copy has its references */
    tfy_drop(task, *place);
    *place = made;
    return true;
}

/* Refuses enum cases with fields as keys, because they cannot be keys of a JSON object. */
static bool usable(TfyTask *task, uint32_t line, const TfyType *type, TfyValue key)
{
    if (type->kind != TFY_ENUM || type->cases[key.o->aux].bare) return true;
    return tfy_panic(task, line, "%s.%s has fields and cannot be a map key", type->name, type->cases[key.o->aux].name);
}

bool tfy__map_store(TfyTask *task, uint32_t line, TfyObj **place, TfyValue key, TfyValue value)
{
    uint32_t hash = hash_key((*place)->type->key, key);
    bool absent = !find(as_map(*place), key, hash);
    if (!usable(task, line, (*place)->type->key, key) || !own(task, line, place, absent)) return false;
    if (absent) {
        insert(as_map(*place), key, value, hash);
        return true;
    }
    TfyEntry *entry = find(as_map(*place), key, hash);
    TfyValue old = entry->value;
    entry->value = tfy__keep_value((*place)->type->elem, value);
    tfy__drop_value(task, (*place)->type->elem, old);
    return true;
}

/* ---- operations of programs ---- */

TfyObj *tfy_map_of(TfyTask *task, const TfyType *type, uint32_t count, const TfyValue *keys, const TfyValue *values)
{
    TfyObj *map = tfy__map_new(task, type, count);
    tfy_charge(task, count);
    for (uint32_t i = 0; map && i < count; i++) {
        if (tfy__map_store(task, 0, &map, keys[i], values[i])) continue;
        tfy_drop(task, map);
        map = NULL;
    }
    return tfy_temp(task, map);
}

int64_t tfy_map_len(const TfyObj *map)
{
    return as_map(map)->len;
}

TfyValue tfy_map_key_at(const TfyObj *map, int64_t position)
{
    return as_map(map)->entries[position].key;
}

TfyValue tfy_map_value_at(const TfyObj *map, int64_t position)
{
    return as_map(map)->entries[position].value;
}

static bool absent(TfyTask *task, uint32_t line, const TfyType *type, TfyValue key)
{
    if (type->kind == TFY_INT) return tfy_panic(task, line, "key %lld is not in the map", (long long)key.i);
    if (type->kind == TFY_ENUM) return tfy_panic(task, line, "key %s is not in the map", type->cases[key.o->aux].name);
    return tfy_panic(task, line, "key \"%.80s\" is not in the map", ((const TfyString *)key.o)->bytes);
}

bool tfy_map_at(TfyTask *task, uint32_t line, TfyObj *map, TfyValue key, TfyValue *out)
{
    const TfyEntry *entry = tfy__map_find(as_map(map), key);
    if (!entry) return absent(task, line, map->type->key, key);
    *out = entry->value;
    return true;
}

bool tfy_map_get(TfyTask *task, const TfyType *optional, TfyObj *map, TfyValue key, TfyObj **out)
{
    bool scalar = map->type->elem->scalar;
    const TfyEntry *entry = tfy__map_find(as_map(map), key);
    *out = NULL;
    if (!entry) return true;
    *out = scalar ? tfy_box(task, optional, entry->value) : entry->value.o;
    return *out || !scalar;
}

bool tfy_map_put(TfyTask *task, uint32_t line, TfyObj **place, TfyValue key, TfyValue value)
{
    return tfy__map_store(task, line, place, key, value);
}

TfyObj *tfy_map_with(TfyTask *task, uint32_t line, TfyObj *map, TfyValue key, TfyValue value)
{
    TfyObj *made = copy(task, as_map(map), as_map(map)->len + 1, false);
    if (made && !tfy__map_store(task, line, &made, key, value)) {
        tfy_drop(task, made);
        return NULL;
    }
    return tfy_temp(task, made);
}

bool tfy_map_contains(TfyTask *task, const TfyObj *map, TfyValue key)
{
    return tfy__map_find(as_map(map), key) != NULL;
}

TfyValue *tfy_own_entry(TfyTask *task, uint32_t line, TfyObj **place, TfyValue key, bool add)
{
    uint32_t hash = hash_key((*place)->type->key, key);
    TfyEntry *entry = find(as_map(*place), key, hash);
    if (!entry && !add) {
        absent(task, line, (*place)->type->key, key);
        return NULL;
    }
    if (!usable(task, line, (*place)->type->key, key) || !own(task, line, place, !entry)) return NULL;
    if (!entry) return &insert(as_map(*place), key, tfy_of_int(0), hash)->value;
    return &find(as_map(*place), key, hash)->value;
}

/* ---- conversions ---- */

/* The keys or the values as a list. */
static TfyObj *list_of(TfyTask *task, const TfyType *type, const TfyMap *map, bool keys)
{
    TfyObj *made = tfy__list_new(task, type, map->len);
    if (!made) return NULL;
    TfyList *list = (TfyList *)made;
    tfy_charge(task, map->len);
    for (; list->len < map->len; list->len++) {
        const TfyEntry *entry = &map->entries[list->len];
        list->items[list->len] = tfy__keep_value(type->elem, keys ? entry->key : entry->value);
    }
    return tfy_temp(task, made);
}

TfyObj *tfy_map_keys(TfyTask *task, const TfyType *list, TfyObj *map)
{
    return list_of(task, list, as_map(map), true);
}

TfyObj *tfy_map_values(TfyTask *task, const TfyType *list, TfyObj *map)
{
    return list_of(task, list, as_map(map), false);
}

TfyObj *tfy_map_without(TfyTask *task, TfyObj *map, TfyValue key)
{
    const TfyMap *from = as_map(map);
    const TfyEntry *gone = tfy__map_find(from, key);
    if (!gone) return tfy_temp(task, tfy_keep(map));
    TfyObj *made = tfy__map_new(task, map->type, from->len - 1);
    if (!made) return NULL;
    tfy_charge(task, from->len);
    for (const TfyEntry *entry = from->entries; entry < from->entries + from->len; entry++)
        if (entry != gone) insert(as_map(made), entry->key, entry->value, entry->hash);
    return tfy_temp(task, made);
}

TfyObj *tfy_map_with_values(TfyTask *task, const TfyType *type, TfyObj *map, TfyObj *values)
{
    const TfyMap *from = as_map(map);
    TfyObj *made = tfy__map_new(task, type, from->len);
    if (!made) return NULL;
    tfy_charge(task, from->len);
    for (uint32_t i = 0; i < from->len; i++)
        insert(as_map(made), from->entries[i].key, tfy_list_item(values, i), from->entries[i].hash);
    return tfy_temp(task, made);
}

TfyObj *tfy_map_only(TfyTask *task, TfyObj *map, TfyObj *keys)
{
    uint32_t len = (uint32_t)tfy_list_len(keys);
    TfyObj *made = tfy__map_new(task, map->type, len);
    if (!made) return NULL;
    tfy_charge(task, len);
    for (uint32_t i = 0; i < len; i++) {
        const TfyEntry *entry = tfy__map_find(as_map(map), tfy_list_item(keys, i));
        insert(as_map(made), entry->key, entry->value, entry->hash);
    }
    return tfy_temp(task, made);
}

TfyObj *tfy_map_merged(TfyTask *task, uint32_t line, TfyObj *map, TfyObj *other)
{
    const TfyMap *from = as_map(other);
    TfyObj *made = copy(task, as_map(map), as_map(map)->len, false);
    bool ok = made != NULL;
    tfy_charge(task, from->len);
    for (uint32_t i = 0; ok && i < from->len; i++)
        ok = tfy__map_store(task, line, &made, from->entries[i].key, from->entries[i].value);
    if (ok) return tfy_temp(task, made);
    tfy_drop(task, made);
    return NULL;
}
