/* ast.h: the tree of a module, as written and then as checked.
 *
 * The parser builds these nodes (grammar actions only call ast_* functions); the checker fills in the fields under
 * "set by check" and changes nothing else, so the formatter and the language server see the program as it was
 * written. Lists are singly linked through `next`, in source order. All nodes live in the compilation's arena. */
#ifndef DSL_AST_H
#define DSL_AST_H

#include "source.h"

typedef struct Type Type;         /* type.h */
typedef struct Variable Variable; /* type.h: a local, parameter or binding */
typedef struct Builtin Builtin;   /* type.h: a built-in effect or method */
typedef struct ErrorSet ErrorSet; /* type.h */
typedef struct Sandbox Sandbox;   /* sandbox.h */

typedef struct Module Module;
typedef struct Decl Decl;
typedef struct Stmt Stmt;
typedef struct Expr Expr;
typedef struct Block Block;

/* A name and where it is. text is NUL-terminated and interned: equal names have equal pointers. NULL text =
 * absent. */
typedef struct Name {
    const char *text;
    Span span;
} Name;

/* ---- types as written ---- */

typedef enum TypeExprKind {
    TYX_NAME,     /* int, Step, text.Step: qualifier may be set */
    TYX_GENERIC,  /* list<T>, map<K, V>, channel<T>, task<T>: name and args */
    TYX_OPTIONAL, /* T?: args holds T */
    TYX_FUNCTION, /* fn(T, U) -> R: args and result; only of a parameter of a fn */
} TypeExprKind;

typedef struct TypeExpr {
    TypeExprKind kind;
    uint32_t height; /* nodes on the longest way down, at most AST_HEIGHT_MAX */
    Span span;
    Name qualifier; /* module alias or absent */
    Name name;
    struct TypeExpr *args, *next;
    struct TypeExpr *result; /* TYX_FUNCTION */
} TypeExpr;

/* ---- expressions ---- */

typedef enum ExprKind {
    /* marks where the parser recovered; silent in every later pass */
    EX_BAD,
    EX_NULL,
    EX_BOOL,     /* int_value 0 or 1 */
    EX_INT,      /* int_value */
    EX_FLOAT,    /* float_value */
    EX_DURATION, /* int_value, milliseconds */
    /* parts: EX_TEXT and other expressions in turn; no part at all is "" */
    EX_STRING,
    EX_TEXT,   /* a literal piece of a string: text/text_len, decoded */
    EX_NAME,   /* name */
    EX_FIELD,  /* left.name, or left?.name */
    EX_INDEX,  /* left[right] */
    EX_CALL,   /* left(args) */
    EX_BINARY, /* left op right */
    EX_UNARY,  /* op left */
    EX_LIST,   /* [args] */
    /* { entries } : a map, or a record where the type is known */
    EX_MAP,
    EX_JSON,   /* json left: a map or a list whose parts may be of any type */
    EX_IF,     /* if cond { left } else { right } */
    EX_LAMBDA, /* name => left, or (name, var2) => left; only as an argument of a method */
    EX_PAREN,  /* (left): kept for the formatter and for mistake 12 */
    /* the ones that are only at the root of a statement */
    EX_YIELD,        /* yield left(EX_CALL) policies */
    EX_SPAWN,        /* spawn left(EX_CALL) with (args) */
    EX_PARALLEL,     /* parallel { bodies } */
    EX_RACE,         /* race { bodies } */
    EX_PARALLEL_FOR, /* parallel for vars in range limit n { block } */
} ExprKind;

enum { AST_HEIGHT_MAX = 500 };

typedef enum Op {
    OP_NONE,
    OP_OR,
    OP_AND,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_COALESCE,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_NOT,
    OP_NEG,
} Op;

typedef struct Arg {
    Name name; /* f(name: value) or absent */
    Expr *value;
    struct Arg *next;
} Arg;

typedef struct MapEntry {
    Name name;     /* {name: v}; absent when key is set */
    Expr *key;     /* {"k": v} or {[k]: v} */
    bool computed; /* written as [k] */
    Expr *value;
    struct MapEntry *next;
} MapEntry;

typedef enum PolicyKind {
    POL_RETRY,
    POL_BACKOFF,
    POL_TIMEOUT,
    POL_ELSE,
    POL_UNDO,
    POL_AS,
    POL_KEY,
    POL_APPROVE,
    POL_TIMES, /* of an offer: how often in one call of the agent */
    POL_CALL,  /* of a step in an agent's loop, never written: the id of the model's call */
} PolicyKind;

