/* compare.c: structural equality and order. */
#include "base/check.h"
#include "value/heap.h"
#include "value/map.h"
#include "value/stack.h"

#include <stdio.h>

/* The result of comparing one pair. */
typedef enum Verdict { DIFFERENT, EQUAL, INSIDE /* equal so far: the children decide */ } Verdict;

static Verdict say(bool equal)
{
    return equal ? EQUAL : DIFFERENT;
}

static bool same_text(const TfyObj *a, const TfyObj *b)
{
    const TfyString *s = (const TfyString *)a, *t = (const TfyString *)b;
    return s->byte_len == t->byte_len && memcmp(s->bytes, t->bytes, s->byte_len) == 0;
}

static Verdict look_inside(const TfyType *type, const TfyObj *a, const TfyObj *b, TfyLevel *inside)
{
    *inside = (TfyLevel){.type = type, .a = a, .b = b};
    uint32_t count;
    switch (type->kind) {
    case TFY_LIST:
        inside->count = ((const TfyList *)a)->len;
        return inside->count == ((const TfyList *)b)->len ? INSIDE : DIFFERENT;
    case TFY_MAP:
        inside->count = ((const TfyMap *)a)->len;
        return inside->count == ((const TfyMap *)b)->len ? INSIDE : DIFFERENT;
    case TFY_ENUM:
        if (a->aux != b->aux) return DIFFERENT;
        break;
    case TFY_ANY_ERROR:
        if (a->type != b->type) return DIFFERENT;
        inside->type = a->type;
        break;
    default: break;
    }
    tfy__fields_of(inside->type, a, &count);
    inside->count = count;
    return INSIDE;
}

static Verdict look(const TfyType *type, TfyValue a, TfyValue b, TfyLevel *inside)
{
    if (type->kind == TFY_NOTHING) return EQUAL;
    if (type->kind == TFY_BOOL) return say(a.b == b.b);
    if (type->kind == TFY_FLOAT) return say(a.f == b.f);
    if (type->scalar) return say(a.i == b.i);
    if (a.o == b.o) return EQUAL; /* also if both are null; shared parts are not walked twice */
    if (!a.o || !b.o) return DIFFERENT;
    if (type->kind == TFY_OPTIONAL) {
        type = type->elem;
        if (type->scalar) return look(type, tfy_unbox(a.o), tfy_unbox(b.o), inside);
    }
    if (type->kind == TFY_STRING || type->kind == TFY_BYTES || type->kind == TFY_JSON) return say(same_text(a.o, b.o));
    return look_inside(type, a.o, b.o, inside);
}

/* Compares the next pair of children. */
static Verdict look_at_child(TfyLevel *level, TfyLevel *inside)
{
    uint32_t at = level->next++, count;
    if (level->type->kind == TFY_LIST)
        return look(level->type->elem, tfy_list_item(level->a, at), tfy_list_item(level->b, at), inside);
    if (level->type->kind == TFY_MAP) {
        const TfyEntry *entry = &((const TfyMap *)level->a)->entries[at];
        const TfyEntry *other = tfy__map_find((const TfyMap *)level->b, entry->key);
        return other ? look(level->type->elem, entry->value, other->value, inside) : DIFFERENT;
    }
    const TfyField *field = &tfy__fields_of(level->type, level->a, &count)[at];
    return look(field->type, tfy_field(level->a, at), tfy_field(level->b, at), inside);
}

static bool walk(TfyLevel level)
{
    TfyStack stack;
    bool equal = true;
    tfy__stack_init(&stack);
    for (;;) {
        while (level.next == level.count) {
            if (stack.len == 0) goto done;
            level = stack.levels[--stack.len];
        }
        TfyLevel inside;
        Verdict verdict = look_at_child(&level, &inside);
        equal = verdict != DIFFERENT;
        if (!equal) goto done;
        if (verdict != INSIDE) continue;
        /* a level is not kept once its last child is entered: long chains cost no stack */
        /* a comparison cannot fail */
        if (level.next < level.count && !tfy__stack_push(&stack, level))
            tfy__stop("memory ran out while two values were compared; every recorded step is kept");
        level = inside;
    }
done:
    tfy__stack_deinit(&stack);
    return equal;
}

bool tfy_equal(const TfyType *type, TfyValue a, TfyValue b)
{
    TfyLevel inside;
    Verdict verdict = look(type, a, b, &inside);
    return verdict == INSIDE ? walk(inside) : verdict == EQUAL;
}

int tfy_compare(const TfyType *type, TfyValue a, TfyValue b)
{
    if (type->kind == TFY_FLOAT) return (a.f > b.f) - (a.f < b.f);
    if (type->kind != TFY_STRING) return (a.i > b.i) - (a.i < b.i);
    /* byte order of UTF-8 is code point order */
    const TfyString *s = (const TfyString *)a.o, *t = (const TfyString *)b.o;
    uint32_t common = s->byte_len < t->byte_len ? s->byte_len : t->byte_len;
    int order = memcmp(s->bytes, t->bytes, common);
    return order ? order : (s->byte_len > t->byte_len) - (s->byte_len < t->byte_len);
}
