/* method_list.c: what the methods of lists answer. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

static const Value *slice(const Value *list, int64_t from, int64_t to)
{
    if (from < 0) from = 0;
    if (to > (int64_t)list->len) to = (int64_t)list->len;
    Value *part = value_items(V_LIST, from < to ? (size_t)(to - from) : 0);
    for (size_t i = 0; i < part->len; i++) part->items[i] = list->items[(size_t)from + i];
    return part;
}

static const Value *concat(const Value *list, const Value *other)
{
    Value *whole = value_copy(list, other->len);
    for (size_t i = 0; i < other->len; i++) whole->items[whole->len++] = other->items[i];
    return whole;
}

static const Value *one(const Value *item)
{
    Value *list = value_items(V_LIST, 1);
    list->items[0] = item;
    return list;
}

static const Value *join(const Value *list, const Value *separator)
{
    Buf text = {0};
    for (size_t i = 0; i < list->len; i++) {
        if (i) buf_add(&text, separator->text, separator->len);
        buf_add(&text, list->items[i]->text, list->items[i]->len);
    }
    return value_text(text.data, text.len);
}

/* ---- with other items ---- */

static const Value *set(Frame *f, const Value *list, const Value *index, const Value *item)
{
    if (!list_at(f, list, index)) return NULL;
    Value *copy = value_copy(list, 0);
    copy->items[index->i] = item;
    return copy;
}

static const Value *insert(Frame *f, const Value *list, const Value *index, const Value *item)
{
    if (index->i != (int64_t)list->len && !list_at(f, list, index)) return NULL;
    return concat(concat(slice(list, 0, index->i), one(item)), slice(list, index->i, INT64_MAX));
}

static const Value *without(Frame *f, const Value *list, const Value *index)
{
    if (!list_at(f, list, index)) return NULL;
    return concat(slice(list, 0, index->i), slice(list, index->i + 1, INT64_MAX));
}

static const Value *reverse(const Value *list)
{
    Value *other = value_items(V_LIST, list->len);
    for (size_t i = 0; i < list->len; i++) other->items[i] = list->items[list->len - 1 - i];
    return other;
}

/* Each item goes before the first one with a greater key. */
const Value *list_sorted(const Value *list, const Value *keys)
{
    Value *items = value_items(V_LIST, list->len), *sorted = value_items(V_LIST, list->len);
    for (size_t i = 0; i < list->len; i++) {
        size_t at = i;
        for (; at && value_order(sorted->items[at - 1], keys->items[i]) > 0; at--) {
            sorted->items[at] = sorted->items[at - 1];
            items->items[at] = items->items[at - 1];
        }
        sorted->items[at] = keys->items[i];
        items->items[at] = list->items[i];
    }
    return items;
}

static int64_t index_of(const Value *list, const Value *item)
{
    for (size_t i = 0; i < list->len; i++)
        if (value_equal(list->items[i], item)) return (int64_t)i;
    return -1;
}

static const Value *unique(const Value *list)
{
    Value *seen = value_items(V_LIST, list->len);
    seen->len = 0;
    for (size_t i = 0; i < list->len; i++)
        if (index_of(seen, list->items[i]) < 0) seen->items[seen->len++] = list->items[i];
    return seen;
}

static const Value *flatten(const Value *list)
{
    const Value *flat = value_items(V_LIST, 0);
    for (size_t i = 0; i < list->len; i++) flat = concat(flat, list->items[i]);
    return flat;
}

static const Value *compact(const Value *list)
{
    Value *kept = value_items(V_LIST, list->len);
    kept->len = 0;
    for (size_t i = 0; i < list->len; i++)
        if (list->items[i]->kind != V_NULL) kept->items[kept->len++] = list->items[i];
    return kept;
}

/* ---- one answer about all ---- */

static const Value *sum(Frame *f, const Value *list, const Type *elem)
{
    const Value *total = elem->kind == TYPE_FLOAT ? value_float(0) : value_int(0);
    for (size_t i = 0; total && i < list->len; i++) total = arithmetic(f, OP_ADD, total, list->items[i]);
    return total;
}

static const Value *extreme(const Value *list, int sign)
{
    const Value *best = list->len ? list->items[0] : &value_null;
    for (size_t i = 1; i < list->len; i++)
        if (sign * value_order(list->items[i], best) > 0) best = list->items[i];
    return best;
}

static const Value *at_or_null(const Value *list, int64_t index)
{
    return index >= 0 && (uint64_t)index < list->len ? list->items[index] : &value_null;
}

const Value *list_method(Frame *f, const Expr *e, const Value **args)
{
    const Value *list = args[0], *a = e->argc > 1 ? args[1] : NULL, *b = e->argc > 2 ? args[2] : NULL;
    int64_t at;
    switch (e->builtin->id) {
    case BI_LIST_LEN: return value_int((int64_t)list->len);
    case BI_LIST_PUSH: return concat(list, one(a));
    case BI_LIST_CONCAT: return concat(list, a);
    case BI_LIST_GET: return at_or_null(list, a->i);
    case BI_LIST_SET: return set(f, list, a, b);
    case BI_LIST_INSERT: return insert(f, list, a, b);
    case BI_LIST_REMOVE: return without(f, list, a);
    case BI_LIST_SLICE: return slice(list, a->i, b->kind == V_INT ? b->i : INT64_MAX);
    case BI_LIST_FIRST: return at_or_null(list, 0);
    case BI_LIST_LAST: return at_or_null(list, (int64_t)list->len - 1);
    case BI_LIST_JOIN: return join(list, a);
    case BI_LIST_CONTAINS: return value_bool(index_of(list, a) >= 0);
    case BI_LIST_INDEX_OF: at = index_of(list, a); return at < 0 ? &value_null : value_int(at);
    case BI_LIST_REVERSE: return reverse(list);
    case BI_LIST_SORT: return list_sorted(list, list);
    case BI_LIST_UNIQUE: return unique(list);
    case BI_LIST_FLATTEN: return flatten(list);
    case BI_LIST_COMPACT: return compact(list);
    case BI_LIST_SUM: return sum(f, list, e->type);
    case BI_LIST_MIN: return extreme(list, -1);
    case BI_LIST_MAX: return extreme(list, 1);
    default: return NULL;
    }
}