/* A block that runs apart from the body it is in, on copies of what it uses: a body of parallel or race, an
 * undo. Set by check. */
typedef struct Closure {
    /* variables from outside that it reads, in the order of their ids */
    Variable **captures;
    uint32_t capture_count;
    const Type *result; /* what it gives; nothing: no value */
    /* parallel for: the loop's variables, which are given to it; NULL otherwise */
    Variable *first;
    Variable *second;
    /* undo: the name its step declares, as a T? (null: unknown); NULL: there is none */
    Variable *answer;
    bool undoes; /* some step in it has an undo */
    /* what is sent into the channels that it gives, for the pass of the labels; NULL: nothing */
    struct Label *sent;
} Closure;

typedef struct Policy {
    PolicyKind kind;
    Span span;
    Expr *value; /* all but undo; for `as` an EX_STRING */
    /* retry N on A | B; NULL: every error that can be tried again */
    struct CatchName *errors;
    Block *block;     /* undo */
    Closure *closure; /* undo; set by check */
    /* approve: by argument of the call, where its untrusted value comes from, or NULL; NULL: all are trusted; set by
     * check */
    const struct Origin **origins;
    struct Policy *next;
} Policy;

typedef struct ParallelBody {
    Name name;
    Expr *yield;      /* name: yield f(x) */
    Block *block;     /* name: { … } */
    Closure *closure; /* set by check */
    struct ParallelBody *next;
} ParallelBody;

/* What a call turned out to be. Set by check. */
typedef enum CallKind {
    CALL_NONE,
    CALL_FN,       /* decl: a fn */
    CALL_WORKFLOW, /* decl: a workflow (under yield or spawn) */
    CALL_TOOL,     /* decl: a tool (under yield) */
    CALL_PROMPT,   /* decl: a prompt (under yield) */
    CALL_RECORD,   /* decl: a type or error built by name */
    CALL_CASE,     /* decl: an enum; case_index */
    CALL_BUILTIN,  /* builtin: print, now, sleep, exec … */
    CALL_METHOD,   /* builtin: a method; argv[0] is the receiver */
    CALL_CALLS,    /* calls(f) in a test: decl or builtin is f; no argv */
    CALL_OUTPUT,   /* output() in a test */
    CALL_TRUST,    /* trust(value, "why"): argv[0], which counts as trusted */
} CallKind;

/* A word of a command that a program would take as an option if it began with '-'. */
typedef struct ArgvWord {
    uint32_t at;      /* its place in the argv */
    const char *text; /* how it is written in the program */
    bool behind;      /* an option is before it, of which it may be the value */
    struct ArgvWord *next;
} ArgvWord;

struct Expr {
    ExprKind kind;
    /* nodes on the longest way down; the parser refuses more than AST_HEIGHT_MAX, so passes may recurse */
    uint32_t height;
    Span span;
    Expr *left, *right, *cond;
    Name name;
    Op op;
    Span op_span; /* where the operator or the bracket is */
    int64_t int_value;
    double float_value;
    const char *text; /* EX_TEXT; EX_INT and EX_FLOAT: as written */
    uint32_t text_len;
    Expr *parts;         /* EX_STRING, linked by next */
    bool reserved;       /* in a list of parts: written ${+…} */
    bool takes_reserved; /* EX_STRING, set by check: the address of an http tool, where such parts have a meaning */
    Expr *next;          /* in a list of parts */
    /* EX_CALL, EX_LIST (names absent), EX_SPAWN: the with() arguments */
    Arg *args;
    MapEntry *entries;
    Policy *policies; /* EX_YIELD */
    Name label;       /* `as "…"` of parallel, race; absent otherwise */
    bool detached;    /* EX_SPAWN */
    bool has_with;    /* EX_SPAWN */
    bool optional;    /* EX_FIELD: written ?. */
    ParallelBody *bodies;
    Name var, var2; /* EX_PARALLEL_FOR; var2: EX_LAMBDA */
    Expr *range, *range_end, *limit;
    Block *block;

