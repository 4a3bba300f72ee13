/* ast.c: the builders of the tree. Numbers and text are decoded in literal.c. */
#include "ast_build.h"

#include "grammar.h"
#include "literal.h"
#include "name.h"

Name ast_word(Build *b, Token token)
{
    const char *text = source_text(b->sources, token_span(token));
    return (Name){name_intern(b->sources, text, token.len), token_span(token)};
}

/* ---- declarations ---- */

void ast_add_decl(Build *b, Decl *decl)
{
    LIST_APPEND(&b->decls, decl, next);
    b->module->decls = b->decls.first;
}

/* The first doc line that belongs to the token at `off` or to a later one. */
static uint32_t find_doc(const TokenList *tokens, uint32_t off)
{
    uint32_t low = 0, high = tokens->doc_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tokens->docs[middle].token_off < off)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The /// lines directly above the token at `off`, joined by newlines; NULL: none. */
static const char *doc_of(const Build *b, uint32_t off)
{
    const TokenList *tokens = b->tokens;
    uint32_t begin = find_doc(tokens, off), end = begin;
    size_t len = 0;
    while (end < tokens->doc_count && tokens->docs[end].token_off == off) len += tokens->docs[end++].len + 1;
    if (end == begin) return NULL;
    char *doc = arena_alloc(b->arena, len), *at = doc;
    for (uint32_t i = begin; i < end; i++) {
        const char *line = source_text(b->sources, (Span){tokens->docs[i].off, tokens->docs[i].len});
        if (i > begin) *at++ = '\n';
        for (uint32_t j = 0; j < tokens->docs[i].len; j++) *at++ = line[j];
    }
    return doc;
}

static Decl *new_decl(Build *b, DeclKind kind, Token keyword)
{
    Decl *decl = arena_new(b->arena, Decl);
    decl->kind = kind;
    decl->span = span_from(b, token_span(keyword));
    decl->doc = doc_of(b, keyword.off);
    return decl;
}

Decl *ast_import(Build *b, Token keyword, Expr *path, const Token *alias)
{
    Decl *decl = new_decl(b, DECL_IMPORT, keyword);
    decl->value = literal_plain(b, path, "an import path");
    if (alias) decl->name = ast_word(b, *alias);
    return decl;
}

Decl *ast_const(Build *b, Token keyword, Token name, TypeExpr *type, Expr *value)
{
    Decl *decl = new_decl(b, DECL_CONST, keyword);
    decl->name = ast_word(b, name);
    decl->result = type;
    decl->value = value;
    return decl;
}

Decl *ast_record(Build *b, DeclKind kind, Token keyword, Token name, FieldList fields)
{
    Decl *decl = new_decl(b, kind, keyword);
    decl->name = ast_word(b, name);
    decl->params = fields.first;
    return decl;
}

Decl *ast_enum(Build *b, Token keyword, Token name, EnumCaseList cases)
{
    Decl *decl = new_decl(b, DECL_ENUM, keyword);
    decl->name = ast_word(b, name);
    decl->cases = cases.first;
    return decl;
}

static Decl *new_callable(Build *b, DeclKind kind, Token keyword, Token name, Signature signature)
{
    Decl *decl = new_decl(b, kind, keyword);
    decl->name = ast_word(b, name);
    decl->params = signature.params;
    decl->result = signature.result.type;
    decl->result_label = signature.result.label;
    decl->result_label_span = signature.result.label_span;
    return decl;
}

Decl *ast_tool(Build *b, Token keyword, Token name, Signature signature, AttrList attrs, Provider *provider)
{
    Decl *decl = new_callable(b, DECL_TOOL, keyword, name, signature);
    decl->attrs = attrs.first;
    decl->provider = provider->kind;
    decl->provider_value = provider->value;
    decl->provider_value2 = provider->value2;
    decl->options = provider->options.first;
    return decl;
}

Decl *ast_prompt(Build *b, Token keyword, Token name, Signature signature, AttrList attrs, Fails fails,
                 PromptRowList rows)
{
    Decl *decl = new_callable(b, DECL_PROMPT, keyword, name, signature);
    decl->attrs = attrs.first;
    decl->has_fails = fails.present;
    decl->fails = fails.names;
    decl->rows = rows.first;
    return decl;
}

