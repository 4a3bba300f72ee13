/* lower_inline.c: methods that take an inline function, xs.map(x => x.name).
 *
 * There are no closures: the function's body is lowered in place, within a loop over the list. Its parameter is a
 * temporary that borrows the element, and what the loop makes is on the release stack below the mark that every turn
 * cuts the stack to.
 *
 * The loop is in the middle of a statement, where a workflow cannot stop. So it counts as the turn of a fn: it
 * spends a fn's fuel, panics when that is gone, and when it used up its slice the workflow's next loop head stops.
 * In a fn it is simply part of it. */
#include "lower.h"

typedef struct Inline {
    const Expr *call;
    const Expr *lambda;
    const Type *receiver;
    Val *items; /* the list or map */
    Var *at;    /* how many turns there were */
    Var *mark;
    Instr *bind; /* sets the parameter */
    MBlock *head, *next, *exit;
    MBlock *outer, *failed; /* landings; failed NULL: not a fn's turn of its own */
} Inline;

static Val *to_temp(Lower *l, Val *value)
{
    Var *temp = lower_temp(l, value->rep);
    lower_instr(l, IN_SET, temp, value);
    return val_of(l, temp);
}

static bool is_fn(const Lower *l)
{
    return l->routine->kind == ROUTINE_FN || l->routine->kind == ROUTINE_CONST;
}

static void enter(Lower *l, Inline *loop)
{
    loop->outer = l->landing;
    if (is_fn(l) || l->inline_depth) return;
    lower_call(l, RT_FN_ENTER, NULL, 0);
    l->landing = loop->failed = lower_landing(l);
}

/* A panic leaves the fn's turn too. */
static void leave(Lower *l, Inline *loop)
{
    l->landing = loop->outer;
    if (!loop->failed) return;
    MBlock *after = machine_block(l->routine);
    lower_call(l, RT_FN_LEAVE, NULL, 0);
    lower_go(l, after);
    lower_begin(l, loop->failed);
    lower_call(l, RT_FN_LEAVE, NULL, 0);
    lower_go(l, loop->outer);
    lower_begin(l, after);
}

/* The parameter that is the element. */
static const Variable *element_of(const Inline *loop)
{
    return loop->lambda->variable2 ? loop->lambda->variable2 : loop->lambda->variable;
}

static Val *element(Lower *l, const Inline *loop)
{
    const Type *type = element_of(loop)->type;
    RtId get = loop->receiver->kind == TYPE_LIST                                              ? RT_LIST_ITEM
               : type == loop->receiver->key && loop->call->builtin->id == BI_MAP_FILTER_KEYS ? RT_MAP_KEY_AT
                                                                                              : RT_MAP_VALUE_AT;
    return val_pure(l, get, machine_rep(type), 2, loop->items, val_of(l, loop->at));
}

/* Goes through the list; behind it the next instruction belongs to a turn, whose element is the lambda's parameter. */
static void open_inline(Lower *l, Inline *loop)
{
    const Variable *parameter = element_of(loop);
    loop->at = to_temp(l, val_int(l, 0))->var;
    loop->mark = to_temp(l, val_pure(l, RT_MARK, REP_INT, 0))->var;
    loop->head = machine_block(l->routine);
    loop->next = machine_block(l->routine);
    loop->exit = machine_block(l->routine);
    MBlock *turn = machine_block(l->routine);
    enter(l, loop);
    lower_go(l, loop->head);
    lower_begin(l, loop->head);
    lower_call(l, RT_INLINE_TURN, NULL, 0);
    Val *len = val_pure(l, loop->receiver->kind == TYPE_LIST ? RT_LIST_LEN : RT_MAP_LEN, REP_INT, 1, loop->items);
    lower_branch(l, val_compare(l, OP_LT, val_of(l, loop->at), len), turn, loop->exit);
    lower_begin(l, turn);
    Val *value = element(l, loop);
    Var *var = l->by_id[parameter->id] = lower_temp(l, value->rep);
    loop->bind = lower_instr(l, IN_SET, var, value);
    var->used = false;
    l->inline_depth++;
}

/* Ends the turn under way, and the loop. */
static void close_inline(Lower *l, Inline *loop)
{
    CHECK(l->inline_depth > 0);
    l->inline_depth--;
    if (!loop->bind->dst->used) loop->bind->a = val_of(l, loop->bind->dst); /* nobody reads it: left out */
    lower_go(l, loop->next);
    lower_begin(l, loop->next);
    lower_call(l, RT_CUT, NULL, 1, val_of(l, loop->mark));
    lower_instr(l, IN_SET, loop->at, val_unary(l, VAL_NEXT, REP_INT, val_of(l, loop->at)));
    lower_go(l, loop->head);
    lower_begin(l, loop->exit);
    leave(l, loop);
}

/* Goes on only when the body comes out as `wanted`; else with the next turn. */
static void only_when(Lower *l, Inline *loop, bool wanted)
{
    Val *cond = lower_expr(l, loop->lambda->left);
    MBlock *yes = machine_block(l->routine);
    lower_branch(l, cond, wanted ? yes : loop->next, wanted ? loop->next : yes);
    lower_begin(l, yes);
}

/* ---- what the loops make ---- */

