/* list.c: lists. They are immutable to the program, but a place that is the only owner of its list changes it in
 * place, so a loop of `xs = xs.push(x)` costs amortised constant time. */
#include "base/check.h"
#include "value/heap.h"

#include <string.h>

#define LIST_MAX (1u << 28) /* items; adding more is a panic */

static TfyList *as_list(TfyObj *object)
{
    return (TfyList *)object;
}

static const TfyType *item_type(const TfyObj *list)
{
    return list->type->elem;
}

static size_t size_for(uint64_t cap)
{
    return sizeof(TfyList) + cap * sizeof(TfyValue);
}

TfyObj *tfy__list_new(TfyTask *task, const TfyType *type, uint32_t cap)
{
    TfyList *list = as_list(tfy__new_object(task, type, size_for(cap)));
    if (list) list->cap = cap;
    return (TfyObj *)list;
}

/* Copies items to the end of the list, and keeps each; there must be room. */
static void add_items(TfyObj *list, const TfyValue *items, uint32_t count)
{
    TfyValue *out = as_list(list)->items + as_list(list)->len;
    if (count) memcpy(out, items, count * sizeof *items);
    if (!item_type(list)->scalar)
        for (uint32_t i = 0; i < count; i++) tfy_keep(out[i].o);
    as_list(list)->len += count;
}

static bool fits(TfyTask *task, uint32_t line, uint64_t len)
{
    return len <= LIST_MAX || tfy_panic(task, line, "a list would have more than %u items", LIST_MAX);
}

/* An owned copy with room for cap items. */
static TfyObj *copy(TfyTask *task, uint32_t line, TfyObj *list, uint64_t cap)
{
    TfyObj *made = fits(task, line, cap) ? tfy__list_new(task, list->type, (uint32_t)cap) : NULL;
    if (!made) return NULL;
    tfy_charge(task, as_list(list)->len);
    add_items(made, as_list(list)->items, as_list(list)->len);
    return made;
}

/* Makes *place the only owner of its list, with room for at least cap items. */
static bool grow(TfyTask *task, uint32_t line, TfyObj **place, uint64_t cap)
{
    TfyList *old = as_list(*place);
    if (old->head.refs != 1) {
        TfyObj *made = copy(task, line, *place, cap);
        if (!made) return false;
        tfy_drop(task, *place);
        *place = made;
        return true;
    }
    if (cap <= old->cap) return true;
    if (!fits(task, line, cap)) return false;
    if (cap < 4) cap = 4;
    if (cap < 2 * (uint64_t)old->cap) cap = 2 * (uint64_t)old->cap;
    TfyObj *moved = tfy__resize_object(task, *place, size_for(old->cap), size_for(cap));
    if (!moved) return false;
    as_list(moved)->cap = (uint32_t)cap;
    *place = moved;
    return true;
}

static bool inside(TfyTask *task, uint32_t line, const TfyObj *list, int64_t index)
{
    int64_t len = tfy_list_len(list);
    if (index >= 0 && index < len) return true;
    return tfy_panic(task, line, "index %lld is outside a list of length %lld", (long long)index, (long long)len);
}

/* ---- creating and reading ---- */

TfyObj *tfy_list_of(TfyTask *task, const TfyType *type, uint32_t count, const TfyValue *items)
{
    TfyObj *list = tfy__list_new(task, type, count);
    if (!list) return NULL;
    tfy_charge(task, count);
    add_items(list, items, count);
    return tfy_temp(task, list);
}

bool tfy_list_at(TfyTask *task, uint32_t line, TfyObj *list, int64_t index, TfyValue *out)
{
    if (!inside(task, line, list, index)) return false;
    *out = as_list(list)->items[index];
    return true;
}

bool tfy_list_get(TfyTask *task, const TfyType *optional, TfyObj *list, int64_t index, TfyObj **out)
{
    *out = NULL;
    if (index < 0 || index >= tfy_list_len(list)) return true;
    TfyValue item = as_list(list)->items[index];
    *out = item_type(list)->scalar ? tfy_box(task, optional, item) : item.o;
    return *out || !item_type(list)->scalar;
}

bool tfy_list_contains(TfyTask *task, const TfyObj *list, TfyValue item)
{
    int64_t len = tfy_list_len(list);
    tfy_charge(task, (uint64_t)len);
    for (int64_t i = 0; i < len; i++)
        if (tfy_equal(item_type(list), tfy_list_item(list, i), item)) return true;
    return false;
}

/* ---- changing a place ---- */

bool tfy_list_push(TfyTask *task, uint32_t line, TfyObj **place, TfyValue item)
{
    /* an item that contains the list shares it, so grow copies it: no cycle can arise */
    if (!grow(task, line, place, (uint64_t)as_list(*place)->len + 1)) return false;
    add_items(*place, &item, 1);
    return true;
}