Decl *ast_sandbox(Build *b, Token keyword, Token name, PromptRowList rows)
{
    Decl *decl = new_decl(b, DECL_SANDBOX, keyword);
    decl->name = ast_word(b, name);
    decl->rows = rows.first;
    return decl;
}

Decl *ast_fn(Build *b, Token keyword, Token name, Binding *type_params, Signature signature, Block *block)
{
    Decl *decl = new_callable(b, DECL_FN, keyword, name, signature);
    decl->type_params = type_params;
    decl->block = block;
    return decl;
}

Decl *ast_workflow(Build *b, Token keyword, Token name, Signature signature, Fails fails, Block *block)
{
    Decl *decl = new_callable(b, DECL_WORKFLOW, keyword, name, signature);
    decl->has_fails = fails.present;
    decl->fails = fails.names;
    decl->block = block;
    return decl;
}

Decl *ast_test(Build *b, Token keyword, Expr *name, Block *block)
{
    Decl *decl = new_decl(b, DECL_TEST, keyword);
    decl->value = literal_plain(b, name, "a test name");
    decl->block = block;
    return decl;
}

/* The file with the server's tools is beside this one. */
Decl *ast_server(Build *b, Token keyword, Token name, Provider *provider, AttrList attrs, ServerRowList rows)
{
    Decl *decl = new_decl(b, DECL_IMPORT, keyword);
    decl->name = ast_word(b, name);
    decl->is_server = true;
    decl->provider = provider->kind;
    decl->provider_value = provider->value;
    decl->options = provider->options.first;
    decl->attrs = attrs.first;
    decl->served = rows.first;
    decl->value = literal_made(b->arena, arena_printf(b->arena, "%s.mcp.json", decl->name.text), decl->name.span);
    return decl;
}

Field *ast_field(Build *b, Name name, TypeExpr *type, Expr *value)
{
    Field *field = arena_new(b->arena, Field);
    field->name = name;
    field->span = span_from(b, name.span);
    field->doc = doc_of(b, name.span.off);
    field->type_expr = type;
    field->value = value;
    return field;
}

EnumCase *ast_enum_case(Build *b, Token name, const FieldList *fields)
{
    EnumCase *enum_case = arena_new(b->arena, EnumCase);
    enum_case->name = ast_word(b, name);
    enum_case->span = span_from(b, token_span(name));
    enum_case->doc = doc_of(b, name.off);
    enum_case->has_fields = fields != NULL;
    enum_case->fields = fields ? fields->first : NULL;
    return enum_case;
}

/* ---- names and types ---- */

CatchName *ast_qualified(Build *b, const Token *module, Token name)
{
    CatchName *qualified = arena_new(b->arena, CatchName);
    if (module) qualified->module = ast_word(b, *module);
    qualified->name = ast_word(b, name);
    return qualified;
}

Binding *ast_binding(Build *b, Token name)
{
    Binding *binding = arena_new(b->arena, Binding);
    binding->name = ast_word(b, name);
    return binding;
}

static TypeExpr *new_type(Build *b, TypeExprKind kind, Span start, uint32_t height)
{
    TypeExpr *type = arena_new(b->arena, TypeExpr);
    type->kind = kind;
    type->span = span_from(b, start);
    type->height = height;
    return type;
}

TypeExpr *ast_type_name(Build *b, const CatchName *name)
{
    TypeExpr *type = new_type(b, TYX_NAME, name->module.text ? name->module.span : name->name.span, 1);
    type->qualifier = name->module;
    type->name = name->name;
    return type;
}

static uint32_t highest(const TypeExpr *args)
{
    uint32_t height = 0;
    for (const TypeExpr *arg = args; arg; arg = arg->next)
        if (arg->height > height) height = arg->height;
    return height;
}

TypeExpr *ast_type_function(Build *b, Token keyword, TypeExpr *params, TypeExpr *result)
{
    const uint32_t height = highest(params);
    TypeExpr *type =
        new_type(b, TYX_FUNCTION, token_span(keyword), (height > result->height ? height : result->height) + 1);
    type->args = params;
    type->result = result;
    return type;
}

