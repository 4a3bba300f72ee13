/* check_person.c: what a person answers to approve and ask. */
#include "check_internal.h"

/* What a person answers with: a case that carries no values. */
static const Type *approve_with(Check *c, const Expr *e, const Type *type)
{
    for (uint32_t i = 0; i < type->case_count; i++)
        if (!type->cases[i].field_count) return type;
    Diag *diag = diag_error(c->diags, e->span,
                            "a person cannot answer this with a case of %s: all of them carry values", type->name);
    if (type->decl) diag_other(c->diags, diag, type->decl->name.span, "declared here");
    return c->core->bad;
}

/* A default of a form is shown with the question, so it is one that needs no computing. */
static bool is_plain_default(const Expr *e)
{
    if (!e) return true;
    if (e->kind == EX_UNARY) return is_plain_default(e->left);
    for (const Expr *part = e->kind == EX_STRING ? e->parts : NULL; part; part = part->next)
        if (part->kind != EX_TEXT) return false;
    return e->kind == EX_NULL || e->kind == EX_BOOL || e->kind == EX_INT || e->kind == EX_FLOAT ||
           e->kind == EX_STRING || (e->kind == EX_FIELD && e->left->kind == EX_NAME);
}

static bool is_of_form(const Type *type)
{
    if (type->kind == TYPE_OPTIONAL) type = type->elem;
    for (uint32_t i = 0; type->kind == TYPE_ENUM && i < type->case_count; i++)
        if (type->cases[i].field_count) return false;
    return type->kind == TYPE_STRING || type->kind == TYPE_INT || type->kind == TYPE_FLOAT || type->kind == TYPE_BOOL ||
           type->kind == TYPE_ENUM;
}

bool check_is_form(const Type *type)
{
    if (type->kind != TYPE_RECORD || type_is_answer(type) || !type->field_count) return false;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (!is_of_form(type->fields[i].type) || !is_plain_default(type->fields[i].value)) return false;
    return true;
}

const Type *check_person(Check *c, const Expr *e, const Builtin *builtin, const Type *want)
{
    const bool whole = want && type_is_answer(want), ask = builtin->id == BI_ASK;
    const Type *value = whole ? want->elem : want, *plain = type_of_notation(c, builtin->result, NULL);
    if (!ask && value && value->kind == TYPE_ENUM) return approve_with(c, e, value) == value ? want : c->core->bad;
    if (ask && value && check_is_form(value)) return want;
    if (!whole && ask && value && value->kind == TYPE_RECORD) {
        diag_error(c->diags, e->span,
                   "a person cannot fill in %s: a form has fields of string, int, float, bool and enum, with plain "
                   "defaults",
                   value->name);
        return c->core->bad;
    }
    if (!whole || value == plain || value->kind == TYPE_BAD) return whole ? want : plain;
    diag_error(c->diags, e->span,
               ask ? "a person answers ask with a string or a form, not %s"
                   : "a person answers approve with bool or an enum, not %s",
               value->name);
    return c->core->bad;
}
