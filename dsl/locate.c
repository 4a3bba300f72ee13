/* locate.c: one walk over the declaration that holds the place. Every name it passes is offered; the smallest that
 * holds the offset wins, so nothing depends on how exactly the spans of larger nodes fit around their parts. */
#include "locate.h"

#include "agent.h"

#include <string.h>

#include "bug.h"

typedef struct Walk {
    const Program *program;
    uint32_t off;
    /* the file that holds the place: names mean what they mean there */
    const Module *module;
    const Decl *decl; /* that is walked */
    Located best;
    /* locate_receiver */
    const Expr *dotted; /* the innermost EX_FIELD whose name holds the offset */
    const Stmt *mocked; /* the ST_MOCK whose name behind the dot holds it */
    /* locate_scope */
    LocateFound *found; /* NULL: no scope is asked for */
    /* locate_names: every place is passed, whatever the offset; NULL: one place is asked for */
    LocateName *each;
    void *state; /* of found or each */
} Walk;

static bool holds(Span span, uint32_t off)
{
    return off >= span.off && off <= span.off + span.len;
}

/* Is this stretch of the text asked about? */
static bool meets(const Walk *w, Span span)
{
    return w->each || holds(span, w->off);
}

static void offer(Walk *w, Span span, Located found)
{
    if (!span.len || !meets(w, span)) return;
    if (w->each) {
        found.span = span;
        w->each(w->state, &found);
        return;
    }
    if (w->best.kind != LOC_NONE && w->best.span.len < span.len) return;
    found.span = span;
    w->best = found;
}

/* ---- names ---- */

static void offer_variable(Walk *w, Span span, const Variable *variable, const Type *type)
{
    if (!variable || variable->type == w->program->core.bad) return;
    offer(w, span, (Located){.kind = LOC_VARIABLE, .variable = variable, .type = type, .target = variable->span});
}

/* A copy of a generic fn stands for what was written. */
static void offer_called(Walk *w, Span span, const Decl *decl, const char *types)
{
    if (decl->origin) decl = decl->origin;
    offer(w, span, (Located){.kind = LOC_DECL, .decl = decl, .target = decl->name.span, .types = types});
}

static void offer_type_param(Walk *w, Span span, const Binding *param)
{
    offer(w, span, (Located){.kind = LOC_TYPE_PARAM, .decl = w->decl, .type_param = param, .target = param->name.span});
}

/* An import leads to the file it names. */
static void offer_decl(Walk *w, Span span, const Decl *decl)
{
    if (!decl || !decl->name.text || decl->lambda) return;
    if (decl->kind == DECL_WORKFLOW && decl->made_for) decl = decl->made_for; /* the loop of an agent */
    if (decl->kind == DECL_FN) {
        offer_called(w, span, decl, NULL);
        return;
    }
    Span target = decl->name.span;
    if (decl->kind == DECL_IMPORT && decl->imported && decl->imported->source->len)
        target = (Span){decl->imported->source->base, 1};
    offer(w, span, (Located){.kind = LOC_DECL, .decl = decl, .target = target});
}

static void offer_field(Walk *w, Span span, const char *owner, const TypeField *fields, uint32_t count,
                        const char *name)
{
    for (uint32_t i = 0; name && i < count; i++) {
        if (strcmp(fields[i].name, name) != 0 || !fields[i].type) continue;
        offer(w, span,
              (Located){.kind = LOC_FIELD,
                        .owner = owner,
                        .field = &fields[i],
                        .type = fields[i].type,
                        .target = fields[i].span});
        return;
    }
}

static void offer_case(Walk *w, Span span, const Type *type, uint32_t index)
{
    if (!type || index >= type->case_count) return;
    offer(w, span, (Located){.kind = LOC_CASE, .type = type, .case_index = index, .target = type->cases[index].span});
}

