/* lower.c: declarations and statements → machines.
 *
 * Requires a program that check found right. Keeps: one line number per instruction, and the rule of machine.h that every variable a
 * statement touched is used by its IN_END (or by the end of its block), so that nothing borrowed outlives its owner. */
#include <string.h>

#include "lower.h"

/* ---- names in C ---- */

struct NameSlot {
    const char *name;
};

/* i1, o2 …: temporaries; A0 …: saved arguments. */
static bool is_temp_like(const char *name)
{
    if (!name[0] || !strchr("Aifbovp", name[0]) || !name[1]) return false;
    return strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* Words that mean something to C, to tfy.h's own includes or to the text around a routine. */
static bool is_reserved(const char *name)
{
    static const char *const words[] = {
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "asm",
        "typeof",
        "bool",
        "true",
        "false",
        "unix",
        "linux",
        "i386",
        "offsetof",
        "head",
        "out",
        "frame",
        "main",
        "t",
        "F",
        "A",
        "C",
        "M",
        "R",
        "X",
        "E",
        "NULL",
        "alignas",
        "alignof",
        "noreturn",
        "errno",
        "assert",
        "constexpr",
        "nullptr",
        "thread_local",
        "static_assert",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) return true;
    static const char *const starts[] = {"INT",   "UINT",  "SIZE",  "PTR",  "TFY", "tfy",   "Tfy", "int8",
                                         "int16", "int32", "int64", "uint", "_",   "WCHAR", "SIG", "WINT"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) return true;
    return is_temp_like(name);
}

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

/* Takes a name; false: somebody has it already. */
static bool take_name(Lower *l, const char *name)
{
    if (l->name_count * 2 >= l->name_cap) {
        uint32_t old_cap = l->name_cap, cap = old_cap ? old_cap * 2 : 32;
        NameSlot *old = l->names;
        l->names = arena_alloc(l->arena, cap * sizeof *l->names);
        l->name_cap = cap;
        l->name_count = 0;
        for (uint32_t i = 0; i < old_cap; i++)
            if (old[i].name) take_name(l, old[i].name);
    }
    uint32_t at = hash_name(name) & (l->name_cap - 1);
    for (; l->names[at].name; at = (at + 1) & (l->name_cap - 1))
        if (strcmp(l->names[at].name, name) == 0) return false;
    l->names[at].name = name;
    l->name_count++;
    return true;
}

static const char *unique_name(Lower *l, const char *name, uint32_t id)
{
    if (!is_reserved(name) && take_name(l, name)) return name;
    /* No reserved name begins like this, so that the loop ends. */
    const char *other = arena_printf(l->arena, is_reserved(name) ? "v_%s_%u" : "%s_%u", name, id);
    while (is_reserved(other) || !take_name(l, other)) other = arena_printf(l->arena, "v_%s", other);
    return other;
}

/* ---- blocks and instructions ---- */

uint32_t lower_line_of(const Lower *l, Span span)
{
    return source_line_col(l->machine->program->sources, span.off).line;
}

void lower_touch(Lower *l, Var *var)
{
    if (!var->owned) return;
    for (uint32_t i = 0; i < l->touched_count; i++)
        if (l->touched[i] == var) return;
    if (l->touched_count == l->touched_cap)
        l->touched = arena_grow(l->arena, l->touched, &l->touched_cap, l->touched_count + 1, sizeof *l->touched);
    l->touched[l->touched_count++] = var;
}

void lower_note(Lower *l, Instr *instr)
{
    machine_note_uses(l->routine, instr);
    for (uint32_t i = 0; i < instr->use_count; i++) lower_touch(l, instr->uses[i]);
    if (instr->dst) lower_touch(l, instr->dst);
}

Instr *lower_instr(Lower *l, InstrKind kind, Var *dst, Val *a)
{
    Instr *instr = machine_instr(l->routine, l->cur, kind, l->line);
    instr->dst = dst;
    instr->a = a;
    lower_note(l, instr);
    return instr;
}

void lower_begin(Lower *l, MBlock *block)
{
    machine_place(l->routine, block);
    l->cur = block;
}

static Term *end_block(Lower *l, TermKind kind)
{
    Term *term = &l->cur->term;
    if (term->kind != TERM_NONE) machine_bug("a block was ended twice");
    term->kind = kind;
    term->line = l->line;
    l->cur = NULL;
    return term;
}

void lower_go(Lower *l, MBlock *to)
{
    end_block(l, TERM_JUMP)->to = to;
}

void lower_branch(Lower *l, Val *cond, MBlock *yes, MBlock *no)
{
    Term *term = end_block(l, TERM_BRANCH);
    term->cond = cond;
    term->to = yes;
    term->other = no;
    machine_note_term(l->routine, term);
    for (uint32_t i = 0; i < term->use_count; i++) lower_touch(l, term->uses[i]);
}

/* The statement is over, and what it touched has been dealt with. */
void lower_forget(Lower *l)
{
    l->touched_count = 0;
    l->temps = false;
    memset(l->next_temp, 0, sizeof l->next_temp);
}

/* Has the statement done anything so far? If not, its value is a tree over variables and may be looked at again later. */
static bool is_idle(const Lower *l)
{
    for (int rep = 0; rep < REP_COUNT; rep++)
        if (l->next_temp[rep]) return false;
    return !l->touched_count && !l->temps;
}

/* The statement's touched variables become uses of the block's end, and the statement is over. */
void lower_take_touched(Lower *l, Term *term)
{
    Var **uses = arena_alloc(l->arena, (term->use_count + l->touched_count + 1) * sizeof *uses);
    for (uint32_t i = 0; i < term->use_count; i++) uses[i] = term->uses[i];
    uint32_t count = term->use_count;
    for (uint32_t i = 0; i < l->touched_count; i++) {
        bool known = false;
        for (uint32_t k = 0; k < term->use_count && !known; k++) known = uses[k] == l->touched[i];
        if (!known) uses[count++] = l->touched[i];
    }
    term->uses = uses;
    term->use_count = count;
    term->cut = l->temps;
    lower_forget(l);
}

/* Raises what is pending: goes to the landing, where everything held is given back. */
static void go_to_landing(Lower *l, MBlock *landing)
{
    MBlock *block = l->cur;
    lower_go(l, landing);
    lower_take_touched(l, &block->term);
}

void lower_end(Lower *l)
{
    if (l->touched_count || l->temps) {
        Instr *instr = machine_instr(l->routine, l->cur, IN_END, l->line);
        instr->cut = l->temps;
        instr->use_count = l->touched_count;
        instr->uses = arena_alloc(l->arena, (l->touched_count + 1) * sizeof *instr->uses);
        for (uint32_t i = 0; i < l->touched_count; i++) instr->uses[i] = l->touched[i];
    }
    lower_forget(l);
}

void lower_store(Lower *l, Var *dst, Val *value, bool replaces)
{
    if (!dst->owned) {
        lower_instr(l, IN_SET, dst, value);
        return;
    }
    Instr *instr = machine_instr(l->routine, l->cur, IN_STORE, l->line);
    instr->dst = dst;
    instr->a = value;
    instr->i = replaces;
    lower_note(l, instr);
}

/* ---- variables ---- */

Var *lower_local(Lower *l, const Variable *variable)
{
    Var *var = l->by_id[variable->id];
    if (var) return var;
    var = machine_var(l->routine, VAR_LOCAL, variable->type, machine_rep(variable->type),
                      unique_name(l, variable->name, variable->id));
    var->label = variable->name;
    var->changes = variable->mutable;
    l->by_id[variable->id] = var;
    return var;
}

Var *lower_hidden(Lower *l, const Type *type, const char *name)
{
    return machine_var(l->routine, VAR_HIDDEN, type, machine_rep(type), unique_name(l, name, l->routine->var_count));
}

/* A value that later statements look at again: itself when nothing can change it, else a variable of its own. */
Val *lower_steady(Lower *l, Val *value, const Type *type, const char *name)
{
    bool fixed = value->kind == VAL_INT || value->kind == VAL_STRING || value->kind == VAL_NULL;
    if (fixed || (val_is_variable(value) && !value->var->changes)) return value;
    Var *var = lower_hidden(l, type, name);
    lower_store(l, var, value, false);
    return val_of(l, var);
}

/* ---- conditions ---- */

/* Closes the head of a statement: what is left of it is one value that the end of the block looks at. */
static Val *close_head(Lower *l, Val *value)
{
    if (!l->touched_count && !l->temps) return value;
    Var *temp = lower_temp(l, value->rep);
    lower_instr(l, IN_SET, temp, value);
    lower_end(l);
    return val_of(l, temp);
}

static void branch_on(Lower *l, Val *cond, MBlock *yes, MBlock *no)
{
    cond = close_head(l, cond);
    if (cond->kind == VAL_BOOL)
        lower_go(l, cond->i ? yes : no);
    else
        lower_branch(l, cond, yes, no);
    lower_forget(l);
}

/* ---- statements ---- */

static void lower_block(Lower *l, const Block *block);

static void lower_if_stmt(Lower *l, const Stmt *s)
{
    MBlock *yes = machine_block(l->routine), *join = machine_block(l->routine);
    MBlock *no = s->else_block ? machine_block(l->routine) : join;
    branch_on(l, lower_root(l, s->value, "cond"), yes, no);
    lower_begin(l, yes);
    lower_block(l, s->block);
    if (l->cur) lower_go(l, join);
    if (s->else_block) {
        lower_begin(l, no);
        lower_block(l, s->else_block);
        if (l->cur) lower_go(l, join);
    }
    lower_begin(l, join);
}

/* ---- loops ---- */

typedef struct Loop {
    Scope scope;
    MBlock *head, *exit;
} Loop;

static void open_loop(Lower *l, Loop *loop, const char *kind)
{
    loop->head = machine_block(l->routine);
    loop->exit = machine_block(l->routine);
    loop->scope = (Scope){.kind = SCOPE_LOOP, .outer = l->scope, .on_break = loop->exit, .on_continue = loop->head};
    lower_go(l, loop->head);
    lower_begin(l, loop->head);
    Term *term = end_block(l, TERM_FUEL);
    term->to = machine_block(l->routine);
    term->landing = l->landing;
    if (l->routine->kind == ROUTINE_WORKFLOW)
        term->point = machine_point(l->routine, ASK_FUEL, NULL, "loop", kind, l->line);
    lower_begin(l, term->to);
    l->scope = &loop->scope;
}

static void close_loop(Lower *l, Loop *loop)
{
    l->scope = loop->scope.outer;
    loop->head->loop_end = l->routine->order_count;
    lower_begin(l, loop->exit);
}

static void lower_while(Lower *l, const Stmt *s)
{
    Loop loop;
    open_loop(l, &loop, "while");
    MBlock *body = machine_block(l->routine);
    branch_on(l, lower_root(l, s->value, "cond"), body, loop.exit);
    lower_begin(l, body);
    lower_block(l, s->block);
    if (l->cur) lower_go(l, loop.head);
    close_loop(l, &loop);
}

/* counter runs from what it holds to end; each iteration starts with what bind sets up. */
typedef struct Counted {
    Var *counter;
    Val *end;
    const Stmt *stmt;
    Val *list, *map; /* what is gone through, or NULL */
} Counted;

static void bind_element(Lower *l, const Variable *variable, Val *value)
{
    if (!variable || strcmp(variable->name, "_") == 0) return;
    lower_store(l, lower_local(l, variable), value, false);
}

static void bind_iteration(Lower *l, const Counted *c)
{
    const Stmt *s = c->stmt;
    Val *at = val_of(l, c->counter);
    if (c->list) {
        const Type *elem = s->value->type->elem;
        bind_element(l, s->variable2 ? s->variable2 : s->variable,
                     val_pure(l, RT_LIST_ITEM, machine_rep(elem), 2, c->list, at));
    } else if (c->map) {
        const Type *type = s->value->type;
        bind_element(l, s->variable, val_pure(l, RT_MAP_KEY_AT, machine_rep(type->key), 2, c->map, at));
        bind_element(l, s->variable2, val_pure(l, RT_MAP_VALUE_AT, machine_rep(type->elem), 2, c->map, at));
    }
    lower_end(l);
}

static void lower_counted(Lower *l, const Counted *c)
{
    Loop loop;
    lower_end(l);
    open_loop(l, &loop, "for");
    MBlock *body = machine_block(l->routine), *step = machine_block(l->routine);
    loop.scope.on_continue = step;
    lower_branch(l, val_compare(l, OP_LT, val_of(l, c->counter), c->end), body, loop.exit);
    lower_forget(l);
    lower_begin(l, body);
    bind_iteration(l, c);
    lower_block(l, c->stmt->block);
    if (l->cur) lower_go(l, step);
    lower_begin(l, step);
    l->line = lower_line_of(l, c->stmt->span);
    lower_instr(l, IN_SET, c->counter, val_unary(l, VAL_NEXT, REP_INT, val_of(l, c->counter)));
    lower_end(l);
    lower_go(l, loop.head);
    close_loop(l, &loop);
}

static void lower_for(Lower *l, const Stmt *s)
{
    Counted c = {.stmt = s};
    const Type *type = s->value->type;
    const Type *integer = l->machine->program->core.integer;
    Val *value = lower_root(l, s->value, "items");
    if (s->range_end) {
        c.counter = lower_local(l, s->variable);
        Val *end = lower_expr(l, s->range_end);
        c.end = lower_steady(l, end, integer, "end");
        lower_instr(l, IN_SET, c.counter, value);
    } else {
        bool counts = type->kind == TYPE_LIST && s->variable2;
        Val *items = lower_steady(l, value, type, "items");
        c.counter = counts ? lower_local(l, s->variable) : lower_hidden(l, integer, "at");
        if (type->kind == TYPE_LIST)
            c.list = items;
        else
            c.map = items;
        c.end = val_pure(l, c.list ? RT_LIST_LEN : RT_MAP_LEN, REP_INT, 1, items);
        lower_instr(l, IN_SET, c.counter, val_int(l, 0));
    }
    lower_counted(l, &c);
}

/* ---- match ---- */

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
    default: machine_bug("a pattern the lowering does not know");
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
    lower_block(l, arm->block);
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
        branch_on(l, lower_expr(l, arm->guard), body, next);
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
    Term *term = end_block(l, TERM_SWITCH);
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
    machine_note_term(l->routine, &head->term);
}

