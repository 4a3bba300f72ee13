/* lower_match.c: match. Tests and bindings of an arm come before its body; nothing of the subject is inspected after
 * that. */
#include "lower.h"

/* ---- patterns ---- */

/* Does the pattern take the subject? NULL: always. */
static Val *pattern_test(Lower *l, const Pattern *p, Val *subject, const Type *type)
{
    const Type *base = type->kind == TYPE_OPTIONAL ? type->elem : type;
    Val *test, *value = val_narrow(l, subject, type, base);
    switch (p->kind) {
    case PAT_ELSE: return NULL;
    case PAT_CASE:
        if (p->error_type) {
            test = val_unary(l, VAL_IS, REP_BOOL, subject);
            test->type = p->error_type;
            return test;
        }
        CHECK(p->case_index < base->case_count);
        test = val_compare(l, OP_EQ, val_tag(l, value), val_int(l, p->case_index));
        break;
    case PAT_LITERAL:
        if (p->literal->kind == EX_NULL) return val_compare(l, OP_EQ, subject, val_null(l));
        Val *literal = lower_expr(l, p->literal);
        if (base->kind == TYPE_BOOL)
            test = literal->i ? value : val_unary(l, VAL_NOT, REP_BOOL, value);
        else
            test = lower_equal(l, base, value, literal);
        break;
    default: UNREACHED("every pattern is lowered");
    }
    if (type->kind != TYPE_OPTIONAL) return test;
    return val_binary(l, VAL_AND, REP_BOOL, val_compare(l, OP_NE, subject, val_null(l)), test);
}

static void bind_pattern(Lower *l, const Pattern *p, Val *subject, const Type *type)
{
    const Type *base = type->kind == TYPE_OPTIONAL ? type->elem : type;
    uint32_t index = p->error_type ? 1 : 0; /* an error's first field is its message */
    const TypeField *fields = p->error_type         ? p->error_type->fields
                              : p->kind == PAT_CASE ? base->cases[p->case_index].fields
                                                    : NULL;
    for (const Binding *b = p->bindings; b; b = b->next, index++) {
        if (b->variable)
            lower_store(l, lower_local(l, b->variable), val_field(l, subject, index, fields[index].type), false);
    }
    lower_end(l);
}

typedef struct Match {
    const Stmt *stmt;
    Val *subject;
    const Type *type;
    MBlock *join;
} Match;

static void lower_arm_body(Lower *l, const Match *m, const Arm *arm)
{
    uint32_t scope = l->kept_count;
    for (const Binding *b = arm->patterns->next ? NULL : arm->patterns->bindings; b; b = b->next)
        lower_keep(l, b->variable);
    lower_block(l, arm->block);
    lower_keep_end(l, scope);
    if (l->cur) lower_go(l, m->join);
}

/* Tests one arm after the other; the last one without a guard takes what is left. */
static void lower_arm(Lower *l, const Match *m, const Arm *arm)
{
    MBlock *take = machine_block(l->routine), *next = arm->next ? machine_block(l->routine) : m->join;
    bool last = !arm->next && !arm->guard;
    l->line = lower_line_of(l, arm->span);
    for (const Pattern *p = arm->patterns; p && l->cur; p = p->next) {
        Val *test = last && !p->next ? NULL : pattern_test(l, p, m->subject, m->type);
        if (!test) {
            lower_go(l, take);
            break;
        }
        MBlock *other = p->next ? machine_block(l->routine) : next;
        lower_branch(l, test, take, other);
        lower_forget(l);
        if (p->next) lower_begin(l, other);
    }
    lower_begin(l, take);
    bind_pattern(l, arm->patterns, m->subject, m->type);
    if (arm->guard) {
        MBlock *body = machine_block(l->routine);
        lower_branch_on(l, lower_expr(l, arm->guard), body, next);
        lower_begin(l, body);
    }
    lower_arm_body(l, m, arm);
    if (arm->next) lower_begin(l, next);
}

/* An enum without guards: one look at the case. */
static bool is_plain_enum(const Match *m)
{
    if (m->type->kind != TYPE_ENUM) return false;
    uint32_t arms = 0;
    for (const Arm *arm = m->stmt->arms; arm; arm = arm->next, arms++)
        if (arm->guard) return false;
    return arms > 2;
}

static void lower_switch(Lower *l, const Match *m)
{
    uint32_t cap = 0;
    MBlock *head = l->cur;
    Term *term = lower_end_block(l, TERM_SWITCH);
    term->cond = val_tag(l, m->subject);
    for (const Arm *arm = m->stmt->arms; arm; arm = arm->next) {
        MBlock *body = machine_block(l->routine);
        bool rest = !arm->next;
        for (const Pattern *p = arm->patterns; p; p = p->next) rest |= p->kind == PAT_ELSE;
        if (rest) term->to = body;
        for (const Pattern *p = arm->patterns; p && !rest; p = p->next) {
            if (term->case_count == cap)
                term->cases = arena_grow(l->arena, term->cases, &cap, cap + 1, sizeof *term->cases);
            term->cases[term->case_count++] = (SwitchCase){p->case_index, body};
        }
        l->line = lower_line_of(l, arm->span);
        lower_begin(l, body);
        bind_pattern(l, arm->patterns, m->subject, m->type);
        lower_arm_body(l, m, arm);
        if (rest) break; /* nothing gets past it */
    }
    CHECK(term->to);
    machine_note_term(l->routine, &head->term);
}

void lower_match(Lower *l, const Stmt *s)
{
    Match m = {.stmt = s, .type = s->value->type, .join = machine_block(l->routine)};
    Val *subject = lower_root(l, s->value, "subject");
    m.subject = lower_is_idle(l) ? subject : lower_steady(l, subject, m.type, "subject");
    lower_end(l);
    if (is_plain_enum(&m)) {
        lower_switch(l, &m);
    } else {
        for (const Arm *arm = s->arms; arm && l->cur; arm = arm->next) lower_arm(l, &m, arm);
    }
    if (l->cur) lower_go(l, m.join);
    lower_begin(l, m.join);
}
