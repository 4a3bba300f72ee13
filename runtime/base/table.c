/* table.c: see table.h. */
#include "table.h"
#include "check.h"
#include "grow.h"
#include "sys_memory.h"

#include <stdlib.h>

enum { FIRST_BUCKETS = 16, FIRST_PLACES = 64 };

/* ---- things with a link ---- */

static TfyLink **bucket_of(const TfyTable *table, uint64_t hash)
{
    return &table->buckets[hash & (table->cap - 1)];
}

static void enter(TfyTable *table, TfyLink *link)
{
    TfyLink **bucket = bucket_of(table, link->hash);
    link->next = *bucket;
    *bucket = link;
}

/* Reverses a bucket, so that entering its links one after the other keeps the newest of equal hashes first. */
static TfyLink *turned(TfyLink *link)
{
    TfyLink *round = NULL;
    for (TfyLink *next; link; link = next) {
        next = link->next;
        link->next = round;
        round = link;
    }
    return round;
}

bool tfy__table_reserve(TfyTable *table)
{
    if (table->count < table->cap) return true;
    TfyTable wider = {.count = table->count,
                      .cap = tfy__grow_cap(table->cap, table->count + 1, FIRST_BUCKETS, sizeof(TfyLink *))};
    if (!wider.cap || !(wider.buckets = tfy__sys_calloc(wider.cap, sizeof *wider.buckets))) return false;
    for (size_t i = 0; i < table->cap; i++) {
        for (TfyLink *link = turned(table->buckets[i]), *next; link; link = next) {
            next = link->next;
            enter(&wider, link);
        }
    }
    free(table->buckets);
    *table = wider;
    return true;
}

void tfy__table_add(TfyTable *table, TfyLink *link, uint64_t hash)
{
    CHECK(table->count < table->cap);
    link->hash = hash;
    enter(table, link);
    table->count++;
}

void tfy__table_remove(TfyTable *table, TfyLink *link)
{
    CHECK(table->count > 0);
    TfyLink **place = bucket_of(table, link->hash);
    while (*place && *place != link) place = &(*place)->next;
    CHECK(*place == link);
    *place = link->next;
    table->count--;
}

TfyLink *tfy__table_walk(const TfyTable *table, const TfyLink *after)
{
    if (after && after->next) return after->next;
    for (size_t i = after ? (after->hash & (table->cap - 1)) + 1 : 0; i < table->cap; i++)
        if (table->buckets[i]) return table->buckets[i];
    return NULL;
}

void tfy__table_free(TfyTable *table)
{
    free(table->buckets);
    *table = (TfyTable){0};
}

/* ---- items of an array ---- */

/* At most three quarters of the places are used, so every search finishes. */
bool tfy__index_reserve(TfyIndex *index, TfyIndexKey *key_of, const void *owner)
{
    if ((uint64_t)index->count * 4 < (uint64_t)index->cap * 3) return true;
    const size_t cap = tfy__grow_cap(index->cap, (size_t)index->cap + 1, FIRST_PLACES, sizeof *index->places);
    TfyIndex wider = {.cap = (uint32_t)cap, .count = index->count};
    if (!cap || !(wider.places = tfy__sys_calloc(cap, sizeof *wider.places))) return false;
    for (uint32_t i = 0; i < index->cap; i++) {
        const uint32_t number = index->places[i];
        if (number) wider.places[tfy__index_place(&wider, key_of(owner, number), key_of, owner)] = number;
    }
    free(index->places);
    *index = wider;
    return true;
}

void tfy__index_add(TfyIndex *index, uint32_t number, TfyIndexKey *key_of, const void *owner)
{
    CHECK(number && index->count < index->cap);
    const uint32_t at = tfy__index_place(index, key_of(owner, number), key_of, owner);
    CHECK(!index->places[at]);
    index->places[at] = number;
    index->count++;
}

/* Moves items behind the gap into it, unless their own search starts behind the gap: no search stops too early, and
 * no marks for removed items are needed (Knuth, The Art of Computer Programming 6.4, algorithm R). */
void tfy__index_remove(TfyIndex *index, uint32_t number, TfyIndexKey *key_of, const void *owner)
{
    CHECK(index->count > 0);
    const uint32_t mask = index->cap - 1;
    uint32_t gap = tfy__index_place(index, key_of(owner, number), key_of, owner);
    CHECK(index->places[gap] == number);
    for (uint32_t at = (gap + 1) & mask; index->places[at]; at = (at + 1) & mask) {
        const uint32_t home = (uint32_t)key_of(owner, index->places[at]) & mask;
        if (((at - home) & mask) < ((at - gap) & mask)) continue;
        index->places[gap] = index->places[at];
        gap = at;
    }
    index->places[gap] = 0;
    index->count--;
}

void tfy__index_free(TfyIndex *index)
{
    free(index->places);
    *index = (TfyIndex){0};
}

/* ---- things numbered in order of arrival ---- */

static uint64_t key_of_thing(const void *things, uint32_t number)
{
    return tfy__mix((uintptr_t)((const void *const *)things)[number - 1] >> 4); /* the low bits are all zero */
}

uint32_t tfy__number_of(TfyNumbers *numbers, const void *thing, bool *is_new)
{
    TfyIndex *index = &numbers->index;
    const uint32_t known = tfy__index_find(index, tfy__mix((uintptr_t)thing >> 4), key_of_thing, numbers->things);
    *is_new = !known;
    if (known) return known;
    if (!GROW(numbers->things, numbers->cap, index->count + 1, FIRST_PLACES) ||
        !tfy__index_reserve(index, key_of_thing, numbers->things))
        return 0;
    const uint32_t number = index->count + 1;
    numbers->things[number - 1] = thing;
    tfy__index_add(index, number, key_of_thing, numbers->things);
    return number;
}

void tfy__numbers_free(TfyNumbers *numbers)
{
    free(numbers->things);
    tfy__index_free(&numbers->index);
    *numbers = (TfyNumbers){0};
}