static void lower_match(Lower *l, const Stmt *s)
{
    Match m = {.stmt = s, .type = s->value->type, .join = machine_block(l->routine)};
    Val *subject = lower_root(l, s->value, "subject");
    m.subject = is_idle(l) ? subject : lower_steady(l, subject, m.type, "subject");
    lower_end(l);
    if (is_plain_enum(&m)) {
        lower_switch(l, &m);
    } else {
        for (const Arm *arm = s->arms; arm && l->cur; arm = arm->next) lower_arm(l, &m, arm);
    }
    if (l->cur) lower_go(l, m.join);
    lower_begin(l, m.join);
}

/* ---- try ---- */

/* The code of a way out, noted in its finally. */
static int64_t leave_code(Lower *l, Scope *fin, LeaveKind kind, Scope *loop)
{
    if (kind == LEAVE_NORMAL) return 0;
    if (kind == LEAVE_ERROR) return 1;
    for (const Leave *leave = fin->leaves; leave; leave = leave->next)
        if (leave->kind == kind && leave->loop == loop) return leave->code;
    Leave *leave = arena_new(l->arena, Leave);
    *leave = (Leave){kind, loop, ++fin->codes + 1, fin->leaves};
    fin->leaves = leave;
    return leave->code;
}

/* Enters a finally with something pending. */
static void enter_finally(Lower *l, Scope *fin, LeaveKind kind, Scope *loop)
{
    Entering *entering = arena_new(l->arena, Entering);
    lower_instr(l, IN_SET, fin->pending, val_int(l, leave_code(l, fin, kind, loop)));
    if (kind == LEAVE_ERROR)
        lower_instr(l, IN_TAKE_ERROR, fin->error, NULL);
    else
        lower_instr(l, IN_SET, fin->error, val_null(l));
    fin->returns |= kind == LEAVE_RETURN;
    *entering = (Entering){l->cur, kind == LEAVE_RETURN, fin->entering};
    fin->entering = entering;
    lower_forget(l);
    lower_go(l, fin->entry);
}

