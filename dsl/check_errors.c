/* check_errors.c: what can fail, for the whole program.
 *
 * While bodies are walked, every fail and every call of a workflow is noted with the try blocks around it.
 * Afterwards the least sets are found that satisfy all notes: each workflow starts empty, is evaluated, and is
 * evaluated again whenever something it calls has grown. A workflow with `fails` has the set it declares, and is
 * checked against it at the end. */
#include "check_internal.h"

/* ---- sets ---- */

static const ErrorSet empty_set;

const ErrorSet *errors_empty(void)
{
    return &empty_set;
}

bool errors_has(const ErrorSet *set, const Type *type)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->types[i] == type) return true;
    }
    return false;
}

const ErrorSet *errors_add(Check *c, const ErrorSet *set, const Type *type)
{
    if (errors_has(set, type)) return set;
    ErrorSet *grown = arena_new(c->arena, ErrorSet);
    grown->types = arena_alloc(c->arena, (set->count + 1) * sizeof *grown->types);
    uint32_t at = 0;
    while (at < set->count && set->types[at]->id < type->id) at++;
    CHECK(at == set->count || set->types[at]->id > type->id); /* sorted, each once */
    for (uint32_t i = 0; i < set->count; i++) grown->types[i + (i >= at)] = set->types[i];
    grown->types[at] = type;
    grown->count = set->count + 1;
    return grown;
}

/* Declared errors and Denied; the others are always possible and never listed. */
bool errors_is_checked(const Check *c, const Type *type)
{
    return type->kind == TYPE_ERROR && (type->decl || type == c->core->denied);
}

/* ---- names of errors ---- */

const Type *check_error_name(Check *c, CatchName *name)
{
    const char *text = name->name.text;
    if (!text) return c->core->bad;
    bool qualified = name->module.text != NULL;
    Decl *decl = qualified ? check_find_qualified(c, name->module, name->name, NAME_ERROR) : check_find_decl(c, text);
    if (qualified && !decl) return c->core->bad;
    if (decl && decl->kind == DECL_ERROR) {
        name->decl = decl;
        return decl->type ? decl->type : c->core->bad;
    }
    const Type *type = qualified ? NULL : type_core_named(c, text);
    if (type && type->kind == TYPE_ERROR) return type;
    if (decl || type) {
        Diag *diag = diag_error(c->diags, name->name.span, "'%s' is %s, not an error", text,
                                decl ? decl_kind_word(decl->kind) : "a built-in type");
        if (decl) diag_other(c->diags, diag, decl->name.span, "declared here");
        return c->core->bad;
    }
    const char *near = check_nearest_name(c, text, NAME_ERROR);
    if (near)
        diag_replace(diag_error(c->diags, name->name.span, "unknown error '%s'; did you mean '%s'?", text, near), near);
    else
        diag_error(c->diags, name->name.span, "unknown error '%s'", text);
    return c->core->bad;
}

/* ---- notes ---- */

ErrorSource *errors_note(Check *c, Span span)
{
    ErrorSource *source = arena_new(c->arena, ErrorSource);
    WorkflowErrors *errors = c->body->errors;
    source->span = span;
    source->scope = c->body->scope;
    if (!errors) return source; /* a call in a place that was refused already */
    LIST_APPEND(errors, source, next);
    return source;
}

WorkflowErrors *errors_register(Check *c, Decl *decl)
{
    WorkflowErrors *errors = arena_new(c->arena, WorkflowErrors);
    errors->decl = decl;
    LIST_APPEND(&c->declared, errors, next_declared);
    return errors;
}

/* ---- evaluating one workflow ---- */

typedef struct Escape {
    const ErrorSet *set; /* what gets out of the workflow */
    /* NULL, or the declared set: the first escape outside it is kept below */
    const ErrorSet *expected;
    const Type *surplus;
    Span surplus_span;
} Escape;

static bool takes(const Clause *clause, const Type *type)
{
    if (!clause->catch->names) return true;
    for (const CatchName *n = clause->catch->names; n; n = n->next) {
        if (n->type == type) return true;
    }
    return false;
}

/* One error on its way out: the innermost catch that takes it ends the way. */
static void send(Check *c, Escape *escape, const Type *type, const ErrorSource *source)
{
    for (TryScope *scope = source->scope; scope; scope = scope->parent) {
        for (Clause *clause = scope->clauses; clause; clause = clause->next) {
            if (!takes(clause, type)) continue;
            clause->caught = errors_add(c, clause->caught, type);
            return;
        }
    }
    escape->set = errors_add(c, escape->set, type);
    if (escape->expected && !escape->surplus && !errors_has(escape->expected, type)) {
        escape->surplus = type;
        escape->surplus_span = source->span;
    }
}

static void send_all(Check *c, Escape *escape, const ErrorSet *set, const ErrorSource *source)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (source->only_denied && set->types[i] != c->core->denied) continue;
        send(c, escape, set->types[i], source);
    }
}

