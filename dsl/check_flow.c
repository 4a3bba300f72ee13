/* check_flow.c: what is known about null (and about the kind of a caught error) at each place.
 *
 * A fact says "this path has this type here". Facts are learned from conditions and from match arms, hold until the
 * path or something it starts with is assigned, and survive a yield, because nobody else can change a local. Where
 * two ways meet, what both know holds. A loop's head knows nothing of what the loop's body assigns. */
#include "check_internal.h"

#define PATH_MAX_FIELDS 16 /* longer paths are not narrowed: test a local instead */
/* of the tree, two bits each: variables beyond a million in one body are not narrowed */
#define FACT_LEVELS 10
#define FACT_ID_MAX (1u << 2 * FACT_LEVELS)

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

/* ---- the tree ---- */

static uint32_t child_at(uint32_t id, int level)
{
    return id >> 2 * level & 3;
}

static const Fact *facts_of(const Facts *facts, const Variable *variable)
{
    const void *at = facts;
    if (variable->id >= FACT_ID_MAX) return NULL;
    for (int level = FACT_LEVELS - 1; at && level >= 0; level--)
        at = ((const Facts *)at)->child[child_at(variable->id, level)];
    return at;
}

static bool is_empty(const Facts *facts)
{
    return !facts->child[0] && !facts->child[1] && !facts->child[2] && !facts->child[3];
}

/* The tree with another list for one variable. */
static const void *with_list(Check *c, const void *tree, uint32_t id, int level, const Fact *list)
{
    if (level < 0) return list;
    Facts *facts = arena_new(c->arena, Facts);
    if (tree) *facts = *(const Facts *)tree;
    uint32_t at = child_at(id, level);
    facts->child[at] = with_list(c, facts->child[at], id, level - 1, list);
    return is_empty(facts) ? NULL : facts;
}

static void set_facts(Check *c, const Variable *variable, const Fact *list)
{
    if (variable->id < FACT_ID_MAX) c->facts = with_list(c, c->facts, variable->id, FACT_LEVELS - 1, list);
}

/* ---- learning and asking ---- */

static bool starts_with(const Fact *fact, const Path *path)
{
    return fact->path_len >= path->len && memcmp(fact->path, path->fields, path->len * sizeof *path->fields) == 0;
}

static const Type *known_type(const Fact *list, const Path *path)
{
    for (const Fact *fact = list; fact; fact = fact->next) {
        if (fact->path_len == path->len && starts_with(fact, path)) return fact->type;
    }
    return NULL;
}

static const Fact *add_fact(Check *c, const Fact *list, const Fact *from)
{
    Fact *fact = arena_new(c->arena, Fact);
    *fact = *from;
    fact->next = list;
    return fact;
}

void flow_learn(Check *c, const Expr *path_expr, const Type *type)
{
    Path path;
    if (!read_path(path_expr, &path)) return;
    const Fact *list = facts_of(c->facts, path.variable);
    if (known_type(list, &path) == type) return;
    uint32_t *fields = arena_alloc(c->arena, (path.len + 1) * sizeof *fields);
    memcpy(fields, path.fields, path.len * sizeof *fields);
    set_facts(c, path.variable, add_fact(c, list, &(Fact){.path = fields, .path_len = path.len, .type = type}));
}

const Type *flow_known(const Check *c, const Expr *path_expr)
{
    Path path;
    if (!c->facts || !read_path(path_expr, &path)) return NULL;
    return known_type(facts_of(c->facts, path.variable), &path);
}

/* ---- forgetting ---- */

static void drop_facts(Check *c, const Path *path)
{
    const Fact *list = facts_of(c->facts, path->variable), *kept = NULL;
    for (const Fact *fact = list; fact; fact = fact->next) {
        if (!starts_with(fact, path)) kept = add_fact(c, kept, fact);
    }
    if (list) set_facts(c, path->variable, kept);
}

void flow_forget_path(Check *c, const Expr *path_expr)
{
    Path path;
    if (read_path(path_expr, &path)) drop_facts(c, &path);
}

static void forget_assigned_in_stmt(Check *c, const Stmt *s);

void flow_forget_assigned(Check *c, const Block *block)
{
    for (const Stmt *s = block ? block->stmts : NULL; s && c->facts; s = s->next) forget_assigned_in_stmt(c, s);
}

/* The path of a target that is not checked yet, by names alone. False for elements of lists and maps: nothing is
 * ever known of them. */
static bool guess_path(const Check *c, const Expr *target, Path *path)
{
    if (target->kind == EX_NAME) {
        path->variable = name_table_get(&c->locals, target->name.text);
        path->len = 0;
        return path->variable != NULL;
    }
    if (target->kind == EX_PAREN) return guess_path(c, target->left, path);
    if (target->kind != EX_FIELD || !guess_path(c, target->left, path)) return false;
    const Type *type = type_strip(path->variable->type);
    for (uint32_t i = 0; i < path->len; i++) {
        CHECK(path->fields[i] < type->field_count);
        type = type_strip(type->fields[path->fields[i]].type);
    }
    int index = type_find_field(type->fields, type->field_count, target->name.text);
    if (index < 0 || path->len == PATH_MAX_FIELDS) return false;
    path->fields[path->len++] = (uint32_t)index;
    return true;
}

/* Names are looked up as they are now: a variable declared inside the loop has no facts at the loop's head. */
static void forget_target(Check *c, const Expr *target)
{
    Path path;
    if (target && guess_path(c, target, &path)) drop_facts(c, &path);
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
    /* a?.b is not null: neither is a */
    while (path->kind == EX_PAREN) path = path->left;
    for (; path->kind == EX_FIELD && path->optional && path->left->type; path = path->left) {
        if (path->left->type->kind == TYPE_OPTIONAL) flow_learn(c, path->left, path->left->type->elem);
    }
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

static bool is_known(const Fact *list, const Fact *wanted)
{
    for (const Fact *fact = list; fact; fact = fact->next) {
        if (fact->type == wanted->type && fact->path_len == wanted->path_len &&
            memcmp(fact->path, wanted->path, wanted->path_len * sizeof *wanted->path) == 0)
            return true;
    }
    return false;
}

static const Fact *join_lists(Check *c, const Fact *a, const Fact *b)
{
    const Fact *both = NULL;
    for (const Fact *fact = a; fact; fact = fact->next) {
        if (is_known(b, fact)) both = add_fact(c, both, fact);
    }
    return both;
}

static const void *join_trees(Check *c, const void *a, const void *b, int level)
{
    if (a == b || !a || !b) return a == b ? a : NULL;
    if (level < 0) return join_lists(c, a, b);
    Facts *facts = arena_new(c->arena, Facts);
    for (int i = 0; i < 4; i++) {
        facts->child[i] = join_trees(c, ((const Facts *)a)->child[i], ((const Facts *)b)->child[i], level - 1);
    }
    return is_empty(facts) ? NULL : facts;
}

/* What both places know. Shared parts are recognised by address, so this costs what the branches learned, not what
 * they know. */
const Facts *flow_join(Check *c, const Facts *a, const Facts *b)
{
    return join_trees(c, a, b, FACT_LEVELS - 1);
}

void flow_widen(Expr *path)
{
    if (path->type->kind == TYPE_BAD) return;
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