/* Leaves the scopes around this place until `loop` (break, continue) or the routine (return). */
static void leave(Lower *l, LeaveKind kind, Scope *loop)
{
    for (Scope *scope = l->scope; scope; scope = scope->outer) {
        if (scope->kind == SCOPE_FINALLY) {
            enter_finally(l, scope, kind, loop);
            return;
        }
        if (scope == loop) {
            lower_go(l, kind == LEAVE_BREAK ? loop->on_break : loop->on_continue);
            return;
        }
    }
    if (l->result) {
        lower_instr(l, IN_RESULT, NULL, val_of(l, l->result))->type = l->routine->result;
        lower_end(l);
    }
    end_block(l, TERM_RETURN);
}

static void leave_try(Lower *l, const Stmt *s, Scope *fin, MBlock *done)
{
    if (!l->cur) return;
    if (s->finally)
        enter_finally(l, fin, LEAVE_NORMAL, NULL);
    else
        lower_go(l, done);
}

static MBlock *new_landing(Lower *l)
{
    MBlock *landing = machine_block(l->routine);
    landing->landing = true;
    return landing;
}

static void lower_catches(Lower *l, const Stmt *s, Scope *fin, MBlock *done, MBlock *beyond)
{
    MBlock *next = machine_block(l->routine);
    lower_branch(l, val_pure(l, RT_CATCHABLE, REP_BOOL, 0), next, beyond);
    for (const Catch *k = s->catches; k; k = k->next) {
        MBlock *take = machine_block(l->routine);
        l->line = lower_line_of(l, k->span);
        lower_begin(l, next);
        Val *test = NULL;
        for (const CatchName *name = k->names; name; name = name->next) {
            Val *is = val_pure(l, RT_ERROR_IS, REP_BOOL, 1, val_type(l, name->type));
            test = test ? val_binary(l, VAL_OR, REP_BOOL, test, is) : is;
        }
        next = k->next ? machine_block(l->routine) : beyond;
        if (test)
            lower_branch(l, test, take, next);
        else
            lower_go(l, take);
        lower_begin(l, take);
        lower_instr(l, IN_TAKE_ERROR, lower_local(l, k->variable), NULL);
        lower_end(l);
        lower_block(l, k->block);
        leave_try(l, s, fin, done);
        if (!test) break;
    }
}

