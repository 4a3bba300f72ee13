/* sort.c: sorts lists, groups them, and removes duplicates. The order is stable: equal items keep their order. */
#include "value/heap.h"
#include "value/map.h"

/* An item being sorted: its position, and its key. */
typedef struct Sorted {
    TfyValue key;
    uint32_t from;
} Sorted;

/* Merges two adjacent sorted rows. */
static void merge(const TfyType *type, const Sorted *at, const Sorted *middle, const Sorted *end, Sorted *out)
{
    const Sorted *left = at, *right = middle;
    while (left < middle || right < end) {
        bool take = left < middle && (right == end || tfy_compare(type, left->key, right->key) <= 0);
        *out++ = take ? *left++ : *right++;
    }
}

/* Sorts rows of ever doubled width, alternating between the two arrays; returns the array that holds the result. */
static Sorted *merge_all(TfyTask *task, const TfyType *type, Sorted *items, Sorted *other, uint32_t count)
{
    for (uint64_t width = 1; width < count; width *= 2) {
        tfy_charge(task, count);
        for (uint64_t at = 0; at < count; at += 2 * width) {
            uint64_t middle = at + width < count ? at + width : count, end = at + 2 * width;
            merge(type, items + at, items + middle, items + (end < count ? end : count), other + at);
        }
        Sorted *swapped = items;
        items = other;
        other = swapped;
    }
    return items;
}

TfyObj *tfy_list_sorted(TfyTask *task, TfyObj *list, TfyObj *keys)
{
    const TfyList *from = (const TfyList *)list;
    size_t size = 2 * (size_t)from->len * sizeof(Sorted);
    if (from->len < 2) return tfy_temp(task, tfy_keep(list));
    Sorted *room = tfy__alloc(task->heap, size);
    TfyValue *items = tfy__alloc(task->heap, from->len * sizeof *items);
    TfyObj *made = NULL;
    if (room && items) {
        for (uint32_t i = 0; i < from->len; i++) room[i] = (Sorted){tfy_list_item(keys, i), i};
        const Sorted *sorted = merge_all(task, keys->type->elem, room, room + from->len, from->len);
        for (uint32_t i = 0; i < from->len; i++) items[i] = from->items[sorted[i].from];
        made = tfy_list_of(task, list->type, from->len, items);
    } else {
        tfy__out_of_memory(task);
    }
    if (items) tfy__free(task->heap, items, from->len * sizeof *items);
    if (room) tfy__free(task->heap, room, size);
    return made;
}

/* A map remembers the items seen so far. */
TfyObj *tfy_list_unique(TfyTask *task, TfyObj *list)
{
    const TfyType seen_type = {.kind = TFY_MAP, .name = "seen", .elem = &tfy_type_bool, .key = list->type->elem};
    uint32_t len = ((const TfyList *)list)->len;
    TfyObj *seen = tfy__map_new(task, &seen_type, len), *made = NULL;
    bool ok = seen != NULL;
    tfy_charge(task, 4 * (uint64_t)len);
    for (uint32_t i = 0; ok && i < len; i++)
        ok = tfy__map_store(task, 0, &seen, tfy_list_item(list, i), tfy_of_bool(true));
    if (ok) made = tfy_map_keys(task, list->type, seen);
    tfy_drop(task, seen);
    return made;
}

/* Adds one item to its group. */
static bool group(TfyTask *task, const TfyType *type, TfyObj **groups, TfyValue key, TfyValue item)
{
    if (!tfy__map_find((const TfyMap *)*groups, key)) {
        TfyObj *list = tfy__list_new(task, type, 0);
        bool ok = list && tfy__map_store(task, 0, groups, key, tfy_of_obj(list));
        tfy_drop(task, list);
        if (!ok) return false;
    }
    TfyValue *place = tfy_own_entry(task, 0, groups, key, false);
    return place && tfy_list_push(task, 0, &place->o, item);
}

TfyObj *tfy_list_grouped(TfyTask *task, const TfyType *type, TfyObj *list, TfyObj *keys)
{
    int64_t len = tfy_list_len(list);
    TfyObj *groups = tfy__map_new(task, type, 0);
    bool ok = groups != NULL;
    tfy_charge(task, 4 * (uint64_t)len);
    for (int64_t i = 0; ok && i < len; i++)
        ok = group(task, type->elem, &groups, tfy_list_item(keys, i), tfy_list_item(list, i));
    if (ok) return tfy_temp(task, groups);
    tfy_drop(task, groups);
    return NULL;
}
