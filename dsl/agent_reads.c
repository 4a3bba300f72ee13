/* agent_reads.c: whether an offer only reads, so that a model's calls of it may run beside each other. A workflow and
 * an agent do if all that they reach does. The loop of an agent is written before bodies are checked, so this follows
 * from the names as they are written; whatever is not plainly reading is not. */
#include "check_agent.h"

typedef struct Search {
    Check *c;
    const Decl *in; /* whose names are looked up */
    Table seen;     /* what was looked at: it reads, or the answer is no already */
} Search;

static bool block_reads(Search *s, const Block *block);
static bool expr_reads(Search *s, const Expr *e);

static bool effect_reads(const Builtin *builtin)
{
    static const BuiltinId ids[] = {BI_READ_FILE,    BI_READ_BYTES,   BI_LIST_FILES,      BI_EXISTS,
                                    BI_CODE_MAP,     BI_CODE_SYMBOLS, BI_CODE_OUTLINE,    BI_PREVIEW,
                                    BI_PREVIEW_EDIT, BI_PREVIEW_DIFF, BI_CODE_REFERENCES, BI_LLM,
                                    BI_NOW,          BI_SLEEP};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i] == builtin->id) return true;
    return false;
}

static Decl *find(const Search *s, const char *name)
{
    return name ? name_table_get(&s->c->scopes[s->in->module->number], name) : NULL;
}

static bool decl_reads(Search *s, const Decl *decl);

static bool name_reads(Search *s, const char *module, const char *name)
{
    const Decl *import = module ? find(s, module) : NULL, *decl = NULL;
    if (!name || (module && (!import || import->kind != DECL_IMPORT))) return false;
    decl = import ? check_peek_imported(s->c, import, name) : find(s, name);
    if (decl || module) return decl && decl_reads(s, decl);
    const Builtin *effect = builtin_effect(name);
    return !effect || effect_reads(effect);
}

static bool offers_read(Search *s, const Decl *prompt)
{
    const PromptRow *row = agent_row(prompt, "tools");
    for (const Offer *o = row ? row->offers : NULL; o; o = o->next)
        if (!name_reads(s, o->name->module.text, o->name->name.text)) return false;
    return true;
}

static bool decl_reads(Search *s, const Decl *decl)
{
    const Decl *outer = s->in;
    if (decl->kind == DECL_TOOL) return decl->repeat == REPEAT_PURE;
    if (decl->kind != DECL_PROMPT && decl->kind != DECL_WORKFLOW) return true; /* a fn, or a value that is made */
    if (name_table_get(&s->seen, decl->full_name)) return true;
    name_table_put(s->c, &s->seen, decl->full_name, (void *)decl);
    s->in = decl;
    const bool reads = decl->kind == DECL_PROMPT ? offers_read(s, decl) : block_reads(s, decl->block);
    s->in = outer;
    return reads;
}

/* ---- bodies ---- */

/* NAME(…), MODULE.NAME(…), or a method: values have no handles here, since none can be made. */
static bool callee_reads(Search *s, const Expr *callee)
{
    if (callee->kind == EX_NAME) return name_reads(s, NULL, callee->name.text);
    if (callee->kind != EX_FIELD) return false;
    const Decl *of = callee->left->kind == EX_NAME ? find(s, callee->left->name.text) : NULL;
    if (of && of->kind == DECL_IMPORT) return name_reads(s, callee->left->name.text, callee->name.text);
    return expr_reads(s, callee->left);
}

static bool args_read(Search *s, const Expr *e)
{
    for (const Arg *arg = e->args; arg; arg = arg->next)
        if (!expr_reads(s, arg->value)) return false;
    for (const MapEntry *entry = e->entries; entry; entry = entry->next)
        if (!expr_reads(s, entry->key) || !expr_reads(s, entry->value)) return false;
    for (const Expr *part = e->parts; part; part = part->next)
        if (!expr_reads(s, part)) return false;
    return true;
}

static bool policies_read(Search *s, const Expr *e)
{
    for (const Policy *p = e->policies; p; p = p->next)
        if (p->kind == POL_APPROVE || p->kind == POL_UNDO || !expr_reads(s, p->value)) return false;
    for (const ParallelBody *body = e->bodies; body; body = body->next)
        if (!expr_reads(s, body->yield) || !block_reads(s, body->block)) return false;
    return true;
}

static bool expr_reads(Search *s, const Expr *e)
{
    if (!e) return true;
    if (e->kind == EX_SPAWN || (e->kind == EX_CALL && !callee_reads(s, e->left))) return false;
    return (e->kind == EX_CALL || expr_reads(s, e->left)) && expr_reads(s, e->right) && expr_reads(s, e->cond) &&
           expr_reads(s, e->range) && expr_reads(s, e->range_end) && expr_reads(s, e->limit) && args_read(s, e) &&
           policies_read(s, e) && block_reads(s, e->block);
}

static bool arms_read(Search *s, const Stmt *stmt)
{
    for (const Arm *arm = stmt->arms; arm; arm = arm->next)
        if (!expr_reads(s, arm->guard) || !block_reads(s, arm->block)) return false;
    for (const Catch *catch = stmt->catches; catch; catch = catch->next)
        if (!block_reads(s, catch->block)) return false;
    return true;
}

static bool block_reads(Search *s, const Block *block)
{
    for (const Stmt *stmt = block ? block->stmts : NULL; stmt; stmt = stmt->next)
        if (!expr_reads(s, stmt->target) || !expr_reads(s, stmt->value) || !expr_reads(s, stmt->range_end) ||
            !expr_reads(s, stmt->timeout) || !block_reads(s, stmt->block) || !block_reads(s, stmt->else_block) ||
            !block_reads(s, stmt->finally) || !arms_read(s, stmt))
            return false;
    return true;
}

bool agent_reads(Check *c, const Decl *decl)
{
    Search s = {.c = c, .in = decl};
    return decl_reads(&s, decl);
}
