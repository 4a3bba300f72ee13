/* check_internal.h: what the files of the checker share.
 *
 * The checker walks the declarations in passes (check.c): names, types, signatures, constants, bodies, errors. Each
 * body is walked once, in source order; facts about null travel along with the walk (check_flow.c), and what can
 * fail is only noted down on the way and solved for the whole program at the end (check_errors.c). One mistake gives
 * one error: whatever an error covers gets the type `bad`, which fits everything. */
#ifndef DSL_CHECK_INTERNAL_H
#define DSL_CHECK_INTERNAL_H

#include <string.h>

#include "../runtime/base/list.h"
#include "bug.h"
#include "type.h"

/* ---- facts about null ---- */

/* One thing known at a place: a path `variable.field.field` has `type` (the T of a declared T?, or the one kind of
 * an error). */
typedef struct Fact {
    const uint32_t *path; /* field indexes behind the variable, path_len of them */
    uint32_t path_len;
    const Type *type;
    const struct Fact *next; /* of the same variable */
} Fact;

/* All that is known at a place: a tree over the variables' ids that is never changed, only rebuilt along one path,
 * so that branches share what they have in common. NULL knows nothing. Leaves hold lists of Fact. */
typedef struct Facts {
    const void *child[4];
} Facts;

/* ---- what can fail ---- */

/* One `catch` and what reaches it; solved anew each time its workflow is evaluated. */
typedef struct Clause {
    const Catch *catch;
    const ErrorSet *caught;
    struct Clause *next; /* the next catch of the same try */
} Clause;

/* The inside of a `try` block. */
typedef struct TryScope {
    Clause *clauses;
    struct TryScope *parent;
} TryScope;

/* One place that can fail: exactly one of type, callee and again is set. */
typedef struct ErrorSource {
    const Type *type; /* fail of this error */
    Decl *callee;     /* a call of this workflow */
    Clause *again;    /* fail of what this catch took */
    /* the call's yield, which gets its error set; NULL otherwise */
    Expr *yield;
    bool only_denied; /* an else value replaces all but Denied */
    Span span;
    TryScope *scope; /* innermost try block around it */
    struct ErrorSource *next;
} ErrorSource;

/* What the solver knows of one workflow. */
typedef struct WorkflowErrors {
    Decl *decl;
    ErrorSource *first, *last;
    struct CallerLink *callers;
    bool queued;
    struct WorkflowErrors *next;          /* in the queue */
    struct WorkflowErrors *next_declared; /* in source order */
} WorkflowErrors;

typedef struct CallerLink {
    WorkflowErrors *caller;
    struct CallerLink *next;
} CallerLink;

/* ---- generic fns ---- */

/* What a type parameter is, and which argument says so. */
typedef struct TypeBinding {
    Name name;
    const Type *type; /* NULL: not known yet */
    const char *by;   /* a parameter */
    Span span;        /* its argument */
    struct TypeBinding *next;
} TypeBinding;

typedef struct Generic Generic; /* what a copy was made for */

/* ---- bodies ---- */

typedef enum BodyKind { BODY_CONST, BODY_TOOL, BODY_PROMPT, BODY_FN, BODY_WORKFLOW } BodyKind;

typedef struct Loop {
    const Facts *break_facts; /* what holds at every break so far */
    bool has_break;
    struct Loop *outer;
} Loop;

/* The closure that is being checked: what is outside it is read by copy and never assigned. */
typedef enum ClosureKind { CLOSURE_BODY, CLOSURE_UNDO, CLOSURE_FUNCTION } ClosureKind;

typedef struct ClosureScope {
    ClosureKind kind;
    Closure *closure;
    uint32_t capture_cap;   /* of its captures */
    uint32_t floor;         /* variables with a lower id are outside */
    const Type *want;       /* what give is wanted to give, or NULL */
    bool gives;             /* some give was seen, and decided closure->result */
    Span give_span;         /* the first one */
    const Stmt *finally_of; /* the try around the closure whose finally it is in */
    Loop *loop;             /* the loop around it */
    /* of the body around it: each closure has an end of its own */
    bool incomplete;
    struct ClosureScope *outer;
} ClosureScope;

typedef struct CatchVariable { /* the catch that binds an error of unknown kind */
    const Variable *variable;
    Clause *clause;
    struct CatchVariable *next;
} CatchVariable;

