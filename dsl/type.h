/* type.h: the checked program: types, variables, built-ins, error sets, and the tables the code generator walks.
 *
 * Types are interned: equal types are one pointer, so `==` compares them. The checker annotates the tree (ast.h,
 * "set by check") and collects the declarations here; nothing after it inspects names again. */
#ifndef DSL_TYPE_H
#define DSL_TYPE_H

#include <stdio.h>

#include "ast.h"
#include "diag.h"

typedef enum TypeKind {
    /* an error was reported; compatible with everything, silently */
    TYPE_BAD,
    TYPE_NOTHING, /* the result of what gives no value */
    /* the literal null before its surroundings give it a type */
    TYPE_NULL,
    TYPE_NEVER, /* reserved */
    TYPE_BOOL,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_DURATION, /* milliseconds */
    TYPE_TIME,     /* milliseconds since 1970-01-01 UTC */
    TYPE_STRING,
    TYPE_BYTES,
    TYPE_JSON,
    TYPE_THREAD,   /* a conversation with a model */
    TYPE_LIST,     /* elem */
    TYPE_MAP,      /* key, elem */
    TYPE_OPTIONAL, /* elem */
    /* decl, or a built-in record (ExecResult, Patch) or parallel's with decl NULL: name, fields */
    TYPE_RECORD,
    TYPE_ENUM, /* decl, or with decl NULL race's and the built-in one (Land): cases */
    /* decl, or a built-in error (Timeout, ToolError …): name, fields; fields[0] is always message: string */
    TYPE_ERROR,
    /* what `catch e` binds when it can be several errors: .message only, and match on the kind */
    TYPE_ANY_ERROR,
    TYPE_TASK,     /* elem: the workflow's result */
    TYPE_CHANNEL,  /* elem: what it carries */
    TYPE_LISTENER, /* where connections are accepted */
    TYPE_STREAM,   /* a connection, or the standard input */
} TypeKind;

typedef struct TypeField {
    const char *name;
    const Type *type;
    const Expr *value; /* default or NULL */
    Span span;         /* where it is declared; len 0 for built-ins */
    const char *doc;   /* its doc comment or NULL */
} TypeField;

typedef struct TypeCase {
    const char *name;
    TypeField *fields;
    uint32_t field_count;
    bool has_fields;
    Span span;
    const char *doc; /* its doc comment or NULL */
} TypeCase;

struct Type {
    TypeKind kind;
    const char *name; /* as people write it: "list<Step>?"; what messages print */
    /* built-in types: the name behind tfy_type_ in C; else NULL */
    const char *core;
    const Type *elem, *key; /* elem of a record: it is an Answer<elem> */
    Decl *decl;             /* user-defined record, enum, error */
    TypeField *fields;      /* record, error (message first) */
    uint32_t field_count;
    TypeCase *cases; /* enum */
    uint32_t case_count;
    /* dense number, order of creation: deterministic names in the output */
    uint32_t id;
    /* type_has_handle: its answer, if it was asked, and the number of the last search that came by */
    enum { HANDLE_UNKNOWN, HANDLE_NO, HANDLE_YES } handle;
    uint32_t walk;
    /* bool, int, float, duration, time, task, channel, listener, stream: one machine word, no reference count */
    bool scalar;
    struct Type *next; /* all interned types in order of creation */
};

/* What is given for a parameter that is a function: a fn, and the variables that it is called with behind its other
 * arguments. */
typedef struct Function {
    Decl *decl;
    Variable **held;
    uint32_t held_count;
} Function;

/* A local variable, parameter or binding of one fn or workflow. One per declaration: shadowing is refused, so names
 * are unique within the body but for `_` and for disjoint scopes. */
struct Variable {
    const char *name;
    const Type *type; /* declared type; uses may be narrowed (Expr.type) */
    Span span;
    bool mutable; /* var */
    bool param;
    bool used;     /* some expression reads it */
    bool assigned; /* behind its declaration */
    bool label_read; /* by check_trust */
    /* how warnings call it: "variable", "parameter", "loop variable" … ; NULL: nobody wrote its declaration */
    const char *role;
    /* a parameter that is a function: its type as written */
    const TypeExpr *written;
    const Function *function; /* … and what a copy of its fn was given for it; NULL: a template */
    /* dense within its fn or workflow; parameters first, in order */
    uint32_t id;
    struct Label *label; /* set by check_trust */
    Variable *next;
};

/* Effects and methods that the language brings. Ids are the contract between check and lower. */
typedef enum BuiltinId {
#define EFFECT(ID, ...)        BI_##ID,
#define METHOD_EFFECT(ID, ...) BI_##ID,
#define METHOD(ID, ...)        BI_##ID,
#include "builtin_table.h"
    BI_COUNT
} BuiltinId;

typedef struct BuiltinParam {
    const char *name;
    /* "string", "list<string>", "map<string,string>?"; the receiver's: "T" its elements, "K" its keys, "E" its
     * elements' elements; "T => bool": an inline function of T. What it gives is "bool", any type ("U" in the
     * result's notation), or a type that is "ordered" or a "key" (U too). "(U, T) => U": one of what came before and of
     * an element; the parameter of type "U" before it says what that is */
    const char *type;
    bool optional; /* may be left out: argv holds NULL */
} BuiltinParam;

