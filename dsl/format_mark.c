/* format_mark.c: what the tree knows about pieces.
 *
 * The walk recurses: the parser has bounded the height of expressions and types and the nesting of blocks. Strings
 * are printed as they were written, so nothing inside them is visited. */
#include <string.h>

#include "format_internal.h"
#include "grammar.h"

static void mark_expr(Format *f, const Expr *expr);
static void mark_block(Format *f, const Block *block);

static Piece *piece_of(Format *f, uint32_t off)
{
    return &f->pieces[format_piece_at(f, off)];
}

static void mark(Format *f, uint32_t off, int flag)
{
    piece_of(f, off)->marks |= (uint16_t)flag;
}

/* The '(' directly behind a name. */
static void mark_paren(Format *f, Span name, int flags)
{
    Piece *paren = piece_of(f, name.off + name.len);
    if (paren->kind == TOK_LP) paren->marks |= (uint16_t)flags;
}

/* Commas between two offsets do not end entries. */
static void mark_inline(Format *f, uint32_t from, uint32_t to)
{
    for (uint32_t i = format_piece_at(f, from); i < f->count && f->pieces[i].off < to; i++)
        if (f->pieces[i].kind == TOK_COMMA) f->pieces[i].marks |= MARK_INLINE;
}

static void mark_type_piece(Piece *piece)
{
    piece->marks |= piece->kind == TOK_COMMA ? MARK_INLINE : MARK_TYPE;
    if (piece->kind == TOK_LP) piece->marks |= MARK_TIGHT;
}

static void mark_type(Format *f, const TypeExpr *type)
{
    if (!type) return;
    uint32_t end = type->span.off + type->span.len;
    for (uint32_t i = format_piece_at(f, type->span.off); i < f->count && f->pieces[i].off < end; i++)
        mark_type_piece(&f->pieces[i]);
}

static void mark_args(Format *f, const Arg *args)
{
    for (; args; args = args->next) mark_expr(f, args->value);
}

/* ---- operators ---- */

static int binding_of(Op op)
{
    static const int bindings[] = {
        [OP_OR] = 1, [OP_AND] = 2, [OP_EQ] = 3,  [OP_NE] = 3,       [OP_LT] = 3,  [OP_LE] = 3,  [OP_GT] = 3,
        [OP_GE] = 3, [OP_ADD] = 5, [OP_SUB] = 5, [OP_COALESCE] = 4, [OP_MUL] = 6, [OP_DIV] = 6, [OP_MOD] = 6};
    return bindings[op];
}

/* The author broke the line at this operator, before or behind it. */
static bool is_broken_at(const Format *f, uint32_t op)
{
    return f->pieces[op].newlines || (op + 1 < f->count && f->pieces[op + 1].newlines);
}

static bool continues_chain(const Expr *expr, int binding)
{
    return expr->kind == EX_BINARY && binding_of(expr->op) == binding;
}

/* a + b + c leans to the left, a ?? b ?? c to the right; both are one chain. */
static void mark_chain(Format *f, const Expr *expr, Chain *chain)
{
    int binding = binding_of(expr->op);
    uint32_t op = format_piece_at(f, expr->op_span.off);
    f->pieces[op].chain = chain;
    if (is_broken_at(f, op)) chain->broken = true;
    if (f->pieces[op].kind == TOK_MINUS) chain->behind = true;
    const Expr *sides[] = {expr->left, expr->right};
    for (int i = 0; i < 2; i++) {
        if (continues_chain(sides[i], binding)) {
            mark_chain(f, sides[i], chain);
        } else {
            mark_expr(f, sides[i]);
        }
    }
}

static void mark_binary(Format *f, const Expr *expr)
{
    Chain *chain = arena_new(f->arena, Chain);
    chain->last = format_piece_at(f, expr->span.off + expr->span.len - 1);
    Piece *first = piece_of(f, expr->span.off);
    LIST_APPEND(&first->starts, chain, next);
    mark_chain(f, expr, chain);
}

/* ---- clauses ---- */

/* Adds a '{'. Lines in it, or in the head between it and the braces before it, break all; the word behind a '}' may
 * be anywhere. */
static void add_clause(Format *f, Chain *chain, uint32_t brace)
{
    CHECK(brace < f->count);
    Piece *open = &f->pieces[brace];
    if (open->kind != TOK_LBRACE) return;
    open->clauses = chain;
    uint32_t word = chain->last ? chain->last + 1 : brace;
    bool head = open->lines != f->pieces[word].lines || (word != brace && f->pieces[word].comment_count);
    bool inside = f->pieces[open->match].lines != open->lines;
    bool empty = open->match == brace + 1 && !f->pieces[open->match].comment_count;
    if (head || (inside && !empty)) chain->broken = true;
    chain->last = open->match;
}