TypeExpr *ast_type_generic(Build *b, Token name, TypeExpr *args)
{
    TypeExpr *type = new_type(b, TYX_GENERIC, token_span(name), highest(args) + 1);
    type->name = ast_word(b, name);
    type->args = args;
    return type;
}

/* `T????…` is the one way to write a high type without brackets. */
TypeExpr *ast_type_optional(Build *b, TypeExpr *inner)
{
    TypeExpr *type = new_type(b, TYX_OPTIONAL, inner->span, inner->height + 1);
    type->args = inner;
    if (type->height <= AST_HEIGHT_MAX) return type;
    if (!b->too_high) diag_error(b->diags, type->span, "this type is nested too deeply");
    b->too_high = true;
    return inner;
}

/* ---- statements ---- */

Block *ast_block(Build *b, Token open, StmtList stmts)
{
    Block *block = arena_new(b->arena, Block);
    block->span = span_from(b, token_span(open));
    block->stmts = stmts.first;
    return block;
}

Block *ast_bare_block(Build *b, Stmt *stmt)
{
    Block *block = arena_new(b->arena, Block);
    block->span = stmt->span;
    block->stmts = stmt;
    return block;
}

static Stmt *new_stmt(Build *b, StmtKind kind, Span start, Span keyword)
{
    Stmt *stmt = arena_new(b->arena, Stmt);
    stmt->kind = kind;
    stmt->span = span_from(b, start);
    stmt->keyword = keyword;
    return stmt;
}

Stmt *ast_bad_stmt(Build *b)
{
    Span nowhere = {b->last_end, 0};
    return new_stmt(b, ST_BAD, nowhere, nowhere);
}

Stmt *ast_binding_stmt(Build *b, StmtKind kind, Token keyword, Token name, TypeExpr *type, Expr *value)
{
    Stmt *stmt = new_stmt(b, kind, token_span(keyword), token_span(keyword));
    stmt->name = ast_word(b, name);
    stmt->type_expr = type;
    stmt->value = value;
    return stmt;
}

static Op op_of_token(int kind)
{
    switch (kind) {
    case TOK_OR: return OP_OR;
    case TOK_AND: return OP_AND;
    case TOK_EQ: return OP_EQ;
    case TOK_NE: return OP_NE;
    case TOK_LT: return OP_LT;
    case TOK_LE: return OP_LE;
    case TOK_GT: return OP_GT;
    case TOK_GE: return OP_GE;
    case TOK_COALESCE: return OP_COALESCE;
    case TOK_PLUS:
    case TOK_PLUSEQ: return OP_ADD;
    case TOK_MINUS:
    case TOK_MINUSEQ: return OP_SUB;
    case TOK_STAR:
    case TOK_STAREQ: return OP_MUL;
    case TOK_SLASH:
    case TOK_SLASHEQ: return OP_DIV;
    case TOK_PERCENT: return OP_MOD;
    case TOK_NOT: return OP_NOT;
    default: return OP_NONE;
    }
}

Stmt *ast_assign(Build *b, Expr *target, Token op, Expr *value)
{
    Stmt *stmt = new_stmt(b, ST_ASSIGN, target->span, token_span(op));
    stmt->target = target;
    stmt->op = op_of_token(op.kind);
    stmt->value = value;
    return stmt;
}

Stmt *ast_expr_stmt(Build *b, Expr *value)
{
    Stmt *stmt = new_stmt(b, ST_EXPR, value->span, value->span);
    stmt->value = value;
    return stmt;
}

Stmt *ast_yield_stmt(Build *b, Token keyword, Name label)
{
    Stmt *stmt = new_stmt(b, ST_YIELD, token_span(keyword), token_span(keyword));
    stmt->label = label;
    return stmt;
}

Stmt *ast_if_stmt(Build *b, Token keyword, Expr *head, Block *block, Block *else_block)
{
    Stmt *stmt = new_stmt(b, ST_IF, token_span(keyword), token_span(keyword));
    stmt->value = head;
    stmt->block = block;
    stmt->else_block = else_block;
    return stmt;
}

