/* check_unused.c: warns of what is written and never used: variables, parameters, imports, and steps that do nothing
 * but give a value.
 *
 * They are judged when the whole program is known to be right, because a mistake often hides the use of a name. A
 * name that starts with `_` says that nobody needs it. Declarations are not judged: another file may import them. */
#include "check_internal.h"

/* ---- results ---- */

/* Effects that change nothing outside; they are called for their value alone. */
static bool only_gives(const Builtin *builtin)
{
    switch (builtin->id) {
    case BI_NOW:
    case BI_RANDOM:
    case BI_RANDOM_INT:
    case BI_UUID:
    case BI_SELF:
    case BI_READ_FILE:
    case BI_READ_BYTES:
    case BI_LIST_FILES:
    case BI_CODE_MAP:
    case BI_CODE_SYMBOLS:
    case BI_CODE_OUTLINE:
    case BI_CODE_REFERENCES:
    case BI_EXISTS:
    case BI_ENV:
    case BI_ZONE: return true;
    default: return false;
    }
}

/* A pure tool changes nothing either. It may still be called for its failure, unless its result tells of that too. */
static bool only_tells(const Check *c, const Decl *tool)
{
    return tool->repeat == REPEAT_PURE && !tool->dangerous &&
           (tool->type == c->core->exec_result || tool->type == c->core->http_response);
}

void check_unused_result(Check *c, const Expr *e)
{
    const Expr *call = e->kind == EX_YIELD ? e->left : NULL;
    if (!call || call->kind != EX_CALL || e->type->kind == TYPE_BAD) return;
    const bool idle =
        call->call == CALL_BUILTIN ? only_gives(call->builtin) : call->call == CALL_TOOL && only_tells(c, call->decl);
    if (!idle) return;
    const char *name = call->call == CALL_BUILTIN ? call->builtin->name : call->decl->name.text;
    Diag *diag = diag_warning(&c->idle, e->span, "the value of '%s' is not used, and the call does nothing else", name);
    diag_hint(&c->idle, diag, "bind it: let value = yield %s(…), or remove the line", name);
    diag->unnecessary = true;
}

/* ---- names ---- */

static void warn_variable(Check *c, const Variable *variable)
{
    if (variable->used || !variable->role || variable->name[0] == '_' || variable->type->kind == TYPE_BAD) return;
    Diag *diag =
        variable->assigned
            ? diag_warning(c->diags, variable->span, "'%s' is assigned and never read", variable->name)
            : diag_warning(c->diags, variable->span, "the %s '%s' is never used", variable->role, variable->name);
    diag->unnecessary = true;
    if (variable->assigned || strcmp(variable->role, "field") == 0) {
        diag_hint(c->diags, diag, variable->assigned ? "remove it and its assignments" : "leave it out");
        return;
    }
    const bool is_removable = strcmp(variable->role, "variable") == 0 || strcmp(variable->role, "parameter") == 0;
    const char *silent = is_removable ? arena_printf(c->arena, "_%s", variable->name) : "_";
    diag_hint(c->diags, diag, is_removable ? "remove it, or write '%s' to keep it" : "write '%s' in its place", silent);
    diag_replace(diag, silent);
}

/* A template's types are open, which hides uses that its copies have. */
static void note_uses(const Decl *copy)
{
    for (const Variable *v = copy->variables; v; v = v->next)
        for (Variable *of = v->used ? copy->origin->variables : NULL; of; of = of->next)
            if (of->span.off == v->span.off) of->used = true;
}

/* A tool and a prompt have parameters for more than their text: they are recorded, and steps are told apart by them. */
static bool uses_all(const Decl *decl)
{
    return decl->kind == DECL_TOOL || decl->kind == DECL_PROMPT;
}

static void warn_import(Check *c, const Decl *decl)
{
    if (decl->used || decl->name.text[0] == '_') return;
    Diag *diag = diag_warning(c->diags, decl->span, "the import '%s' is never used", decl->name.text);
    diag_hint(c->diags, diag, "remove the line");
    diag->unnecessary = true;
}

void check_unused(Check *c)
{
    for (Diag *diag = c->idle.first, *next; diag; diag = next) {
        next = diag->next;
        diag_adopt(c->diags, diag);
    }
    for (uint32_t i = 0; i < c->program->decl_count; i++)
        if (c->program->decls[i]->origin) note_uses(c->program->decls[i]);
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        const Decl *decl = c->program->decls[i];
        if (decl->kind == DECL_IMPORT) warn_import(c, decl);
        if (uses_all(decl) || decl->origin || decl->lambda || decl->made_for) continue;
        for (const Variable *variable = decl->variables; variable; variable = variable->next)
            warn_variable(c, variable);
    }
}
