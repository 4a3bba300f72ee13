/* check_stmt.c: statements and bodies. Every statement says whether control can reach what is after it; that
 * gives unreachable code and missing returns, and the code generator needs it too. */
#include "check_internal.h"

/* ---- scopes and variables ---- */

uint32_t check_scope_enter(Check *c)
{
    return c->undo_count;
}

void check_scope_leave(Check *c, uint32_t mark)
{
    CHECK(mark <= c->undo_count);
    while (c->undo_count > mark) {
        const LocalUndo *undo = &c->undo[--c->undo_count];
        name_table_put(c, &c->locals, undo->name, undo->before);
    }
}

/* Locals may be named like things that are only ever called (let plan = yield plan(goal)), but not like values and
 * types. */
static void refuse_shadowing(Check *c, Name name)
{
    const Variable *before = name_table_get(&c->locals, name.text);
    Diag *diag;
    if (c->body->decl->made_for) return; /* parameters of what is offered have names of their own */
    if (before) {
        diag = diag_error(c->diags, name.span, "'%s' is already declared", name.text);
        diag_other(c->diags, diag, before->span, "declared here");
        return;
    }
    const Decl *decl = check_find_decl(c, name.text);
    if (!decl) return;
    switch (decl->kind) {
    case DECL_CONST:
    case DECL_TYPE:
    case DECL_ENUM:
    case DECL_ERROR:
    case DECL_IMPORT: break;
    default: return;
    }
    diag = diag_error(c->diags, name.span, "'%s' is already the name of %s", name.text, decl_kind_word(decl->kind));
    diag_other(c->diags, diag, decl->name.span, "declared here");
}

static void bind_local(Check *c, Variable *variable)
{
    c->undo = arena_grow(c->arena, c->undo, &c->undo_cap, c->undo_count + 1, sizeof *c->undo);
    c->undo[c->undo_count++] = (LocalUndo){variable->name, name_table_get(&c->locals, variable->name)};
    name_table_put(c, &c->locals, variable->name, variable);
}

Variable *check_add_variable(Check *c, Name name, const Type *type, bool is_mutable)
{
    Variable *variable = arena_new(c->arena, Variable);
    Body *body = c->body;
    if (!name.text) name.text = "_";
    *variable =
        (Variable){.name = name.text, .type = type, .span = name.span, .mutable = is_mutable, .role = "variable"};
    variable->id = body->decl->variable_count++;
    LIST_APPEND(&body->variables, variable, next);
    body->decl->variables = body->variables.first;
    if (strcmp(name.text, "_") != 0) {
        refuse_shadowing(c, name);
        bind_local(c, variable);
    }
    return variable;
}

Variable *check_add_parameter(Check *c, Name name, const Type *type)
{
    Variable *variable = check_add_variable(c, name, type, false);
    variable->role = "parameter";
    return variable;
}

void check_params(Check *c, Decl *decl)
{
    uint32_t index = 0;
    for (Field *f = decl->params; f; f = f->next, index++) {
        Name name = f->name;
        /* a parameter declared twice was reported with the signature */
        if (name_table_get(&c->locals, name.text)) name.text = "_";
        f->variable = check_add_parameter(c, name, f->type ? f->type : c->core->bad);
        f->variable->param = true;
        if (f->type_expr && f->type_expr->kind == TYX_FUNCTION && decl->generic) f->variable->written = f->type_expr;
        CHECK(f->variable->id == index); /* parameters come first */
    }
}

/* ---- let, var, assignment ---- */

static const Type *check_initial_value(Check *c, Stmt *s)
{
    if (s->type_expr) {
        const Type *want = check_type_expr(c, s->type_expr);
        check_expr_to(c, s->value, want, (Why){"annotated here", s->type_expr->span});
        return want;
    }
    const Type *type = check_expr(c, s->value, NULL);
    if (type->kind != TYPE_NULL) return type;
    Diag *diag = diag_error(c->diags, s->value->span, "the type of '%s' is not known", s->name.text);
    diag_hint(c->diags, diag, "annotate it: %s: T? = null", s->name.text);
    return c->core->bad;
}

