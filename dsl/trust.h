/* trust.h: what a program is trusted with, and where something from outside reaches what matters; for
 * `tfy check --trust`.
 *
 * The pass that infers labels (check_trust.c) notes it on the way, if somebody asks. A note is made at each look at an
 * expression, and one expression may be looked at several times: trust_finish leaves each once, in source order. */
#ifndef DSL_TRUST_H
#define DSL_TRUST_H

#include "check_origin.h"
#include "sandbox.h"
#include "type.h"

typedef enum TrustKind {
    TRUST_REACHES,  /* an untrusted value is an argument of a dangerous tool */
    TRUST_CHOSEN,   /* an untrusted value chose among trusted ones, for a place that takes nothing else */
    TRUST_VETTED,   /* text.vetted(pattern) of an untrusted text */
    TRUST_WITHIN,   /* number.within(from, to) of an untrusted number */
    TRUST_STATED,   /* trust(value, "why") */
    TRUST_DECLARED, /* a tool's result that is declared trusted */
} TrustKind;

typedef struct TrustNote {
    TrustKind kind;
    Span span;          /* the argument, the call, the choice, or the tool's name */
    const Origin *from; /* where the untrusted value comes from; NULL: TRUST_DECLARED, or trust() of a trusted value */
    const Decl *in;     /* the workflow or fn; NULL: TRUST_DECLARED */
    const char *tool;   /* TRUST_REACHES, TRUST_DECLARED: its whole name */
    const char *param;  /* TRUST_REACHES: which parameter of it */
    const Place *place; /* TRUST_CHOSEN: where what was chosen goes … */
    Span at;            /* … and what stands there */
    const Expr *why;    /* TRUST_STATED: the reason, an EX_TEXT */
} TrustNote;

typedef enum TrustKeeper { KEPT_BY_CELL, KEPT_BY_ADDRESS, KEPT_BY_NOBODY } TrustKeeper;

/* A tool, or a built-in effect of the program that starts processes or sends something. */
typedef struct TrustTool {
    const char *name;
    Span span; /* the name of the tool; of an effect its first use */
    const Decl *decl;
    const Builtin *builtin; /* exactly one of the two is set */
    RepeatClass repeat;
    bool dangerous;
    /* what decides what it reaches: its sandbox; its written address; nothing (C functions, http(), connect()) */
    TrustKeeper keeper;
    const char *sandbox_name;
    const Sandbox *sandbox; /* KEPT_BY_CELL */
    SandboxNetwork network;
    SandboxTexts hosts;   /* NETWORK_LIST */
    SandboxTexts secrets; /* their names; where one is computed, how that is written */
} TrustTool;

/* One of the three things that a workflow should not all have. */
typedef struct TrustLeg {
    const char *text; /* "the prompt 'plan'"; NULL: it does not have this one */
    Span span;
    int rank; /* of several the highest is told */
} TrustLeg;

typedef enum TrustPart { PART_FILES, PART_OUTSIDE, PART_NETWORK, PART_COUNT } TrustPart;

/* A workflow that, with those it calls, reads files, sees untrusted text, and can send to a network. */
typedef struct TrustMixed {
    const Decl *workflow;
    TrustLeg legs[PART_COUNT];
} TrustMixed;

typedef struct TrustCall {
    const Decl *in;
    const Expr *call;
    bool approved; /* a person sees it first */
} TrustCall;

/* A zeroed one is ready to be filled. Everything is in the arena of the compilation. */
typedef struct TrustReport {
    TrustNote *notes;
    uint32_t note_count, note_cap;
    TrustCall *calls; /* of tools, prompts, workflows and built-in effects */
    uint32_t call_count, call_cap;
    TrustTool *tools;
    uint32_t tool_count, tool_cap;
    TrustMixed *mixed;
    uint32_t mixed_count, mixed_cap;
} TrustReport;

/* check_program, which also fills the report, if nothing is wrong. Warns of the workflows in `mixed`. */
Program *trust_check_program(Module *module, const SourceSet *sources, Arena *arena, DiagList *diags,
                             TrustReport *report);

/* For the pass of the labels. */
void trust_note(Arena *arena, TrustReport *report, TrustNote note);
void trust_note_call(Arena *arena, TrustReport *report, TrustCall call);
/* Calls `found` for each use of a secret in an expression, or in a tool's command or request. */
void trust_secrets(const Expr *e, void (*found)(void *state, const Expr *call), void *state);
void trust_tool_secrets(const Decl *tool, void (*found)(void *state, const Expr *call), void *state);
void trust_finish(const Program *program, DiagList *diags, TrustReport *report);

#endif