/* After the finally: what was pending goes on, in the scopes around it. */
static void dispatch_pending(Lower *l, Scope *fin, MBlock *done)
{
    MBlock *next = machine_block(l->routine), *raise = machine_block(l->routine);
    lower_branch(l, val_compare(l, OP_EQ, val_of(l, fin->pending), val_int(l, 1)), raise, next);
    lower_forget(l);
    lower_begin(l, raise);
    lower_instr(l, IN_PUT_ERROR, fin->error, NULL);
    lower_forget(l);
    go_to_landing(l, l->landing);
    for (const Leave *way = fin->leaves; way; way = way->next) {
        MBlock *take = machine_block(l->routine);
        lower_begin(l, next);
        next = machine_block(l->routine);
        lower_branch(l, val_compare(l, OP_EQ, val_of(l, fin->pending), val_int(l, way->code)), take, next);
        lower_begin(l, take);
        leave(l, way->kind, way->loop);
    }
    lower_begin(l, next);
    lower_go(l, done);
}

/* A return value waits while the finally runs, so every way in must define it. */
static void define_result(Lower *l, const Scope *fin)
{
    for (const Entering *in = fin->entering; in && fin->returns && l->result; in = in->next) {
        if (in->returns) continue;
        Instr *instr = machine_instr(l->routine, in->block, IN_SET, in->block->term.line);
        instr->dst = l->result;
        instr->a = val_zero(l, l->result->rep);
        machine_note_uses(l->routine, instr);
    }
}