typedef struct Body {
    BodyKind kind;
    Decl *decl;
    const Type *result; /* what return must give */
    LIST(Variable) variables;
    Loop *loop;
    const Stmt *finally_of; /* the try whose finally we are in, within the closure */
    ClosureScope *closure;  /* innermost, or NULL */
    uint32_t undo_seen;     /* steps with an undo so far */
    TryScope *scope;
    CatchVariable *catch_variables;
    WorkflowErrors *errors; /* workflows only */
    uint32_t inline_depth;  /* inline functions around this place */
    /* a match that misses cases was reported, so ends of the body say nothing */
    bool incomplete;
    Table labels; /* label → Span * of the point that has it */
} Body;

typedef struct LocalUndo {
    const char *name;
    void *before; /* what the name meant outside */
} LocalUndo;

typedef struct Check {
    Program *program;
    Arena *arena;
    DiagList *diags;
    CoreTypes *core;
    Table externs;        /* name of a C function → the first Decl that names it */
    Table *scopes;        /* by module number: name → Decl */
    const Module *module; /* the file whose names count */
    Table locals;         /* name → Variable */
    LocalUndo *undo;      /* open scopes' names, newest last */
    uint32_t undo_count, undo_cap;
    Table composites; /* kind, key and element → Type */
    LIST(Type) types;
    /* a task, channel, listener or stream exists, so types must be searched for handles where handles may not go */
    bool has_handle_types;
    uint32_t type_walks;     /* searches of type_has_handle */
    const Type *inline_type; /* what the inline function that was checked last gives */
    Span yield_word;         /* of the yield whose call is being checked */
    Span at;                 /* the statement being checked; where limits are reported */
    BugPlace place;          /* of it, or of the declaration, for a failed check */
    const Facts *facts;
    bool unreachable; /* control cannot get here; facts say nothing */
    /* what is checked goes to a performer that can put secrets in */
    bool secret_ok;
    bool allow_any_error; /* the next name may be an error of unknown kind */
    Body *body;
    const Expr *statement; /* the last expression that is a statement of its own */
    /* of the let or var whose value is being checked: its undo sees the answer under this name */
    Name let_name;
    const Expr *let_value; /* of the let or var that was checked last */
    Type *first_anonymous; /* types of parallel and race */
    Table workflows;       /* full name → WorkflowErrors */
    LIST(WorkflowErrors) declared;
    uint32_t const_depth;  /* constants being checked, one inside the other */
    Table consts_open;     /* full name → Decl, while that constant is being checked */
    Table tests;           /* number of the file/name → Decl */
    TypeBinding *bindings; /* what the type parameters are that may be named here */
    bool function_ok;      /* the fields that are resolved are parameters of a fn, which may be functions */
    Table open_types;      /* name → Type */
    Table copies;          /* generic fn, types and functions → Decl */
    uint32_t copy_count;
    uint32_t decl_cap; /* of the program's declarations */
    DiagList idle;     /* warnings of results that nobody uses; told when nothing is wrong */
} Check;

/* The second place of a mismatch: why this type is wanted. */
typedef struct Why {
    const char *text; /* "annotated here"; NULL: no second place */
    Span span;
} Why;

/* ---- type.c ---- */
void type_init_core(Check *c);
TypeField type_message_field(Check *c, const char *error_name);
Type *type_declare(Check *c, TypeKind kind, const char *name, Decl *decl);
/* Fits everything, silently, and has a name for people: a type parameter in the fn that declares it. */
const Type *type_open(Check *c, const char *name);
const Type *type_list(Check *c, const Type *elem);
/* Answer<elem> {value: elem, by: string?, at: time}: what a person answered, and who, and when */
const Type *type_answer(Check *c, const Type *elem);
bool type_is_answer(const Type *type);
const Type *type_map(Check *c, const Type *key, const Type *elem);
Expr *type_null_default(Check *c, const Type *optional); /* of a field that may be left out */
const Type *type_optional(Check *c, const Type *elem); /* of T? it is T? itself */
const Type *type_task(Check *c, const Type *elem);
const Type *type_channel(Check *c, const Type *elem);
/* What a parallel (TYPE_RECORD) or race (TYPE_ENUM) gives: fields hold the bodies' names and types; those of an enum
 * may be nothing. */