/* The undo of a step reads its answer under the name that the step declares. */
static bool is_used_by_undo(const Expr *value)
{
    for (const Policy *policy = value->kind == EX_YIELD ? value->policies : NULL; policy; policy = policy->next)
        if (policy->closure && policy->closure->answer && policy->closure->answer->used) return true;
    return false;
}

static bool check_let(Check *c, Stmt *s)
{
    c->let_name = s->name;
    c->let_value = s->value;
    const Type *type = check_initial_value(c, s);
    c->let_name = (Name){0};
    s->variable = check_add_variable(c, s->name, type, s->kind == ST_VAR);
    s->variable->used = is_used_by_undo(s->value);
    return true;
}

/* The name an assignment's target starts with. */
static Expr *root_of(Expr *target)
{
    while (target->kind == EX_FIELD || target->kind == EX_INDEX || target->kind == EX_PAREN) target = target->left;
    return target;
}

/* "let" before the name becomes "var", where one blank is between them. */
static void fix_declaration(Check *c, Diag *diag, const Variable *variable)
{
    const Source *source = source_of(c->program->sources, variable->span.off);
    if (variable->span.off - source->base < 4) return;
    Span word = {variable->span.off - 4, 3};
    if (memcmp(source_text(c->program->sources, word), "let ", 4) == 0) diag_fix(diag, word, "var");
}

static void report_immutable(Check *c, const Expr *root)
{
    const Variable *variable = root->variable;
    Diag *diag;
    if (variable->param) {
        diag = diag_error(c->diags, root->span, "'%s' is a parameter and cannot be assigned", variable->name);
        diag_hint(c->diags, diag, "copy it: var name = %s", variable->name);
    } else {
        diag = diag_error(c->diags, root->span, "'%s' cannot be assigned", variable->name);
        diag_hint(c->diags, diag, "only a 'var' changes: declare it with var, or copy it into one");
        fix_declaration(c, diag, variable);
    }
    diag_other(c->diags, diag, variable->span, "declared here");
}

/* Every step of the path must be a record's field or an element of a list or map. */
static bool check_target_steps(Check *c, const Expr *target)
{
    for (; target->kind == EX_FIELD || target->kind == EX_INDEX; target = target->left) {
        if (target->optional) {
            Diag *diag = diag_error(c->diags, target->name.span, "nothing is assigned through '?.'");
            diag_hint(c->diags, diag, "test it first: if value != null { … }");
            return false;
        }
        const Type *inside = target->left->type;
        if (!inside || inside->kind == TYPE_BAD) return false;
        if (inside->kind == TYPE_RECORD || inside->kind == TYPE_LIST || inside->kind == TYPE_MAP) continue;
        diag_error(c->diags, target->span, "a part of %s cannot be assigned", inside->name);
        return false;
    }
    return true;
}

static const Type *check_target(Check *c, Expr *target)
{
    Expr *root = root_of(target);
    if (root->kind != EX_NAME) {
        if (root->kind != EX_BAD) diag_error(c->diags, target->span, "only a 'var' and its parts can be assigned");
        return c->core->bad;
    }
    if (check_expr(c, target, NULL)->kind == TYPE_BAD) return c->core->bad;
    flow_widen(target);
    if (!root->variable) {
        if (root->decl)
            diag_error(c->diags, root->span, "'%s' is a constant and cannot be assigned", root->name.text);
        else
            diag_error(c->diags, target->span, "another file's constant cannot be assigned");
        return c->core->bad;
    }
    if (check_refuse_outside(c, root)) return c->core->bad;
    if (!root->variable->mutable) {
        report_immutable(c, root);
        return c->core->bad;
    }
    return check_target_steps(c, target) ? target->type : c->core->bad;
}

static void check_op_assign(Check *c, Stmt *s, const Type *want)
{
    Expr whole = {.kind = EX_BINARY, .op = s->op, .span = s->span, .op_span = s->span};
    check_expr(c, s->value, NULL);
    if (want->kind == TYPE_BAD) return;
    const Type *got = check_binary_type(c, &whole, s->target, s->value);
    if (got->kind != TYPE_BAD && got != want)
        diag_error(c->diags, s->value->span, "this would make %s of %s", got->name, want->name);
}