static void lower_finally(Lower *l, const Stmt *s, Scope *fin, MBlock *done, MBlock *outer)
{
    MBlock *failing = new_landing(l);
    define_result(l, fin);
    l->line = lower_line_of(l, s->finally->span);
    lower_begin(l, fin->entry);
    lower_instr(l, IN_MASK, NULL, NULL)->i = 1;
    l->landing = failing;
    lower_block(l, s->finally);
    l->landing = outer;
    if (l->cur) {
        lower_instr(l, IN_MASK, NULL, NULL)->i = -1;
        dispatch_pending(l, fin, done);
    }
    lower_begin(l, failing);
    lower_instr(l, IN_MASK, NULL, NULL)->i = -1;
    go_to_landing(l, outer);
}

static void lower_try(Lower *l, const Stmt *s)
{
    MBlock *outer = l->landing, *done = machine_block(l->routine);
    MBlock *caught = s->catches ? new_landing(l) : NULL, *beyond = s->finally ? new_landing(l) : outer;
    const CoreTypes *core = &l->machine->program->core;
    Scope fin = {.kind = SCOPE_FINALLY, .outer = l->scope};
    if (s->finally) {
        fin.entry = machine_block(l->routine);
        fin.pending = lower_hidden(l, core->integer, "pending");
        fin.error = lower_hidden(l, core->any_error, "pending_error");
        l->scope = &fin;
    }
    l->landing = caught ? caught : beyond;
    lower_block(l, s->block);
    leave_try(l, s, &fin, done);
    l->landing = beyond;
    if (caught) {
        lower_begin(l, caught);
        lower_catches(l, s, &fin, done, beyond);
    }
    if (s->finally) {
        lower_begin(l, beyond);
        enter_finally(l, &fin, LEAVE_ERROR, NULL);
        l->scope = fin.outer;
        lower_finally(l, s, &fin, done, outer);
    }
    l->landing = outer;
    lower_begin(l, done);
}