/* Whether the result of a built-in is trusted (check_trust.c). */
typedef enum LabelRule {
    RULE_DATA,    /* made of all of it, and of what an inline function gives */
    RULE_CHOICE,  /* chosen from the receiver */
    RULE_MAPPED,  /* made by the inline function */
    RULE_TRUSTED, /* a truth, or the runtime's own */
    RULE_SOURCE,  /* from outside */
} LabelRule;

struct Builtin {
    BuiltinId id;
    const char *name;
    TypeKind receiver;  /* methods: the receiver's kind; TYPE_BAD for effects */
    bool suspends;      /* must be written with yield */
    bool effect;        /* not allowed in a fn */
    RepeatClass repeat; /* effects */
    /* effects: who does the work, as behind tfy__perform_; NULL: the loop itself */
    const char *performer;
    LabelRule label;
    const BuiltinParam *params;
    uint32_t param_count; /* without the receiver */
    const char *result;   /* as BuiltinParam.type, or "nothing" */
};

/* The errors that can escape a workflow or a call: declared errors and Denied; the always-possible ones are not
 * listed. Sorted by type id, no duplicates. */
struct ErrorSet {
    const Type **types;
    uint32_t count;
};

/* The built-in types, by name, always present. */
typedef struct CoreTypes {
    const Type *bad, *nothing, *null, *boolean, *integer, *floating, *duration, *time, *string, *bytes, *json, *thread,
        *any_error;
    /* ExecResult {code: int, out: string, err: string, truncated: bool, lossy: bool} */
    const Type *exec_result;
    /* HttpResponse {status: int, headers: map<string, string>, body: string, truncated: bool, lossy: bool} */
    const Type *http_response;
    const Type *patch; /* Patch {path: string, diff: string} */
    const Type *edit;  /* Edit {find: string, replace: string} */
    /* Symbol {name: string, kind: string, path: string, line: int, end: int, signature: string?, scope: string?} */
    const Type *symbol;
    const Type *place; /* Place {path: string, line: int, text: string} */
    const Type *listener, *stream;
    const Type *land; /* enum Land { squash, merge } */
    /* enum Part { text(text: string), image(data: bytes, mime: string), audio(data: bytes, mime: string),
     * link(uri: string, name: string), resource(uri: string, mime: string, text: string) } */
    const Type *part;
    const Type *mcp_result; /* McpResult {text: string, structured: json?, parts: list<Part>} */
    /* Match {text: string, start: int, end: int, groups: list<string?>} */
    const Type *match;
    const Type *time_zone; /* TimeZone {name: string, rules: string} */
    /* errors; every one has message: string first */
    const Type *timeout;         /* Timeout {in_doubt: bool} */
    const Type *budget_exceeded; /* BudgetExceeded {what: string, limit: float, spent: float} */
    const Type *conflict;        /* Conflict {paths: list<string>} */
    const Type *tool_error;      /* ToolError {tool: string, code: int} */
    const Type *task_failed;     /* TaskFailed {task: string, kind: string} */
    const Type *channel_closed;
    const Type *bad_value; /* BadValue {path: string} */
    const Type *lost;
    const Type *denied;
} CoreTypes;

typedef struct Program {
    Module *modules; /* the main one first */
    CoreTypes core;
    /* every interned type, in order of creation, linked by next */
    Type *types;
    uint32_t type_count;
    /* declarations of all modules in source order */
    Decl **decls;
    uint32_t decl_count;
    const Sandbox *sandbox; /* what `sandbox default` says; NULL: workspace */
    const SourceSet *sources;
    Arena *arena;
} Program;

/* Checks a program: the main module and those behind it (module_load). Reports what is wrong to diags; the result is
 * fit for lowering only when diags->errors did not grow. Requires: the trees of parse_module. Keeps: the tree as
 * written; only "set by check" fields change. */
Program *check_program(Module *module, const SourceSet *sources, Arena *arena, DiagList *diags);

/* Prints declarations with their types, error sets and variables; for `tfyc --dump program`. */
void program_dump(const Program *program, FILE *out);

const Builtin *builtin_effect(const char *name);
const Builtin *builtin_method(TypeKind receiver, const char *name);
const Builtin *builtin_by_id(BuiltinId id);
bool builtin_is_dangerous(const Builtin *builtin); /* every call carries `approve` */
bool builtin_is_hidden(const Builtin *builtin);    /* only what the compiler writes can name it (check_agent.c) */

bool type_is_descriptor(TypeKind kind); /* a listener or a stream */

/* The repeat class of a call of a built-in effect: http's follows from its method, where that is written out. */
RepeatClass builtin_repeat(const Expr *call);
/* What a method does to the world; a word that is none is once. */
RepeatClass builtin_http_class(const char *method, size_t len);
bool builtin_is_http_method(const char *method, size_t len);

#endif