static void offer_param(Walk *w, Span span, const Decl *decl, const Field *param)
{
    offer(w, span,
          (Located){.kind = LOC_PARAM, .decl = decl, .param = param, .type = param->type, .target = param->name.span});
}

static void offer_builtin(Walk *w, Span span, const Builtin *builtin, const Type *type)
{
    offer(w, span, (Located){.kind = LOC_BUILTIN, .builtin = builtin, .type = type});
}

static bool is_type_decl(const Decl *decl)
{
    return decl->kind == DECL_TYPE || decl->kind == DECL_ENUM || decl->kind == DECL_ERROR;
}

static const Decl *find_in_module(const Module *module, const char *name)
{
    for (const Decl *decl = name && module ? module->decls : NULL; decl; decl = decl->next)
        if (decl->name.text && strcmp(decl->name.text, name) == 0) return decl;
    return NULL;
}

static const Decl *find_import(const Walk *w, const char *name)
{
    const Decl *decl = find_in_module(w->module, name);
    return decl && decl->kind == DECL_IMPORT ? decl : NULL;
}

static void offer_type(Walk *w, Span span, const Type *type)
{
    if (type && type->decl)
        offer_decl(w, span, type->decl);
    else if (type && (type->fields || type->cases))
        offer(w, span, (Located){.kind = LOC_TYPE, .type = type});
}

static const Type *find_core_type(const Program *program, const char *name)
{
    for (const Type *type = program->types; name && type; type = type->next)
        if (!type->decl && strcmp(type->name, name) == 0) return type;
    return NULL;
}

/* A type, enum or error by its name, declared here, in the module that qualifies it, or built in. */
static void offer_type_name(Walk *w, Name qualifier, Name name)
{
    const Decl *import = qualifier.text ? find_import(w, qualifier.text) : NULL;
    if (import) offer_decl(w, qualifier.span, import);
    if (!name.text || !meets(w, name.span)) return;
    for (const Binding *p = w->decl && !import ? w->decl->type_params : NULL; p; p = p->next) {
        if (!p->name.text || strcmp(p->name.text, name.text) != 0) continue;
        offer_type_param(w, name.span, p);
        return;
    }
    const Decl *decl = find_in_module(import ? import->imported : w->module, name.text);
    if (decl && is_type_decl(decl))
        offer_decl(w, name.span, decl);
    else if (!qualifier.text)
        offer_type(w, name.span, find_core_type(w->program, name.text));
}

/* Answer<T> is a record with a name, as other built-in records are. */
static void offer_answer(Walk *w, const TypeExpr *written)
{
    const char *of = written->args ? written->args->name.text : NULL;
    for (const Type *type = w->program->types; of && type; type = type->next) {
        if (type->kind == TYPE_RECORD && type->elem && strcmp(type->elem->name, of) == 0)
            offer_type(w, written->name.span, type);
    }
}

static void walk_type_expr(Walk *w, const TypeExpr *written)
{
    for (; written; written = written->next) {
        if (written->kind == TYX_GENERIC && written->name.text && strcmp(written->name.text, "Answer") == 0)
            offer_answer(w, written);
        if (written->kind == TYX_NAME) offer_type_name(w, written->qualifier, written->name);
        walk_type_expr(w, written->args);
        walk_type_expr(w, written->result);
    }
}

/* ---- variables ---- */

static void meet(Walk *w, const Variable *variable)
{
    if (w->found && variable && strcmp(variable->name, "_") != 0) w->found(w->state, variable);
}

static void walk_declared(Walk *w, Name name, const Variable *variable)
{
    if (variable) offer_variable(w, name.span, variable, variable->type);
}

/* ---- expressions ---- */

static void walk_block(Walk *w, const Block *block);
static void walk_expr(Walk *w, const Expr *e);

