/* machine.h: the state machines between the checked program and C.
 *
 * Every workflow, fn, constant and hook (the argv of a tool, the default of a field …) becomes a Routine: basic blocks
 * of simple instructions over variables. What cannot fail and changes nothing stays a tree (Val) and is printed as one
 * C expression; what can fail, allocate or suspend is an instruction or the end of a block. Three rules carry the whole
 * design:
 *
 *  - Variables own what they refer to; temporaries borrow (the runtime's release stack, or a variable, holds the
 *    reference). Within one statement nothing is released: IN_END closes the statement, counts as a use of every
 *    variable the statement touched, cuts the release stack and is the place where variables die. A branch can also
 *    kill a variable: then on the edge.
 *  - An owning place that is dead holds NULL. A landing (where errors arrive) therefore releases every place that may
 *    be held on any of its incoming edges, and no edge of an error needs code of its own: code stays linear in the
 *    source.
 *  - A point ends a block. What is live behind it (or was an argument of it) is in the frame; everything else is a
 *    C local. */
#ifndef CODEGEN_MACHINE_H
#define CODEGEN_MACHINE_H

#include <stdio.h>

#include "../dsl/bug.h"
#include "../dsl/type.h"
#include "functions.h"

typedef struct Machine Machine;
typedef struct Routine Routine;
typedef struct MBlock MBlock;
typedef struct Point Point;
typedef struct Val Val;
typedef struct Instr Instr;
typedef struct Term Term;

/* How a value is represented in C. */
typedef enum Rep {
    REP_NONE,  /* nothing */
    REP_INT,   /* int64_t: int, duration, time, task */
    REP_FLOAT, /* double */
    REP_BOOL,  /* bool */
    REP_OBJ,   /* TfyObj * */
    REP_WORD,  /* TfyValue: what the runtime hands out of lists and maps */
    /* TfyValue *: where a part of a value is, while a path is assigned */
    REP_PLACE,
    REP_COUNT
} Rep;

Rep machine_rep(const Type *type);

typedef enum VarKind {
    /* of a workflow: owned by the frame; of a fn or hook: borrowed from the caller */
    VAR_PARAM,
    VAR_LOCAL, /* let, var, a binding, a loop's variable */
    /* made by lowering and able to live across points: loop lists, pending completions, saved arguments */
    VAR_HIDDEN,
    /* borrowed, within one statement; takes no part in liveness */
    VAR_TEMP,
} VarKind;

typedef struct Var {
    VarKind kind;
    Rep rep;
    const Type *type;  /* NULL for some temporaries */
    const char *name;  /* its name in C and in dumps; unique within the routine */
    const char *label; /* the name in the source, or NULL */
    /* hidden: what it is for, which its name starts with; else NULL */
    const char *made;
    uint64_t origin; /* hidden: hash of the statement that needs it */
    /* params, locals, hidden: index into Routine.vars and liveness sets; temps: their number */
    uint32_t id;
    bool owned;   /* holds a reference of its own that must be released */
    bool changes; /* assigned more than once */
    bool used;    /* read or written anywhere: decides about (void) casts */
    int32_t slot; /* index of its frame slot; -1: a C local */
    /* the stretch of positions in which it is live; set by frame */
    uint32_t first, last;
    bool crosses; /* live across some point, or over a jump to another part */
    /* stamp of the last C function that declares it; emit's own */
    uint32_t seen;
} Var;

/* ---- the runtime's functions, as instructions call them ---- */

typedef enum Fail {
    FAIL_NEVER, /* gives its value */
    /* answers false after a panic; its value comes through a pointer behind the arguments */
    FAIL_FALSE,
    FAIL_NULL, /* answers the object, NULL after a panic */
} Fail;

#define RT_ID(ID, NAME, ANSWER, FIRST, REP) RT_##ID,
typedef enum RtId { RT_FUNCTIONS(RT_ID) RT_COUNT } RtId;

typedef struct RtFunc {
    const char *name;
    Fail fail;
    bool task;  /* takes the task first */
    bool line;  /* then the source line */
    bool temp;  /* leaves something on the release stack */
    bool halts; /* may answer false without an error: the task was halted */
    Rep result;
} RtFunc;

const RtFunc *machine_func(RtId id);

/* ---- values: trees that cannot fail and change nothing ---- */

