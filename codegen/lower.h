/* lower.h: what the files of the lowering pass share. The pass walks the checked tree once and builds machines; it
 * decides nothing about names or types, because check has decided them all. */
#ifndef CODEGEN_LOWER_H
#define CODEGEN_LOWER_H

#include "machine.h"

typedef enum ScopeKind { SCOPE_LOOP, SCOPE_FINALLY, SCOPE_WITH } ScopeKind;

typedef enum LeaveKind { LEAVE_NORMAL, LEAVE_ERROR, LEAVE_RETURN, LEAVE_BREAK, LEAVE_CONTINUE } LeaveKind;

/* A way out of a try block that has a finally: what is pending while the finally runs. */
typedef struct Leave {
    LeaveKind kind;
    struct Scope *loop; /* break, continue */
    int64_t code;       /* what the pending variable holds */
    struct Leave *next;
} Leave;

/* A block that ends by entering a finally; it must also define the return value if any leave returns one. */
typedef struct Entering {
    MBlock *block;
    bool returns;
    struct Entering *next;
} Entering;

/* What `return`, `break` and `continue` pass on their way out, innermost first. */
typedef struct Scope {
    ScopeKind kind;
    struct Scope *outer;
    MBlock *on_break, *on_continue; /* loop */
    MBlock *entry;                  /* finally: its first block */
    /* finally: the code of what waits for its end; 0 normal, 1 error */
    Var *pending;
    Var *error;         /* finally: the error that waits */
    Leave *leaves;      /* finally */
    int64_t codes;      /* finally: last code given out */
    Entering *entering; /* finally */
    bool returns;       /* finally: some leave carries a return value */
    const Stmt *stmt;   /* with */
    Val *held;          /* with: the lock's name, or the deadline's number */
} Scope;

/* The state of lowering one routine. */
typedef struct Lower {
    Machine *machine;
    Arena *arena;
    Routine *routine;
    MBlock *cur;     /* where the next instruction goes; NULL: unreachable */
    MBlock *landing; /* where errors go */
    /* the routine's outermost landing, when it has undo entries to run; else NULL */
    MBlock *unwind;
    Scope *scope;
    Var **by_id; /* Variable.id → Var */
    /* holds the return value while a finally runs; made on first use */
    Var *result;
    uint32_t line;    /* of the statement */
    const Stmt *stmt; /* the innermost one under way; NULL: between them … */
    const Expr *root; /* … or the routine is this yield */
    uint64_t around;  /* hash of the `with`, `finally` and groups around it */
    /* how many blocks there were when one last started between two statements */
    uint32_t last_fresh;
    /* the statement under way */
    Var **touched; /* owning variables it used; they live to its end */
    uint32_t touched_count, touched_cap;
    bool temps; /* it left something on the release stack */
    /* bodies of inline functions around the expression under way */
    uint32_t inline_depth;
    /* debug: named variables in scope, which live to its end; innermost last */
    Var **kept;
    uint32_t kept_count, kept_cap;
    uint32_t next_temp[REP_COUNT];
    Table names; /* taken in this routine */
} Lower;

/* The undo of a step. */
typedef struct Undo {
    const Closure *closure; /* NULL: the step has none */
} Undo;

/* A loop over a range, a list or a map: counter runs from what it holds to end. */
typedef struct Counted {
    Span span;                      /* of the statement */
    const Variable *first, *second; /* the loop's variables; second may be NULL */
    Var *counter;
    Val *end;
    Val *list, *map;  /* what is gone through, or NULL */
    const Type *type; /* its type */
    Scope scope;      /* of break and continue */
    MBlock *head, *step, *exit;
} Counted;

/* lower.c */
void lower_param(Lower *l, const Variable *variable);
/* The routine of a closure that is in outer's; its parameters are the caller's to add. */
void lower_open_closure(Lower *l, const Lower *outer, const Closure *closure, const char *name);
void lower_close_routine(Lower *l);

/* lower_name.c */
const char *lower_unique_name(Lower *l, const char *name, uint32_t id);