static void offer_arg_name(Walk *w, const Expr *call, Name name)
{
    const Type *type = call->type;
    if (!name.text || !meets(w, name.span)) return;
    if (call->call == CALL_CASE && call->decl && call->decl->type && call->case_index < call->decl->type->case_count) {
        const TypeCase *found = &call->decl->type->cases[call->case_index];
        offer_field(w, name.span, found->name, found->fields, found->field_count, name.text);
    } else if (call->call == CALL_BUILTIN || call->call == CALL_METHOD) {
        for (uint32_t i = 0; i < call->builtin->param_count; i++) {
            const BuiltinParam *param = &call->builtin->params[i];
            if (strcmp(param->name, name.text) == 0)
                offer(w, name.span,
                      (Located){.kind = LOC_BUILTIN_PARAM, .builtin = call->builtin, .builtin_param = param});
        }
    } else if (call->call == CALL_RECORD && type) {
        offer_field(w, name.span, type->name, type->fields, type->field_count, name.text);
    } else if (call->decl) {
        const Decl *decl = call->decl->origin ? call->decl->origin : call->decl;
        for (const Field *f = decl->params; f; f = f->next) {
            if (f->name.text && f->type && strcmp(f->name.text, name.text) == 0) offer_param(w, name.span, decl, f);
        }
    }
}

/* The declaration that an expression names and that is no value. */
static const Decl *named(const Walk *w, const Expr *e)
{
    if (e->kind == EX_NAME) return e->variable ? NULL : find_in_module(w->module, e->name.text);
    const Decl *left = e->kind == EX_FIELD ? named(w, e->left) : NULL;
    if (left && left->kind == DECL_IMPORT) return find_in_module(left->imported, e->name.text);
    return left && left->agent ? agent_member(left, e->name.text) : NULL;
}

/* Left of a '.': the name of an enum, a module or an agent, or several: Verdict, text, text.Verdict, coder.Call. */
static void walk_qualifier(Walk *w, const Expr *left, const Decl *decl)
{
    if (left->kind == EX_FIELD) {
        offer_decl(w, left->name.span, decl);
        walk_qualifier(w, left->left, named(w, left->left));
    } else if (left->kind == EX_NAME) {
        offer_decl(w, left->span, decl);
    }
}

static void walk_args(Walk *w, const Expr *call, const Arg *args)
{
    for (const Arg *arg = args; arg; arg = arg->next) {
        if (call) offer_arg_name(w, call, arg->name);
        walk_expr(w, arg->value);
    }
}

/* The type of what is before the dot; behind `?.` it is not null. */
static const Type *accessed(const Expr *access)
{
    const Type *type = access->left ? access->left->type : NULL;
    return type && access->optional && type->kind == TYPE_OPTIONAL ? type->elem : type;
}

/* The callee is not a value, so the checker says on the call what it is. */
static void walk_callee(Walk *w, const Expr *call)
{
    const Expr *callee = call->left;
    if (!callee) return;
    if (callee->kind == EX_FIELD) {
        if (meets(w, callee->name.span)) w->dotted = callee;
        if (call->call == CALL_METHOD) offer_builtin(w, callee->name.span, call->builtin, accessed(callee));
        if (call->call == CALL_CASE) {
            offer_case(w, callee->name.span, call->decl ? call->decl->type : NULL, call->case_index);
            walk_qualifier(w, callee->left, call->decl);
            return;
        }
        if (call->types)
            offer_called(w, callee->name.span, call->decl, call->types);
        else if (call->call != CALL_METHOD)
            offer_decl(w, callee->name.span, call->decl);
        walk_expr(w, callee->left);
    } else if (callee->kind != EX_NAME || callee->variable) {
        walk_expr(w, callee);
    } else if (call->call == CALL_BUILTIN) {
        offer_builtin(w, callee->span, call->builtin, NULL);
    } else if (call->call == CALL_CALLS) {
        return; /* the argument names what is counted */
    } else if (call->types) {
        offer_called(w, callee->span, call->decl, call->types);
    } else if (call->decl) {
        offer_decl(w, callee->span, call->decl);
    } else {
        offer_type_name(w, (Name){0}, callee->name); /* a built-in record or error made by its name */
    }
}