/* To assign a variable or a part of it is not to read it. */
static const Type *check_assigned(Check *c, Expr *target)
{
    const Expr *root = root_of(target);
    Variable *variable = root->kind == EX_NAME ? name_table_get(&c->locals, root->name.text) : NULL;
    const bool used = variable && variable->used;
    const Type *want = check_target(c, target);
    if (!variable) return want;
    variable->used = used;
    variable->assigned = true;
    return want;
}

static bool check_assign(Check *c, Stmt *s)
{
    const Type *want = check_assigned(c, s->target);
    if (s->op == OP_NONE) {
        Why why = {NULL, s->span};
        const Expr *root = root_of(s->target);
        if (root == s->target && root->variable) why = (Why){"declared here", root->variable->span};
        check_expr_to(c, s->value, want, why);
    } else {
        check_op_assign(c, s, want);
    }
    flow_forget_path(c, s->target);
    return true;
}

/* ---- expressions as statements ---- */

/* Mistake 27: a value that is not used, from a call that does nothing else. */
static void refuse_unused(Check *c, const Expr *e)
{
    const Type *type = e->type;
    if (e->kind != EX_CALL || type->kind == TYPE_BAD || type->kind == TYPE_NOTHING) return;
    Diag *diag = diag_error(c->diags, e->span, "result unused");
    const Expr *receiver = e->call == CALL_METHOD ? expr_strip(e->argv[0]) : NULL;
    const char *name = receiver && receiver->kind == EX_NAME ? receiver->name.text : "x";
    if (receiver && type == receiver->type) {
        diag_hint(c->diags, diag, "values do not change; bind the new one: %s = %s.%s(…)", name, name,
                  e->builtin->name);
        if (receiver->variable && receiver->variable->mutable)
            diag_fix(diag, (Span){e->span.off, 0}, arena_printf(c->arena, "%s = ", name));
    } else {
        diag_hint(c->diags, diag, "this call does nothing but give a value; bind it or remove the line");
    }
}

static bool check_expr_stmt(Check *c, Stmt *s)
{
    c->statement = s->value;
    check_expr_or_nothing(c, s->value, NULL);
    refuse_unused(c, s->value);
    check_unused_result(c, s->value);
    return true;
}

/* ---- if, while, for ---- */

static void check_condition(Check *c, Expr *cond)
{
    check_expr_to(c, cond, c->core->boolean, (Why){0});
}

static bool check_if(Check *c, Stmt *s)
{
    check_condition(c, s->value);
    const Facts *before = c->facts;
    flow_assume(c, s->value, true);
    bool then_falls = check_block(c, s->block);
    const Facts *after_then = c->facts;
    c->facts = before;
    flow_assume(c, s->value, false);
    bool else_falls = s->else_block ? check_block(c, s->else_block) : true;
    if (then_falls && else_falls)
        c->facts = flow_join(c, after_then, c->facts);
    else if (then_falls)
        c->facts = after_then;
    return then_falls || else_falls;
}

static bool is_always_true(const Expr *cond)
{
    while (cond->kind == EX_PAREN) cond = cond->left;
    return cond->kind == EX_BOOL && cond->int_value;
}

static bool check_while(Check *c, Stmt *s)
{
    Loop loop = {.outer = c->body->loop};
    flow_forget_assigned(c, s->block);
    check_condition(c, s->value);
    const Facts *at_head = c->facts;
    flow_assume(c, s->value, true);
    c->body->loop = &loop;
    check_block(c, s->block);
    c->body->loop = loop.outer;
    c->facts = at_head;
    if (is_always_true(s->value)) {
        c->facts = loop.break_facts;
        return loop.has_break;
    }
    flow_assume(c, s->value, false);
    if (loop.has_break) c->facts = flow_join(c, c->facts, loop.break_facts);
    return true;
}

static Range check_int_range(Check *c, Expr *value, Expr *range_end, Name var2)
{
    check_expr_to(c, value, c->core->integer, (Why){0});
    check_expr_to(c, range_end, c->core->integer, (Why){0});
    if (var2.text) diag_error(c->diags, var2.span, "a range gives one value at a time");
    return (Range){c->core->integer, c->core->bad};
}