const Type *type_of_bodies(Check *c, TypeKind kind, const TypeField *fields, uint32_t count);
/* can be written by people: not what parallel and race make */
bool type_has_name(const Type *type);
/* The built-in types that a program can name, one after the other: the one behind `last`, which is NULL for the
 * first. */
const Type *type_next_core(const Check *c, const Type *last);
const Type *type_core_named(const Check *c, const char *name);
/* The language gained it when programs could have declared a type of that name already: theirs hides ours. */
bool type_is_later(const Type *core);
const Type *type_strip(const Type *type); /* T of T?, else the type; NULL stays NULL */
bool type_is_printable(const Type *type);
bool type_is_ordered(const Type *type);
bool type_is_key(const Type *type);
bool type_has_handle(Check *c, const Type *type);
int type_find_field(const TypeField *fields, uint32_t count, const char *name);
/* Reads the notation of BuiltinParam.type; T, K and E come from the receiver, U from the inline function. */
const Type *type_of_notation(Check *c, const char *text, const Type *receiver);

/* ---- builtin.c ---- */
size_t builtin_effect_names(const char **names); /* at most BI_COUNT */
/* Returns the method that `name` on such a receiver was probably meant to be, or NULL. */
const char *builtin_nearest_method(TypeKind receiver, const char *name);

/* ---- check.c ---- */
void *name_table_get(const Table *table, const char *name); /* NULL: not bound at the moment */
void name_table_put(Check *c, Table *table, const char *name, void *value);
const Type *check_const(Check *c, Decl *decl);
bool check_same_name(const char *a, const char *b);
/* Names near to `name` that are in scope; suggestions end above the diagnostics' limit, so that a bad program costs
 * no more. */
typedef enum NameUse { NAME_VALUE, NAME_CALL, NAME_TYPE, NAME_ERROR, NAME_SANDBOX } NameUse;
const char *check_nearest_name(Check *c, const char *name, NameUse use);
void check_add_decl(Check *c, Decl *decl);               /* to the program, behind all others */
Decl *check_find_decl(const Check *c, const char *name); /* in the file that is being checked */
/* The import that e names, when e is the name of one and of no local. */
const Decl *check_import_of(const Check *c, const Expr *e);
/* What `module.name` means: NULL after a report, or silently when the import itself was reported. */
Decl *check_find_imported(Check *c, const Decl *import, Name name, NameUse use);
Decl *check_peek_imported(const Check *c, const Decl *import, const char *name); /* the same without a report */
Decl *check_find_qualified(Check *c, Name module, Name name, NameUse use);
const char *check_nearest_field(Check *c, const char *name, const TypeField *fields, uint32_t count);
/* Adds the names of its fields to a message, if it has any. */
void check_hint_fields(Check *c, Diag *diag, const Type *type);
const char *decl_kind_word(DeclKind kind); /* "a tool", "an enum" … */

/* ---- check_type.c ---- */
const Type *check_type_expr(Check *c, const TypeExpr *written);
/* Gives every declared type its Type, then, when all have one, its fields and cases. */
void check_declare_types(Check *c);
void check_fill_types(Check *c);
/* The types of a list of fields or parameters. */
void check_resolve_fields(Check *c, Field *fields);

/* ---- check_expr.c ---- */
/* Gives e its type; `want` is a hint (literals, empty lists, records from braces) or NULL. */
const Type *check_expr(Check *c, Expr *e, const Type *want);
/* The same, for places where nothing is fine too. */
const Type *check_expr_or_nothing(Check *c, Expr *e, const Type *want);
/* Checks e and makes it fit `want`, or reports. */
bool check_expr_to(Check *c, Expr *e, const Type *want, Why why);
bool check_coerce(Check *c, Expr *e, const Type *want);
/* What approve or ask gives where `want` is annotated, or NULL: bool or an enum, a string or a form, or an Answer of
 * it. */
const Type *check_person(Check *c, const Expr *e, const Builtin *builtin, const Type *want);
/* Whether a person can fill in a record: its fields are texts, numbers, yes or no, or one of several words. */
bool check_is_form(const Type *type);
void check_mismatch(Check *c, const Expr *e, const Type *want, Why why);
/* One type both can have, both made to fit it; NULL when there is none. */
const Type *check_unify(Check *c, Expr *a, Expr *b);
const Type *check_binary_type(Check *c, Expr *e, Expr *left, Expr *right);
void check_null_error(Check *c, const Expr *e);
/* left.name of something that may be null; gives bad. */
const Type *check_null_access(Check *c, const Expr *access);
/* Checks the left side of `left?.name` and makes the variable that holds it; false after a report. */
bool check_optional_left(Check *c, Expr *access);
const Type *check_enum_of(Check *c, const Expr *e); /* the enum that `Name` or `module.Name` names, or NULL */
Expr *expr_strip(Expr *e);                          /* without parentheses */

