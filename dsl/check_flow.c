/* check_flow.c: what is known about null (and about the kind of a caught error) at each place.
 *
 * A fact says "this path has this type here". Facts are learned from conditions and from match arms, hold until the path or something
 * it starts with is assigned, and survive a yield, because nobody else can change a local. Where two ways meet, what both know holds.
 * A loop's head knows nothing of what the loop's body assigns. */
#include "check_internal.h"

#define PATH_MAX_FIELDS 16   /* longer paths are not narrowed: test a local instead */
#define FACTS_MAX       1024 /* at one place; keeps the work bounded on any input */

typedef struct Path {
    const Variable *variable;
    uint32_t fields[PATH_MAX_FIELDS];
    uint32_t len;
} Path;

/* a.b.c as a path; false for everything that is not a local followed by fields. */
static bool read_path(const Expr *e, Path *path)
{
    const Expr *chain[PATH_MAX_FIELDS];
    uint32_t len = 0;
    for (;; e = e->left) {
        while (e->kind == EX_PAREN) e = e->left;
        if (e->kind != EX_FIELD) break;
        if (e->call != CALL_NONE || !e->type || len == PATH_MAX_FIELDS) return false;
        chain[len++] = e;
    }
    if (e->kind != EX_NAME || !e->variable) return false;
    path->variable = e->variable;
    path->len = len;
    for (uint32_t i = 0; i < len; i++) path->fields[i] = chain[len - 1 - i]->field_index;
    return true;
}

static bool starts_with(const Fact *fact, const Path *path)
{
    return fact->variable == path->variable && fact->path_len >= path->len &&
           memcmp(fact->path, path->fields, path->len * sizeof *path->fields) == 0;
}

static const Fact *add_fact(Check *c, const Fact *list, const Fact *from)
{
    Fact *fact = arena_new(c->arena, Fact);
    *fact = *from;
    fact->next = list;
    fact->depth = list ? list->depth + 1 : 1;
    return fact;
}

void flow_learn(Check *c, const Expr *path_expr, const Type *type)
{
    Path path;
    if (!read_path(path_expr, &path) || (c->facts && c->facts->depth >= FACTS_MAX)) return;
    uint32_t *fields = arena_alloc(c->arena, (path.len + 1) * sizeof *fields);
    memcpy(fields, path.fields, path.len * sizeof *fields);
    c->facts =
        add_fact(c, c->facts, &(Fact){.variable = path.variable, .path = fields, .path_len = path.len, .type = type});
}

const Type *flow_known(const Check *c, const Expr *path_expr)
{
    Path path;
    if (!c->facts || !read_path(path_expr, &path)) return NULL;
    for (const Fact *fact = c->facts; fact; fact = fact->next) {
        if (fact->path_len == path.len && starts_with(fact, &path)) return fact->type;
    }
    return NULL;
}

/* ---- forgetting ---- */

/* The list without what starts with `path`. Its tail is shared as far as nothing in it is dropped. */
static const Fact *drop_facts(Check *c, const Fact *list, const Path *path)
{
    const Fact *last_hit = NULL, *result;
    for (const Fact *fact = list; fact; fact = fact->next) {
        if (starts_with(fact, path)) last_hit = fact;
    }
    if (!last_hit) return list;
    result = last_hit->next;
    for (const Fact *fact = list; fact != last_hit; fact = fact->next) {
        if (!starts_with(fact, path)) result = add_fact(c, result, fact);
    }
    return result;
}

void flow_forget_path(Check *c, const Expr *path_expr)
{
    Path path;
    const Expr *e = path_expr;
    while (e->kind == EX_INDEX || e->kind == EX_PAREN) e = e->left;
    if (read_path(e, &path)) c->facts = drop_facts(c, c->facts, &path);
}

void flow_forget_variable(Check *c, const Variable *variable)
{
    c->facts = drop_facts(c, c->facts, &(Path){.variable = variable});
}

static void forget_assigned_in_stmt(Check *c, const Stmt *s);

