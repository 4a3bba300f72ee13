/* syntax.c: what is wrong with a tree that fits the grammar, as far as no names or types are needed to see it.
 *
 * What is reported becomes EX_BAD, so later passes say nothing about it. The walk recurses: the parser has bounded
 * the height of expressions and the nesting of blocks. */
#include "parse_internal.h"

#include <string.h>

#include "literal.h"

static void check_expr(const Build *b, Expr *expr);
static void check_block(const Build *b, Block *block);

static void make_bad(Expr *expr)
{
    expr->kind = EX_BAD;
}

static bool compares(const Expr *expr)
{
    return expr->kind == EX_BINARY && expr->op >= OP_EQ && expr->op <= OP_GE;
}

static const char *text_of(const Build *b, Span span)
{
    return arena_printf(b->arena, "%.*s", (int)span.len, source_text(b->sources, span));
}

static bool is_short(const Build *b, Span span)
{
    return span.len <= 60 && !memchr(source_text(b->sources, span), '\n', span.len);
}

/* `a == b == c`: only the innermost pair is inspected, so a longer chain is one mistake. */
static bool report_chain(const Build *b, Expr *expr)
{
    const Expr *left = expr->left;
    if (!compares(expr) || !compares(left)) return false;
    while (compares(left->left)) expr = expr->left, left = expr->left;
    const char *first = text_of(b, left->op_span), *second = text_of(b, expr->op_span);
    if (is_short(b, expr->span)) {
        const char *middle = text_of(b, left->right->span);
        diag_error(b->diags, expr->op_span, "comparisons cannot be chained; write `%s %s %s && %s %s %s`",
                   text_of(b, left->left->span), first, middle, middle, second, text_of(b, expr->right->span));
    } else {
        diag_error(b->diags, expr->op_span, "comparisons cannot be chained; write `a %s b && b %s c`", first, second);
    }
    return true;
}

static void check_binary(const Build *b, Expr *expr)
{
    if (report_chain(b, expr)) {
        make_bad(expr);
        return;
    }
    check_expr(b, expr->left);
    check_expr(b, expr->right);
}

static void check_int(const Build *b, Expr *expr)
{
    if (!literal_is_least_int(expr)) return;
    diag_error(b->diags, expr->span, "%.*s does not fit into an int of 64 bits", (int)expr->text_len, expr->text);
    make_bad(expr);
}

/* A program that calls a value `json` could never read it. */
static void check_name(const Build *b, Name name)
{
    if (!name.text || strcmp(name.text, "json") != 0) return;
    Diag *diag = diag_error(b->diags, name.span, "'json' starts a JSON literal and names no value; try 'json_'");
    diag_hint(b->diags, diag, "a literal is written json { \"a\": [1, x] }");
}

static void check_lambda(const Build *b, Expr *expr)
{
    Diag *diag = diag_error(b->diags, expr->span, "an inline function is allowed only as an argument of a call");
    diag_hint(b->diags, diag, "as in xs.map(x => x.name)");
    make_bad(expr);
}

static void check_args(const Build *b, Arg *args, bool of_call)
{
    for (Arg *arg = args; arg; arg = arg->next) {
        bool allowed = of_call && arg->value->kind == EX_LAMBDA;
        if (allowed) check_name(b, arg->value->name);
        if (allowed) check_name(b, arg->value->var2);
        check_expr(b, allowed ? arg->value->left : arg->value);
    }
}

static void check_list(const Build *b, Expr *expr)
{
    const Arg *named = expr->args;
    while (named && !named->name.text) named = named->next;
    if (named) {
        Diag *diag = diag_error(b->diags, named->name.span, "the elements of a list have no names");
        diag_hint(b->diags, diag, "a map is written { %s: … }", named->name.text);
        make_bad(expr);
        return;
    }
    check_args(b, expr->args, false);
}

static void check_parallel(const Build *b, Expr *expr)
{
    for (ParallelBody *body = expr->bodies; body; body = body->next) {
        check_expr(b, body->yield);
        check_block(b, body->block);
    }
    check_name(b, expr->var);
    check_name(b, expr->var2);
    check_expr(b, expr->range);
    check_expr(b, expr->range_end);
    check_expr(b, expr->limit);
    check_block(b, expr->block);
}

static void check_entries(const Build *b, MapEntry *entries)
{
    for (MapEntry *entry = entries; entry; entry = entry->next) {
        check_expr(b, entry->key);
        check_expr(b, entry->value);
    }
}

