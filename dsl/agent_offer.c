/* agent_offer.c: what a prompt offers to its model: each offer resolved, with what it takes and gives. */
#include "check_agent.h"
#include "made.h"

enum { CIRCLE_MAX = 20 }; /* agents that offer each other */

/* An effect that can be offered. */
typedef struct Offered {
    BuiltinId id;
    const char *doc; /* what the model is told of it */
    bool whole;      /* with the parameters that may be left out */
} Offered;

static const Offered effects[] = {
    {BI_READ_FILE, "Gives the text of a file. Paths are below the project's root.", false},
    {BI_LIST_FILES, "Gives the paths that fit a pattern such as src/**/*.c.", false},
    {BI_EXISTS, "Whether there is a file or directory of this path.", false},
    {BI_WRITE_FILE, "Writes a file, in place of the one that is there.", false},
    {BI_CODE_MAP,
     "Gives the most important definitions of the project, by file, with their lines. focus: files, directories or "
     "names to start from. tokens: how long the answer may be, 1000 if nothing is said.",
     true},
    {BI_CODE_SYMBOLS,
     "Finds definitions (functions, types and others) whose name has all words of the query in it. limit: how many, "
     "20 if nothing is said.",
     true},
    {BI_CODE_OUTLINE, "Gives the definitions in a file, with their lines.", true},
    {BI_CODE_REFERENCES,
     "Gives the lines of the project in which an identifier is written. They are found by the name alone. limit: how "
     "many, 50 if nothing is said.",
     true},
    {BI_ASK, "Asks a person, and gives the answer. It may take hours or days.", false},
};

static const Offered *offered(const Builtin *builtin)
{
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        if (effects[i].id == builtin->id) return &effects[i];
    return NULL;
}

const Builtin *agent_effect_at(size_t i)
{
    return i < sizeof effects / sizeof *effects ? builtin_by_id(effects[i].id) : NULL;
}

static const char *target_name(const Make *m, const Offer *offer)
{
    const CatchName *name = offer->name;
    if (!name->module.text) return name->name.text;
    return arena_printf(m->c->arena, "%s_%s", name->module.text, name->name.text);
}

static bool find_target(const Make *m, Target *t)
{
    Check *c = m->c;
    const CatchName *name = t->offer->name;
    if (name->module.text) {
        t->decl = check_find_qualified(c, name->module, name->name, NAME_CALL);
        return t->decl != NULL;
    }
    t->decl = check_find_decl(c, name->name.text);
    if (!t->decl) t->builtin = builtin_effect(name->name.text);
    if (t->decl || t->builtin) return true;
    const char *near = check_nearest_name(c, name->name.text, NAME_CALL);
    if (near)
        diag_replace(diag_error(c->diags, name->name.span,
                                "no tool, prompt, workflow or effect '%s'; did you mean '%s'?", name->name.text, near),
                     near);
    else
        diag_error(c->diags, name->name.span, "no tool, prompt, workflow or effect '%s'", name->name.text);
    return false;
}

static bool take_effect(const Make *m, Target *t)
{
    Check *c = m->c;
    const Offered *effect = offered(t->builtin);
    if (!effect) {
        Diag *diag = diag_error(c->diags, t->offer->span, "'%s' is not offered to a model", t->builtin->name);
        diag_hint(c->diags, diag, "write a tool or a workflow that says what it does, and offer that");
        return false;
    }
    t->doc = effect->doc;
    t->reads = t->builtin->repeat == REPEAT_PURE && t->builtin->id != BI_ASK;
    t->result = type_of_notation(c, t->builtin->result, NULL);
    t->params = arena_alloc(c->arena, (t->builtin->param_count + 1) * sizeof *t->params);
    for (uint32_t i = 0; i < t->builtin->param_count; i++) {
        const BuiltinParam *p = &t->builtin->params[i];
        if (p->optional && !effect->whole) continue;
        const Type *type = type_of_notation(c, p->type, NULL);
        t->params[t->param_count++] =
            (TypeField){.name = p->name, .type = type, .value = p->optional ? type_null_default(c, type) : NULL};
    }
    return true;
}