/* lower_origin.c */
Point *lower_point(Lower *l, AskKind ask, const char *label, const char *kind, const char *callee);
uint64_t lower_origin(const Lower *l);       /* of the statement under way, without its blocks */
uint64_t lower_whole_origin(const Lower *l); /* with them, but for a finally */
/* … and of what is asked for and is around it. */
uint64_t lower_asks(const Lower *l, const char *kind, const char *what);
/* What follows is within this part of the statement; answers l->around, to be put back behind it. */
uint64_t lower_enter(Lower *l, const char *what);

/* lower_build.c */
uint32_t lower_line_of(const Lower *l, Span span);
MBlock *lower_landing(Lower *l);           /* a block where errors arrive */
void lower_begin(Lower *l, MBlock *block); /* continues in a new block */
Term *lower_end_block(Lower *l, TermKind kind);
void lower_go(Lower *l, MBlock *to); /* ends the current block with a jump */
void lower_branch(Lower *l, Val *cond, MBlock *yes, MBlock *no);
void lower_branch_on(Lower *l, Val *cond, MBlock *yes, MBlock *no); /* ends the head of a statement */
void lower_raise(Lower *l, MBlock *landing);                        /* what is pending goes to the landing */
Instr *lower_instr(Lower *l, InstrKind kind, Var *dst, Val *a);
/* an instruction is complete: what it reads is known and touched */
void lower_note(Lower *l, Instr *instr);
void lower_touch(Lower *l, Var *var);
void lower_take_touched(Lower *l, Term *term); /* the block's end is the statement's end */
void lower_end(Lower *l);                      /* the statement ends here */
/* the statement is over, and what it touched has been dealt with */
void lower_forget(Lower *l);
bool lower_is_idle(const Lower *l); /* the statement has done nothing so far */
void lower_store(Lower *l, Var *dst, Val *value, bool replaces);
Var *lower_local(Lower *l, const Variable *variable);
Var *lower_hidden(Lower *l, const Type *type, const char *name);
Val *lower_steady(Lower *l, Val *value, const Type *type,
                  const char *name);                 /* a value that stays the same over statements */
void lower_keep(Lower *l, const Variable *variable); /* debug: it is in scope from here on; NULL: nobody is */
void lower_keep_to_here(Lower *l, uint32_t from);    /* debug: those from this place of kept on live to here */
void lower_keep_end(Lower *l, uint32_t from);        /* … and their scope ends */
/* debug: it is about to be replaced, and kept what it held to here */
void lower_keep_old(Lower *l, Var *var);

/* lower_stmt.c */
void lower_block(Lower *l, const Block *block);

void lower_counted_over(Lower *l, Counted *c, const Expr *range,
                        const Expr *range_end); /* sets up what is gone through */
void lower_counted_open(Lower *l, Counted *c);  /* … to the start of its body */
void lower_counted_close(Lower *l, Counted *c);

/* lower_conc.c */
bool lower_is_group(const Expr *e);
void lower_group(Lower *l, const Expr *e, Var *dst); /* parallel, race; dst of e->type, or NULL */
void lower_with(Lower *l, const Stmt *s);
void lower_let_go(Lower *l, const Scope *scope);                     /* what a `with` holds */
Undo lower_undo_begin(Lower *l, const Policy *policy, Point *point); /* the step is about to start */
void lower_undo_done(Lower *l, const Undo *undo, Var *answer,
                     const Type *type); /* its answer is in a variable of type, or nowhere */
void lower_undo_failed(Lower *l);       /* its error is pending */
Val *lower_undo_height(Lower *l);
void lower_unwind(Lower *l, Val *height);

/* lower_match.c */
void lower_match(Lower *l, const Stmt *s);

/* lower_try.c */
void lower_try(Lower *l, const Stmt *s);
void lower_return(Lower *l, const Stmt *s);
void lower_fail(Lower *l, const Stmt *s);
void lower_loop_jump(Lower *l, const Stmt *s); /* break, continue */