static void report_no_range(Check *c, const Expr *e)
{
    Diag *diag = diag_error(c->diags, e->span, "'for' needs a list, a map or a range, got %s", e->type->name);
    if (e->type->kind == TYPE_INT) {
        diag_hint(c->diags, diag, "write 0..n");
        diag_fix(diag, (Span){e->span.off, 0}, "0..");
    }
    if (e->type->kind == TYPE_STRING) {
        diag_hint(c->diags, diag, "go through its .lines()");
        check_fix_behind(diag, e, ".lines()");
    }
}

Range check_range(Check *c, Expr *value, Expr *range_end, Name var, Name var2)
{
    const Type *bad = c->core->bad;
    if (range_end) return check_int_range(c, value, range_end, var2);
    const Type *type = check_expr(c, value, NULL);
    switch (type->kind) {
    case TYPE_LIST: return var2.text ? (Range){c->core->integer, type->elem} : (Range){type->elem, NULL};
    case TYPE_MAP:
        if (var2.text) return (Range){type->key, type->elem};
        Diag *diag = diag_error(c->diags, var.span, "a map gives a key and a value");
        diag_hint(c->diags, diag, "write for %s, value in …", var.text);
        diag_fix(diag, (Span){var.span.off + var.span.len, 0}, ", value");
        break;
    case TYPE_BAD: break;
    case TYPE_OPTIONAL: check_null_error(c, value); break;
    default: report_no_range(c, value);
    }
    return (Range){bad, bad};
}

Variable *check_add_loop_variable(Check *c, Name name, const Type *type)
{
    Variable *variable = check_add_variable(c, name, type, false);
    variable->role = "loop variable";
    return variable;
}

static bool check_for(Check *c, Stmt *s)
{
    Loop loop = {.outer = c->body->loop};
    Range range = check_range(c, s->value, s->range_end, s->var, s->var2);
    flow_forget_assigned(c, s->block);
    const Facts *at_head = c->facts;
    uint32_t scope = check_scope_enter(c);
    s->variable = check_add_loop_variable(c, s->var, range.first);
    if (s->var2.text) s->variable2 = check_add_loop_variable(c, s->var2, range.second);
    c->body->loop = &loop;
    check_block_in_scope(c, s->block);
    c->body->loop = loop.outer;
    check_scope_leave(c, scope);
    c->facts = loop.has_break ? flow_join(c, at_head, loop.break_facts) : at_head;
    return true;
}

/* ---- leaving ---- */

static void refuse_leaving_finally(Check *c, const Stmt *s, const char *word)
{
    Diag *diag = diag_error(c->diags, s->keyword.len ? s->keyword : s->span, "'%s' may not leave 'finally'", word);
    diag_other(c->diags, diag, c->body->finally_of->finally->span, "the finally block");
}

/* A refused way out ends nothing, and the code after it gives no further errors. Returns that control continues. */
static bool excuse_rest(Check *c)
{
    c->body->incomplete = true;
    return true;
}

static bool check_jump(Check *c, Stmt *s)
{
    const char *word = s->kind == ST_BREAK ? "break" : "continue";
    Loop *loop = c->body->loop;
    if (!loop) {
        if (check_refuse_leaving(c, s, word)) return excuse_rest(c);
        if (c->body->finally_of)
            refuse_leaving_finally(c, s, word);
        else
            diag_error(c->diags, s->span, "'%s' outside a loop", word);
        return excuse_rest(c);
    }
    if (s->kind == ST_BREAK) {
        loop->break_facts = loop->has_break ? flow_join(c, loop->break_facts, c->facts) : c->facts;
        loop->has_break = true;
    }
    return false;
}

static void check_return_value(Check *c, Stmt *s)
{
    const Type *result = c->body->result;
    const Decl *decl = c->body->decl;
    if (!s->value) {
        if (result->kind == TYPE_NOTHING || result->kind == TYPE_BAD) return;
        Diag *diag =
            diag_error(c->diags, s->span, "'return' needs a value: '%s' gives %s", decl->name.text, result->name);
        if (decl->result) diag_other(c->diags, diag, decl->result->span, "declared here");
    } else if (result->kind == TYPE_NOTHING) {
        if (check_expr_or_nothing(c, s->value, NULL)->kind == TYPE_BAD) return;
        Diag *diag =
            diag_error(c->diags, s->value->span, "'%s' gives no value, so 'return' takes none", decl->name.text);
        if (decl->kind != DECL_TEST && type_has_name(s->value->type)) {
            diag_hint(c->diags, diag, "declare the result: -> %s", s->value->type->name);
            if (!decl->has_fails && decl->block)
                diag_fix(diag, (Span){decl->block->span.off, 0},
                         arena_printf(c->arena, "-> %s ", s->value->type->name));
        }
    } else {
        check_expr_to(c, s->value, result,
                      (Why){"the result is declared here", decl->result ? decl->result->span : decl->span});
    }
}