Block *ast_else_if(Build *b, Stmt *stmt)
{
    stmt->else_if = true;
    return ast_bare_block(b, stmt);
}

Stmt *ast_while(Build *b, Token keyword, Expr *head, Block *block)
{
    Stmt *stmt = new_stmt(b, ST_WHILE, token_span(keyword), token_span(keyword));
    stmt->value = head;
    stmt->block = block;
    return stmt;
}

Vars ast_vars(Build *b, Token var, const Token *var2)
{
    Vars vars = {.var = ast_word(b, var)};
    if (var2) vars.var2 = ast_word(b, *var2);
    return vars;
}

Stmt *ast_for(Build *b, Token keyword, Vars vars, Range range, Block *block)
{
    Stmt *stmt = new_stmt(b, ST_FOR, token_span(keyword), token_span(keyword));
    stmt->var = vars.var;
    stmt->var2 = vars.var2;
    stmt->value = range.from;
    stmt->range_end = range.to;
    stmt->block = block;
    return stmt;
}

Stmt *ast_match(Build *b, Token keyword, Expr *head, ArmList arms)
{
    Stmt *stmt = new_stmt(b, ST_MATCH, token_span(keyword), token_span(keyword));
    stmt->value = head;
    stmt->arms = arms.first;
    return stmt;
}

Arm *ast_arm(Build *b, PatternList patterns, Expr *guard, Block *block, bool bare)
{
    Arm *arm = arena_new(b->arena, Arm);
    arm->span = span_from(b, patterns.first->span);
    arm->patterns = patterns.first;
    arm->guard = guard;
    arm->block = block;
    arm->bare = bare;
    return arm;
}

static Pattern *new_pattern(Build *b, PatternKind kind, Span start)
{
    Pattern *pattern = arena_new(b->arena, Pattern);
    pattern->kind = kind;
    pattern->span = span_from(b, start);
    return pattern;
}

Pattern *ast_pattern_case(Build *b, const Token *module, const Token *type, Token name)
{
    Pattern *pattern = new_pattern(b, PAT_CASE, token_span(module ? *module : type ? *type : name));
    if (module) pattern->module = ast_word(b, *module);
    if (type) pattern->type_name = ast_word(b, *type);
    pattern->case_name = ast_word(b, name);
    return pattern;
}

Pattern *ast_pattern_bindings(Build *b, Pattern *pattern, Binding *bindings)
{
    pattern->has_bindings = true;
    pattern->bindings = bindings;
    pattern->span = span_from(b, pattern->span);
    return pattern;
}

Pattern *ast_pattern_literal(Build *b, Expr *literal)
{
    Pattern *pattern = new_pattern(b, PAT_LITERAL, literal->span);
    pattern->literal = literal->kind == EX_STRING ? literal_plain(b, literal, "a pattern") : literal;
    return pattern;
}

Pattern *ast_pattern_else(Build *b, Token keyword)
{
    return new_pattern(b, PAT_ELSE, token_span(keyword));
}

Stmt *ast_jump(Build *b, StmtKind kind, Token keyword, Expr *value)
{
    Stmt *stmt = new_stmt(b, kind, token_span(keyword), token_span(keyword));
    stmt->value = value;
    return stmt;
}

Stmt *ast_try(Build *b, Token keyword, Block *block, CatchList catches, Block *finally)
{
    Stmt *stmt = new_stmt(b, ST_TRY, token_span(keyword), token_span(keyword));
    stmt->block = block;
    stmt->catches = catches.first;
    stmt->finally = finally;
    return stmt;
}

Catch *ast_catch(Build *b, Token keyword, Token var, CatchName *names, Block *block)
{
    Catch *node = arena_new(b->arena, Catch);
    node->span = span_from(b, token_span(keyword));
    node->var = ast_word(b, var);
    node->names = names;
    node->block = block;
    return node;
}

Catch *ast_catch_fields(Build *b, Token keyword, CatchName *name, CatchField *fields, Block *block)
{
    Catch *node = arena_new(b->arena, Catch);
    node->span = span_from(b, token_span(keyword));
    node->names = name;
    node->fields = fields;
    node->block = block;
    return node;
}

