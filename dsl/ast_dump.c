/* ast_dump.c: the tree as indented text, one node a line, children one step further in.
 *
 * The dump shows structure, not style: golden tests compare it, so what a node prints is its kind, its names and its
 * literal value. */
#include "parse.h"

#include <string.h>

typedef struct Dump {
    FILE *out;
    int depth;
} Dump;

static void dump_expr(Dump *d, const char *role, const Expr *expr);
static void dump_block(Dump *d, const char *role, const Block *block);

static void open_line(Dump *d, const char *role)
{
    fprintf(d->out, "%*s", d->depth * 2, "");
    if (role) fprintf(d->out, "%s: ", role);
}

static void dump_name(Dump *d, Name name)
{
    if (name.text) fprintf(d->out, " %s", name.text);
}

static void dump_text(Dump *d, const char *text, uint32_t len)
{
    fputs(" \"", d->out);
    for (uint32_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n') {
            fputs("\\n", d->out);
        } else if (c == '"' || c == '\\') {
            fprintf(d->out, "\\%c", c);
        } else if (c < 0x20) {
            fprintf(d->out, "\\u{%x}", c);
        } else {
            fputc(c, d->out);
        }
    }
    fputc('"', d->out);
}

static void dump_qualified(Dump *d, Name module, Name name)
{
    fprintf(d->out, " %s%s%s", module.text ? module.text : "", module.text ? "." : "", name.text ? name.text : "");
}

static void dump_type_text(Dump *d, const TypeExpr *type)
{
    if (type->kind == TYX_OPTIONAL) {
        dump_type_text(d, type->args);
        fputc('?', d->out);
        return;
    }
    if (type->kind == TYX_FUNCTION) {
        for (const TypeExpr *arg = type->args; arg; arg = arg->next) {
            fputs(arg == type->args ? "fn(" : ", ", d->out);
            dump_type_text(d, arg);
        }
        fputs(") -> ", d->out);
        dump_type_text(d, type->result);
        return;
    }
    fprintf(d->out, "%s%s%s", type->qualifier.text ? type->qualifier.text : "", type->qualifier.text ? "." : "",
            type->name.text);
    if (type->kind != TYX_GENERIC) return;
    for (const TypeExpr *arg = type->args; arg; arg = arg->next) {
        fputs(arg == type->args ? "<" : ", ", d->out);
        dump_type_text(d, arg);
    }
    fputc('>', d->out);
}

static void dump_type(Dump *d, const TypeExpr *type)
{
    if (!type) return;
    fputs(": ", d->out);
    dump_type_text(d, type);
}

static const char *op_name(Op op)
{
    static const char *const names[] = {
        "=", "||", "&&", "==", "!=", "<", "<=", ">", ">=", "?\?", "+", "-", "*", "/", "%", "!", "-"};
    return names[op];
}

static const char *expr_name(ExprKind kind)
{
    static const char *const names[] = {
        [EX_BAD] = "bad",       [EX_NULL] = "null",         [EX_BOOL] = "bool",     [EX_INT] = "int",
        [EX_FLOAT] = "float",   [EX_DURATION] = "duration", [EX_STRING] = "string", [EX_TEXT] = "text",
        [EX_NAME] = "name",     [EX_FIELD] = "field",       [EX_INDEX] = "index",   [EX_CALL] = "call",
        [EX_BINARY] = "binary", [EX_UNARY] = "unary",       [EX_LIST] = "list",     [EX_MAP] = "map",
        [EX_IF] = "if",         [EX_LAMBDA] = "lambda",     [EX_PAREN] = "paren",   [EX_YIELD] = "yield",
        [EX_SPAWN] = "spawn",   [EX_PARALLEL] = "parallel", [EX_RACE] = "race",     [EX_PARALLEL_FOR] = "parallel-for",
        [EX_JSON] = "json",
    };
    return names[kind];
}

static void dump_args(Dump *d, const Arg *args)
{
    for (; args; args = args->next) dump_expr(d, args->name.text ? args->name.text : "arg", args->value);
}

