/* table.c: see table.h. */
#include "table.h"

#include <string.h>

#include "bug.h"

enum { FIRST_BUCKETS = 16 };

/* FNV-1a; the low bits choose the bucket, so the high ones are mixed in. */
static uint32_t hash_bytes(const unsigned char *bytes, size_t len)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static TableItem **bucket_of(const Table *table, uint32_t hash)
{
    return &table->buckets[hash & (table->cap - 1)];
}

static void enter(Table *table, TableItem *item)
{
    TableItem **bucket = bucket_of(table, item->hash);
    item->next = *bucket;
    *bucket = item;
}

static void widen(Arena *arena, Table *table)
{
    Table wider = {.cap = table->cap ? table->cap * 2 : FIRST_BUCKETS, .count = table->count};
    wider.buckets = arena_alloc(arena, wider.cap * sizeof *wider.buckets);
    for (uint32_t i = 0; i < table->cap; i++) {
        for (TableItem *item = table->buckets[i], *next; item; item = next) {
            next = item->next;
            enter(&wider, item);
        }
    }
    *table = wider;
}

static TableItem *find(const Table *table, const void *key, size_t len, uint32_t hash)
{
    TableItem *item = table->cap ? *bucket_of(table, hash) : NULL;
    while (item && (item->hash != hash || item->len != len || memcmp(item->key, key, len) != 0)) item = item->next;
    return item;
}

TableItem *table_find(const Table *table, const void *key, size_t len)
{
    return find(table, key, len, hash_bytes(key, len));
}

TableItem *table_add(Arena *arena, Table *table, const void *key, size_t len)
{
    const uint32_t hash = hash_bytes(key, len);
    TableItem *item = find(table, key, len, hash);
    if (item) return item;
    CHECK(len <= UINT32_MAX);
    if (table->count == table->cap) widen(arena, table);
    item = arena_new(arena, TableItem);
    *item = (TableItem){.key = key, .len = (uint32_t)len, .hash = hash};
    enter(table, item);
    table->count++;
    return item;
}