CatchField *ast_catch_field_as(Build *b, Name field, Token var)
{
    CatchField *node = arena_new(b->arena, CatchField);
    node->field = field;
    node->var = ast_word(b, var);
    return node;
}

CatchField *ast_catch_field(Build *b, Token name)
{
    return ast_catch_field_as(b, ast_word(b, name), name);
}

Stmt *ast_with(Build *b, Token keyword, Expr *call, Expr *timeout, Name label, Block *block)
{
    Stmt *stmt = new_stmt(b, ST_WITH, token_span(keyword), token_span(keyword));
    stmt->value = call;
    stmt->timeout = timeout;
    stmt->label = label;
    stmt->block = block;
    return stmt;
}

Stmt *ast_mock_after(Stmt *mock, Expr *delay)
{
    mock->mock_after = delay;
    return mock;
}

Stmt *ast_mock(Build *b, Token keyword, const CatchName *callee, ArgList args, Expr *value, bool fails)
{
    Stmt *stmt = new_stmt(b, ST_MOCK, token_span(keyword), token_span(keyword));
    stmt->mock_module = callee->module;
    stmt->mock_name = callee->name;
    stmt->args = args.first;
    stmt->value = value;
    stmt->mock_fails = fails;
    return stmt;
}

/* ---- expressions ---- */

static Expr *new_expr(Build *b, ExprKind kind, Span start)
{
    Expr *expr = arena_new(b->arena, Expr);
    expr->kind = kind;
    expr->span = span_from(b, start);
    expr->height = 1;
    return expr;
}

/* Counts a child into the height. Above the limit the parent becomes EX_BAD, so nothing higher is ever built on it. */
static void add_height(Build *b, Expr *parent, const Expr *child)
{
    if (!child || parent->kind == EX_BAD) return;
    CHECK(child->height > 0 && child->height <= AST_HEIGHT_MAX);
    if (child->height + 1 > parent->height) parent->height = child->height + 1;
    if (parent->height <= AST_HEIGHT_MAX) return;
    if (!b->too_high) {
        Diag *diag = diag_error(b->diags, child->span, "this expression is more than %d levels deep", AST_HEIGHT_MAX);
        diag_hint(b->diags, diag, "give parts of it names with 'let'");
    }
    b->too_high = true;
    *parent = (Expr){.kind = EX_BAD, .span = parent->span, .height = 1};
}

static void add_arg_heights(Build *b, Expr *parent, const Arg *args)
{
    for (; args; args = args->next) add_height(b, parent, args->value);
}

Expr *ast_binary(Build *b, Expr *left, Token op, Expr *right)
{
    Expr *expr = new_expr(b, EX_BINARY, left->span);
    expr->op = op_of_token(op.kind);
    expr->op_span = token_span(op);
    expr->left = left;
    expr->right = right;
    add_height(b, expr, left);
    add_height(b, expr, right);
    return expr;
}

Expr *ast_unary(Build *b, Token op, Expr *value)
{
    if (op.kind == TOK_MINUS && literal_is_least_int(value)) return literal_negate(b, token_span(op), value);
    Expr *expr = new_expr(b, EX_UNARY, token_span(op));
    expr->op = op.kind == TOK_MINUS ? OP_NEG : OP_NOT;
    expr->op_span = token_span(op);
    expr->left = value;
    add_height(b, expr, value);
    return expr;
}

Expr *ast_name(Build *b, Token name)
{
    Expr *expr = new_expr(b, EX_NAME, token_span(name));
    expr->span = token_span(name);
    expr->name = ast_word(b, name);
    return expr;
}

Expr *ast_member(Build *b, Expr *left, Name name)
{
    Expr *expr = new_expr(b, EX_FIELD, left->span);
    expr->left = left;
    expr->name = name;
    add_height(b, expr, left);
    return expr;
}

Expr *ast_optional_member(Build *b, Expr *left, Name name)
{
    Expr *expr = ast_member(b, left, name);
    expr->optional = expr->kind == EX_FIELD;
    return expr;
}

