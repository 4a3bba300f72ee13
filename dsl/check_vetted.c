/* check_vetted.c: the calls with which a program takes responsibility for a value from outside (check_trust.c). */
#include "check_internal.h"
#include "pattern.h"

/* A pattern that lets each of these through says nothing about a text. */
static bool vets_nothing(const Expr *pattern)
{
    static const char *const bad[] = {"../x", "-x", "a b", "$(x)", "a\nb", "\033[2J"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!pattern_matches(pattern->text, pattern->text_len, bad[i], strlen(bad[i]))) return false;
    return true;
}

void check_vetted(Check *c, const Expr *e)
{
    const Expr *at = e ? expr_strip((Expr *)e) : NULL, *text = at && at->kind == EX_STRING ? at->parts : NULL;
    if (!at || at->kind == EX_BAD) return;
    if (!text || text->kind != EX_TEXT || text->next) {
        diag_error(c->diags, at->span,
                   "the pattern of 'vetted' is written out, so that everybody can read what it lets through");
        return;
    }
    if (vets_nothing(text))
        diag_error(c->diags, at->span,
                   "this pattern vets nothing: it lets \"../x\", \"-x\", \"$(x)\" and new lines through");
}

bool check_trust_call(Check *c, Expr *e, const Type *want, const Type **type)
{
    if (strcmp(e->left->name.text, "trust") != 0) return false;
    Expr *value = e->args ? e->args->value : NULL;
    Expr *why = value && e->args->next && !e->args->next->next ? e->args->next->value : NULL;
    *type = c->core->bad;
    if (!why || e->args->name.text || e->args->next->name.text) {
        diag_error(c->diags, e->span,
                   "trust takes a value and the reason why it can be trusted: trust(value, \"why\")");
        check_args_loosely(c, e);
        return true;
    }
    *type = check_expr(c, value, want);
    const bool written = why->kind == EX_STRING && why->parts && why->parts->kind == EX_TEXT && !why->parts->next;
    if (!written) diag_error(c->diags, why->span, "the reason is a text that is written out");
    why->type = why->to = c->core->string;
    e->call = CALL_TRUST;
    e->argv = arena_new(c->arena, Expr *);
    e->argv[0] = value;
    e->argc = 1;
    return true;
}