static bool take_params(const Make *m, Target *t)
{
    Check *c = m->c;
    t->params = arena_alloc(c->arena, (t->decl->param_count + 1) * sizeof *t->params);
    for (const Field *f = t->decl->params; f; f = f->next) {
        if (!f->type || f->type->kind == TYPE_BAD) return false;
        if (f->type->kind == TYPE_THREAD || type_has_handle(c, f->type)) {
            Diag *diag = diag_error(c->diags, t->offer->span, "a model cannot be given a %s", f->type->name);
            diag_other(c->diags, diag, f->name.span, "the parameter '%s'", f->name.text);
            return false;
        }
        t->params[t->param_count++] =
            (TypeField){.name = f->name.text, .type = f->type, .value = f->value, .span = f->name.span, .doc = f->doc};
    }
    return true;
}

static const Expr *chosen_in_any(const Decl *tool, const Expr *e);

/* Where an expression has a parameter of the tool, whatever is made of it; NULL: nowhere. A condition chooses between
 * texts of the program. */
static const Expr *chosen_in(const Decl *tool, const Expr *e)
{
    if (!e) return NULL;
    for (const Field *f = e->kind == EX_NAME ? tool->params : NULL; f; f = f->next)
        if (f->name.text == e->name.text) return e;
    const Expr *found = chosen_in(tool, e->left);
    if (!found) found = chosen_in(tool, e->right);
    return found ? found : chosen_in_any(tool, e);
}

static const Expr *chosen_in_any(const Decl *tool, const Expr *e)
{
    const Expr *found = NULL;
    for (const Expr *part = e->parts; part && !found; part = part->next) found = chosen_in(tool, part);
    for (const Arg *arg = e->args; arg && !found; arg = arg->next) found = chosen_in(tool, arg->value);
    for (const MapEntry *entry = e->entries; entry && !found; entry = entry->next) {
        found = chosen_in(tool, entry->key);
        if (!found) found = chosen_in(tool, entry->value);
    }
    return found;
}

/* What a model chooses must be no part of a program that a shell reads. */
static void refuse_script(const Make *m, const Target *t)
{
    const Expr *argv = t->decl->kind == DECL_TOOL && t->decl->provider == PROV_EXEC ? t->decl->provider_value : NULL;
    const Expr *script = argv && argv->kind == EX_LIST ? check_shell_script(argv->args) : NULL;
    const Expr *chosen = chosen_in(t->decl, script);
    if (!chosen) return;
    Diag *diag =
        diag_error(m->c->diags, t->offer->span,
                   "the model chooses '%s', and sh -c would run it; pass it as an argument", chosen->name.text);
    diag_other(m->c->diags, diag, chosen->span, "here");
}

/* An agent can be offered, and the questions that its loop asks cannot. */
static bool is_inner(const Make *m, const Target *t)
{
    const Decl *agent = t->decl->kind == DECL_PROMPT ? t->decl->made_for : NULL;
    if (!agent) return false;
    Diag *diag = diag_error(m->c->diags, t->offer->span, "'%s' is a part of the agent '%s'", t->decl->full_name,
                            agent->full_name);
    diag_hint(m->c->diags, diag, "offer the agent itself: %s", agent->name.text);
    return true;
}

/* Its error may end the agent: what is called behind it waits until that is known. */
static bool can_end(const Decl *prompt, const Decl *offer)
{
    for (const CatchName *e = offer->fails; e; e = e->next)
        for (const CatchName *of = prompt->fails; of; of = of->next)
            if (of->name.text == e->name.text) return true;
    return false;
}