/* ---- leaving ---- */

static bool in_finally_scope(const Lower *l)
{
    for (const Scope *scope = l->scope; scope; scope = scope->outer)
        if (scope->kind == SCOPE_FINALLY) return true;
    return false;
}

static void lower_return(Lower *l, const Stmt *s)
{
    if (s->value && in_finally_scope(l)) {
        if (!l->result) l->result = lower_hidden(l, l->routine->result, "result");
        lower_into(l, s->value, l->result, false);
        lower_end(l);
        leave(l, LEAVE_RETURN, NULL);
        return;
    }
    if (!s->value && in_finally_scope(l)) {
        leave(l, LEAVE_RETURN, NULL);
        return;
    }
    if (s->value) {
        Val *value = lower_root(l, s->value, "value");
        lower_instr(l, IN_RESULT, NULL, value)->type = l->routine->result;
    }
    lower_end(l);
    end_block(l, TERM_RETURN);
}

static void lower_fail(Lower *l, const Stmt *s)
{
    const Expr *e = lower_strip(s->value);
    if (e->kind == EX_CALL && e->call == CALL_RECORD) {
        Val *fields = lower_words(l, e->argv, e->argc);
        lower_call(l, RT_FAIL, NULL, 3, val_type(l, e->type), val_int(l, l->line), fields);
    } else {
        lower_call(l, RT_FAIL_WITH, NULL, 1, lower_expr(l, s->value));
    }
    go_to_landing(l, l->landing);
}

static void lower_assert(Lower *l, const Stmt *s)
{
    Val *text = arena_new(l->arena, Val), *ok = lower_expr(l, s->value);
    *text = (Val){.kind = VAL_CTEXT};
    text->text = arena_strndup(l->arena, source_text(l->machine->program->sources, s->value->span), s->value->span.len);
    lower_call(l, RT_ASSERT, NULL, 2, ok, text);
    lower_end(l);
}

/* break and continue go to the innermost loop. */
static void lower_loop_jump(Lower *l, const Stmt *s)
{
    Scope *loop = l->scope;
    while (loop->kind != SCOPE_LOOP) loop = loop->outer;
    leave(l, s->kind == ST_BREAK ? LEAVE_BREAK : LEAVE_CONTINUE, loop);
}

/* ---- the small ones ---- */

