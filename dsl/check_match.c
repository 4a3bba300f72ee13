/* check_match.c: patterns and exhaustiveness. A guard can say no, so a guarded arm covers nothing. */
#include "check_internal.h"

/* What the arms so far take without a guard. */
typedef struct Cover {
    const Type *subject; /* as matched: T, or T? */
    const Type *base;    /* T */
    Span *cases;         /* enum: where each case was taken; len 0 = not yet */
    bool null, is_true, is_false;
    Span else_span;       /* len 0 = none */
    Table literals;       /* text of a literal → Span * */
    Table errors;         /* name of an error → Span * */
    const Clause *clause; /* match on a caught error: the catch that bound it */
} Cover;

static void report_covered(Check *c, Span span, Span before)
{
    Diag *diag = diag_error(c->diags, span, "this pattern is never reached");
    diag_other(c->diags, diag, before, "taken here already");
}

/* ---- literals ---- */

static const char *literal_key(Check *c, const Expr *e)
{
    switch (e->kind) {
    case EX_INT:
    case EX_DURATION: return arena_printf(c->arena, "%lld", (long long)e->int_value);
    case EX_FLOAT: return arena_printf(c->arena, "%.17g", e->float_value);
    case EX_STRING: return e->parts ? arena_strndup(c->arena, e->parts->text, e->parts->text_len) : "";
    default: return NULL;
    }
}

static void cover_key(Check *c, Table *table, const char *key, Span span, bool guarded)
{
    const Span *before = name_table_get(table, key);
    if (before) {
        report_covered(c, span, *before);
    } else if (!guarded) {
        Span *at = arena_new(c->arena, Span);
        *at = span;
        name_table_put(c, table, key, at);
    }
}

static void cover_flag(Check *c, bool *flag, Span span, bool guarded)
{
    if (*flag) diag_error(c->diags, span, "this pattern is never reached: an earlier arm takes it");
    if (!guarded) *flag = true;
}

static void check_null_pattern(Check *c, Cover *cover, Pattern *p, bool guarded)
{
    p->literal->type = c->core->null;
    p->literal->to = cover->subject;
    if (cover->subject->kind == TYPE_OPTIONAL)
        cover_flag(c, &cover->null, p->span, guarded);
    else if (cover->subject->kind != TYPE_BAD)
        diag_error(c->diags, p->span, "%s is never null", cover->subject->name);
}

static void check_literal_pattern(Check *c, Cover *cover, Pattern *p, bool guarded)
{
    Expr *e = p->literal;
    if (e->kind == EX_NULL) {
        check_null_pattern(c, cover, p, guarded);
        return;
    }
    if (cover->base->kind == TYPE_ENUM || cover->base->kind == TYPE_ANY_ERROR) {
        check_expr(c, e, NULL);
        diag_error(c->diags, p->span, "a pattern for %s names a case, it is not a literal", cover->base->name);
        return;
    }
    if (!check_expr_to(c, e, cover->base, (Why){0})) return;
    if (e->kind == EX_BOOL) {
        cover_flag(c, e->int_value ? &cover->is_true : &cover->is_false, p->span, guarded);
        return;
    }
    const char *key = literal_key(c, e);
    if (key) cover_key(c, &cover->literals, key, p->span, guarded);
}

/* ---- cases and errors ---- */

static void bind_fields(Check *c, Pattern *p, const TypeField *fields, uint32_t count, const char *owner)
{
    uint32_t i = 0;
    for (Binding *b = p->bindings; b; b = b->next, i++) {
        const Type *type = i < count ? fields[i].type : c->core->bad;
        if (strcmp(b->name.text, "_") == 0) continue;
        b->variable = check_add_variable(c, b->name, type, false);
        b->variable->role = "binding";
    }
    if (p->has_bindings && i != count) {
        Diag *diag = diag_error(c->diags, p->span, "'%s' carries %u value%s, but %u %s bound here", owner, count,
                                count == 1 ? "" : "s", i, i == 1 ? "is" : "are");
        diag_hint(c->diags, diag, "use _ for a value that is not needed");
    }
}