    /* set by check */
    /* the expression's own type; narrowing included, so a use of x: T? after a test has T */
    const Type *type;
    /* the type its surroundings want: equal to type, or T? where type is T or null, or float where it is an int
     * literal; EX_LAMBDA: the list that is made of what it gives, or of the elements it holds for */
    const Type *to;
    /* EX_NAME of a local; EX_LAMBDA: its parameter; left?.name: a hidden one that holds left when it is not null */
    Variable *variable;
    Variable *variable2; /* EX_LAMBDA: its second parameter */
    /* EX_NAME of a const, EX_FIELD of a module's const; the target of a call; the enum of a bare case (EX_FIELD) */
    Decl *decl;
    /* EX_CALL; CALL_CASE also on EX_FIELD for a bare case such as Verdict.drop */
    CallKind call;
    const Builtin *builtin;
    uint32_t case_index;
    /* EX_FIELD of a record, error or ExecResult-like value: index into type->fields */
    uint32_t field_index;
    /* EX_CALL: one per parameter or field, in declaration order, defaults filled in; NULL = absent optional */
    Expr **argv;
    uint32_t argc;
    const ErrorSet *errors; /* EX_YIELD: what it can fail with */
    const char *types;      /* EX_CALL of a generic fn: "T is int" */
    /* EX_CALL of exec or an exec tool: words of its argv that come from outside and must not begin with '-' */
    const struct ArgvWord *words;
    Closure *closure; /* EX_PARALLEL_FOR */
    /* EX_PARALLEL, EX_RACE, EX_PARALLEL_FOR: list<task<nothing>> */
    const Type *handles;
    bool undoes; /* … a step in one of the bodies has an undo */
};

/* ---- statements ---- */

typedef enum StmtKind {
    ST_BAD,
    ST_LET, /* let name: type = value */
    ST_VAR,
    ST_ASSIGN, /* target op= value; op is OP_NONE for plain '=' */
    ST_EXPR,   /* a call, yield call, spawn, parallel or race alone */
    ST_YIELD,  /* plain yield */
    /* value: head; block; else_block (an else-if chain is a block of one ST_IF, else_if set) */
    ST_IF,
    ST_WHILE,
    ST_FOR, /* for var[, var2] in value[..range_end] */
    ST_MATCH,
    ST_RETURN,
    ST_FAIL,
    ST_BREAK,
    ST_CONTINUE,
    ST_GIVE,
    ST_TRY,  /* block, catches, finally */
    ST_WITH, /* with value(call) timeout … { block } */
    ST_MOCK, /* mock callee(args) => value, fail value, after d => …, or never */
    ST_ASSERT,
} StmtKind;

typedef enum PatternKind { PAT_BAD, PAT_CASE, PAT_LITERAL, PAT_ELSE } PatternKind;

typedef struct Binding {
    Name name;          /* `_` binds nothing */
    Variable *variable; /* set by check; NULL for `_` */
    struct Binding *next;
} Binding;

typedef struct Pattern {
    PatternKind kind;
    Span span;
    /* PAT_CASE: case, Type.case, module.Error, module.Type.case */
    Name module, type_name, case_name;
    bool has_bindings;
    Binding *bindings;
    /* PAT_LITERAL: int, float, duration, string, bool or null; negative numbers folded */
    Expr *literal;
    struct Pattern *next; /* A | B */
    /* set by check */
    Decl *decl;             /* enum or error */
    uint32_t case_index;    /* enum case */
    const Type *error_type; /* match on an error: the error this pattern names */
} Pattern;

typedef struct Arm {
    Span span;
    Pattern *patterns;
    Expr *guard;
    Block *block; /* an arm that is one statement is a block of one */
    bool bare;    /* it was written as one statement */
    struct Arm *next;
} Arm;

typedef struct CatchName {
    Name module, name;
    struct CatchName *next;
    /* set by check: a declared error, or NULL for a built-in one */
    Decl *decl;
    const Type *type; /* set by check */
} CatchName;

/* catch E(step, code: c): a field and the variable that takes it, which is called like it unless another is given. */
typedef struct CatchField {
    Name field, var;
    struct CatchField *next;
    /* set by check */
    const Type *error; /* NULL: it has no such field */
    uint32_t index;    /* of the field */
    Variable *variable;
} CatchField;

typedef struct Catch {
    Span span;
    Name var;           /* absent when fields are bound */
    CatchName *names;   /* none: catches every error that can be caught */
    CatchField *fields; /* of the one error that names names */
    Block *block;
    struct Catch *next;
    Variable *variable; /* set by check */
} Catch;