static void lower_let(Lower *l, const Stmt *s)
{
    lower_into(l, s->value, lower_local(l, s->variable), false);
    if (l->cur) lower_end(l);
}

static void lower_expr_stmt(Lower *l, const Stmt *s)
{
    const Expr *e = lower_strip(s->value);
    if (e->kind == EX_YIELD)
        lower_yield(l, e, NULL, false);
    else
        lower_expr(l, e);
    lower_end(l);
}

static void lower_plain_yield(Lower *l, const Stmt *s)
{
    Term *term = end_block(l, TERM_POINT);
    term->point = machine_point(l->routine, ASK_YIELD, s->label.text, "yield", NULL, l->line);
    term->landing = l->landing;
    term->to = machine_block(l->routine);
    lower_begin(l, term->to);
}

static void lower_stmt(Lower *l, const Stmt *s)
{
    switch (s->kind) {
    case ST_LET:
    case ST_VAR: lower_let(l, s); return;
    case ST_ASSIGN: lower_assign(l, s); return;
    case ST_EXPR: lower_expr_stmt(l, s); return;
    case ST_YIELD: lower_plain_yield(l, s); return;
    case ST_IF: lower_if_stmt(l, s); return;
    case ST_WHILE: lower_while(l, s); return;
    case ST_FOR: lower_for(l, s); return;
    case ST_MATCH: lower_match(l, s); return;
    case ST_RETURN: lower_return(l, s); return;
    case ST_FAIL: lower_fail(l, s); return;
    case ST_BREAK:
    case ST_CONTINUE: lower_loop_jump(l, s); return;
    case ST_TRY: lower_try(l, s); return;
    case ST_ASSERT: lower_assert(l, s); return;
    default: machine_bug("a statement the lowering does not know");
    }
}

#define BLOCK_INSTRS   100
#define BLOCKS_BETWEEN 24

/* Between two statements nothing is borrowed: a long routine may be cut here into several C functions. Behind a call the rest of its
 * statement and the next one share a block, so that a row of calls would never begin a block of its own; after some blocks one is made. */
static void begin_statement(Lower *l)
{
    bool far = l->routine->order_count - l->last_fresh >= BLOCKS_BETWEEN;
    if (l->cur->count >= (far ? 1 : BLOCK_INSTRS)) {
        MBlock *next = machine_block(l->routine);
        lower_go(l, next);
        lower_begin(l, next);
    }
    if (l->cur->count) return;
    l->cur->fresh = true;
    l->last_fresh = l->routine->order_count;
}

static void lower_block(Lower *l, const Block *block)
{
    for (const Stmt *s = block->stmts; s && l->cur; s = s->next) {
        l->line = lower_line_of(l, s->span);
        begin_statement(l);
        lower_stmt(l, s);
    }
}

/* ---- routines ---- */

static void open_routine(Lower *l, Machine *machine, RoutineKind kind, const char *name, const Decl *decl,
                         const Type *result, Span span)
{
    *l = (Lower){.machine = machine, .arena = machine->arena};
    l->line = source_line_col(machine->program->sources, span.off).line;
    l->routine = machine_routine(machine, kind, name, decl, result, l->line);
    uint32_t count = decl ? decl->variable_count : 0;
    l->by_id = arena_alloc(l->arena, (count + 1) * sizeof *l->by_id);
    l->routine->entry = machine_block(l->routine);
    l->landing = l->routine->failed = new_landing(l);
    lower_begin(l, l->routine->entry);
}

static void add_params(Lower *l, const Decl *decl)
{
    for (const Field *f = decl->params; f; f = f->next) {
        const Variable *variable = f->variable;
        Var *var = machine_var(l->routine, VAR_PARAM, variable->type, machine_rep(variable->type),
                               unique_name(l, variable->name, variable->id));
        var->label = variable->name;
        l->by_id[variable->id] = var;
        l->routine->param_count++;
    }
}

static void close_routine(Lower *l)
{
    if (l->cur) end_block(l, TERM_RETURN);
    l->landing = NULL;
    lower_begin(l, l->routine->failed);
    end_block(l, TERM_FAILED);
}

