/* method_inline.c: methods that take an inline function. First everything the function gives is collected, then the answer is made of it. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

/* When the answer is known before the end: at the first true, at the first false, never. */
typedef enum Until { UNTIL_TRUE, UNTIL_FALSE, UNTIL_END } Until;

/* What the function gives for each element; NULL: something is being raised. */
static const Value *collect(Frame *f, const Expr *lambda, const Value **items, size_t len, Until until)
{
    Value *given = value_items(V_LIST, len);
    bool own = !f->is_fn && !f->inline_depth, ok = true;
    size_t i = 0;
    if (own && !fn_enter(f)) return NULL;
    for (;; i++) {
        f->inline_depth++;
        ok = task_spend(f);
        if (ok && i < len) {
            f->vars[lambda->variable->id] = items[i];
            given->items[i] = eval(f, lambda->left);
            ok = given->items[i] != NULL;
        }
        f->inline_depth--;
        if (!ok || i == len) break;
        if (until != UNTIL_END && (given->items[i]->i != 0) == (until == UNTIL_TRUE)) break;
    }
    if (own) fn_leave(f->task);
    given->len = i < len ? i + 1 : len;
    return ok ? given : NULL;
}

static const Value *kept(const Value **items, const Value *given)
{
    Value *list = value_items(V_LIST, given->len);
    list->len = 0;
    for (size_t i = 0; i < given->len; i++)
        if (given->items[i]->i) list->items[list->len++] = items[i];
    return list;
}

static const Value *last_given(const Value *given, const Value *otherwise)
{
    return given->len ? given->items[given->len - 1] : otherwise;
}

static const Value *group(const Value *list, const Value *keys)
{
    Value *groups = value_map(keys->len);
    for (size_t i = 0; i < keys->len; i++) {
        const Value *before = map_get(groups, keys->items[i]);
        Value *longer = before ? value_copy(before, 1) : value_items(V_LIST, 1);
        longer->len = before ? before->len + 1 : 1;
        longer->items[longer->len - 1] = list->items[i];
        map_put(groups, keys->items[i], longer);
    }
    return groups;
}

static const Value *with_values(const Value *map, const Value *values)
{
    Value *copy = value_copy(map, 0);
    if (map->len) memcpy(copy->items, values->items, map->len * sizeof *copy->items);
    return copy;
}

static const Value *only(const Value *map, const Value *given)
{
    Value *part = value_map(map->len);
    for (size_t i = 0; i < given->len; i++)
        if (given->items[i]->i) map_put(part, map->keys[i], map->items[i]);
    return part;
}

static const Value *fold(Frame *f, const Expr *e, const Value *list)
{
    const Expr *lambda = e->argv[2];
    const Value *made = eval(f, e->argv[1]);
    bool own = !f->is_fn && !f->inline_depth, ok = true;
    if (!made || (own && !fn_enter(f))) return NULL;
    for (size_t i = 0; ok; i++) {
        f->inline_depth++;
        ok = task_spend(f);
        if (ok && i < list->len) {
            f->vars[lambda->variable->id] = made;
            f->vars[lambda->variable2->id] = list->items[i];
            made = eval(f, lambda->left);
            ok = made != NULL;
        }
        f->inline_depth--;
        if (i == list->len) break;
    }
    if (own) fn_leave(f->task);
    return ok ? made : NULL;
}

const Value *inline_method(Frame *f, const Expr *e)
{
    const Value *self = eval(f, e->argv[0]), *given, *none = &value_null;
    BuiltinId id = e->builtin->id;
    if (!self) return NULL;
    if (id == BI_LIST_FOLD) return fold(f, e, self);
    const Value **items = id == BI_MAP_FILTER_KEYS ? self->keys : self->items;
    Until until = id == BI_LIST_ANY || id == BI_LIST_FIND ? UNTIL_TRUE : id == BI_LIST_ALL ? UNTIL_FALSE : UNTIL_END;
    if (!(given = collect(f, e->argv[1], items, self->len, until))) return NULL;
    switch (id) {
    case BI_LIST_MAP: return given;
    case BI_LIST_FILTER: return kept(items, given);
    case BI_LIST_FIND: return last_given(given, value_bool(false))->i ? items[given->len - 1] : none;
    case BI_LIST_ANY: return last_given(given, value_bool(false));
    case BI_LIST_ALL: return last_given(given, value_bool(true));
    case BI_LIST_COUNT: return made_of(value_int((int64_t)kept(items, given)->len), self, NULL);
    case BI_LIST_SORT_BY: return list_sorted(self, given);
    case BI_LIST_GROUP_BY: return group(self, given);
    case BI_MAP_MAP_VALUES: return with_values(self, given);
    case BI_MAP_FILTER_KEYS: return only(self, given);
    default: fprintf(stderr, "interp: no method %s\n", e->builtin->name); exit(70);
    }
}