static void walk_field(Walk *w, const Expr *e)
{
    const Type *inside = accessed(e);
    if (meets(w, e->name.span)) w->dotted = e;
    if (e->call == CALL_CASE) {
        offer_case(w, e->name.span, e->decl ? e->decl->type : e->type, e->case_index);
        if (e->decl)
            walk_qualifier(w, e->left, e->decl);
        else
            offer_type(w, e->left->span, e->type);
        return;
    }
    if (e->decl) offer_decl(w, e->name.span, e->decl); /* a constant of a module */
    if (e->decl && e->decl->made_for) {
        walk_qualifier(w, e->left, e->decl->made_for);
        return;
    }
    if (inside && inside->fields)
        offer_field(w, e->name.span, inside->name, inside->fields, inside->field_count, e->name.text);
    bool known = e->type && e->type->kind != TYPE_BAD;
    if (known && w->best.kind == LOC_FIELD && w->best.span.off == e->name.span.off) w->best.type = e->type;
    walk_expr(w, e->left);
}

/* { name: value } is a record where its type says so. */
static void walk_entries(Walk *w, const Expr *e)
{
    const Type *type = e->type;
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) {
        if (entry->name.text && type && type->fields)
            offer_field(w, entry->name.span, type->name, type->fields, type->field_count, entry->name.text);
        walk_expr(w, entry->key);
        walk_expr(w, entry->value);
    }
}

static void walk_parts(Walk *w, const Expr *parts)
{
    for (; parts; parts = parts->next) {
        if (parts->kind != EX_TEXT) walk_expr(w, parts);
    }
}

/* The bodies' names are the fields of what parallel gives, or the cases of what race gives. */
static void offer_body(Walk *w, const Type *type, Name name)
{
    if (!type || !name.text) return;
    offer_field(w, name.span, type->name, type->fields, type->field_count, name.text);
    for (uint32_t i = 0; i < type->case_count; i++)
        if (strcmp(type->cases[i].name, name.text) == 0) offer_case(w, name.span, type, i);
}

static void walk_concurrent(Walk *w, const Expr *e)
{
    for (const ParallelBody *body = e->bodies; body; body = body->next) {
        offer_body(w, e->type, body->name);
        walk_expr(w, body->yield);
        walk_block(w, body->block);
    }
    if (e->closure) {
        walk_declared(w, e->var, e->closure->first);
        walk_declared(w, e->var2, e->closure->second);
        if (e->block && meets(w, e->block->span)) {
            meet(w, e->closure->first);
            meet(w, e->closure->second);
        }
    }
    walk_expr(w, e->range);
    walk_expr(w, e->range_end);
    walk_expr(w, e->limit);
}

static void walk_error_name(Walk *w, const CatchName *name)
{
    if (name->module.text) offer_decl(w, name->module.span, find_import(w, name->module.text));
    offer_type(w, name->name.span, name->type);
}

static void walk_policies(Walk *w, const Policy *policy)
{
    for (; policy; policy = policy->next) {
        if (policy->value) walk_expr(w, policy->value);
        for (const CatchName *name = policy->errors; name; name = name->next) walk_error_name(w, name);
        if (policy->block && policy->closure && meets(w, policy->block->span)) meet(w, policy->closure->answer);
        walk_block(w, policy->block);
    }
}

static void walk_expr(Walk *w, const Expr *e)
{
    if (!e) return;
    switch (e->kind) {
    case EX_NAME:
        offer_variable(w, e->span, e->variable, e->type);
        offer_decl(w, e->span, e->decl ? e->decl : e->variable ? NULL : find_import(w, e->name.text));
        return;
    case EX_FIELD: walk_field(w, e); return;
    case EX_CALL:
        walk_callee(w, e);
        walk_args(w, e, e->args);
        return;
    case EX_LAMBDA:
        walk_declared(w, e->name, e->variable);
        walk_declared(w, e->var2, e->variable2);
        break;
    case EX_STRING: walk_parts(w, e->parts); return;
    default: break;
    }
    walk_expr(w, e->cond);
    walk_expr(w, e->left);
    walk_expr(w, e->right);
    walk_args(w, NULL, e->args);
    walk_entries(w, e);
    walk_policies(w, e->policies);
    walk_concurrent(w, e);
    walk_block(w, e->block);
}