static bool check_return(Check *c, Stmt *s)
{
    if (check_refuse_leaving(c, s, "return")) {
        if (s->value) check_expr_or_nothing(c, s->value, NULL);
        return excuse_rest(c);
    }
    check_return_value(c, s);
    if (!c->body->finally_of) return false;
    refuse_leaving_finally(c, s, "return");
    return excuse_rest(c);
}

static Clause *clause_of(const Body *body, const Expr *e)
{
    while (e->kind == EX_PAREN) e = e->left;
    if (e->kind != EX_NAME) return NULL;
    for (const CatchVariable *v = body->catch_variables; v; v = v->next) {
        if (v->variable == e->variable) return v->clause;
    }
    return NULL;
}

static void note_failure(Check *c, const Stmt *s)
{
    const Type *type = s->value->type;
    ErrorSource *source = errors_note(c, s->span);
    source->again = type->kind == TYPE_ANY_ERROR ? clause_of(c->body, s->value) : NULL;
    source->type = source->again ? NULL : type;
}

static bool check_fail(Check *c, Stmt *s)
{
    Diag *diag;
    if (c->body->kind != BODY_WORKFLOW) {
        diag = diag_error(c->diags, s->span, "a fn cannot fail; make it a workflow, or return a T?");
        diag_other(c->diags, diag, c->body->decl->name.span, "'%s' is a fn", c->body->decl->name.text);
        return false;
    }
    c->allow_any_error = true;
    const Type *type = check_expr(c, s->value, NULL);
    c->allow_any_error = false;
    if (type->kind == TYPE_ERROR || type->kind == TYPE_ANY_ERROR) {
        note_failure(c, s);
    } else if (type->kind != TYPE_BAD) {
        diag = diag_error(c->diags, s->value->span, "'fail' needs an error, got %s", type->name);
        diag_hint(c->diags, diag, "declare one (error NotFound { … }) and write fail NotFound(\"…\")");
    }
    return false;
}

/* ---- try ---- */

static void check_catch_twice(Check *c, const Catch *catches, const Catch *this, const CatchName *name)
{
    for (const Catch *k = catches; k != this; k = k->next) {
        for (const CatchName *n = k->names; n; n = n->next) {
            if (n->type != name->type || name->type->kind == TYPE_BAD) continue;
            Diag *diag = diag_error(c->diags, name->name.span, "'%s' is caught already", name->name.text);
            diag_other(c->diags, diag, n->name.span, "by this catch");
            return;
        }
    }
}

static const Type *check_catch_names(Check *c, const Catch *catches, Catch *k)
{
    const Type *type = NULL;
    for (CatchName *name = k->names; name; name = name->next) {
        name->type = check_error_name(c, name);
        check_catch_twice(c, catches, k, name);
        type = type && type != name->type ? c->core->any_error : name->type;
    }
    return type ? type : c->core->any_error;
}

/* Opens the scope of what the block's errors meet; clauses in the order of the catches. */
static TryScope *open_try(Check *c, Stmt *s)
{
    TryScope *scope = arena_new(c->arena, TryScope);
    LIST(Clause) clauses = {0};
    scope->parent = c->body->scope;
    for (Catch *k = s->catches; k; k = k->next) {
        Clause *clause = arena_new(c->arena, Clause);
        clause->catch = k;
        LIST_APPEND(&clauses, clause, next);
    }
    scope->clauses = clauses.first;
    return scope;
}

static void report_no_field(Check *c, const Type *error, Name field)
{
    const char **names = arena_alloc(c->arena, (error->field_count + 1) * sizeof *names);
    for (uint32_t i = 0; i < error->field_count; i++) names[i] = error->fields[i].name;
    const char *near = diag_nearest(field.text, strlen(field.text), names, error->field_count);
    Diag *diag =
        diag_error(c->diags, field.span, near ? "%s has no field '%s'; did you mean '%s'?" : "%s has no field '%s'",
                   error->name, field.text, near);
    if (near)
        diag_replace(diag, near);
    else
        check_hint_fields(c, diag, error);
    if (error->decl) diag_other(c->diags, diag, error->decl->name.span, "declared here");
}