/* ---- check_json.c ---- */
const Type *check_json(Check *c, Expr *e);
const Type *check_refuse_bare_json(Check *c, Expr *e); /* { … } or [ … ] without the word before it */

/* ---- check_call.c ---- */
typedef enum CallMode { MODE_PLAIN, MODE_YIELD, MODE_SPAWN, MODE_WITH } CallMode;
const Type *check_call(Check *c, Expr *e, const Type *want);
const Type *check_call_in_mode(Check *c, Expr *e, CallMode mode, const Type *want);
const Type *check_case(Check *c, Expr *e, const Type *type); /* Enum.case without values */
const Type *check_build_from_braces(Check *c, Expr *e, const Type *type);

void check_args_loosely(Check *c, Expr *e); /* of a call that is refused */

/* ---- check_generic.c ---- */
/* Marks a fn as generic if it is, and gives its type parameters open types. */
TypeBinding *generic_open(Check *c, Decl *decl);
void generic_keep_open(Check *c, Decl *decl, TypeBinding *bindings);
TypeBinding *generic_bindings(const Decl *decl);
const Type *generic_bound(const Check *c, const TypeExpr *written); /* NULL: it names no type parameter */
const Type *generic_function_type(Check *c, const TypeExpr *written);
const char *generic_types(Check *c, const TypeBinding *bindings); /* "T is int, U is string" */
const Type *generic_call(Check *c, Expr *e, Decl *decl);
const Type *generic_call_function(Check *c, Expr *e, Variable *variable);
void generic_bind_functions(Check *c, Decl *decl);
void generic_check_copy(Check *c, Decl *copy);

/* ---- check_yield.c ---- */
const Type *check_yield(Check *c, Expr *e, const Type *want);
const Type *check_spawn(Check *c, Expr *e);
void check_label(Check *c, Name label);

/* ---- check_conc.c ---- */
const Type *check_parallel(Check *c, Expr *e, const Type *want);
const Type *check_parallel_for(Check *c, Expr *e, const Type *want);
const Type *check_race(Check *c, Expr *e);
void check_undo(Check *c, Policy *policy, const Type *answer, Name let_name);
bool check_with(Check *c, Stmt *s);
bool check_give(Check *c, Stmt *s);
void check_open_closure(Check *c, ClosureScope *scope, ClosureKind kind, const Type *want);
Closure *check_close_closure(Check *c, const ClosureScope *scope);
/* A local is used: closures between here and its declaration take it along. */
void check_capture(Check *c, Variable *variable);
/* Says so when a variable is outside the closure around this place, and cannot be assigned in it. */
bool check_refuse_outside(Check *c, const Expr *root);
/* `return`, `break`, `continue` out of a closure. True: it was refused. */
bool check_refuse_leaving(Check *c, const Stmt *s, const char *word);

/* ---- check_stmt.c ---- */
/* What a `for` goes through, and the types of its variables; second is NULL when one is all there is. */
typedef struct Range {
    const Type *first, *second;
} Range;
Range check_range(Check *c, Expr *value, Expr *range_end, Name var, Name var2);
void check_body(Check *c, Decl *decl);
bool check_block(Check *c, Block *block);          /* true: control can reach its end */
bool check_block_in_scope(Check *c, Block *block); /* the caller opened the scope */
uint32_t check_scope_enter(Check *c);
void check_scope_leave(Check *c, uint32_t mark);
Variable *check_add_variable(Check *c, Name name, const Type *type, bool is_mutable);
Variable *check_add_loop_variable(Check *c, Name name, const Type *type);
Variable *check_add_parameter(Check *c, Name name, const Type *type);
void check_params(Check *c, Decl *decl);

/* ---- check_test.c ---- */
void check_test(Check *c, Decl *decl);
bool check_in_test(const Check *c);
void check_mock(Check *c, Stmt *s);
/* calls(f) and output(), which only tests have. False: it is neither, or the program has its own of that name. */
bool check_test_call(Check *c, Expr *e, const Type **type);