/* ---- statements ---- */

/* A case that the checker refused has no index that means anything. */
static void offer_pattern_case(Walk *w, const Type *subject, const Pattern *p)
{
    if (subject->kind == TYPE_OPTIONAL) subject = subject->elem;
    bool found = p->case_name.text && p->case_index < subject->case_count &&
                 strcmp(subject->cases[p->case_index].name, p->case_name.text) == 0;
    if (found) offer_case(w, p->case_name.span, subject, p->case_index);
}

static void walk_patterns(Walk *w, const Type *subject, const Pattern *patterns)
{
    for (const Pattern *p = patterns; p; p = p->next) {
        if (p->error_type)
            offer_type(w, p->case_name.span, p->error_type);
        else if (p->kind == PAT_CASE && subject)
            offer_pattern_case(w, subject, p);
        offer_type_name(w, p->module, p->type_name);
        if (p->error_type && p->type_name.text) offer_decl(w, p->type_name.span, find_import(w, p->type_name.text));
        for (const Binding *b = p->bindings; b; b = b->next) walk_declared(w, b->name, b->variable);
    }
}

static void walk_arms(Walk *w, const Type *subject, const Arm *arms)
{
    for (const Arm *arm = arms; arm; arm = arm->next) {
        walk_patterns(w, subject, arm->patterns);
        for (const Pattern *p = arm->patterns; p && meets(w, arm->span); p = p->next)
            for (const Binding *b = p->bindings; b; b = b->next) meet(w, b->variable);
        walk_expr(w, arm->guard);
        walk_block(w, arm->block);
    }
}

/* A name that means both is a use of the field, and the place where the variable is declared. */
static void walk_catch_fields(Walk *w, const Catch *k)
{
    for (const CatchField *f = k->fields; f; f = f->next) {
        if (f->error)
            offer_field(w, f->field.span, f->error->name, f->error->fields, f->error->field_count, f->field.text);
        walk_declared(w, f->var, f->variable);
        if (k->block && meets(w, k->block->span)) meet(w, f->variable);
    }
}

static void walk_catches(Walk *w, const Catch *catches)
{
    for (const Catch *k = catches; k; k = k->next) {
        for (const CatchName *name = k->names; name; name = name->next) walk_error_name(w, name);
        walk_declared(w, k->var, k->variable);
        walk_catch_fields(w, k);
        if (k->block && meets(w, k->block->span)) meet(w, k->variable);
        walk_block(w, k->block);
    }
}

static void walk_mock(Walk *w, const Stmt *s)
{
    const Decl *left = find_in_module(w->module, s->mock_module.text);
    if (left && (left->kind == DECL_IMPORT || left->agent)) offer_decl(w, s->mock_module.span, left);
    if (left && meets(w, s->mock_name.span)) w->mocked = s;
    if (s->mock_builtin) offer_builtin(w, s->mock_name.span, s->mock_builtin, NULL);
    offer_decl(w, s->mock_name.span, s->mock_decl);
    for (const Arg *arg = s->args; arg; arg = arg->next)
        for (const Field *f = arg->name.text && s->mock_decl ? s->mock_decl->params : NULL; f; f = f->next)
            if (f->name.text && f->type && strcmp(f->name.text, arg->name.text) == 0)
                offer_param(w, arg->name.span, s->mock_decl, f);
}