struct Stmt {
    StmtKind kind;
    Span span;
    Span keyword; /* the word that opens it; for messages */
    Name name;    /* let, var */
    TypeExpr *type_expr;
    Expr *target; /* assign */
    Op op;
    Expr *value;
    Expr *range_end; /* for … in value..range_end */
    Name var, var2;  /* for */
    Block *block, *else_block, *finally;
    bool else_if;
    Arm *arms;
    Catch *catches;
    Expr *timeout; /* with */
    Name label;    /* plain yield, with */
    Name mock_module, mock_name;
    Arg *args; /* mock */
    bool mock_fails;
    Expr *mock_after; /* mock: how long the answer takes, or NULL; value is NULL when it never comes */
    Stmt *next;
    /* set by check */
    Variable *variable; /* let, var; for: the element or counter */
    /* for i, x: i is variable, x is variable2; for k, v likewise */
    Variable *variable2;
    bool falls_through;          /* control can reach the statement behind it */
    bool undoes;                 /* try, with: some step in the block has an undo */
    Decl *mock_decl;             /* mock: a tool, prompt or workflow, or NULL: */
    const Builtin *mock_builtin; /* a built-in effect */
    Expr **mock_argv;            /* mock: one pattern per parameter; NULL takes any value */
    uint32_t mock_argc;
};

struct Block {
    Span span; /* braces included */
    Stmt *stmts;
};

/* ---- declarations ---- */

typedef enum DeclKind {
    DECL_BAD,
    DECL_IMPORT,
    DECL_CONST,
    DECL_TYPE,
    DECL_ERROR,
    DECL_ENUM,
    DECL_TOOL,
    DECL_PROMPT,
    DECL_FN,
    DECL_WORKFLOW,
    DECL_TEST,
    DECL_SANDBOX,
} DeclKind;

/* What is written before a type: whether its values may come from outside (check_trust.c). */
typedef enum TrustLabel { LABEL_NONE, LABEL_TRUSTED, LABEL_UNTRUSTED } TrustLabel;

/* A parameter, or a field of a record, error or enum case. */
typedef struct Field {
    Name name;
    TrustLabel label; /* parameters */
    Span label_span;
    Span span;
    const char *doc; /* the /// lines above it, joined by newlines, or NULL */
    TypeExpr *type_expr;
    Expr *value; /* default or NULL */
    struct Field *next;
    /* set by check */
    const Type *type;
    Variable *variable; /* parameters */
} Field;

typedef struct EnumCase {
    Name name;
    Span span;
    Field *fields;
    const char *doc; /* the /// lines above it, joined by newlines, or NULL */
    bool has_fields;
    struct EnumCase *next;
} EnumCase;

typedef enum RepeatClass { REPEAT_ONCE, REPEAT_IDEMPOTENT, REPEAT_PURE } RepeatClass; /* once is the default */

typedef enum AttrKind {
    ATTR_PURE,
    ATTR_IDEMPOTENT,
    ATTR_ONCE,
    ATTR_DANGEROUS,
    ATTR_LOCAL,
    ATTR_PRIVATE,
    ATTR_LIMIT,
    ATTR_RATE,
    ATTR_SANDBOX
} AttrKind;

typedef struct Attr {
    AttrKind kind;
    Span span;
    int64_t value;          /* limit N, rate N/… */
    int64_t per_ms;         /* rate …/D */
    struct CatchName *name; /* sandbox NAME */
    struct Attr *next;
} Attr;

typedef enum ProviderKind { PROV_EXEC, PROV_MCP, PROV_EXTERN, PROV_HTTP } ProviderKind;

typedef struct ProviderOption { /* probe NAME, stdin EXPR … after the provider */
    Name name;
    Expr *value;
    struct ProviderOption *next;
} ProviderOption;

/* In the braces of `mcp NAME = …`: the attributes of one of the server's tools, or an option of the server. */
typedef struct ServerRow {
    Name name;
    Attr *attrs;
    Expr *value; /* of an option; NULL: attributes */
    struct ServerRow *next;
} ServerRow;

/* A tool of an MCP server, as its file NAME.mcp.json describes it (mcp_file.h). */
typedef struct ServerTool {
    const char *name;         /* as the server calls it */
    const char *const *names; /* … and its parameters, in the order of the declaration's */
    uint64_t schema;          /* digest of its schemas, */
    uint64_t doc;             /* and of its description */
    bool keyed;               /* the server takes a call that is made again under its key for the same one */
    bool whole;               /* the tool gives all of its result, a McpResult */
} ServerTool;

/* What a prompt offers to its model: a tool, prompt, workflow, fn or effect, with policies. */
typedef struct Offer {
    Span span;
    struct CatchName *name;
    Policy *policies;
    struct Offer *next;
} Offer;