typedef enum ValKind {
    VAL_VAR,   /* var; a REP_WORD temporary is read as rep */
    VAL_INT,   /* i */
    VAL_FLOAT, /* f */
    VAL_BOOL,  /* i */
    VAL_NULL,
    VAL_STRING, /* index: literal number in Machine.strings */
    VAL_CASE,   /* type, index: a case without fields */
    VAL_TYPE,   /* the descriptor of type */
    VAL_POINT,  /* point's descriptor */
    /* the workflow descriptor of decl, or of routine when that is set */
    VAL_FLOW,
    /* the descriptor of decl, a tool or prompt, or of the built-in effect `text` */
    VAL_TOOL,
    VAL_CTEXT, /* text: a C string literal of it (assert) */
    VAL_FIELD, /* field index of a */
    VAL_UNBOX, /* the scalar in box a */
    VAL_TAG,   /* case number of a */
    VAL_IS,    /* a's own type is type */
    VAL_CALL,  /* func(args) */
    VAL_NOT,
    VAL_NEG,      /* of a float */
    VAL_FLOAT_OF, /* an int as a float */
    VAL_AND,
    VAL_OR,
    VAL_CMP,  /* a op b in C; objects: the same pointer */
    VAL_NEXT, /* a + 1, known not to overflow */
    VAL_COND, /* a ? b : c */
    VAL_WORD, /* a as a TfyValue */
    /* the address of an owning variable, or of the object in place temporary var */
    VAL_PLACE,
    /* args as an array of objects (rep REP_OBJ) or of words (REP_WORD) */
    VAL_ARRAY,
} ValKind;

struct Val {
    ValKind kind;
    Rep rep;
    Op op; /* VAL_CMP */
    uint32_t index;
    int64_t i;
    double f;
    const char *text;
    const Type *type;
    Var *var;
    const Decl *decl;
    const RtFunc *func;
    Point *point;
    const Routine *routine;
    Val *a, *b, *c;
    Val **args;
    uint32_t argc;
};

/* ---- instructions ---- */

typedef enum InstrKind {
    IN_SET,   /* dst = a, nothing is counted: scalars and temporaries */
    IN_STORE, /* owned dst = a, kept; what dst held is released */
    /* dst = the task's result, whose reference moves; no dst: thrown away */
    IN_TAKE,
    IN_CALL,       /* [dst =] func(args) or a fn; on failure to landing */
    IN_PUT,        /* the place in temporary dst = a */
    IN_RESULT,     /* the routine's result = a, kept */
    IN_TAKE_ERROR, /* dst = the pending error, whose reference moves */
    IN_DROP_ERROR, /* the pending error is forgotten */
    /* the error in variable dst is pending again; dst is empty after it */
    IN_PUT_ERROR,
    IN_MASK,    /* cancellation is held (i > 0) or no longer */
    IN_END,     /* the statement's end */
    IN_RELEASE, /* dst dies here; put in by frame */
} InstrKind;

struct Instr {
    InstrKind kind;
    uint32_t line; /* source line */
    Var *dst;
    Val *a;
    const Type *type; /* IN_TAKE without dst, IN_RESULT */
    const RtFunc *func;
    const Decl *decl; /* IN_CALL of a fn or const, when func is NULL */
    Val **args;
    uint32_t argc;
    MBlock *landing; /* IN_CALL that can fail; else NULL */
    bool cut;        /* IN_END: the statement used the release stack */
    int i;
    /* variables read (no temporaries); IN_END: those the statement touched */
    Var **uses;
    uint32_t use_count;
};

typedef enum TermKind {
    TERM_NONE,   /* under construction */
    TERM_JUMP,   /* to */
    TERM_BRANCH, /* cond ? to : other */
    TERM_SWITCH, /* on cond: cases, else `to` */
    TERM_FUEL,   /* spend; when nothing is left stop at the point, then to */
    /* stop at the point; then an error goes to landing, all else to `to` */
    TERM_POINT,
    TERM_RETURN,
    TERM_FAILED, /* the error stays pending and the routine ends */
} TermKind;

typedef struct SwitchCase {
    uint32_t value;
    MBlock *to;
} SwitchCase;

/* What a point requests, beside its kind. */
typedef enum AskKind { ASK_YIELD, ASK_FUEL, ASK_EFFECT, ASK_CALL, ASK_BACKOFF, ASK_UNDO, ASK_MARK } AskKind;

struct Term {
    TermKind kind;
    uint32_t line;
    Val *cond;
    MBlock *to, *other, *landing;
    SwitchCase *cases;
    uint32_t case_count;
    Point *point;
    const Decl *callee;     /* the workflow, tool or prompt */
    const Builtin *builtin; /* a built-in effect */
    Val **args;             /* effect, call; backoff: attempt */
    uint32_t argc;
    Val *retry, *backoff, *timeout, *key; /* policies or NULL */
    Val *call; /* the id of the model's call that the step carries out, or NULL */
    bool cut;                             /* the release stack was used for the arguments */
    /* an effect's arguments that nobody reads later: released once the runtime has them; set by frame */
    Var **dying;
    uint32_t dying_count;
    Var **uses;
    uint32_t use_count;
};