static void dump_names(Dump *d, const char *role, const CatchName *names)
{
    open_line(d, NULL);
    fputs(role, d->out);
    for (; names; names = names->next) dump_qualified(d, names->module, names->name);
    fputc('\n', d->out);
}

static void dump_policies(Dump *d, const Policy *policies)
{
    static const char *const names[] = {"retry", "backoff", "timeout", "else", "undo", "as", "key", "approve", "times"};
    for (; policies; policies = policies->next) {
        dump_expr(d, names[policies->kind], policies->value);
        if (policies->errors) dump_names(d, "on", policies->errors);
        dump_block(d, names[policies->kind], policies->block);
    }
}

static void dump_expr_head(Dump *d, const Expr *expr)
{
    fputs(expr_name(expr->kind), d->out);
    dump_name(d, expr->name);
    if (expr->kind == EX_BOOL) fputs(expr->int_value ? " true" : " false", d->out);
    if (expr->kind == EX_INT) fprintf(d->out, " %lld", (long long)expr->int_value);
    if (expr->kind == EX_DURATION) fprintf(d->out, " %lldms", (long long)expr->int_value);
    if (expr->kind == EX_FLOAT) fprintf(d->out, " %.17g", expr->float_value);
    if (expr->kind == EX_TEXT) dump_text(d, expr->text, expr->text_len);
    if (expr->kind == EX_BINARY || expr->kind == EX_UNARY) fprintf(d->out, " %s", op_name(expr->op));
    if (expr->detached) fputs(" detached", d->out);
    if (expr->optional) fputs(" optional", d->out);
    dump_name(d, expr->var);
    dump_name(d, expr->var2);
    if (expr->label.text) dump_text(d, expr->label.text, (uint32_t)strlen(expr->label.text));
    fputc('\n', d->out);
}

static void dump_expr(Dump *d, const char *role, const Expr *expr)
{
    if (!expr) return;
    open_line(d, role);
    dump_expr_head(d, expr);
    d->depth++;
    dump_expr(d, "cond", expr->cond);
    dump_expr(d, NULL, expr->left);
    dump_expr(d, NULL, expr->right);
    for (const Expr *part = expr->parts; part; part = part->next) dump_expr(d, NULL, part);
    dump_args(d, expr->args);
    for (const MapEntry *entry = expr->entries; entry; entry = entry->next) {
        dump_expr(d, entry->computed ? "computed-key" : "key", entry->key);
        dump_expr(d, entry->name.text ? entry->name.text : "value", entry->value);
    }
    dump_policies(d, expr->policies);
    for (const ParallelBody *body = expr->bodies; body; body = body->next) {
        dump_expr(d, body->name.text, body->yield);
        dump_block(d, body->name.text, body->block);
    }
    dump_expr(d, "from", expr->range);
    dump_expr(d, "to", expr->range_end);
    dump_expr(d, "limit", expr->limit);
    dump_block(d, "body", expr->block);
    d->depth--;
}

static void dump_pattern(Dump *d, const Pattern *pattern)
{
    open_line(d, "pattern");
    if (pattern->kind == PAT_LITERAL) {
        fputs("literal\n", d->out);
        d->depth++;
        dump_expr(d, NULL, pattern->literal);
        d->depth--;
        return;
    }
    fputs(pattern->kind == PAT_ELSE ? "else" : pattern->kind == PAT_CASE ? "case" : "bad", d->out);
    dump_name(d, pattern->module);
    dump_name(d, pattern->type_name);
    dump_name(d, pattern->case_name);
    for (const Binding *binding = pattern->bindings; binding; binding = binding->next)
        fprintf(d->out, "%s%s", binding == pattern->bindings ? " (" : ", ", binding->name.text);
    fputs(pattern->bindings ? ")\n" : "\n", d->out);
}