/* ---- check_trust.c ---- */
struct TrustReport; /* trust.h */
/* report: filled for trust_finish, unless it is NULL. */
void check_trust(Check *c, struct TrustReport *report);

/* ---- check_vetted.c ---- */
void check_vetted(Check *c, const Expr *pattern); /* of text.vetted(pattern) */
/* trust(value, "why"): the value itself. False: the name means something else. */
bool check_trust_call(Check *c, Expr *e, const Type *want, const Type **type);

/* ---- check_tool.c ---- */
void check_attrs(Check *c, Decl *decl);
/* Reads a sandbox's rows (check_sandbox.c). */
void check_sandbox(Check *c, Decl *decl);
/* The attribute `sandbox NAME` of a tool or prompt. */
void check_sandbox_attr(Check *c, Decl *decl, const Attr *attr);
/* Warns when an argv, whose types are known, puts a value into the program of a shell (check_shell.c). */
void check_shell(Check *c, const Expr *argv);
/* The script of `sh -c SCRIPT …`, options before it passed over; NULL: there is none. */
const Expr *check_shell_script(const Arg *words);
/* The same, and refuses a secret in it (check_argv.c). */
void check_argv(Check *c, const Expr *argv);
/* Refuses a secret that a call gives to a parameter in the argv of a tool. */
void check_argv_call(Check *c, const Expr *call, const Decl *tool);
/* What a word begins with when that could be any text, or NULL. */
const Expr *check_argv_begin(const Expr *word);
/* Passes each word that a program may take as an option, depending on what it says when it runs. behind: an option is
 * before it, so it is likely to be that one's value. */
typedef void OptionWord(void *state, const Expr *word, uint32_t at, bool behind);
void check_argv_options(const Expr *argv, OptionWord *found, void *state);
/* Warns of such a word, once; `from` says where its text comes from. */
void check_argv_warn(Check *c, const Expr *word, Span from, const char *text);
/* Warns of parameters that are called like options of `tfy run` (check_flags.c). */
void check_flags(Check *c);
void check_tool(Check *c, Decl *decl);

/* ---- check_server.c: imports that are servers ---- */

void check_server_attrs(Check *c, Decl *decl);
void check_server(Check *c, Decl *decl);
/* tool NAME(…) = mcp "SERVER" "TOOL": finds the tool in the server's file, and compares its parameters. */
void check_remote(Check *c, Decl *tool);
/* A part of a string that is written ${+…} is refused, except in the address of an http tool. */
void check_reserved(Check *c, const Expr *string, const Expr *part);
void check_prompt(Check *c, Decl *decl);

/* ---- check_unused.c ---- */
/* Notes a step that only gives a value which nobody takes. */
void check_unused_result(Check *c, const Expr *e);
/* Warns of these steps, and of variables and imports that nothing reads. Requires that nothing is wrong. */
void check_unused(Check *c);

/* ---- check_match.c ---- */
bool check_match(Check *c, Stmt *s);

/* ---- check_flow.c ---- */
void flow_learn(Check *c, const Expr *path, const Type *type);
const Type *flow_known(const Check *c, const Expr *path);
void flow_forget_path(Check *c, const Expr *path);
void flow_forget_assigned(Check *c, const Block *block);
/* What a condition teaches when it came out as `outcome`. */
void flow_assume(Check *c, const Expr *cond, bool outcome);
const Facts *flow_join(Check *c, const Facts *a, const Facts *b);
/* Undoes narrowing on a path whose declared type matters (x == null, x ?? y). */
void flow_widen(Expr *path);

/* ---- check_errors.c ---- */
const ErrorSet *errors_empty(void);
const ErrorSet *errors_add(Check *c, const ErrorSet *set, const Type *type);
bool errors_has(const ErrorSet *set, const Type *type);
bool errors_is_checked(const Check *c, const Type *type);
ErrorSource *errors_note(Check *c, Span span);
WorkflowErrors *errors_register(Check *c, Decl *decl); /* before anything of its body is noted */
void errors_solve(Check *c);
const Type *check_error_name(Check *c, CatchName *name);

/* The mistake is mended by `text` behind an expression that binds as closely as a call. */
void check_fix_behind(Diag *diag, const Expr *e, const char *text);

#endif