/* lower_val.c */
Val *val_new(Lower *l, ValKind kind, Rep rep);
Val *val_of(Lower *l, Var *var);
Val *val_read(Lower *l, Var *var, Rep rep);
Val *val_int(Lower *l, int64_t value);
Val *val_float(Lower *l, double value);
Val *val_bool(Lower *l, bool value);
Val *val_null(Lower *l);
Val *val_zero(Lower *l, Rep rep);
Val *val_type(Lower *l, const Type *type);
Val *val_point(Lower *l, Point *point);
Val *val_string(Lower *l, const char *bytes, uint32_t len);
Val *val_unary(Lower *l, ValKind kind, Rep rep, Val *a);
Val *val_binary(Lower *l, ValKind kind, Rep rep, Val *a, Val *b);
Val *val_field(Lower *l, Val *object, uint32_t index, const Type *type);
Val *val_tag(Lower *l, Val *object);
Val *val_compare(Lower *l, Op op, Val *a, Val *b);
Val *val_place(Lower *l, Var *var);
Val *val_word(Lower *l, Val *value);
Val *val_array(Lower *l, Rep rep, Val **items, uint32_t count);
Val *val_pure(Lower *l, RtId id, Rep rep, uint32_t argc, ...);
Val *val_narrow(Lower *l, Val *value, const Type *stored, const Type *known); /* a T? that was tested, as a T */
bool val_is_variable(const Val *value);

/* lower_expr.c */
Val *lower_expr(Lower *l, const Expr *e); /* as its surroundings want it: e->to */
Val *lower_call(Lower *l, RtId id, Var *dst, uint32_t argc,
                ...); /* Val * each; the value, or NULL when there is none */
Val *lower_call_with(Lower *l, RtId id, Var *dst, Val **args, uint32_t argc);
Val *lower_coalesce(Lower *l, const Expr *left, const Expr *right, const Type *type);
Val *lower_text(Lower *l, const Type *type, Val *value); /* as it is printed */
Val *lower_convert(Lower *l, Val *value, const Type *from, const Type *to);
Val *lower_compare(Lower *l, const Expr *e, Val *a, Val *b); /* a comparison whose sides were lowered */
Val *lower_equal(Lower *l, const Type *type, Val *a, Val *b);
Val *lower_effect_now(Lower *l, const Expr *call, const char *label); /* a built-in that does not suspend */
Val *lower_spawn(Lower *l, const Expr *e, bool held);                 /* held: somebody takes the handle */
Val *lower_arithmetic(Lower *l, Op op, const Type *type, Val *a, Val *b);
Val *lower_words(Lower *l, Expr *const *argv, uint32_t argc); /* an array of words */
const Expr *lower_strip(const Expr *e);
bool lower_folds(Lower *l, const Decl *constant); /* needs no routine */

Var *lower_temp(Lower *l, Rep rep);

/* lower_method.c */
Val *lower_method(Lower *l, const Expr *e);

/* lower_inline.c */
bool lower_is_inline(const Expr *e);
Val *lower_inline(Lower *l, const Expr *e);

/* lower_yield.c */
void lower_yield(Lower *l, const Expr *e, Var *dst, bool replaces); /* dst of e->type, or NULL */
Term *lower_stop_at(Lower *l, Point *point, MBlock *landing);       /* ends the block at a point */
void lower_go_on_behind(Lower *l, Term *term);                      /* its arguments are set: continues behind it */
void lower_into(Lower *l, const Expr *e, Var *dst, bool replaces);  /* any root of a statement; dst of e->to */
Val *lower_root(Lower *l, const Expr *e, const char *name);         /* any root of a statement, as a value */

/* lower_test.c */
void lower_assert(Lower *l, const Stmt *s);
/* Is the pending error one of these? NULL: no names. */
Val *lower_error_is(Lower *l, const CatchName *names);
void lower_mock(Lower *l, const Stmt *s);
Val *lower_test_call(Lower *l, const Expr *e); /* calls(f), output() */

/* lower_assign.c */
void lower_assign(Lower *l, const Stmt *s);

#endif