static void dump_arms(Dump *d, const Arm *arms)
{
    for (; arms; arms = arms->next) {
        open_line(d, NULL);
        fputs("arm\n", d->out);
        d->depth++;
        for (const Pattern *pattern = arms->patterns; pattern; pattern = pattern->next) dump_pattern(d, pattern);
        dump_expr(d, "guard", arms->guard);
        dump_block(d, NULL, arms->block);
        d->depth--;
    }
}

static void dump_catches(Dump *d, const Catch *catches)
{
    for (; catches; catches = catches->next) {
        open_line(d, NULL);
        fputs("catch", d->out);
        dump_name(d, catches->var);
        for (const CatchName *name = catches->names; name; name = name->next)
            dump_qualified(d, name->module, name->name);
        fputc('\n', d->out);
        d->depth++;
        for (const CatchField *f = catches->fields; f; f = f->next) {
            open_line(d, NULL);
            fprintf(d->out, "field %s as %s\n", f->field.text, f->var.text);
        }
        dump_block(d, NULL, catches->block);
        d->depth--;
    }
}

static const char *stmt_name(StmtKind kind)
{
    static const char *const names[] = {
        [ST_BAD] = "bad",     [ST_LET] = "let",           [ST_VAR] = "var",       [ST_ASSIGN] = "assign",
        [ST_EXPR] = "do",     [ST_YIELD] = "yield",       [ST_IF] = "if",         [ST_WHILE] = "while",
        [ST_FOR] = "for",     [ST_MATCH] = "match",       [ST_RETURN] = "return", [ST_FAIL] = "fail",
        [ST_BREAK] = "break", [ST_CONTINUE] = "continue", [ST_GIVE] = "give",     [ST_TRY] = "try",
        [ST_WITH] = "with",   [ST_MOCK] = "mock",         [ST_ASSERT] = "assert",
    };
    return names[kind];
}

static void dump_stmt_head(Dump *d, const Stmt *stmt)
{
    fputs(stmt_name(stmt->kind), d->out);
    if (stmt->kind == ST_ASSIGN) fprintf(d->out, " %s", op_name(stmt->op));
    if (stmt->else_if) fputs(" (else if)", d->out);
    dump_name(d, stmt->name);
    dump_type(d, stmt->type_expr);
    dump_name(d, stmt->var);
    dump_name(d, stmt->var2);
    if (stmt->kind == ST_MOCK) dump_qualified(d, stmt->mock_module, stmt->mock_name);
    if (stmt->mock_fails) fputs(" fail", d->out);
    if (stmt->kind == ST_MOCK && !stmt->value) fputs(" never", d->out);
    if (stmt->label.text) dump_text(d, stmt->label.text, (uint32_t)strlen(stmt->label.text));
    fputc('\n', d->out);
}

static void dump_stmt(Dump *d, const Stmt *stmt)
{
    open_line(d, NULL);
    dump_stmt_head(d, stmt);
    d->depth++;
    dump_expr(d, "target", stmt->target);
    dump_args(d, stmt->args);
    dump_expr(d, "after", stmt->mock_after);
    dump_expr(d, NULL, stmt->value);
    dump_expr(d, "to", stmt->range_end);
    dump_expr(d, "timeout", stmt->timeout);
    dump_block(d, NULL, stmt->block);
    dump_block(d, "else", stmt->else_block);
    dump_arms(d, stmt->arms);
    dump_catches(d, stmt->catches);
    dump_block(d, "finally", stmt->finally);
    d->depth--;
}

static void dump_block(Dump *d, const char *role, const Block *block)
{
    if (!block) return;
    open_line(d, role);
    fputs("block\n", d->out);
    d->depth++;
    for (const Stmt *stmt = block->stmts; stmt; stmt = stmt->next) dump_stmt(d, stmt);
    d->depth--;
}

static void dump_fields(Dump *d, const char *role, const Field *fields)
{
    for (; fields; fields = fields->next) {
        open_line(d, role);
        fputs(fields->name.text, d->out);
        if (fields->label) fputs(fields->label == LABEL_TRUSTED ? " trusted" : " untrusted", d->out);
        dump_type(d, fields->type_expr);
        fputc('\n', d->out);
        d->depth++;
        dump_expr(d, "default", fields->value);
        d->depth--;
    }
}