static void check_policies(const Build *b, const Policy *policy)
{
    for (; policy; policy = policy->next) {
        check_expr(b, policy->value);
        check_block(b, policy->block);
    }
}

static void check_step(const Build *b, Expr *expr)
{
    check_expr(b, expr->left);
    check_args(b, expr->args, false);
    check_policies(b, expr->policies);
}

/* Most nodes are leaves, and a node is several cache lines long: each kind touches only what it has. */
static void check_expr(const Build *b, Expr *expr)
{
    if (!expr) return;
    switch (expr->kind) {
    case EX_INT: check_int(b, expr); return;
    case EX_BINARY: check_binary(b, expr); return;
    case EX_LAMBDA: check_lambda(b, expr); return;
    case EX_LIST: check_list(b, expr); return;
    case EX_MAP: check_entries(b, expr->entries); return;
    case EX_STRING:
        for (Expr *part = expr->parts; part; part = part->next) check_expr(b, part);
        return;
    case EX_CALL:
        check_expr(b, expr->left);
        check_args(b, expr->args, true);
        return;
    case EX_IF:
        check_expr(b, expr->cond);
        check_expr(b, expr->left);
        check_expr(b, expr->right);
        return;
    case EX_FIELD:
    case EX_UNARY:
    case EX_JSON:
    case EX_PAREN: check_expr(b, expr->left); return;
    case EX_INDEX:
        check_expr(b, expr->left);
        check_expr(b, expr->right);
        return;
    case EX_YIELD:
    case EX_SPAWN: check_step(b, expr); return;
    case EX_PARALLEL:
    case EX_RACE:
    case EX_PARALLEL_FOR: check_parallel(b, expr); return;
    default: return;
    }
}

static void check_arm(const Build *b, Arm *arm)
{
    for (Pattern *pattern = arm->patterns; pattern; pattern = pattern->next) {
        for (const Binding *binding = pattern->bindings; binding; binding = binding->next) check_name(b, binding->name);
        check_expr(b, pattern->literal);
    }
    check_expr(b, arm->guard);
    check_block(b, arm->block);
}

static void check_stmt(const Build *b, Stmt *stmt)
{
    check_name(b, stmt->name);
    check_name(b, stmt->var);
    check_name(b, stmt->var2);
    check_expr(b, stmt->target);
    check_expr(b, stmt->value);
    check_expr(b, stmt->range_end);
    check_expr(b, stmt->timeout);
    check_expr(b, stmt->mock_after);
    check_args(b, stmt->args, false);
    check_block(b, stmt->block);
    check_block(b, stmt->else_block);
    for (Arm *arm = stmt->arms; arm; arm = arm->next) check_arm(b, arm);
    for (Catch *clause = stmt->catches; clause; clause = clause->next) {
        check_name(b, clause->var);
        for (const CatchField *f = clause->fields; f; f = f->next) check_name(b, f->var);
        check_block(b, clause->block);
    }
    check_block(b, stmt->finally);
}

static void check_block(const Build *b, Block *block)
{
    if (!block) return;
    for (Stmt *stmt = block->stmts; stmt; stmt = stmt->next) check_stmt(b, stmt);
}

static void check_fields(const Build *b, Field *fields)
{
    for (Field *field = fields; field; field = field->next) check_expr(b, field->value);
}

/* Fields are read behind a '.', so they may have any name; parameters may not. */
static void check_params(const Build *b, const Decl *decl)
{
    bool params =
        decl->kind == DECL_FN || decl->kind == DECL_WORKFLOW || decl->kind == DECL_TOOL || decl->kind == DECL_PROMPT;
    for (const Field *field = params ? decl->params : NULL; field; field = field->next) check_name(b, field->name);
}

void syntax_check(const Build *b, const Module *module)
{
    for (Decl *decl = module->decls; decl; decl = decl->next) {
        check_name(b, decl->name);
        check_params(b, decl);
        check_fields(b, decl->params);
        for (EnumCase *item = decl->cases; item; item = item->next) check_fields(b, item->fields);
        check_expr(b, decl->value);
        check_expr(b, decl->provider_value);
        check_expr(b, decl->provider_value2);
        for (ProviderOption *option = decl->options; option; option = option->next) check_expr(b, option->value);
        for (PromptRow *row = decl->rows; row; row = row->next) {
            check_expr(b, row->value);
            for (Offer *offer = row->offers; offer; offer = offer->next) check_policies(b, offer->policies);
        }
        for (ServerRow *row = decl->served; row; row = row->next) check_expr(b, row->value);
        check_block(b, decl->block);
    }
}
