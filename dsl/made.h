/* made.h: trees that nobody wrote: what the compiler makes of a prompt that is an agent. Everything that is made is
 * said to be at one place, where messages point. */
#ifndef DSL_MADE_H
#define DSL_MADE_H

#include "check_internal.h"

typedef struct Make {
    Check *c;
    Decl *prompt;
    const Field *thread; /* the parameter that it continues, or NULL */
    Span at;
} Make;

typedef LIST(Arg) Args;
typedef LIST(Arm) Arms;
typedef LIST(Stmt) Stmts;

Name made_name(const Make *m, const char *text);

/* ---- expressions ---- */
Expr *made(const Make *m, ExprKind kind);
Expr *made_id(const Make *m, const char *name);
Expr *made_number(const Make *m, int64_t value);
Expr *made_bool(const Make *m, bool value);
/* "text", and a value after it unless that is NULL */
Expr *made_string(const Make *m, const char *text, Expr *value);
Expr *made_field(const Make *m, Expr *left, const char *name);
Expr *made_member(const Make *m, const char *variable, const char *name); /* variable.name */
Expr *made_item(const Make *m, Expr *left, Expr *at);
Expr *made_binary(const Make *m, Op op, Expr *left, Expr *right);
void made_arg(const Make *m, Args *args, const char *name, Expr *value); /* name: NULL, by its place */
Expr *made_call_with(const Make *m, Expr *callee, Args args);
Expr *made_call(const Make *m, Expr *callee, Expr *first, Expr *second); /* each may be NULL */
Expr *made_list(const Make *m, Expr *only);                              /* NULL: [] */
Expr *made_yield(const Make *m, Expr *call, Policy *policies);

/* ---- statements: each is added to the end of a list ---- */
Stmt *put(const Make *m, Stmts *to, StmtKind kind, Expr *value);
void put_named(const Make *m, Stmts *to, StmtKind kind, const char *name, Expr *value); /* let, var */
void put_assign(const Make *m, Stmts *to, const char *name, Op op, Expr *value);
Block *made_block(const Make *m, Stmts stmts);
/* An arm for a case, or for all else if name is NULL; its bindings follow. */
Arm *put_arm(const Make *m, Arms *to, const char *name, Stmts stmts);
void made_bind(const Make *m, Arm *arm, const char *const *names, uint32_t count);

#endif