static void dump_cases(Dump *d, const EnumCase *cases)
{
    for (; cases; cases = cases->next) {
        open_line(d, "case");
        fprintf(d->out, "%s\n", cases->name.text);
        d->depth++;
        dump_fields(d, "field", cases->fields);
        d->depth--;
    }
}

static void dump_attrs(Dump *d, const Attr *attrs)
{
    static const char *const names[] = {"pure",    "idempotent", "once", "dangerous", "local",
                                        "private", "limit",      "rate", "sandbox"};
    for (; attrs; attrs = attrs->next) {
        fprintf(d->out, " %s", names[attrs->kind]);
        if (attrs->kind == ATTR_LIMIT) fprintf(d->out, " %lld", (long long)attrs->value);
        if (attrs->kind == ATTR_RATE)
            fprintf(d->out, " %lld/%lldms", (long long)attrs->value, (long long)attrs->per_ms);
        if (attrs->kind == ATTR_SANDBOX) dump_qualified(d, attrs->name->module, attrs->name->name);
    }
}

static void dump_provider(Dump *d, const Decl *decl)
{
    static const char *const names[] = {"exec", "mcp", "extern", "http"};
    if (!decl->provider_value) return;
    dump_expr(d, names[decl->provider], decl->provider_value);
    dump_expr(d, names[decl->provider], decl->provider_value2);
}

static void dump_row(Dump *d, const PromptRow *row)
{
    dump_expr(d, row->name.text, row->value);
    for (const Offer *offer = row->offers; offer; offer = offer->next) {
        dump_names(d, "offer", offer->name);
        d->depth++;
        dump_policies(d, offer->policies);
        d->depth--;
    }
}

static void dump_served(Dump *d, const ServerRow *row)
{
    if (row->value) {
        dump_expr(d, row->name.text, row->value);
        return;
    }
    open_line(d, NULL);
    fputs(row->name.text, d->out);
    dump_attrs(d, row->attrs);
    fputc('\n', d->out);
}

static void dump_decl(Dump *d, const Decl *decl)
{
    static const char *const names[] = {"bad",  "import", "const", "type",     "error", "enum",
                                        "tool", "prompt", "fn",    "workflow", "test",  "sandbox"};
    fputs(names[decl->kind], d->out);
    dump_name(d, decl->name);
    for (const Binding *p = decl->type_params; p; p = p->next)
        fprintf(d->out, "%s%s%s", p == decl->type_params ? " <" : ", ", p->name.text, p->next ? "" : ">");
    if (decl->result_label) fputs(decl->result_label == LABEL_TRUSTED ? " trusted" : " untrusted", d->out);
    dump_type(d, decl->result);
    dump_attrs(d, decl->attrs);
    if (decl->has_fails) fputs(" fails", d->out);
    for (const CatchName *name = decl->fails; name; name = name->next) dump_qualified(d, name->module, name->name);
    fputc('\n', d->out);
    d->depth++;
    if (decl->doc) {
        open_line(d, NULL);
        fputs("doc", d->out);
        dump_text(d, decl->doc, (uint32_t)strlen(decl->doc));
        fputc('\n', d->out);
    }
    dump_fields(d, decl->kind == DECL_TYPE || decl->kind == DECL_ERROR ? "field" : "param", decl->params);
    dump_cases(d, decl->cases);
    dump_expr(d, NULL, decl->value);
    dump_provider(d, decl);
    for (const ProviderOption *option = decl->options; option; option = option->next)
        dump_expr(d, option->name.text, option->value);
    for (const PromptRow *row = decl->rows; row; row = row->next) dump_row(d, row);
    for (const ServerRow *row = decl->served; row; row = row->next) dump_served(d, row);
    dump_block(d, NULL, decl->block);
    d->depth--;
}

void ast_dump(const Module *module, FILE *out)
{
    Dump dump = {out, 0};
    for (const Decl *decl = module->decls; decl; decl = decl->next) dump_decl(&dump, decl);
}
