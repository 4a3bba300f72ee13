/* emit.h: what the files of the C emitter share. */
#ifndef CODEGEN_EMIT_H
#define CODEGEN_EMIT_H

#include "ctext.h"
#include "machine.h"

typedef struct Emit {
    const Machine *machine;
    const EmitOptions *options;
    Arena *arena;
    CText c;
    const Routine *routine; /* the one being written */
    const Var **locals;     /* C locals that the text being written mentions */
    uint32_t local_count, local_cap;
    uint32_t temps[REP_COUNT]; /* the highest temporary of each kind that it mentions */
    uint32_t stamp;            /* of that text: Var.seen */
    bool *needed;              /* by type id: its descriptor is referred to */
    const LineFile *files;     /* for #line, or NULL */
} Emit;

/* ---- emit_val.c: expressions ---- */
void emit_val(Emit *e, Text *out, const Val *val);
void emit_operand(Emit *e, Text *out, const Val *val); /* with parentheses where an operator could tear it apart */
void emit_not(Emit *e, Text *out, const Val *val);     /* its opposite */
void emit_type(Emit *e, Text *out, const Type *type);  /* the descriptor's address; marks it as needed */
void emit_var(Emit *e, Text *out, Var *var);
const char *emit_ctype(Rep rep);  /* "int64_t ", "TfyObj *" */
const char *emit_member(Rep rep); /* of TfyValue */
const char *emit_maker(Rep rep);  /* "tfy_of_int(": what makes a TfyValue of it */

/* ---- emit_block.c: what is in functions ---- */
void emit_blocks(Emit *e, const Routine *routine, uint32_t from,
                 uint32_t to); /* places in Routine.order, of one part */

/* ---- emit_routine.c: functions ---- */
void emit_prototype(Emit *e, const Routine *routine);
void emit_routine(Emit *e, const Routine *routine);
const char *emit_routine_name(Emit *e, const Routine *routine);

/* ---- emit_header.c ---- */
void emit_extern_prototype(Text *out, const Decl *decl); /* of the C function behind an extern tool */

/* ---- emit_performers.c ---- */
/* Writes the table of who performs the program's effects. Returns its name, or NULL when none is needed. */
const char *emit_performers(Emit *e);

/* ---- emit_server.c ---- */
void emit_servers(Emit *e);                   /* tfyg_server_<name>, before the tools */
void emit_remote(Emit *e, const Decl *tool); /* tfyg_mcp_<tool> */

/* ---- emit_asked.c ---- */
void emit_asked(Emit *e, const Point *point); /* tfyg_asked<number> */

/* ---- emit_sandbox.c ---- */
void emit_sandboxes(Emit *e); /* each that is named, before the tools */
/* The member for it, between two texts; nothing when it is NULL. */
void put_sandbox(Text *p, const char *before, const Sandbox *sandbox, const char *behind);

/* ---- emit_table.c: static data ---- */
void emit_forwards(Emit *e); /* names that functions refer to */
void emit_types(Emit *e);    /* descriptors that are needed, and all they need */
void emit_strings(Emit *e);
void emit_points(Emit *e);
void emit_tools(Emit *e);
void emit_workflows(Emit *e);
void emit_program(Emit *e);

#endif
