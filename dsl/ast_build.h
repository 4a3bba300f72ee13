/* ast_build.h: what the grammar's actions call to make the tree.
 *
 * A builder takes what its rule holds and returns a node with its span; it reports only what no node could hold
 * (a number that is too large, an interpolation where a plain string must be). A rule is reduced before the next
 * token is shifted, so the end of every node is the end of the last token shifted, `last_end`. */
#ifndef DSL_AST_BUILD_H
#define DSL_AST_BUILD_H

#include "../runtime/base/list.h"
#include "ast.h"
#include "diag.h"
#include "token.h"

typedef struct Build {
    SourceSet *sources;
    Source *source;
    Arena *arena;
    DiagList *diags;
    Module *module;
    LIST(Decl) decls; /* of the module */
    const TokenList *tokens;
    uint32_t last_end; /* global offset behind the last token shifted */
    bool too_high;     /* the height limit was reported */
} Build;

/* Lists under construction: NAME_push appends in constant time and returns the list. */
#define DEFINE_LIST(Item, name)                                                                                        \
    typedef LIST(Item) Item##List;                                                                                     \
    static inline Item##List name##_push(Item##List list, Item *item)                                                  \
    {                                                                                                                  \
        LIST_APPEND(&list, item, next);                                                                                \
        return list;                                                                                                   \
    }

DEFINE_LIST(Arg, arg)
DEFINE_LIST(Arm, arm)
DEFINE_LIST(Attr, attr)
DEFINE_LIST(Binding, binding)
DEFINE_LIST(Catch, catch)
DEFINE_LIST(CatchField, catch_field)
DEFINE_LIST(CatchName, catch_name)
DEFINE_LIST(EnumCase, enum_case)
DEFINE_LIST(Expr, expr)
DEFINE_LIST(Field, field)
DEFINE_LIST(MapEntry, map_entry)
DEFINE_LIST(ParallelBody, parallel_body)
DEFINE_LIST(Pattern, pattern)
DEFINE_LIST(Policy, policy)
DEFINE_LIST(PromptRow, prompt_row)
DEFINE_LIST(Offer, offer)
DEFINE_LIST(ProviderOption, provider_option)
DEFINE_LIST(ServerRow, server_row)
DEFINE_LIST(Stmt, stmt)
DEFINE_LIST(TypeExpr, type_expr)

typedef struct Result {
    TypeExpr *type;   /* NULL: nothing */
    TrustLabel label; /* LABEL_NONE: label_span is not set */
    Span label_span;
} Result;

typedef struct Signature {
    Field *params;
    Result result;
} Signature;

typedef struct Fails {
    bool present;
    CatchName *names;
} Fails;

typedef struct With {
    bool present;
    Arg *args;
} With;

typedef struct Vars {
    Name var, var2;
} Vars;

typedef struct Range {
    Expr *from, *to; /* to is NULL unless written from..to */
} Range;

typedef struct Provider {
    ProviderKind kind;
    Expr *value, *value2;
    ProviderOptionList options;
} Provider;

/* From the first byte of `start` to the end of what was read. */
static inline Span span_from(const Build *b, Span start)
{
    return (Span){start.off, b->last_end > start.off ? b->last_end - start.off : start.len};
}

/* declarations */
void ast_add_decl(Build *b, Decl *decl);
Decl *ast_import(Build *b, Token keyword, Expr *path, const Token *alias);
Decl *ast_const(Build *b, Token keyword, Token name, TypeExpr *type, Expr *value);
Decl *ast_record(Build *b, DeclKind kind, Token keyword, Token name, FieldList fields);
Decl *ast_enum(Build *b, Token keyword, Token name, EnumCaseList cases);
Decl *ast_tool(Build *b, Token keyword, Token name, Signature signature, AttrList attrs, Provider *provider);
Decl *ast_prompt(Build *b, Token keyword, Token name, Signature signature, AttrList attrs, Fails fails,
                 PromptRowList rows);
Decl *ast_sandbox(Build *b, Token keyword, Token name, PromptRowList rows);
Decl *ast_server(Build *b, Token keyword, Token name, Provider *provider, AttrList attrs, ServerRowList rows);
ServerRow *ast_server_row(Build *b, Name name, AttrList attrs, Expr *value);
Decl *ast_fn(Build *b, Token keyword, Token name, Binding *type_params, Signature signature, Block *block);
Decl *ast_workflow(Build *b, Token keyword, Token name, Signature signature, Fails fails, Block *block);
Decl *ast_test(Build *b, Token keyword, Expr *name, Block *block);
Attr *ast_attr(Build *b, AttrKind kind, Token keyword);
Attr *ast_attr_limit(Build *b, Token keyword, Token count);
Attr *ast_attr_rate(Build *b, Token keyword, Token count, Token per);
Attr *ast_attr_sandbox(Build *b, Token keyword, CatchName *name);
PromptRow *ast_prompt_row(Build *b, Name name, Expr *value);
PromptRow *ast_tools_row(Build *b, Token keyword, OfferList offers);
Offer *ast_offer(Build *b, CatchName *name, PolicyList policies);
Provider *ast_provider(Build *b, ProviderKind kind, Expr *value, Expr *value2);
Provider *ast_provider_option(Build *b, Provider *provider, Token name, Expr *value);
Result ast_labelled_result(Build *b, Token label, TypeExpr *type);
Field *ast_labelled(Build *b, Field *field, Token label);
Field *ast_field(Build *b, Name name, TypeExpr *type, Expr *value);
EnumCase *ast_enum_case(Build *b, Token name, const FieldList *fields);