static void walk_stmt(Walk *w, const Stmt *s)
{
    bool loop = s->kind == ST_FOR;
    walk_type_expr(w, s->type_expr);
    walk_expr(w, s->target);
    walk_expr(w, s->value);
    walk_expr(w, s->range_end);
    walk_expr(w, s->timeout);
    walk_expr(w, s->mock_after);
    walk_declared(w, loop ? s->var : s->name, s->variable);
    walk_declared(w, s->var2, s->variable2);
    if (loop && s->block && meets(w, s->block->span)) {
        meet(w, s->variable);
        meet(w, s->variable2);
    }
    walk_args(w, NULL, s->args);
    if (s->kind == ST_MOCK) walk_mock(w, s);
    walk_block(w, s->block);
    walk_block(w, s->else_block);
    walk_arms(w, s->arms ? s->value->type : NULL, s->arms);
    walk_catches(w, s->catches);
    walk_block(w, s->finally);
}

/* Blocks that do not hold the place are passed by: a file has many. */
static void walk_block(Walk *w, const Block *block)
{
    if (!block || !meets(w, block->span)) return;
    for (const Stmt *s = block->stmts; s; s = s->next) {
        walk_stmt(w, s);
        bool declares = s->kind == ST_LET || s->kind == ST_VAR;
        if (declares && s->span.off + s->span.len < w->off) meet(w, s->variable);
    }
}

/* ---- declarations ---- */

static void walk_fields(Walk *w, const Field *fields)
{
    for (const Field *f = fields; f; f = f->next) {
        walk_type_expr(w, f->type_expr);
        walk_expr(w, f->value);
        walk_declared(w, f->name, f->variable);
    }
}

static void walk_own_fields(Walk *w, const char *owner, const TypeField *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) offer_field(w, fields[i].span, owner, &fields[i], 1, fields[i].name);
}

static void walk_cases(Walk *w, const Decl *decl)
{
    uint32_t index = 0;
    for (const EnumCase *k = decl->cases; k; k = k->next, index++) {
        offer_case(w, k->name.span, decl->type, index);
        walk_fields(w, k->fields);
        if (decl->type && index < decl->type->case_count) {
            const TypeCase *type_case = &decl->type->cases[index];
            walk_own_fields(w, type_case->name, type_case->fields, type_case->field_count);
        }
    }
}

/* sandbox NAME, sandbox module.NAME */
static void walk_attr(Walk *w, const Attr *attr)
{
    const CatchName *name = attr->name;
    const Decl *import = name && name->module.text ? find_import(w, name->module.text) : NULL;
    if (!name || (name->module.text && !import)) return;
    if (import) offer_decl(w, name->module.span, import);
    offer_decl(w, name->name.span, find_in_module(import ? import->imported : w->module, name->name.text));
}

/* ---- the rows of a prompt ---- */

static const Target *target_of(const Decl *prompt, const Offer *offer)
{
    const Agent *agent = prompt->agent;
    for (uint32_t i = 0; agent && i < agent->target_count; i++)
        if (agent->targets[i].offer == offer) return &agent->targets[i];
    return NULL;
}

/* The parameters of what is offered are in scope where its policies are. */
static void meet_params(Walk *w, const Target *target, const Policy *policy)
{
    while (policy && !(policy->value && meets(w, policy->value->span))) policy = policy->next;
    for (uint32_t i = 0; policy && target && i < target->param_count; i++)
        meet(w, &(Variable){.name = target->params[i].name, .type = target->params[i].type, .param = true});
}

static void walk_offer(Walk *w, const Decl *prompt, const Offer *offer)
{
    const Name module = offer->name->module, name = offer->name->name;
    const Decl *import = module.text ? find_import(w, module.text) : NULL;
    const Decl *decl = module.text && !import ? NULL : find_in_module(import ? import->imported : w->module, name.text);
    const Target *target = target_of(prompt, offer);
    if (import) offer_decl(w, module.span, import);
    if (decl)
        offer_decl(w, name.span, decl);
    else if (!module.text && name.text && builtin_effect(name.text))
        offer_builtin(w, name.span, builtin_effect(name.text), NULL);
    if (w->best.kind != LOC_NONE && w->best.span.off == name.span.off) w->best.row = target;
    meet_params(w, target, offer->policies);
    walk_policies(w, offer->policies);
}