/* The error itself has no name then; the variable that holds it is a hidden one. */
static void check_catch_fields(Check *c, const Catch *k, const Type *error)
{
    for (CatchField *f = k->fields; f; f = f->next) {
        int index = error->kind == TYPE_ERROR && f->field.text
                        ? type_find_field(error->fields, error->field_count, f->field.text)
                        : -1;
        if (error->kind == TYPE_ERROR && f->field.text && index < 0) report_no_field(c, error, f->field);
        f->error = index < 0 ? NULL : error;
        f->index = index < 0 ? 0 : (uint32_t)index;
        f->variable = check_add_variable(c, f->var, index < 0 ? c->core->bad : error->fields[index].type, false);
        f->variable->role = "field";
    }
}

static bool check_catch(Check *c, const Stmt *s, Catch *k, Clause *clause)
{
    uint32_t scope = check_scope_enter(c);
    const Type *type = check_catch_names(c, s->catches, k);
    k->variable = check_add_variable(c, k->var, type, false);
    k->variable->role = "error";
    check_catch_fields(c, k, type);
    CatchVariable *bound = arena_new(c->arena, CatchVariable);
    *bound = (CatchVariable){k->variable, clause, c->body->catch_variables};
    c->body->catch_variables = bound;
    bool falls = check_block_in_scope(c, k->block);
    c->body->catch_variables = bound->next;
    check_scope_leave(c, scope);
    return falls;
}

static void check_catch_order(Check *c, const Stmt *s)
{
    for (const Catch *k = s->catches; k && k->next; k = k->next) {
        if (k->names) continue;
        Diag *diag = diag_error(c->diags, k->next->span, "this catch is never reached");
        diag_other(c->diags, diag, k->span, "this one takes every error");
        return;
    }
}

static bool check_finally(Check *c, Stmt *s)
{
    Body *body = c->body;
    const Stmt *outer = body->finally_of;
    Loop *loop = body->loop;
    body->finally_of = s;
    body->loop = NULL;
    bool falls = check_block(c, s->finally);
    body->finally_of = outer;
    body->loop = loop;
    return falls;
}

/* Errors leave the block at any point, so a catch knows only what the block does not assign. */
static bool check_try(Check *c, Stmt *s)
{
    if (c->body->kind != BODY_WORKFLOW) {
        diag_error(c->diags, s->keyword.len ? s->keyword : s->span,
                   "nothing in a fn can fail, so 'try' has nothing to do here");
        return excuse_rest(c);
    }
    if (!s->catches && !s->finally) diag_error(c->diags, s->keyword, "'try' needs a 'catch' or a 'finally'");
    check_catch_order(c, s);
    const Facts *before = c->facts;
    c->body->scope = open_try(c, s);
    Clause *clause = c->body->scope->clauses;
    uint32_t undo_seen = c->body->undo_seen;
    bool falls = check_block(c, s->block);
    s->undoes = c->body->undo_seen > undo_seen;
    c->body->scope = c->body->scope->parent;
    const Facts *after = c->facts;
    c->facts = before;
    flow_forget_assigned(c, s->block);
    const Facts *in_catch = c->facts;
    for (Catch *k = s->catches; k; k = k->next, clause = clause->next) {
        c->facts = in_catch;
        CHECK(clause->catch == k);
        if (!check_catch(c, s, k, clause)) continue;
        after = falls ? flow_join(c, after, c->facts) : c->facts;
        falls = true;
    }
    if (!s->finally) {
        c->facts = after;
        return falls;
    }
    c->facts = in_catch;
    for (Catch *k = s->catches; k; k = k->next) flow_forget_assigned(c, k->block);
    bool finally_falls = check_finally(c, s);
    c->facts = after;
    flow_forget_assigned(c, s->finally);
    return falls && finally_falls;
}

/* ---- dispatch ---- */