typedef uint64_t *VarSet; /* one bit per Routine.vars */

struct MBlock {
    uint32_t id;    /* by order of creation */
    uint32_t order; /* place in Routine.order; set when placed */
    /* a loop's head with fuel: first place in Routine.order behind the loop */
    uint32_t loop_end;
    bool placed;
    /* starts between two statements: no temporary is alive, so a C function may start here */
    bool fresh;
    uint32_t part; /* which C function of the routine it is in */
    /* reached from another part: its number among those, from 1; else 0 */
    uint32_t entry;
    bool landing;   /* errors arrive here */
    bool halts;     /* errors or a halt without one arrive here */
    uint32_t preds; /* normal predecessors; set by frame */
    Instr **instrs;
    uint32_t count, cap;
    Term term;
    VarSet live_in;
    VarSet arriving; /* landings: what may be held when an error arrives */
    /* releases at its head: a landing's, or of the one edge that leads here */
    Instr **prologue;
    uint32_t prologue_count;
    uint32_t label; /* in C; 0: none needed */
};

struct Point {
    const char *id;    /* the label, else a structural path */
    const char *label; /* as written or NULL */
    AskKind ask;
    uint32_t number; /* dense over the program, from 1; 0: dropped */
    uint32_t pc;     /* dense over the routine, from 1; 0 for marks */
    uint32_t line;
    const Type *result; /* what this place wants; effects and backoff */
    const Decl *callee;
    const Builtin *builtin;
    /* what the compiler itself asks for: the name behind tfy_effect_; else NULL */
    const char *effect;
    const Type *channel; /* send and recv: of what type */
    /* http: `limit` and `rate` of this place; 0: none */
    int64_t limit, rate, rate_ms;
    /* effects: the errors after which `retry N on …` tries again; NULL: all that can be tried again */
    const CatchName *retry_on;
    const Expr *asked;          /* of the policy `approve`: the call, and … */
    const struct Origin *const *origins; /* … where its untrusted arguments come from; NULL: all are trusted */
    /* effects that start a process: words of its argv that must not begin with '-'; NULL: none */
    const ArgvWord *words;
    /* hash of how the source reads there (lower_origin.c); 0: none was made */
    uint64_t asks;
    Routine *routine;
    bool kept; /* it is in the output */
    /* what is in the frame while stopped here, by slot; set by frame. Marks: debug only, named ones */
    Var **live;
    uint32_t live_count;
};

typedef enum RoutineKind {
    ROUTINE_WORKFLOW,
    ROUTINE_FN,
    ROUTINE_CONST, /* a fn without parameters */
    ROUTINE_HOOK,  /* called by the runtime with an array of words */
} RoutineKind;

struct Routine {
    RoutineKind kind;
    const char *name;  /* its C name without prefix */
    const char *label; /* what people see; the name, but for closures */
    /* a body of parallel or race, or an undo, within decl; else NULL */
    const Closure *closure;
    const Point *of; /* closures: the point whose body or undo it is */
    bool test;       /* the body of a test, or a closure within one */
    const Decl *decl;
    const Type *result;
    uint32_t line;
    Machine *machine;
    Var **vars; /* all but temporaries; parameters first */
    uint32_t var_count, var_cap;
    uint32_t param_count;
    MBlock **blocks; /* by id */
    uint32_t block_count, block_cap;
    MBlock **order; /* in the order of the output */
    uint32_t order_count, order_cap;
    MBlock *entry, *failed; /* failed: the outermost landing */
    Point **points;         /* in source order */
    uint32_t point_count, point_cap;
    Point **resume; /* by pc - 1 */
    uint32_t resume_count;
    Var **slots; /* one variable per slot, for its kind; set by frame */
    uint32_t slot_count;
    /* a long workflow becomes several C functions; see frame.c */
    uint32_t part_count;
    uint32_t entry_count;   /* blocks reached from another part */
    Instr **entry_releases; /* parameters nobody reads */
    uint32_t entry_release_count;
};

typedef struct StringLiteral {
    const char *bytes;
    uint32_t len;
} StringLiteral;

/* The functions a tool, prompt or field has, by their routine. */
typedef struct Hook {
    const void *owner; /* Decl (tool, prompt) or the default's Expr */
    const char *what;  /* "argv", "model", "system", "user", "files", "default" */
    Routine *routine;
    struct Hook *next; /* of the same owner */
} Hook;

/* A name that secret() is given. */
typedef struct MSecret {
    const char *name;
    struct MSecret *next;
} MSecret;

