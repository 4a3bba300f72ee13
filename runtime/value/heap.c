/* heap.c: allocation, counting, and release of values of any depth. */
#include "value/heap.h"
#include "base/check.h"
#include "base/grow.h"
#include "value/map.h"

#include <stdlib.h>
#include <string.h>

/* ---- raw memory ---- */

static void *plain_alloc(void *state, void *old, size_t old_size, size_t new_size)
{
    if (new_size) return realloc(old, new_size);
    free(old);
    return NULL;
}

int tfy__heap_init(TfyHeap *heap, TfyAlloc *alloc, void *alloc_state)
{
    *heap = (TfyHeap){.alloc = alloc ? alloc : plain_alloc, .alloc_state = alloc_state, .fn_fuel = TFY_FN_FUEL};
    heap->temps = tfy__alloc(heap, 64 * sizeof *heap->temps);
    if (!heap->temps) return TFY_E_NOMEM;
    heap->temp_cap = 64;
    return TFY_OK;
}

void tfy__heap_deinit(TfyHeap *heap)
{
    if (heap->regexes) heap->free_regexes(heap);
    tfy__cut(heap, 0);
    tfy__free(heap, heap->temps, heap->temp_cap * sizeof *heap->temps);
    heap->temps = NULL;
    heap->temp_cap = 0;
}

void *tfy__alloc(TfyHeap *heap, size_t size)
{
    return tfy__realloc(heap, NULL, 0, size);
}

void *tfy__realloc(TfyHeap *heap, void *old, size_t old_size, size_t new_size)
{
    CHECK(heap->in_use >= old_size);
    size_t in_use = heap->in_use - old_size + new_size;
    if (heap->limit && new_size > old_size && in_use > heap->limit) return NULL;
    if (heap->block_limit && new_size > old_size && new_size > heap->block_limit) return NULL;
    void *block = heap->alloc(heap->alloc_state, old, old_size, new_size);
    if (block) heap->in_use = in_use;
    if (!block && new_size) heap->ran_out = true;
    return block;
}

void tfy__free(TfyHeap *heap, void *block, size_t size)
{
    if (!block) return;
    CHECK(heap->in_use >= size);
    heap->alloc(heap->alloc_state, block, size, 0);
    heap->in_use -= size;
}

/* ---- objects ---- */

TfyObj *tfy__new_object(TfyTask *task, const TfyType *type, size_t size)
{
    TfyObj *object = tfy__alloc(task->heap, size);
    if (!object) {
        tfy__out_of_memory(task);
        return NULL;
    }
    memset(object, 0, size);
    object->refs = 1;
    object->type = type;
    task->heap->objects++;
    return object;
}

TfyObj *tfy__resize_object(TfyTask *task, TfyObj *object, size_t old_size, size_t new_size)
{
    TfyObj *moved = tfy__realloc(task->heap, object, old_size, new_size);
    if (!moved) tfy__out_of_memory(task);
    return moved;
}

size_t tfy__object_size(const TfyObj *object)
{
    const TfyType *type = object->type;
    switch (type->kind) {
    case TFY_STRING:
    case TFY_BYTES:
    case TFY_JSON: return sizeof(TfyString) + ((const TfyString *)object)->cap + 1;
    case TFY_LIST: return sizeof(TfyList) + ((const TfyList *)object)->cap * sizeof(TfyValue);
    case TFY_MAP: return tfy__map_size(((const TfyMap *)object)->cap);
    case TFY_ENUM: return sizeof(TfyRecord) + type->cases[object->aux].field_count * sizeof(TfyValue);
    case TFY_BOX: return sizeof(TfyRecord) + sizeof(TfyValue);
    default: return sizeof(TfyRecord) + type->field_count * sizeof(TfyValue);
    }
}

/* ---- release ---- */

static void free_block(TfyHeap *heap, TfyObj *object)
{
    CHECK(heap->objects > 0);
    tfy__free(heap, object, tfy__object_size(object));
    heap->objects--;
}

/* Release must neither recurse (a list a million links long is one value) nor allocate (it runs when memory is out).
 * So dead objects wait in a chain made of their own heads: the 8 bytes of refs and aux hold the link. A dead enum
 * still needs its case, so the case's address with the lowest bit set replaces its type pointer. */