static void report_no_case(Check *c, const Pattern *p, const Type *type)
{
    const char **names = arena_alloc(c->arena, (type->case_count + 1) * sizeof *names);
    for (uint32_t i = 0; i < type->case_count; i++) names[i] = type->cases[i].name;
    const char *name = p->case_name.text, *near = diag_nearest(name, strlen(name), names, type->case_count);
    Diag *diag = near ? diag_replace(diag_error(c->diags, p->case_name.span, "no case '%s' in %s; did you mean '%s'?",
                                                name, type->name, near),
                                     near)
                      : diag_error(c->diags, p->case_name.span, "no case '%s' in %s", name, type->name);
    if (type->decl) diag_other(c->diags, diag, type->decl->name.span, "declared here");
}

static void bind_bad(Check *c, Pattern *p)
{
    for (Binding *b = p->bindings; b; b = b->next) {
        if (strcmp(b->name.text, "_") != 0) b->variable = check_add_variable(c, b->name, c->core->bad, false);
    }
}

/* The enum that a pattern names, if it names one, is the one that is matched. */
static bool names_type(Check *c, const Pattern *p, const Type *type)
{
    if (!p->type_name.text) return true;
    const Decl *decl = p->module.text ? check_find_qualified(c, p->module, p->type_name, NAME_TYPE)
                                      : check_find_decl(c, p->type_name.text);
    if (decl ? decl == type->decl : !p->module.text && check_same_name(p->type_name.text, type->name)) return true;
    if (decl && decl->kind == DECL_IMPORT) {
        Diag *diag =
            diag_error(c->diags, p->span, "'%s' is a module; its cases are named with their enum", decl->name.text);
        if (type->decl)
            diag_hint(c->diags, diag, "write %s.%s.%s, or %s alone", decl->name.text, type->decl->name.text,
                      p->case_name.text, p->case_name.text);
    } else if (decl || !p->module.text) {
        diag_error(c->diags, p->type_name.span, "expected a case of %s, got one of %s", type->name, p->type_name.text);
    }
    return false;
}

static void check_case_pattern(Check *c, Cover *cover, Pattern *p, bool guarded)
{
    const Type *type = cover->base;
    if (!names_type(c, p, type)) {
        bind_bad(c, p);
        return;
    }
    for (uint32_t i = 0; i < type->case_count; i++) {
        const TypeCase *found = &type->cases[i];
        if (!check_same_name(found->name, p->case_name.text)) continue;
        p->decl = type->decl;
        p->case_index = i;
        if (cover->cases[i].len) report_covered(c, p->span, cover->cases[i]);
        if (!guarded) cover->cases[i] = p->span;
        bind_fields(c, p, found->fields, found->field_count, found->name);
        return;
    }
    report_no_case(c, p, type);
    bind_bad(c, p);
}

/* An error's bindings are its own fields; the message is read as e.message. */
static void check_error_pattern(Check *c, Cover *cover, Pattern *p, bool guarded)
{
    CatchName name = {.module = p->type_name, .name = p->case_name};
    p->error_type = check_error_name(c, &name);
    p->decl = name.decl;
    if (p->error_type->kind == TYPE_BAD) {
        bind_bad(c, p);
        return;
    }
    CHECK(p->error_type->field_count > 0); /* its message */
    cover_key(c, &cover->errors, p->error_type->name, p->span, guarded);
    bind_fields(c, p, p->error_type->fields + 1, p->error_type->field_count - 1, p->error_type->name);
}