/* The list of what the body gives, of the elements it holds for, or of the keys it holds for: lambda->to. */
static Val *collect(Lower *l, Inline *loop, Val *made, bool filters)
{
    open_inline(l, loop);
    if (filters) only_when(l, loop, true);
    Val *item = filters ? val_of(l, l->by_id[loop->lambda->variable->id]) : lower_expr(l, loop->lambda->left);
    lower_call(l, RT_LIST_ADD, NULL, 2, made, val_word(l, item));
    close_inline(l, loop);
    return made;
}

static Val *collected(Lower *l, Inline *loop, bool filters)
{
    Val *len = val_pure(l, loop->receiver->kind == TYPE_LIST ? RT_LIST_LEN : RT_MAP_LEN, REP_INT, 1, loop->items);
    return collect(l, loop, lower_call(l, RT_LIST_ROOM, NULL, 2, val_type(l, loop->lambda->to), len), filters);
}

/* any: true at the first element that holds; all: false at the first that does not. */
static Val *decide(Lower *l, Inline *loop, bool found)
{
    Val *result = to_temp(l, val_bool(l, !found));
    MBlock *stop = machine_block(l->routine);
    open_inline(l, loop);
    only_when(l, loop, found);
    lower_instr(l, IN_SET, result->var, val_bool(l, found));
    lower_go(l, loop->exit);
    lower_begin(l, stop); /* nothing leads here; the loop's end needs a block */
    close_inline(l, loop);
    return result;
}

/* What is found is above the mark, and nothing cuts it any more. */
static Val *find(Lower *l, Inline *loop)
{
    const Type *elem = loop->receiver->elem;
    Val *result = to_temp(l, val_null(l));
    MBlock *stop = machine_block(l->routine);
    open_inline(l, loop);
    only_when(l, loop, true);
    Val *item = val_of(l, l->by_id[loop->lambda->variable->id]);
    lower_instr(l, IN_SET, result->var, lower_convert(l, item, elem, loop->call->type));
    lower_go(l, loop->exit);
    lower_begin(l, stop);
    close_inline(l, loop);
    return result;
}

static Val *count(Lower *l, Inline *loop)
{
    Val *result = to_temp(l, val_int(l, 0));
    open_inline(l, loop);
    only_when(l, loop, true);
    lower_instr(l, IN_SET, result->var, val_unary(l, VAL_NEXT, REP_INT, result));
    close_inline(l, loop);
    return result;
}

/* What was made so far is in a list of one, which holds it while the turns cut the stack. */
static Val *fold(Lower *l, Inline *loop)
{
    const Variable *before = loop->lambda->variable;
    Rep rep = machine_rep(before->type);
    Val *initial = lower_expr(l, loop->call->argv[1]);
    Val *made = lower_call(l, RT_LIST_ROOM, NULL, 2, val_type(l, loop->lambda->to), val_int(l, 1));
    lower_call(l, RT_LIST_ADD, NULL, 2, made, val_word(l, initial));
    open_inline(l, loop);
    Var *var = l->by_id[before->id] = lower_temp(l, rep);
    lower_instr(l, IN_SET, var, val_pure(l, RT_LIST_ITEM, rep, 2, made, val_int(l, 0)));
    lower_call(l, RT_LIST_HOLD, NULL, 2, made, val_word(l, lower_expr(l, loop->lambda->left)));
    close_inline(l, loop);
    return to_temp(l, val_pure(l, RT_LIST_ITEM, rep, 2, made, val_int(l, 0)));
}

static const Expr *lambda_of(const Expr *e)
{
    const Expr *last = e->argc > 1 ? e->argv[e->argc - 1] : NULL;
    return last && last->kind == EX_LAMBDA ? last : NULL;
}

bool lower_is_inline(const Expr *e)
{
    return lambda_of(e) != NULL;
}

Val *lower_inline(Lower *l, const Expr *e)
{
    Inline loop = {.call = e, .lambda = lambda_of(e), .receiver = e->argv[0]->to};
    Val *made;
    loop.items = lower_expr(l, e->argv[0]);
    if (!val_is_variable(loop.items)) loop.items = to_temp(l, loop.items);
    switch (e->builtin->id) {
    case BI_LIST_MAP: return collected(l, &loop, false);
    case BI_LIST_FILTER: return lower_call(l, RT_LIST_FITTED, NULL, 1, collected(l, &loop, true));
    case BI_LIST_FIND: return find(l, &loop);
    case BI_LIST_ANY: return decide(l, &loop, true);
    case BI_LIST_ALL: return decide(l, &loop, false);
    case BI_LIST_COUNT: return count(l, &loop);
    case BI_LIST_FOLD: return fold(l, &loop);
    case BI_LIST_SORT_BY:
        made = collected(l, &loop, false);
        return lower_call(l, RT_LIST_SORTED, NULL, 2, loop.items, made);
    case BI_LIST_GROUP_BY:
        made = collected(l, &loop, false);
        return lower_call(l, RT_LIST_GROUPED, NULL, 3, val_type(l, e->type), loop.items, made);
    case BI_MAP_MAP_VALUES:
        made = collected(l, &loop, false);
        return lower_call(l, RT_MAP_WITH_VALUES, NULL, 3, val_type(l, e->type), loop.items, made);
    case BI_MAP_FILTER_KEYS:
        made = collected(l, &loop, true);
        return lower_call(l, RT_MAP_ONLY, NULL, 2, loop.items, made);
    default: UNREACHED("every inline function is lowered");
    }
}