static void clear_clauses(const WorkflowErrors *errors)
{
    for (const ErrorSource *source = errors->first; source; source = source->next) {
        for (const TryScope *scope = source->scope; scope; scope = scope->parent) {
            for (Clause *clause = scope->clauses; clause; clause = clause->next) clause->caught = &empty_set;
        }
        if (source->again) source->again->caught = &empty_set;
    }
}

/* Notes are in source order, so what a catch took is complete before its own block fails with it again. */
static void evaluate(Check *c, const WorkflowErrors *errors, Escape *escape)
{
    clear_clauses(errors);
    for (const ErrorSource *source = errors->first; source; source = source->next) {
        CHECK((source->callee != NULL) + (source->again != NULL) + (source->type != NULL) == 1);
        if (source->callee)
            send_all(c, escape, source->callee->errors ? source->callee->errors : &empty_set, source);
        else if (source->again)
            send_all(c, escape, source->again->caught, source);
        else if (source->type && errors_is_checked(c, source->type))
            send(c, escape, source->type, source);
    }
}

/* ---- the fixpoint ---- */

typedef LIST(WorkflowErrors) Queue;

static void enqueue(Queue *queue, WorkflowErrors *errors)
{
    if (errors->queued) return;
    errors->queued = true;
    LIST_APPEND(queue, errors, next);
}

static void link_callers(Check *c, WorkflowErrors *errors)
{
    for (const ErrorSource *source = errors->first; source; source = source->next) {
        WorkflowErrors *callee = source->callee ? name_table_get(&c->workflows, source->callee->full_name) : NULL;
        if (!callee || (callee->callers && callee->callers->caller == errors)) continue;
        CallerLink *link = arena_new(c->arena, CallerLink);
        *link = (CallerLink){errors, callee->callers};
        callee->callers = link;
    }
}

static void settle(Check *c, Queue *queue)
{
    for (WorkflowErrors *errors; (errors = LIST_TAKE(queue, next));) {
        errors->queued = false;
        Escape escape = {.set = &empty_set};
        if (errors->decl->has_fails) continue;
        evaluate(c, errors, &escape);
        if (escape.set->count == errors->decl->errors->count) continue;
        CHECK(escape.set->count > errors->decl->errors->count); /* sets only grow, or this would never end */
        errors->decl->errors = escape.set;
        for (CallerLink *link = errors->callers; link; link = link->next) enqueue(queue, link->caller);
    }
}

/* ---- the end ---- */

static Span span_of_fails(const Decl *decl)
{
    Span span = decl->name.span;
    if (decl->fails) span = decl->fails->name.span;
    for (const CatchName *n = decl->fails; n; n = n->next) span = span_join(span, n->name.span);
    return span;
}

static const char *text_of_fails(Check *c, const Decl *decl)
{
    const char *text = "";
    uint32_t count = 0;
    for (const CatchName *n = decl->fails; n && n->name.text; n = n->next) {
        if (++count > 4) return arena_printf(c->arena, "%s, …", text);
        text = arena_printf(c->arena, "%s%s%s%s%s", text, *text ? ", " : "", n->module.text ? n->module.text : "",
                            n->module.text ? "." : "", n->name.text);
    }
    return text;
}

/* Mistake 24. */
static void check_declared(Check *c, const WorkflowErrors *errors)
{
    const Decl *decl = errors->decl;
    Escape escape = {.set = &empty_set, .expected = decl->errors};
    evaluate(c, errors, &escape);
    if (!escape.surplus) return;
    Diag *diag = diag_error(c->diags, span_of_fails(decl), "'fails %s' but %s escapes; catch it or add it",
                            text_of_fails(c, decl), escape.surplus->name);
    diag_other(c->diags, diag, escape.surplus_span, "%s escapes from here", escape.surplus->name);
}

static void annotate_yields(Check *c, const WorkflowErrors *errors)
{
    for (const ErrorSource *source = errors->first; source; source = source->next) {
        if (!source->yield || !source->callee->errors) continue;
        const ErrorSet *set = source->callee->errors;
        if (source->only_denied)
            set = errors_has(set, c->core->denied) ? errors_add(c, &empty_set, c->core->denied) : &empty_set;
        bool asks = errors_has(source->yield->errors, c->core->denied); /* it has the policy `approve` */
        source->yield->errors = asks ? errors_add(c, set, c->core->denied) : set;
    }
}

void errors_solve(Check *c)
{
    Queue queue = {0};
    for (WorkflowErrors *errors = c->declared.first; errors; errors = errors->next_declared) {
        link_callers(c, errors);
        enqueue(&queue, errors);
    }
    settle(c, &queue);
    for (WorkflowErrors *errors = c->declared.first; errors; errors = errors->next_declared) {
        annotate_yields(c, errors);
        if (errors->decl->has_fails) check_declared(c, errors);
    }
}
