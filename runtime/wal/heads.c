/* heads.c: open addressing with linear probing; nothing is ever taken out singly. */
#include "heads.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

static size_t place_of(const TfyHeads *heads, int64_t tid)
{
    size_t place = (size_t)((uint64_t)tid * 0x9e3779b97f4a7c15u >> 20) & (heads->room - 1);
    while (heads->places[place].tid != -1 && heads->places[place].tid != tid) place = (place + 1) & (heads->room - 1);
    return place;
}

TfyHead *tfy__heads_find(const TfyHeads *heads, int64_t tid)
{
    if (!heads->room || tid < 0) return NULL;
    TfyHead *head = &heads->places[place_of(heads, tid)];
    return head->tid == tid ? head : NULL;
}

static int grow(TfyHeads *heads)
{
    TfyHeads wider = {.count = heads->count, .room = heads->room ? 2 * heads->room : FIRST_ROOM};
    wider.places = malloc(wider.room * sizeof *wider.places);
    if (!wider.places) return -1;
    for (size_t i = 0; i < wider.room; i++) wider.places[i].tid = -1;
    for (size_t i = 0; i < heads->room; i++) {
        if (heads->places[i].tid != -1) wider.places[place_of(&wider, heads->places[i].tid)] = heads->places[i];
    }
    free(heads->places);
    heads->places = wider.places;
    heads->room = wider.room;
    return 0;
}

TfyHead *tfy__heads_add(TfyHeads *heads, int64_t tid)
{
    if (tid < 0) return NULL;
    if (2 * heads->count >= heads->room && grow(heads) != 0) return NULL;
    TfyHead *head = &heads->places[place_of(heads, tid)];
    *head = (TfyHead){.tid = tid};
    heads->count++;
    return head;
}

void tfy__heads_clear(TfyHeads *heads)
{
    free(heads->places);
    memset(heads, 0, sizeof *heads);
}