/* names and types */
Name ast_word(Build *b, Token token);
CatchName *ast_qualified(Build *b, const Token *module, Token name);
Binding *ast_binding(Build *b, Token name);
TypeExpr *ast_type_name(Build *b, const CatchName *name);
TypeExpr *ast_type_generic(Build *b, Token name, TypeExpr *args);
TypeExpr *ast_type_optional(Build *b, TypeExpr *type);
TypeExpr *ast_type_function(Build *b, Token keyword, TypeExpr *params, TypeExpr *result);

/* statements */
Block *ast_block(Build *b, Token open, StmtList stmts);
Block *ast_bare_block(Build *b, Stmt *stmt);
Stmt *ast_bad_stmt(Build *b);
Stmt *ast_binding_stmt(Build *b, StmtKind kind, Token keyword, Token name, TypeExpr *type, Expr *value);
Stmt *ast_assign(Build *b, Expr *target, Token op, Expr *value);
Stmt *ast_expr_stmt(Build *b, Expr *value);
Stmt *ast_yield_stmt(Build *b, Token keyword, Name label);
Stmt *ast_if_stmt(Build *b, Token keyword, Expr *head, Block *block, Block *else_block);
Block *ast_else_if(Build *b, Stmt *stmt);
Stmt *ast_while(Build *b, Token keyword, Expr *head, Block *block);
Vars ast_vars(Build *b, Token var, const Token *var2);
Stmt *ast_for(Build *b, Token keyword, Vars vars, Range range, Block *block);
Stmt *ast_match(Build *b, Token keyword, Expr *head, ArmList arms);
Arm *ast_arm(Build *b, PatternList patterns, Expr *guard, Block *block, bool bare);
Pattern *ast_pattern_case(Build *b, const Token *module, const Token *type, Token name);
Pattern *ast_pattern_bindings(Build *b, Pattern *pattern, Binding *bindings);
Pattern *ast_pattern_literal(Build *b, Expr *literal);
Pattern *ast_pattern_else(Build *b, Token keyword);
Stmt *ast_jump(Build *b, StmtKind kind, Token keyword, Expr *value);
Stmt *ast_try(Build *b, Token keyword, Block *block, CatchList catches, Block *finally);
Catch *ast_catch(Build *b, Token keyword, Token var, CatchName *names, Block *block);
Catch *ast_catch_fields(Build *b, Token keyword, CatchName *name, CatchField *fields, Block *block);
CatchField *ast_catch_field(Build *b, Token name);
CatchField *ast_catch_field_as(Build *b, Name field, Token var);
Stmt *ast_with(Build *b, Token keyword, Expr *call, Expr *timeout, Name label, Block *block);
Stmt *ast_mock(Build *b, Token keyword, const CatchName *callee, ArgList args, Expr *value, bool fails);
Stmt *ast_mock_after(Stmt *mock, Expr *delay);

/* expressions */
Expr *ast_binary(Build *b, Expr *left, Token op, Expr *right);
Expr *ast_unary(Build *b, Token op, Expr *value);
Expr *ast_name(Build *b, Token name);
Expr *ast_member(Build *b, Expr *left, Name name);
Expr *ast_optional_member(Build *b, Expr *left, Name name);
Expr *ast_index(Build *b, Expr *left, Token open, Expr *index);
Expr *ast_call(Build *b, Expr *left, Token open, ArgList args);
Expr *ast_paren(Build *b, Token open, Expr *value);
Expr *ast_if_expr(Build *b, Token keyword, Expr *cond, Expr *left, Expr *right);
Expr *ast_literal(Build *b, Token token);
Expr *ast_negative(Build *b, Token minus, Token token);
Expr *ast_list(Build *b, Token open, ArgList args);
Expr *ast_map(Build *b, Token open, MapEntryList entries);
Expr *ast_json(Build *b, Token keyword, Expr *value);
MapEntry *ast_entry_named(Build *b, Name name, Expr *value);
MapEntry *ast_entry_keyed(Build *b, Expr *key, Expr *value, bool computed);
Arg *ast_arg(Build *b, Name name, Expr *value);
Expr *ast_lambda(Build *b, Token name, Expr *value);
Expr *ast_lambda_of_two(Build *b, Token open, Token name, const Binding *others, Expr *value);
Expr *ast_string(Build *b, Token open, ExprList parts, Token close);
Expr *ast_text(Build *b, Token token);
Name ast_label(Build *b, Expr *string);
Expr *ast_spawn(Build *b, Token keyword, Expr *call, With with, bool detached);
Expr *ast_yield(Build *b, Token keyword, Expr *call, PolicyList policies);
Policy *ast_policy(Build *b, PolicyKind kind, Token keyword, Expr *value, Block *block);
Policy *ast_retry_on(Build *b, Token keyword, Expr *value, CatchName *errors);
Expr *ast_concurrent(Build *b, ExprKind kind, Token keyword, ParallelBodyList bodies, Name label);
Expr *ast_parallel_for(Build *b, Token keyword, Vars vars, Range range, Expr *limit, Block *block, Name label);
ParallelBody *ast_parallel_body(Build *b, Name name, Expr *yield, Block *block);

#endif