static void check_named_pattern(Check *c, Cover *cover, Pattern *p, bool guarded)
{
    switch (cover->base->kind) {
    case TYPE_ENUM: check_case_pattern(c, cover, p, guarded); return;
    case TYPE_ANY_ERROR: check_error_pattern(c, cover, p, guarded); return;
    case TYPE_BAD: break;
    default: {
        Diag *diag = diag_error(c->diags, p->span, "a pattern for %s is a literal or 'else'", cover->base->name);
        diag_hint(c->diags, diag, "to compare with a value, use 'if'");
    }
    }
    bind_bad(c, p);
}

static void check_pattern(Check *c, Cover *cover, Pattern *p, bool guarded)
{
    if (cover->else_span.len && p->kind != PAT_BAD) {
        report_covered(c, p->span, cover->else_span);
        bind_bad(c, p);
        return;
    }
    switch (p->kind) {
    case PAT_BAD: bind_bad(c, p); return;
    case PAT_ELSE:
        if (!guarded) cover->else_span = p->span;
        return;
    case PAT_LITERAL: check_literal_pattern(c, cover, p, guarded); return;
    case PAT_CASE: check_named_pattern(c, cover, p, guarded); return;
    }
}

/* ---- arms ---- */

/* What an arm knows about the subject: not null, or of one kind. null_before: an earlier arm took null. */
static void learn_subject(Check *c, const Cover *cover, const Expr *subject, const Arm *arm, bool null_before)
{
    if (cover->base->kind == TYPE_ANY_ERROR) {
        const Pattern *only = arm->patterns;
        if (only && !only->next && only->error_type && only->error_type->kind == TYPE_ERROR)
            flow_learn(c, subject, only->error_type);
        return;
    }
    if (cover->subject->kind != TYPE_OPTIONAL) return;
    for (const Pattern *p = arm->patterns; p; p = p->next) {
        bool takes_null =
            p->kind == PAT_ELSE ? !null_before : p->kind != PAT_CASE && (!p->literal || p->literal->kind == EX_NULL);
        if (takes_null) return;
    }
    flow_learn(c, subject, cover->base);
}

static void check_patterns(Check *c, Cover *cover, Arm *arm)
{
    for (Pattern *p = arm->patterns; p; p = p->next) {
        if (arm->patterns->next && p->bindings)
            diag_error(c->diags, p->span, "a pattern with '|' cannot bind values; write one arm per case");
        check_pattern(c, cover, p, arm->guard != NULL);
    }
}

static bool check_arm(Check *c, Cover *cover, const Expr *subject, Arm *arm)
{
    bool null_before = cover->null;
    uint32_t scope = check_scope_enter(c);
    check_patterns(c, cover, arm);
    learn_subject(c, cover, subject, arm, null_before);
    if (arm->guard) {
        check_expr_to(c, arm->guard, c->core->boolean, (Why){0});
        flow_assume(c, arm->guard, true);
    }
    bool falls = check_block_in_scope(c, arm->block);
    check_scope_leave(c, scope);
    return falls;
}

/* ---- exhaustiveness ---- */

#define MISSING_MAX 5 /* names printed */

typedef struct Missing {
    const char *names[MISSING_MAX];
    uint32_t count;
} Missing;

static void miss(Missing *missing, const char *name)
{
    if (missing->count < MISSING_MAX) missing->names[missing->count] = name;
    missing->count++;
}

static void find_missing_errors(const Cover *cover, Missing *missing)
{
    for (const CatchName *n = cover->clause->catch->names; n; n = n->next) {
        if (n->type->kind != TYPE_BAD && !name_table_get(&cover->errors, n->type->name)) miss(missing, n->type->name);
    }
}