static void mark_if_clauses(Format *f, const Expr *expr, Chain *chain)
{
    if (!chain) chain = arena_new(f->arena, Chain);
    add_clause(f, chain, format_piece_at(f, expr->left->span.off) - 1);
    if (expr->right->kind == EX_IF && f->pieces[format_piece_at(f, expr->right->span.off) - 1].kind == TOK_ELSE)
        mark_if_clauses(f, expr->right, chain);
    else
        add_clause(f, chain, format_piece_at(f, expr->right->span.off) - 1);
}

static void mark_stmt_clauses(Format *f, const Stmt *stmt, Chain *chain)
{
    if (!chain) chain = arena_new(f->arena, Chain);
    add_clause(f, chain, format_piece_at(f, stmt->block->span.off));
    for (const Catch *clause = stmt->catches; clause; clause = clause->next)
        add_clause(f, chain, format_piece_at(f, clause->block->span.off));
    const Stmt *first = stmt->else_block ? stmt->else_block->stmts : NULL;
    if (first && first->else_if)
        mark_stmt_clauses(f, first, chain);
    else if (stmt->else_block)
        add_clause(f, chain, format_piece_at(f, stmt->else_block->span.off));
    if (stmt->finally) add_clause(f, chain, format_piece_at(f, stmt->finally->span.off));
}

/* ---- expressions ---- */

/* The first policy keeps all others with it, each of the others itself. */
static void mark_policies(Format *f, Span of, const Policy *policies)
{
    for (const Policy *policy = policies; policy; policy = policy->next) {
        const Span span = policy == policies ? of : policy->span;
        Piece *word = piece_of(f, policy->span.off);
        word->marks |= MARK_POLICY;
        word->until = format_piece_at(f, span.off + span.len - 1);
        mark_expr(f, policy->value);
        mark_block(f, policy->block);
    }
}

static void mark_spawn(Format *f, const Expr *expr)
{
    mark_expr(f, expr->left);
    if (!expr->has_with) return;
    uint32_t with = format_piece_at(f, expr->left->span.off + expr->left->span.len);
    if (with + 1 < f->count) f->pieces[with + 1].marks |= MARK_COMMAS;
    mark_args(f, expr->args);
}

static void mark_bodies(Format *f, const ParallelBody *bodies)
{
    for (; bodies; bodies = bodies->next) {
        mark_expr(f, bodies->yield);
        mark_block(f, bodies->block);
    }
}

static void mark_loop(Format *f, Name var, Name var2, const Expr *range, const Expr *range_end)
{
    if (var2.text) mark_inline(f, var.span.off, var2.span.off);
    mark_expr(f, range);
    mark_expr(f, range_end);
}

static void mark_entries(Format *f, const MapEntry *entries)
{
    for (; entries; entries = entries->next) {
        mark_expr(f, entries->key);
        mark_expr(f, entries->value);
    }
}

/* http(…, rate: 10/1s) is written as at a tool. */
static void mark_rate(Format *f, const Arg *args)
{
    for (const Arg *arg = args; arg; arg = arg->next) {
        const Expr *e = arg->value;
        if (!arg->name.text || strcmp(arg->name.text, "rate") != 0 || e->kind != EX_BINARY || e->op != OP_DIV) continue;
        if (e->left->kind == EX_INT && e->right->kind == EX_DURATION) mark(f, e->op_span.off, MARK_RATE);
    }
}

static void mark_expr(Format *f, const Expr *expr)
{
    if (!expr) return;
    switch (expr->kind) {
    case EX_BINARY: mark_binary(f, expr); return;
    case EX_UNARY: mark(f, expr->span.off, MARK_UNARY); break;
    case EX_CALL:
        mark(f, expr->op_span.off, MARK_TIGHT | MARK_COMMAS);
        mark_rate(f, expr->args);
        break;
    case EX_INDEX: mark(f, expr->op_span.off, MARK_TIGHT); break;
    case EX_LIST:
    case EX_MAP: mark(f, expr->span.off, MARK_COMMAS); break;
    case EX_IF:
        if (!f->pieces[format_piece_at(f, expr->left->span.off) - 1].clauses) mark_if_clauses(f, expr, NULL);
        break;
    case EX_LAMBDA:
        if (expr->var2.text) mark_inline(f, expr->span.off, expr->var2.span.off);
        mark_expr(f, expr->left);
        return;
    case EX_STRING: return;
    case EX_SPAWN: mark_spawn(f, expr); return;
    default: break;
    }
    mark_expr(f, expr->cond);
    mark_expr(f, expr->left);
    mark_expr(f, expr->right);
    mark_args(f, expr->args);
    mark_entries(f, expr->entries);
    mark_policies(f, expr->span, expr->policies);
    mark_bodies(f, expr->bodies);
    mark_loop(f, expr->var, expr->var2, expr->range, expr->range_end);
    mark_expr(f, expr->limit);
    mark_block(f, expr->block);
}

/* ---- statements ---- */

static void mark_pattern(Format *f, const Pattern *pattern)
{
    if (pattern->literal) mark(f, pattern->literal->span.off, MARK_UNARY);
    if (pattern->has_bindings) mark_paren(f, pattern->case_name.span, MARK_TIGHT);
}