struct Machine {
    const Program *program;
    Arena *arena;
    bool tests; /* tests are part of the output */
    /* named variables of workflows live as long as their scope, in the frame, and marks know them too */
    bool debug;
    bool saves;         /* save() occurs */
    MSecret *secrets;   /* each name once; the newest first */
    Routine **routines; /* workflows, fns, constants, hooks; in source order */
    uint32_t routine_count, routine_cap;
    Point **points; /* by number - 1 */
    uint32_t point_count;
    StringLiteral *strings;
    uint32_t string_count, string_cap;
    BugPlace place;       /* what is lowered, framed or emitted, for a failed check */
    Table string_numbers; /* bytes → number + 1 */
    Table hooks;          /* owner → its first Hook */
    Table tally;          /* structural path → how often it was used: the ordinal among equals */
};

/* ---- construction; used by lower ---- */

void machine_at(const Routine *routine); /* from here on the compiler works on it: where a failed check was */
Routine *machine_routine(Machine *machine, RoutineKind kind, const char *name, const Decl *decl, const Type *result,
                         uint32_t line);
Var *machine_var(Routine *routine, VarKind kind, const Type *type, Rep rep, const char *name);
MBlock *machine_block(Routine *routine);
void machine_place(Routine *routine, MBlock *block);
Instr *machine_instr(Routine *routine, MBlock *block, InstrKind kind, uint32_t line);
void machine_note_uses(Routine *routine, Instr *instr);
void machine_note_term(Routine *routine, Term *term);
uint32_t machine_string(Machine *machine, const char *bytes, uint32_t len);
void machine_add_hook(Machine *machine, const void *owner, const char *what, Routine *routine);
Point *machine_point(Routine *routine, AskKind ask, const char *label, const char *kind, const char *callee,
                     uint32_t line);
uint32_t machine_ordinal(Machine *machine, const char *path); /* counts from 1 how often a path was asked for */
Routine *machine_hook(const Machine *machine, const void *owner, const char *what);

/* Calls visit for every variable (temporaries included) that a tree reads. */
void machine_visit(const Val *val, void (*visit)(void *state, Var *var), void *state);

/* Drops unreachable blocks, and fuel points whose every cycle passes another stop; then numbers the points that are
 * left. */
void machine_finish(Machine *machine);

/* For `tfyc --dump machine`. Requires frame_assign. */
void machine_dump(const Machine *machine, FILE *out);

/* ---- the passes ---- */

/* What the program is compiled for. */
typedef struct LowerOptions {
    /* with its tests, which a program that is only run has no use for */
    bool tests;
    bool debug; /* for stepping through a replay: see Machine.debug */
} LowerOptions;

/* Requires a program without errors. */
Machine *lower_program(const Program *program, const LowerOptions *options, Arena *arena);

/* Liveness, releases, frame slots and live sets of every routine. Requires machine_finish. */
void frame_assign(Machine *machine);

/* What the output is called and how it is written. */
typedef struct EmitOptions {
    bool main;               /* end with int main() */
    bool shared;             /* for a shared object: end with what a loader looks for */
    bool steps;              /* carry what `tfy replay --step` needs; a program with debug always does */
    bool lines;              /* #line before every line */
    const char *source_name; /* for #line; its last part is the program's name */
} EmitOptions;

/* The C text; NUL-terminated, in the arena. *len gets its bytes. */
char *emit_c(const Machine *machine, const EmitOptions *options, size_t *len);

/* The index of the routine that a workflow's declaration became, or of one that is known; routine_count when there
 * is none. */
uint32_t machine_find_workflow(const Machine *machine, const Decl *decl, const Routine *routine);

/* The states of every workflow and the ways between them, as text in the arena. Requires machine_finish. */
typedef enum GraphFormat { GRAPH_MERMAID, GRAPH_DOT, GRAPH_JSON } GraphFormat;
char *emit_graph(const Machine *machine, GraphFormat format, size_t *len);

/* The size of tasks: frame bytes, what is live at each point, the widest point, bytes per task; a table or JSON, in
 * the arena. Requires frame_assign. */
char *emit_report(const Machine *machine, bool json, size_t *len);

/* A header with the prototypes of the C functions behind a module's extern tools; NULL when it has none. name: of
 * the header, for its guard. Requires check_program only. */
char *emit_header(const Program *program, const Module *module, const EmitOptions *options, const char *name,
                  size_t *len);

/* The JSON Schema of what a tool, prompt or workflow takes and gives, or of a type, by its full name; text in the
 * program's arena. NULL when there is no such declaration; *nearest is then one that was perhaps meant, or NULL.
 * Requires check_program only. */
char *emit_schema(const Program *program, const char *name, size_t *len, const char **nearest);

/* Points, frames and types as JSON, as the log stores them. */
char *emit_layout(const Machine *machine, const char *file);

#endif