static bool take_decl(const Make *m, Target *t)
{
    Check *c = m->c;
    const char *name = t->offer->name->name.text;
    if (is_inner(m, t)) return false;
    switch (t->decl->kind) {
    case DECL_TOOL:
    case DECL_PROMPT:
    case DECL_WORKFLOW:
    case DECL_FN: break;
    default:
        diag_error(c->diags, t->offer->span, "'%s' is %s; a model is offered tools, prompts, workflows and fns", name,
                   decl_kind_word(t->decl->kind));
        return false;
    }
    if (t->decl->generic) {
        diag_error(c->diags, t->offer->span, "'%s' is generic: a model cannot say what its types are", name);
        return false;
    }
    t->doc = t->decl->doc;
    if (!t->doc) {
        Diag *diag = diag_error(c->diags, t->offer->span, "'%s' is offered to a model but has no description", name);
        diag_other(c->diags, diag, t->decl->name.span, "write /// above it");
    }
    refuse_script(m, t);
    t->result = t->decl->type;
    t->reads = agent_reads(c, t->decl) && !can_end(m->prompt, t->decl);
    return take_params(m, t) && t->result && t->result->kind != TYPE_BAD;
}

static void read_use(const Make *m, Target *t)
{
    static const char *const words[] = {[POL_ELSE] = "else", [POL_UNDO] = "undo", [POL_AS] = "as", [POL_KEY] = "key"};
    Check *c = m->c;
    for (const Policy *p = t->offer->policies; p; p = p->next) {
        switch (p->kind) {
        case POL_TIMES:
            if (p->value->kind == EX_INT && p->value->int_value > 0)
                t->times = p->value->int_value;
            else
                diag_error(c->diags, p->value->span, "'times' takes a number, from 1");
            break;
        case POL_ELSE:
        case POL_UNDO:
        case POL_AS:
        case POL_KEY: {
            Diag *diag = diag_error(c->diags, p->span, "'%s' cannot stand here", words[p->kind]);
            diag_hint(c->diags, diag, "offer a workflow that has it");
            break;
        }
        default: break;
        }
    }
}

static bool take_target(const Make *m, Target *t)
{
    t->as = target_name(m, t->offer);
    read_use(m, t);
    if (!find_target(m, t)) return false;
    return t->builtin ? take_effect(m, t) : take_decl(m, t);
}

static void refuse_equal(const Make *m, const Target *t, const Table *seen)
{
    const Target *before = name_table_get(seen, t->as);
    if (strcmp(t->as, "answer") == 0)
        diag_error(m->c->diags, t->offer->span, "'answer' is how an agent ends; give the tool another name");
    if (!before) return;
    Diag *diag = diag_error(m->c->diags, t->offer->span, "a model knows two tools as '%s'", t->as);
    diag_other(m->c->diags, diag, before->offer->span, "the other one");
}

void agent_offers(const Make *m)
{
    Table seen = {0};
    uint32_t count = 0;
    const PromptRow *row = agent_row(m->prompt, "tools");
    for (const Offer *o = row ? row->offers : NULL; o; o = o->next) count++;
    Target *targets = arena_alloc(m->c->arena, (count + 1) * sizeof *targets);
    Agent *agent = m->prompt->agent;
    for (const Offer *o = row ? row->offers : NULL; o; o = o->next) {
        Target *t = &targets[agent->target_count];
        *t = (Target){.offer = o};
        if (!take_target(m, t)) continue;
        refuse_equal(m, t, &seen);
        name_table_put(m->c, &seen, t->as, t);
        agent->target_count++;
    }
    agent->targets = targets;
}

/* ---- circles ---- */

static bool reaches(const Decl *from, const Decl *to, uint32_t depth)
{
    const Agent *agent = from->agent;
    for (uint32_t i = 0; agent && depth && i < agent->target_count; i++) {
        const Decl *next = agent->targets[i].decl;
        if (next == to || (next && next->agent && reaches(next, to, depth - 1))) return true;
    }
    return false;
}

bool agent_refuse_circle(Check *c, const Decl *prompt)
{
    for (uint32_t i = 0; i < prompt->agent->target_count; i++) {
        const Target *t = &prompt->agent->targets[i];
        if (t->decl != prompt && !(t->decl && t->decl->agent && reaches(t->decl, prompt, CIRCLE_MAX))) continue;
        if (t->decl == prompt)
            diag_error(c->diags, t->offer->span, "%s offers itself", prompt->name.text);
        else
            diag_error(c->diags, t->offer->span, "%s offers %s, which offers %s", prompt->name.text, t->decl->name.text,
                       prompt->name.text);
        return true;
    }
    return false;
}