static void mark_arm(Format *f, const Arm *arm)
{
    for (const Pattern *pattern = arm->patterns; pattern; pattern = pattern->next) mark_pattern(f, pattern);
    mark_expr(f, arm->guard);
    mark_block(f, arm->block);
}

/* The word in front of a block that continues a statement. */
static void mark_clause(Format *f, uint32_t off, int kind)
{
    for (uint32_t i = format_piece_at(f, off); i > 0; i--) {
        if (f->pieces[i].kind != kind) continue;
        f->pieces[i].marks |= MARK_CLAUSE;
        return;
    }
}

static void mark_stmt(Format *f, const Stmt *stmt)
{
    bool clauses = (stmt->kind == ST_IF || stmt->kind == ST_TRY) && stmt->block;
    if (clauses && !piece_of(f, stmt->block->span.off)->clauses) mark_stmt_clauses(f, stmt, NULL);
    mark_type(f, stmt->type_expr);
    mark_expr(f, stmt->target);
    mark_loop(f, stmt->var, stmt->var2, stmt->value, stmt->range_end);
    mark_expr(f, stmt->timeout);
    mark_expr(f, stmt->mock_after);
    mark_args(f, stmt->args);
    mark_block(f, stmt->block);
    for (const Arm *arm = stmt->arms; arm; arm = arm->next) mark_arm(f, arm);
    for (const Catch *clause = stmt->catches; clause; clause = clause->next) {
        mark(f, clause->span.off, MARK_CLAUSE);
        if (clause->fields) mark_paren(f, clause->names->name.span, MARK_TIGHT | MARK_COMMAS);
        mark_block(f, clause->block);
    }
    if (stmt->else_block) mark_clause(f, stmt->else_block->span.off, TOK_ELSE);
    mark_block(f, stmt->else_block);
    if (stmt->finally) mark_clause(f, stmt->finally->span.off, TOK_FINALLY);
    mark_block(f, stmt->finally);
    if (stmt->kind == ST_MOCK) mark_paren(f, stmt->mock_name.span, MARK_TIGHT | MARK_COMMAS);
}

/* A block made for a bare arm or an `else if` has no braces in the text. */
static void mark_block(Format *f, const Block *block)
{
    if (!block) return;
    Piece *open = piece_of(f, block->span.off);
    if (open->kind == TOK_LBRACE && open->list) open->marks |= MARK_STMTS;
    for (const Stmt *stmt = block->stmts; stmt; stmt = stmt->next) mark_stmt(f, stmt);
}

/* ---- declarations ---- */

static void mark_fields(Format *f, const Field *fields)
{
    for (; fields; fields = fields->next) {
        mark_type(f, fields->type_expr);
        mark_expr(f, fields->value);
    }
}

static void mark_attr(Format *f, const Attr *attr)
{
    if (attr->kind != ATTR_RATE) return;
    uint32_t rate = format_piece_at(f, attr->span.off);
    if (rate + 2 < f->count) f->pieces[rate + 2].marks |= MARK_RATE;
}

/* fn f<T, U>(…): from the '<' to the '>', and the '(' behind it. */
static void mark_type_params(Format *f, const Decl *decl)
{
    uint32_t i = format_piece_at(f, decl->name.span.off) + 1;
    while (f->pieces[i].kind != TOK_GT) mark_type_piece(&f->pieces[i++]);
    mark_type_piece(&f->pieces[i]);
    mark_paren(f, (Span){f->pieces[i].off, 1}, MARK_TIGHT | MARK_COMMAS);
}

static void mark_decl(Format *f, const Decl *decl)
{
    if (decl->type_params)
        mark_type_params(f, decl);
    else if (decl->name.text)
        mark_paren(f, decl->name.span, MARK_TIGHT | MARK_COMMAS);
    mark_fields(f, decl->params);
    mark_type(f, decl->result);
    mark_expr(f, decl->value);
    for (const EnumCase *item = decl->cases; item; item = item->next) {
        if (item->has_fields) mark_paren(f, item->name.span, MARK_TIGHT | MARK_COMMAS);
        mark_fields(f, item->fields);
    }
    for (const Attr *attr = decl->attrs; attr; attr = attr->next) mark_attr(f, attr);
    mark_expr(f, decl->provider_value);
    mark_expr(f, decl->provider_value2);
    for (const ProviderOption *option = decl->options; option; option = option->next) mark_expr(f, option->value);
    for (const PromptRow *row = decl->rows; row; row = row->next) {
        mark_expr(f, row->value);
        for (const Offer *offer = row->offers; offer; offer = offer->next)
            mark_policies(f, offer->span, offer->policies);
    }
    for (const ServerRow *row = decl->served; row; row = row->next) {
        for (const Attr *attr = row->attrs; attr; attr = attr->next) mark_attr(f, attr);
        mark_expr(f, row->value);
    }
    mark_block(f, decl->block);
}

void format_mark_tree(Format *f, const Module *module)
{
    for (const Decl *decl = module->decls; decl; decl = decl->next) mark_decl(f, decl);
}