static void lower_body(Machine *machine, RoutineKind kind, const Decl *decl)
{
    Lower l;
    open_routine(&l, machine, kind, decl->name.text, decl, decl->type, decl->span);
    add_params(&l, decl);
    lower_block(&l, decl->block);
    close_routine(&l);
}

/* A routine that computes one expression. */
static Routine *lower_value_routine(Machine *machine, RoutineKind kind, const char *name, const Decl *decl,
                                    const Expr *value)
{
    Lower l;
    open_routine(&l, machine, kind, name, decl, value->to, value->span);
    if (decl && kind == ROUTINE_HOOK) add_params(&l, decl);
    lower_instr(&l, IN_RESULT, NULL, lower_expr(&l, value))->type = value->to;
    lower_end(&l);
    end_block(&l, TERM_RETURN);
    close_routine(&l);
    return l.routine;
}

static void add_hook(Machine *machine, const void *owner, const char *what, const Decl *decl, const char *name,
                     const Expr *value)
{
    const char *full = arena_printf(machine->arena, "%s_%s", what, name);
    machine_add_hook(machine, owner, what, lower_value_routine(machine, ROUTINE_HOOK, full, decl, value));
}

/* Defaults of parameters and fields: the runtime needs them when it decodes JSON. */
static void lower_defaults(Machine *machine, const char *owner, const Field *fields)
{
    for (const Field *f = fields; f; f = f->next) {
        if (f->value)
            add_hook(machine, f->value, "default", NULL, arena_printf(machine->arena, "%s_%s", owner, f->name.text),
                     f->value);
    }
}

/* The argv of an exec tool and what stands behind it, under the names of TfyTool's members. */
static void lower_exec(Machine *machine, const Decl *decl)
{
    static const char *const options[][2] = {{"stdin", "input"}, {"cwd", "cwd"}, {"env", "env"}};
    add_hook(machine, decl, "argv", decl, decl->name.text, decl->provider_value);
    for (const ProviderOption *option = decl->options; option; option = option->next)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (strcmp(option->name.text, options[i][0]) == 0)
                add_hook(machine, decl, options[i][1], decl, decl->name.text, option->value);
}

static void lower_prompt(Machine *machine, const Decl *decl)
{
    static const char *const rows[] = {"model", "system", "user"};
    for (const PromptRow *row = decl->rows; row; row = row->next)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strcmp(row->name.text, rows[i]) == 0)
                add_hook(machine, decl, rows[i], decl, decl->name.text, row->value);
}

static void lower_const_decl(Machine *machine, const Decl *decl)
{
    Lower l = {.machine = machine, .arena = machine->arena};
    if (!lower_folds(&l, decl)) lower_value_routine(machine, ROUTINE_CONST, decl->name.text, decl, decl->value);
}

static void lower_decl(Machine *machine, const Decl *decl)
{
    const char *name = decl->name.text;
    switch (decl->kind) {
    case DECL_CONST: lower_const_decl(machine, decl); return;
    case DECL_TYPE:
    case DECL_ERROR: lower_defaults(machine, name, decl->params); return;
    case DECL_ENUM:
        for (const EnumCase *c = decl->cases; c; c = c->next)
            lower_defaults(machine, arena_printf(machine->arena, "%s_%s", name, c->name.text), c->fields);
        return;
    case DECL_TOOL:
        lower_defaults(machine, name, decl->params);
        if (decl->provider == PROV_EXEC) lower_exec(machine, decl);
        return;
    case DECL_PROMPT:
        lower_defaults(machine, name, decl->params);
        lower_prompt(machine, decl);
        return;
    case DECL_FN: lower_body(machine, ROUTINE_FN, decl); return;
    case DECL_WORKFLOW:
        lower_defaults(machine, name, decl->params);
        lower_body(machine, ROUTINE_WORKFLOW, decl);
        return;
    default: return;
    }
}

Machine *lower_program(const Program *program, Arena *arena)
{
    Machine *machine = arena_new(arena, Machine);
    machine->program = program;
    machine->arena = arena;
    for (uint32_t i = 0; i < program->decl_count; i++) lower_decl(machine, program->decls[i]);
    return machine;
}