bool tfy_list_append(TfyTask *task, uint32_t line, TfyObj **place, TfyObj *other)
{
    uint32_t count = as_list(other)->len;
    bool same = other == *place; /* xs += xs: read from the new place */
    if (!count) return true;
    tfy_charge(task, count);
    if (!grow(task, line, place, (uint64_t)as_list(*place)->len + count)) return false;
    add_items(*place, as_list(same ? *place : other)->items, count);
    return true;
}

bool tfy_list_put(TfyTask *task, uint32_t line, TfyObj **place, int64_t index, TfyValue item)
{
    tfy__keep_value(item_type(*place), item); /* before the old item is released: it may contain this one */
    TfyValue *at = tfy_own_item(task, line, place, index);
    tfy__drop_value(task, item_type(*place), at ? *at : item);
    if (at) *at = item;
    return at != NULL;
}

TfyValue *tfy_own_item(TfyTask *task, uint32_t line, TfyObj **place, int64_t index)
{
    if (!inside(task, line, *place, index) || !grow(task, line, place, as_list(*place)->len)) return NULL;
    return &as_list(*place)->items[index];
}

/* ---- new lists ---- */

TfyObj *tfy_list_pushed(TfyTask *task, uint32_t line, TfyObj *list, TfyValue item)
{
    TfyObj *made = copy(task, line, list, (uint64_t)as_list(list)->len + 1);
    if (!made) return NULL;
    add_items(made, &item, 1);
    return tfy_temp(task, made);
}

TfyObj *tfy_list_concat(TfyTask *task, uint32_t line, TfyObj *list, TfyObj *other)
{
    TfyObj *made = copy(task, line, list, (uint64_t)as_list(list)->len + as_list(other)->len);
    if (!made) return NULL;
    tfy_charge(task, as_list(other)->len);
    add_items(made, as_list(other)->items, as_list(other)->len);
    return tfy_temp(task, made);
}

TfyObj *tfy_list_with(TfyTask *task, uint32_t line, TfyObj *list, int64_t index, TfyValue item)
{
    if (!inside(task, line, list, index)) return NULL;
    TfyObj *made = copy(task, line, list, as_list(list)->len);
    if (!made) return NULL;
    TfyValue *at = &as_list(made)->items[index];
    tfy__keep_value(item_type(list), item);
    tfy__drop_value(task, item_type(list), *at);
    *at = item;
    return tfy_temp(task, made);
}

TfyObj *tfy_list_slice(TfyTask *task, TfyObj *list, int64_t from, int64_t to)
{
    if (from < 0) from = 0;
    if (to > tfy_list_len(list)) to = tfy_list_len(list);
    if (to < from) to = from;
    uint32_t count = (uint32_t)(to - from);
    if (count == as_list(list)->len) return tfy_temp(task, tfy_keep(list));
    return tfy_list_of(task, list->type, count, count ? as_list(list)->items + from : NULL);
}

TfyObj *tfy_list_join(TfyTask *task, uint32_t line, TfyObj *list, TfyObj *separator)
{
    uint32_t len = as_list(list)->len, count = len ? 2 * len - 1 : 0;
    TfyHeap *heap = task->heap;
    TfyObj **parts = tfy__alloc(heap, (count + 1) * sizeof *parts);
    if (!parts) {
        tfy__out_of_memory(task);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) parts[i] = i % 2 ? separator : as_list(list)->items[i / 2].o;
    TfyObj *joined = tfy_concat(task, line, count, parts);
    tfy__free(heap, parts, (count + 1) * sizeof *parts);
    return joined;
}

TfyObj *tfy_list_inserted(TfyTask *task, uint32_t line, TfyObj *list, int64_t index, TfyValue item)
{
    uint32_t len = as_list(list)->len;
    if (index != len && !inside(task, line, list, index)) return NULL;
    TfyObj *made = fits(task, line, (uint64_t)len + 1) ? tfy__list_new(task, list->type, len + 1) : NULL;
    if (!made) return NULL;
    tfy_charge(task, len);
    add_items(made, as_list(list)->items, (uint32_t)index);
    add_items(made, &item, 1);
    add_items(made, as_list(list)->items + index, len - (uint32_t)index);
    return tfy_temp(task, made);
}

TfyObj *tfy_list_without(TfyTask *task, uint32_t line, TfyObj *list, int64_t index)
{
    uint32_t len = as_list(list)->len;
    TfyObj *made = inside(task, line, list, index) ? tfy__list_new(task, list->type, len - 1) : NULL;
    if (!made) return NULL;
    tfy_charge(task, len);
    add_items(made, as_list(list)->items, (uint32_t)index);
    add_items(made, as_list(list)->items + index + 1, len - 1 - (uint32_t)index);
    return tfy_temp(task, made);
}