void flow_forget_assigned(Check *c, const Block *block)
{
    for (const Stmt *s = block ? block->stmts : NULL; s && c->facts; s = s->next) forget_assigned_in_stmt(c, s);
}

/* Names are looked up as they stand now: a variable declared inside the loop has no facts at the loop's head. */
static void forget_target(Check *c, const Expr *target)
{
    while (target && (target->kind == EX_FIELD || target->kind == EX_INDEX || target->kind == EX_PAREN)) {
        target = target->left;
    }
    if (!target || target->kind != EX_NAME) return;
    const Variable *variable = name_table_get(&c->locals, target->name.text);
    if (variable) flow_forget_variable(c, variable);
}

static void forget_assigned_in_stmt(Check *c, const Stmt *s)
{
    if (s->kind == ST_ASSIGN) forget_target(c, s->target);
    flow_forget_assigned(c, s->block);
    flow_forget_assigned(c, s->else_block);
    flow_forget_assigned(c, s->finally);
    for (const Arm *arm = s->arms; arm; arm = arm->next) flow_forget_assigned(c, arm->block);
    for (const Catch *k = s->catches; k; k = k->next) flow_forget_assigned(c, k->block);
}

/* ---- learning from conditions ---- */

static bool is_null_literal(const Expr *e)
{
    while (e && e->kind == EX_PAREN) e = e->left;
    return e && e->kind == EX_NULL;
}

static void assume_comparison(Check *c, const Expr *cond, bool outcome)
{
    const Expr *path = is_null_literal(cond->right) ? cond->left : is_null_literal(cond->left) ? cond->right : NULL;
    if (!path || (cond->op == OP_NE) != outcome) return;
    if (path->type && path->type->kind == TYPE_OPTIONAL) flow_learn(c, path, path->type->elem);
}

void flow_assume(Check *c, const Expr *cond, bool outcome)
{
    while (cond->kind == EX_PAREN || (cond->kind == EX_UNARY && cond->op == OP_NOT)) {
        if (cond->kind == EX_UNARY) outcome = !outcome;
        cond = cond->left;
    }
    if (cond->kind != EX_BINARY) return;
    if (cond->op == OP_EQ || cond->op == OP_NE) {
        assume_comparison(c, cond, outcome);
    } else if (cond->op == (outcome ? OP_AND : OP_OR)) {
        flow_assume(c, cond->left, outcome);
        flow_assume(c, cond->right, outcome);
    }
}

/* ---- meeting ---- */

static bool knows(const Fact *list, const Fact *end, const Fact *wanted)
{
    for (; list != end; list = list->next) {
        if (list->variable == wanted->variable && list->path_len == wanted->path_len && list->type == wanted->type &&
            memcmp(list->path, wanted->path, wanted->path_len * sizeof *wanted->path) == 0)
            return true;
    }
    return false;
}

static uint32_t depth_of(const Fact *list)
{
    return list ? list->depth : 0;
}

/* What both lists know. They usually share a long tail, which is kept as it is. */
const Fact *flow_join(Check *c, const Fact *a, const Fact *b)
{
    const Fact *shared_a = a, *shared_b = b;
    while (shared_a != shared_b) {
        if (depth_of(shared_a) >= depth_of(shared_b))
            shared_a = shared_a->next;
        else
            shared_b = shared_b->next;
    }
    const Fact *result = shared_a;
    for (const Fact *fact = a; fact != shared_a; fact = fact->next) {
        if (knows(b, shared_a, fact)) result = add_fact(c, result, fact);
    }
    return result;
}

void flow_widen(Expr *path)
{
    if (path->kind == EX_PAREN) {
        flow_widen(path->left);
        path->type = path->to = path->left->type;
    } else if (path->kind == EX_NAME && path->variable && path->variable->type->kind == TYPE_OPTIONAL) {
        path->type = path->to = path->variable->type;
    } else if (path->kind == EX_FIELD && path->call == CALL_NONE && path->left->type && path->left->type->fields) {
        const Type *declared = path->left->type->fields[path->field_index].type;
        if (declared->kind == TYPE_OPTIONAL) path->type = path->to = declared;
    }
}