typedef struct PromptRow { /* of a prompt: model "x", user "…"; of a sandbox: network any, reads ["…"] */
    Name name;
    Expr *value;   /* NULL: the row `tools` */
    Offer *offers; /* of `tools` */
    struct PromptRow *next;
} PromptRow;

struct Decl {
    DeclKind kind;
    Span span;
    Name name;            /* import: the alias */
    const char *doc;      /* the /// lines above it, joined by newlines, or NULL */
    Binding *type_params; /* fn f<T, U>: their names */
    Field *params;        /* tool, prompt, fn, workflow; fields of a type or error */
    TypeExpr *result;     /* NULL: returns nothing; const: its annotation */
    TrustLabel result_label;
    Span result_label_span;
    Expr *value; /* const; import: the path; test: the name */
    EnumCase *cases;
    Attr *attrs;
    ProviderKind provider;
    Expr *provider_value;  /* exec argv, http request line, extern name; mcp server */
    Expr *provider_value2; /* mcp tool */
    ProviderOption *options;
    bool is_server;    /* import: of the tools of an MCP server, `mcp NAME = …`, which has a provider */
    ServerRow *served; /* … what is written in its braces */
    /* tool of an MCP server: what the server says of it; NULL: another tool */
    const ServerTool *remote;
    PromptRow *rows;
    bool has_fails;
    CatchName *fails;
    Block *block;
    Decl *next;

    /* set by module_load */
    /* import: the module it names; NULL: it could not be read */
    Module *imported;
    Decl *server; /* tool of an MCP server: the import that says where the server is */

    /* set by check */
    Module *module; /* the file it is in */
    /* unique in the program: "slug", in an imported module "text.slug"; what records and messages say */
    const char *full_name;
    /* the same as a part of a C name: "slug", "1m_slug"; no name of the language starts with a digit */
    const char *c_name;
    /* type, error, enum: itself; const: its type; others: the result type (never NULL: nothing is a type) */
    const Type *type;
    uint32_t param_count; /* parameters or fields */
    RepeatClass repeat;   /* tool */
    bool dangerous;       /* tool: every call carries `approve` */
    bool is_local;        /* tool: it changes nothing outside the root and the database */
    bool is_private;      /* tool: its result is not for strangers */
    /* tool, prompt: how much it is used; NULL: as much as one likes */
    const Attr *limit, *rate;
    Decl *probe;          /* tool: the tool named by `probe` */
    struct Agent *agent;  /* prompt that is one: what was made for it (check_agent.c) */
    const Decl *made_for; /* … and the prompt that a declaration was made for, which nobody wrote */
    Expr *files;          /* prompt: the values of its rows `file`, as a list; NULL: it has none */
    /* sandbox: itself; exec tool: the one it names; NULL: the default of the program */
    const Sandbox *sandbox;
    /* fn, workflow, tool, prompt: where its parameters go; set by check_trust */
    struct Reach *reach;
    /* http tool: its request line as a list of strings, text and values of two kinds in turn */
    Expr *pieces;
    const ErrorSet *errors; /* workflow: what can escape */
    /* fn, workflow, test: every local, parameters first, linked by next */
    Variable *variables;
    uint32_t variable_count;
    bool undoes; /* workflow: some step in it has an undo */
    bool reads;  /* workflow with a doc comment: it changes nothing, and neither does what it reaches */
    bool used;   /* import: something names it */
    /* fn with type parameters, or with functions as parameters: copies of it are compiled, not it (check_generic.c) */
    bool generic;
    bool broken;        /* generic: it has mistakes, so copies are not checked */
    const Decl *origin; /* such a copy: of which fn */
    const char *types;  /* … "T is int, U is string" */
    struct Generic *parts;
    uint32_t copy_depth; /* … how many copies led to it */
    /* a fn made of an inline function: the EX_LAMBDA, where it is, and what it uses from there: its last parameters */
    Expr *lambda;
    const Decl *around;
    Variable **captures;
    uint32_t capture_count;
};

/* One file of a program. */
struct Module {
    Source *source;
    Decl *decls;
    /* set by module_load */
    /* as records and messages of a run name it: the path from the main file's directory, or as -I found it */
    const char *file;
    /* qualifies its declarations for people: the file's base name, made unique; "" for the main file */
    const char *name;
    uint32_t number; /* in the order of loading; the main file is 0 */
    bool of_server;  /* it is a NAME.mcp.json: nobody wrote its declarations */
    Module *next;
};

#endif