TfyObj *tfy_list_reversed(TfyTask *task, TfyObj *list)
{
    uint32_t len = as_list(list)->len;
    TfyObj *made = tfy__list_new(task, list->type, len);
    if (!made) return NULL;
    tfy_charge(task, len);
    while (len) add_items(made, &as_list(list)->items[--len], 1);
    return tfy_temp(task, made);
}

TfyObj *tfy_list_flatten(TfyTask *task, uint32_t line, TfyObj *list)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < as_list(list)->len; i++) total += as_list(as_list(list)->items[i].o)->len;
    TfyObj *made = fits(task, line, total) ? tfy__list_new(task, item_type(list), (uint32_t)total) : NULL;
    if (!made) return NULL;
    tfy_charge(task, total + as_list(list)->len);
    for (uint32_t i = 0; i < as_list(list)->len; i++) {
        const TfyList *part = as_list(as_list(list)->items[i].o);
        add_items(made, part->items, part->len);
    }
    return tfy_temp(task, made);
}

TfyObj *tfy_list_compact(TfyTask *task, const TfyType *type, TfyObj *list)
{
    uint32_t len = as_list(list)->len, kept = 0;
    for (uint32_t i = 0; i < len; i++) kept += as_list(list)->items[i].o != NULL;
    TfyObj *made = tfy__list_new(task, type, kept);
    if (!made) return NULL;
    tfy_charge(task, len);
    for (uint32_t i = 0; i < len; i++) {
        TfyValue item = as_list(list)->items[i];
        if (!item.o) continue;
        if (type->elem->scalar) item = tfy_unbox(item.o);
        add_items(made, &item, 1);
    }
    return tfy_temp(task, made);
}

TfyObj *tfy_list_room(TfyTask *task, const TfyType *type, int64_t len)
{
    return tfy_temp(task, tfy__list_new(task, type, (uint32_t)len)); /* as long as an existing list */
}

void tfy_list_add(TfyObj *list, TfyValue item)
{
    add_items(list, &item, 1);
}

void tfy_list_hold(TfyTask *task, TfyObj *list, TfyValue item)
{
    TfyList *held = (TfyList *)list;
    CHECK(held->len == 1);
    if (item_type(list)->scalar)
        held->items[0] = item;
    else
        tfy_set(task, &held->items[0].o, item.o);
}

TfyObj *tfy_list_fitted(TfyTask *task, TfyObj *list)
{
    const TfyList *made = as_list(list);
    if (made->len >= made->cap / 2) return list;
    return tfy_list_of(task, list->type, made->len, made->items);
}

/* ---- one result from all items ---- */

bool tfy_list_last(TfyTask *task, const TfyType *optional, TfyObj *list, TfyObj **out)
{
    return tfy_list_get(task, optional, list, tfy_list_len(list) - 1, out);
}

bool tfy_list_index_of(TfyTask *task, const TfyType *optional, TfyObj *list, TfyValue item, TfyObj **out)
{
    int64_t len = tfy_list_len(list), at = 0;
    tfy_charge(task, (uint64_t)len);
    while (at < len && !tfy_equal(item_type(list), tfy_list_item(list, at), item)) at++;
    *out = NULL;
    if (at == len) return true;
    *out = tfy_box(task, optional, tfy_of_int(at));
    return *out != NULL;
}

bool tfy_list_sum(TfyTask *task, uint32_t line, TfyObj *list, TfyValue *out)
{
    bool floats = item_type(list)->kind == TFY_FLOAT;
    *out = floats ? tfy_of_float(0) : tfy_of_int(0);
    tfy_charge(task, as_list(list)->len);
    for (uint32_t i = 0; i < as_list(list)->len; i++) {
        TfyValue item = as_list(list)->items[i];
        bool ok = floats ? tfy_float_add(task, line, out->f, item.f, &out->f)
                         : tfy_int_add(task, line, out->i, item.i, &out->i);
        if (!ok) return false;
    }
    return true;
}

/* The first of the smallest items (sign -1) or of the largest (sign 1). */
bool tfy_list_extreme(TfyTask *task, const TfyType *optional, TfyObj *list, int sign, TfyObj **out)
{
    const TfyType *type = item_type(list);
    uint32_t len = as_list(list)->len, best = 0;
    tfy_charge(task, len);
    for (uint32_t i = 1; i < len; i++)
        if (sign * tfy_compare(type, as_list(list)->items[i], as_list(list)->items[best]) > 0) best = i;
    return tfy_list_get(task, optional, list, best, out);
}