Expr *ast_index(Build *b, Expr *left, Token open, Expr *index)
{
    Expr *expr = new_expr(b, EX_INDEX, left->span);
    expr->left = left;
    expr->right = index;
    expr->op_span = token_span(open);
    add_height(b, expr, left);
    add_height(b, expr, index);
    return expr;
}

Expr *ast_call(Build *b, Expr *left, Token open, ArgList args)
{
    Expr *expr = new_expr(b, EX_CALL, left->span);
    expr->left = left;
    expr->args = args.first;
    expr->op_span = token_span(open);
    add_height(b, expr, left);
    add_arg_heights(b, expr, args.first);
    return expr;
}

Expr *ast_paren(Build *b, Token open, Expr *value)
{
    Expr *expr = new_expr(b, EX_PAREN, token_span(open));
    expr->left = value;
    expr->op_span = token_span(open);
    add_height(b, expr, value);
    return expr;
}

Expr *ast_if_expr(Build *b, Token keyword, Expr *cond, Expr *left, Expr *right)
{
    Expr *expr = new_expr(b, EX_IF, token_span(keyword));
    expr->cond = cond;
    expr->left = left;
    expr->right = right;
    add_height(b, expr, cond);
    add_height(b, expr, left);
    add_height(b, expr, right);
    return expr;
}

static ExprKind literal_kind(int token_kind)
{
    switch (token_kind) {
    case TOK_INT: return EX_INT;
    case TOK_FLOAT: return EX_FLOAT;
    case TOK_DUR: return EX_DURATION;
    case TOK_TRUE:
    case TOK_FALSE: return EX_BOOL;
    default: return EX_NULL;
    }
}

Expr *ast_literal(Build *b, Token token)
{
    Expr *expr = new_expr(b, literal_kind(token.kind), token_span(token));
    expr->span = token_span(token);
    if (token.kind == TOK_TRUE) expr->int_value = 1;
    literal_fill(b, expr, token);
    return expr;
}

Expr *ast_negative(Build *b, Token minus, Token token)
{
    return literal_negate(b, token_span(minus), ast_literal(b, token));
}

Expr *ast_list(Build *b, Token open, ArgList args)
{
    Expr *expr = new_expr(b, EX_LIST, token_span(open));
    expr->args = args.first;
    expr->op_span = token_span(open);
    add_arg_heights(b, expr, args.first);
    return expr;
}

Expr *ast_map(Build *b, Token open, MapEntryList entries)
{
    Expr *expr = new_expr(b, EX_MAP, token_span(open));
    expr->entries = entries.first;
    expr->op_span = token_span(open);
    for (const MapEntry *entry = entries.first; entry; entry = entry->next) {
        add_height(b, expr, entry->key);
        add_height(b, expr, entry->value);
    }
    return expr;
}

Expr *ast_json(Build *b, Token keyword, Expr *value)
{
    Expr *expr = new_expr(b, EX_JSON, token_span(keyword));
    expr->left = value;
    expr->op_span = token_span(keyword);
    add_height(b, expr, value);
    return expr;
}

MapEntry *ast_entry_named(Build *b, Name name, Expr *value)
{
    MapEntry *entry = arena_new(b->arena, MapEntry);
    entry->name = name;
    entry->value = value;
    return entry;
}

MapEntry *ast_entry_keyed(Build *b, Expr *key, Expr *value, bool computed)
{
    MapEntry *entry = arena_new(b->arena, MapEntry);
    entry->key = key;
    entry->value = value;
    entry->computed = computed;
    return entry;
}

Arg *ast_arg(Build *b, Name name, Expr *value)
{
    Arg *arg = arena_new(b->arena, Arg);
    arg->name = name;
    arg->value = value;
    return arg;
}

Expr *ast_lambda(Build *b, Token name, Expr *value)
{
    Expr *expr = new_expr(b, EX_LAMBDA, token_span(name));
    expr->name = ast_word(b, name);
    expr->left = value;
    add_height(b, expr, value);
    return expr;
}