static bool check_plain_yield(Check *c, Stmt *s)
{
    if (c->body->kind == BODY_FN) {
        Diag *diag = diag_error(c->diags, s->span, "'yield' in a fn; make it a workflow");
        diag_other(c->diags, diag, c->body->decl->name.span, "'%s' is a fn", c->body->decl->name.text);
    }
    check_label(c, s->label);
    return true;
}

static bool check_stmt(Check *c, Stmt *s)
{
    c->at = s->span;
    c->place.off = s->span.off;
    switch (s->kind) {
    case ST_BAD: return true;
    case ST_LET:
    case ST_VAR: return check_let(c, s);
    case ST_ASSIGN: return check_assign(c, s);
    case ST_EXPR: return check_expr_stmt(c, s);
    case ST_YIELD: return check_plain_yield(c, s);
    case ST_IF: return check_if(c, s);
    case ST_WHILE: return check_while(c, s);
    case ST_FOR: return check_for(c, s);
    case ST_MATCH: return check_match(c, s);
    case ST_RETURN: return check_return(c, s);
    case ST_FAIL: return check_fail(c, s);
    case ST_BREAK:
    case ST_CONTINUE: return check_jump(c, s);
    case ST_TRY: return check_try(c, s);
    case ST_ASSERT:
        check_condition(c, s->value);
        flow_assume(c, s->value, true); /* nothing continues behind one that failed */
        return true;
    case ST_GIVE: return check_give(c, s);
    case ST_WITH: return check_with(c, s);
    case ST_MOCK: check_mock(c, s); return true;
    }
    return true;
}

static void report_unreachable(Check *c, const Stmt *s, const Stmt *end)
{
    if (s->kind == ST_BAD) return;
    Diag *diag = diag_error(c->diags, s->keyword.len ? s->keyword : s->span, "unreachable; control never gets here");
    diag_other(c->diags, diag, end->keyword.len ? end->keyword : end->span, "because of this");
}

bool check_block_in_scope(Check *c, Block *block)
{
    const Stmt *end = NULL;
    for (Stmt *s = block ? block->stmts : NULL; s; s = s->next) {
        s->falls_through = check_stmt(c, s);
        if (!s->falls_through && !end) {
            end = s;
            if (s->next) report_unreachable(c, s->next, s);
        }
    }
    return !end;
}

bool check_block(Check *c, Block *block)
{
    uint32_t scope = check_scope_enter(c);
    bool falls = check_block_in_scope(c, block);
    check_scope_leave(c, scope);
    return falls;
}

/* ---- bodies ---- */

static void report_missing_return(Check *c, const Decl *decl)
{
    Span brace = decl->name.span;
    if (decl->block->span.len) brace = (Span){decl->block->span.off + decl->block->span.len - 1, 1};
    Diag *diag = diag_error(c->diags, brace, "missing return: '%s' can end without a value of type %s", decl->name.text,
                            decl->type->name);
    if (decl->result) diag_other(c->diags, diag, decl->result->span, "the result is declared here");
}

void check_body(Check *c, Decl *decl)
{
    Body body = {.kind = decl->kind == DECL_FN ? BODY_FN : BODY_WORKFLOW, .decl = decl, .result = decl->type};
    if (!decl->block) return;
    CHECK(!c->body); /* bodies do not nest */
    if (decl->kind == DECL_WORKFLOW) body.errors = name_table_get(&c->workflows, decl->name.text);
    if (decl->kind == DECL_TEST) body.errors = errors_register(c, decl);
    c->body = &body;
    c->facts = NULL;
    c->bindings = generic_bindings(decl);
    const uint32_t errors = c->diags->errors;
    uint32_t scope = check_scope_enter(c);
    check_params(c, decl);
    generic_bind_functions(c, decl);
    bool falls = check_block_in_scope(c, decl->block);
    check_scope_leave(c, scope);
    CHECK(!body.loop && !body.closure && !body.scope && !body.catch_variables && !body.inline_depth);
    decl->undoes = body.undo_seen > 0;
    if (falls && !body.incomplete && decl->type->kind != TYPE_NOTHING &&
        (decl->type->kind != TYPE_BAD || decl->generic))
        report_missing_return(c, decl);
    decl->broken = c->diags->errors != errors;
    c->body = NULL;
    c->bindings = NULL;
}