static void walk_decl(Walk *w, const Decl *decl)
{
    w->module = decl->module;
    w->decl = decl;
    for (const Binding *p = decl->type_params; p; p = p->next) offer_type_param(w, p->name.span, p);
    if (decl->kind == DECL_IMPORT && decl->value) offer_decl(w, decl->value->span, decl);
    offer_decl(w, decl->name.span, decl);
    walk_fields(w, decl->params);
    bool has_fields = (decl->kind == DECL_TYPE || decl->kind == DECL_ERROR) && decl->type;
    if (has_fields) walk_own_fields(w, decl->type->name, decl->type->fields, decl->type->field_count);
    walk_type_expr(w, decl->result);
    walk_expr(w, decl->value);
    walk_cases(w, decl);
    for (const Attr *attr = decl->attrs; attr; attr = attr->next) walk_attr(w, attr);
    walk_expr(w, decl->provider_value);
    walk_expr(w, decl->provider_value2);
    for (const ProviderOption *option = decl->options; option; option = option->next) {
        if (option->value && option->value->kind == EX_NAME && option->name.text &&
            strcmp(option->name.text, "probe") == 0)
            offer_decl(w, option->value->span, find_in_module(w->module, option->value->name.text));
        else
            walk_expr(w, option->value);
    }
    for (const PromptRow *row = decl->rows; row; row = row->next) {
        walk_expr(w, row->value);
        for (const Offer *offer = row->offers; offer; offer = offer->next) walk_offer(w, decl, offer);
    }
    for (const ServerRow *row = decl->served; row; row = row->next) {
        offer_decl(w, row->name.span, row->name.text ? find_in_module(decl->imported, row->name.text) : NULL);
        walk_expr(w, row->value);
    }
    for (const CatchName *name = decl->fails; name; name = name->next) walk_error_name(w, name);
    for (const Field *f = decl->params; f && decl->block && meets(w, decl->block->span); f = f->next)
        meet(w, f->variable);
    walk_block(w, decl->block);
}

static bool is_written(const Decl *decl)
{
    return !decl->origin && !decl->lambda && !decl->made_for;
}

static void walk_program(Walk *w)
{
    for (uint32_t i = 0; i < w->program->decl_count; i++) {
        const Decl *decl = w->program->decls[i];
        if (is_written(decl) && meets(w, decl->span)) walk_decl(w, decl);
    }
}

Located locate_at(const Program *program, uint32_t off)
{
    Walk w = {.program = program, .off = off};
    walk_program(&w);
    CHECK(w.best.kind == LOC_NONE || holds(w.best.span, off));
    return w.best;
}

const Type *locate_receiver(const Program *program, uint32_t off, const Decl **name_decl)
{
    Walk w = {.program = program, .off = off};
    *name_decl = NULL;
    walk_program(&w);
    const Expr *left = w.dotted ? w.dotted->left : NULL;
    if (w.mocked) *name_decl = find_in_module(w.module, w.mocked->mock_module.text);
    if (!left || w.mocked) return NULL;
    *name_decl = named(&w, left);
    return accessed(w.dotted);
}

void locate_scope(const Program *program, uint32_t off, LocateFound *found, void *state)
{
    Walk w = {.program = program, .off = off, .found = found, .state = state};
    walk_program(&w);
}

void locate_names(const Program *program, const Source *source, LocateName *name, void *state)
{
    Walk w = {.program = program, .each = name, .state = state};
    for (uint32_t i = 0; i < program->decl_count; i++) {
        const Decl *decl = program->decls[i];
        if (decl->module->source == source && is_written(decl)) walk_decl(&w, decl);
    }
}