Expr *ast_lambda_of_two(Build *b, Token open, Token name, const Binding *others, Expr *value)
{
    Expr *expr = ast_lambda(b, name, value);
    expr->span = span_from(b, token_span(open));
    if (expr->kind == EX_BAD) return expr;
    expr->var2 = others->name;
    if (!others->next) return expr;
    Diag *diag = diag_error(b->diags, others->next->name.span, "an inline function has at most two parameters");
    diag_hint(b->diags, diag, "as in xs.fold(0, (sum, x) => sum + x)");
    return expr;
}

Expr *ast_string(Build *b, Token open, ExprList parts, Token close)
{
    Expr *expr = new_expr(b, EX_STRING, token_span(open));
    expr->span = span_join(token_span(open), token_span(close));
    expr->op_span = token_span(open);
    if (open.flags & TOKEN_BLOCK) literal_dedent(b, &parts);
    expr->parts = literal_decode(b, parts);
    for (const Expr *part = expr->parts; part; part = part->next) add_height(b, expr, part);
    return expr;
}

/* The raw text; literal_decode makes it what it means once the whole string is known. */
Expr *ast_text(Build *b, Token token)
{
    Expr *expr = new_expr(b, EX_TEXT, token_span(token));
    expr->span = token_span(token);
    expr->text = source_text(b->sources, token_span(token));
    expr->text_len = token.len;
    return expr;
}

Name ast_label(Build *b, Expr *string)
{
    Expr *plain = literal_plain(b, string, "a label");
    const Expr *text = plain->parts;
    return (Name){text ? name_intern(b->sources, text->text, text->text_len) : name_intern(b->sources, "", 0),
                  string->span};
}

Expr *ast_spawn(Build *b, Token keyword, Expr *call, With with, bool detached)
{
    Expr *expr = new_expr(b, EX_SPAWN, token_span(keyword));
    expr->left = call;
    expr->detached = detached;
    expr->has_with = with.present;
    expr->args = with.args;
    add_height(b, expr, call);
    add_arg_heights(b, expr, with.args);
    return expr;
}

Expr *ast_yield(Build *b, Token keyword, Expr *call, PolicyList policies)
{
    Expr *expr = new_expr(b, EX_YIELD, token_span(keyword));
    expr->left = call;
    expr->op_span = token_span(keyword);
    expr->policies = policies.first;
    add_height(b, expr, call);
    for (const Policy *policy = policies.first; policy; policy = policy->next) add_height(b, expr, policy->value);
    return expr;
}

Policy *ast_policy(Build *b, PolicyKind kind, Token keyword, Expr *value, Block *block)
{
    Policy *policy = arena_new(b->arena, Policy);
    policy->kind = kind;
    policy->span = span_from(b, token_span(keyword));
    policy->value = kind == POL_AS ? literal_plain(b, value, "a label") : value;
    policy->block = block;
    return policy;
}

Policy *ast_retry_on(Build *b, Token keyword, Expr *value, CatchName *errors)
{
    Policy *policy = ast_policy(b, POL_RETRY, keyword, value, NULL);
    policy->errors = errors;
    return policy;
}

Expr *ast_concurrent(Build *b, ExprKind kind, Token keyword, ParallelBodyList bodies, Name label)
{
    Expr *expr = new_expr(b, kind, token_span(keyword));
    expr->bodies = bodies.first;
    expr->label = label;
    for (const ParallelBody *body = bodies.first; body; body = body->next) add_height(b, expr, body->yield);
    return expr;
}

Expr *ast_parallel_for(Build *b, Token keyword, Vars vars, Range range, Expr *limit, Block *block, Name label)
{
    Expr *expr = new_expr(b, EX_PARALLEL_FOR, token_span(keyword));
    expr->var = vars.var;
    expr->var2 = vars.var2;
    expr->range = range.from;
    expr->range_end = range.to;
    expr->limit = limit;
    expr->block = block;
    expr->label = label;
    add_height(b, expr, range.from);
    add_height(b, expr, range.to);
    add_height(b, expr, limit);
    return expr;
}

ParallelBody *ast_parallel_body(Build *b, Name name, Expr *yield, Block *block)
{
    ParallelBody *body = arena_new(b->arena, ParallelBody);
    body->name = name;
    body->yield = yield;
    body->block = block;
    return body;
}