/* False: no list of patterns covers this type, so else is needed. */
static bool find_missing(const Cover *cover, Missing *missing)
{
    if (cover->subject->kind == TYPE_OPTIONAL && !cover->null) miss(missing, "null");
    switch (cover->base->kind) {
    case TYPE_ENUM:
        for (uint32_t i = 0; i < cover->base->case_count; i++) {
            if (!cover->cases[i].len) miss(missing, cover->base->cases[i].name);
        }
        return true;
    case TYPE_BOOL:
        if (!cover->is_true) miss(missing, "true");
        if (!cover->is_false) miss(missing, "false");
        return true;
    case TYPE_ANY_ERROR:
        if (!cover->clause || !cover->clause->catch->names) return false;
        find_missing_errors(cover, missing);
        return true;
    default: return false;
    }
}

static const char *list_missing(Check *c, const Missing *missing)
{
    CHECK(missing->count > 0);
    const char *list = arena_printf(c->arena, "'%s'", missing->names[0]);
    for (uint32_t i = 1; i < missing->count && i < MISSING_MAX; i++) {
        list = arena_printf(c->arena, "%s%s'%s'", list, i + 1 == missing->count ? " and " : ", ", missing->names[i]);
    }
    return missing->count <= MISSING_MAX ? list
                                         : arena_printf(c->arena, "%s and %u more", list, missing->count - MISSING_MAX);
}

/* Mistake 21. True: every value has an arm. */
static bool check_complete(Check *c, const Stmt *s, const Cover *cover)
{
    Missing missing = {0};
    Span span = s->keyword.len ? span_join(s->keyword, s->value->span) : s->value->span;
    if (cover->else_span.len || cover->base->kind == TYPE_BAD) return true;
    if (!find_missing(cover, &missing)) {
        const char *what = cover->base->kind == TYPE_ANY_ERROR ? "an error" : cover->subject->name;
        diag_error(c->diags, span, "a match on %s needs 'else'", what);
        return false;
    }
    if (!missing.count) return true;
    Diag *diag = diag_error(c->diags, span, "this match misses %s", list_missing(c, &missing));
    diag_hint(c->diags, diag, "add an arm for it, or 'else'");
    if (cover->base->decl) diag_other(c->diags, diag, cover->base->decl->name.span, "declared here");
    return false;
}

static const Clause *clause_of_subject(const Body *body, const Expr *subject)
{
    while (subject->kind == EX_PAREN) subject = subject->left;
    for (const CatchVariable *v = body->catch_variables; v && subject->kind == EX_NAME; v = v->next) {
        if (v->variable == subject->variable) return v->clause;
    }
    return NULL;
}

static void check_subject(Check *c, Stmt *s, Cover *cover)
{
    c->allow_any_error = true;
    cover->subject = check_expr(c, s->value, NULL);
    c->allow_any_error = false;
    cover->base = type_strip(cover->subject);
    switch (cover->base->kind) {
    case TYPE_ENUM: cover->cases = arena_alloc(c->arena, (cover->base->case_count + 1) * sizeof(Span)); break;
    case TYPE_ANY_ERROR: cover->clause = clause_of_subject(c->body, s->value); break;
    case TYPE_BAD:
    case TYPE_BOOL:
    case TYPE_INT:
    case TYPE_FLOAT:
    case TYPE_DURATION:
    case TYPE_STRING: break;
    default:
        if (cover->subject->kind == TYPE_OPTIONAL) break;
        diag_error(c->diags, s->value->span,
                   "%s cannot be matched; match takes enums, bool, int, string, T? and errors", cover->subject->name);
        cover->subject = cover->base = c->core->bad;
    }
}

bool check_match(Check *c, Stmt *s)
{
    Cover cover = {0};
    bool falls = false;
    const Facts *after = NULL;
    check_subject(c, s, &cover);
    const Facts *before = c->facts;
    for (Arm *arm = s->arms; arm; arm = arm->next) {
        c->facts = before;
        if (!check_arm(c, &cover, s->value, arm)) continue;
        after = falls ? flow_join(c, after, c->facts) : c->facts;
        falls = true;
    }
    c->facts = falls ? after : before;
    if (check_complete(c, s, &cover)) return falls || !s->arms;
    c->body->incomplete = true;
    return true;
}