typedef struct Grave {
    TfyObj *next;
    uintptr_t type; /* TfyType, or TfyCase + 1 */
} Grave;

static void bury(TfyHeap *heap, TfyObj **dead, TfyObj *object)
{
    const TfyType *type = object->type;
    bool leaf = type->kind == TFY_STRING || type->kind == TFY_BYTES || type->kind == TFY_JSON || type->kind == TFY_BOX;
    if (leaf) {
        free_block(heap, object);
        return;
    }
    Grave grave = {.next = *dead, .type = (uintptr_t)type};
    if (type->kind == TFY_ENUM) grave.type = (uintptr_t)&type->cases[object->aux] + 1;
    memcpy((void *)object, &grave, sizeof grave);
    *dead = object;
}

static void release(TfyHeap *heap, TfyObj **dead, const TfyType *type, TfyValue value)
{
    TfyObj *object = type->scalar ? NULL : value.o;
    if (object && object->refs != TFY_IMMORTAL && --object->refs == 0) bury(heap, dead, object);
}

static void release_fields(TfyHeap *heap, TfyObj **dead, TfyObj *record, const TfyField *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) release(heap, dead, fields[i].type, ((TfyRecord *)record)->fields[i]);
}

static void release_list(TfyHeap *heap, TfyObj **dead, TfyList *list)
{
    if (list->head.type->elem->scalar) return;
    for (uint32_t i = 0; i < list->len; i++) release(heap, dead, list->head.type->elem, list->items[i]);
}

static void release_map(TfyHeap *heap, TfyObj **dead, TfyMap *map)
{
    for (uint32_t i = 0; i < map->len; i++) {
        release(heap, dead, map->head.type->key, map->entries[i].key);
        release(heap, dead, map->head.type->elem, map->entries[i].value);
    }
}

/* Removes the first dead object from the chain and frees it; objects that only it referenced join the chain. */
static void free_first(TfyHeap *heap, TfyObj **dead)
{
    TfyObj *object = *dead;
    Grave grave;
    memcpy(&grave, object, sizeof grave);
    CHECK(grave.type && grave.next != object);
    *dead = grave.next;
    if (grave.type & 1) {
        const TfyCase *of = (const TfyCase *)(grave.type - 1);
        release_fields(heap, dead, object, of->fields, of->field_count);
        tfy__free(heap, object, sizeof(TfyRecord) + of->field_count * sizeof(TfyValue));
        heap->objects--;
        return;
    }
    const TfyType *type = (const TfyType *)grave.type;
    if (type->kind == TFY_LIST) {
        release_list(heap, dead, (TfyList *)object);
    } else if (type->kind == TFY_MAP) {
        release_map(heap, dead, (TfyMap *)object);
    } else {
        release_fields(heap, dead, object, type->fields, type->field_count);
    }
    free_block(heap, object);
}

void tfy__free_object(TfyHeap *heap, TfyObj *object)
{
    TfyObj *dead = NULL;
    CHECK(object->refs == 0);
    bury(heap, &dead, object);
    while (dead) free_first(heap, &dead);
}

/* ---- the release stack ---- */

void tfy__cut(TfyHeap *heap, uint32_t mark)
{
    while (heap->temp_count > mark) {
        TfyObj *object = heap->temps[--heap->temp_count];
        if (--object->refs == 0) tfy__free_object(heap, object);
    }
}

bool tfy__temp_slow(TfyTask *task, TfyObj *object)
{
    TfyHeap *heap = task->heap;
    const size_t size = sizeof *heap->temps, cap = tfy__grow_cap(heap->temp_cap, (size_t)heap->temp_cap + 1, 1, size);
    TfyObj **temps = cap ? tfy__realloc(heap, heap->temps, heap->temp_cap * size, cap * size) : NULL;
    if (!temps) {
        tfy__out_of_memory(task);
        tfy_drop(task, object);
        return false;
    }
    CHECK(heap->temp_count == heap->temp_cap);
    heap->temps = temps;
    heap->temp_cap = (uint32_t)cap;
    heap->temps[heap->temp_count++] = object;
    return true;
}

void tfy_discard(TfyTask *task, const TfyType *type)
{
    tfy__drop_value(task, type, tfy_take(task));
}
